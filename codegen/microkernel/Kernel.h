//===- Kernel.h - one brgemm microkernel -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A microkernel computes MR rows x NV vectors of C with the accumulators in
// registers. It is a private function of bare pointers and run-time sizes and
// strides: its identity is a KernelSpec, never a shape, so all uses share it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/microkernel/RegisterTile.h"
#include "dialects/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::microkernel {

/// Of a line of the cache.
inline constexpr int64_t kLineBytes = 64;

/// A floating-point sum is a tree: blocks of at most so many products, one
/// chain of additions each, so many blocks to a total, as many of these to the
/// next total, and so on. Rounding errors grow with the chains on the way to
/// the root, 256 + 32 log32(K / 256), not with K.
inline constexpr int64_t kSumBlock = 256, kBlocksPerTotal = 32;
/// Totals that are enough for any sum: of 2^28 products.
inline constexpr unsigned kMostTotals = 4;

/// How bytes of A are to be read.
enum class ByteSign { Signed, Unsigned };

/// Whether the product instruction takes bytes of A without sign only: A is
/// read with 128 added, and 128 times the sum of B subtracted at the end.
inline bool correctsSign(mlir::Type element, int64_t interleave,
                         ByteSign sign) {
  return element.isInteger(8) && interleave == 4 && sign == ByteSign::Signed;
}

/// How a row of B holds quantized weights (tile.quantized_weights).
struct QuantizedB {
  unsigned bits = 8;
  bool isSigned = false;
  /// Before each group of K, for each column: a scale, a zero point.
  bool hasScales = false, hasZeroPoints = false;
  /// Bytes that an element of A is made of; 0: it is a float.
  int64_t slices = 0;

  int64_t perByte() const { return 8 / bits; }
  /// Neighbours of K that lie together in B, and are a word of a slice in A.
  int64_t together() const { return slices ? 4 : 1; }
};

/// Everything that makes two kernels different.
struct KernelSpec {
  RegisterTile tile;
  int64_t lanes = 8;
  /// Elements of A and B, the sums, elements of C.
  mlir::Type element, sum, stored;
  /// B holds quantized weights, not elements.
  std::optional<QuantizedB> quantized;
  ByteSign sign = ByteSign::Signed;
  /// Neighbours of k that lie together in B: so many products per step.
  int64_t interleave = 1;
  /// K need not be a multiple of that.
  bool partialGroup = false;
  /// Sums begin with those that a matrix unit left in memory: rows of
  /// kPartialRow elements.
  bool fromPartial = false;
  /// Makes no sums: C is made of those that another kernel left in memory, any
  /// number of rows as wide as the tile, which is one row.
  bool finishes = false;
  unsigned numBatchDims = 0;
  /// Elements from a row of B to the next, where they are known; otherwise 0.
  int64_t rowOfB = 0;
  /// A's elements of a row are adjacent.
  bool unitStrideK = true;
  /// The sum is added to C.
  bool accumulate = false;
  /// Levels of totals, each a tile in memory: 0 where no sum is longer than a
  /// block.
  unsigned totals = 0;
  /// The last vector of a row is partial; C and epilogue operands are masked
  /// there.
  bool maskedC = false;
  /// ... and so is B, which has nothing readable beyond it.
  bool maskedB = false;
  /// Lines of other memory that each iteration over k brings to the L2 cache.
  int64_t prefetch = 0;
  /// Each row of B that is read brings the one `k` rows after it to L2.
  bool prefetchB = false;
  /// Lines of C, and of epilogue operands per element, are prefetched before
  /// the sums.
  bool prefetchOut = false;
  /// Whole vectors of C go past the caches, where they begin with lines.
  bool nontemporalOut = false;
  /// vector.fma; otherwise multiply and add, which the target may contract.
  bool fusedMultiplyAdd = true;
  /// Steps of k per iteration of the inner loop, and whether k always is a
  /// multiple of them.
  int64_t unroll = 1;
  bool wholeIterations = false;
  llvm::SmallVector<tile::EpilogueBroadcast, 2> epilogueOperands;
  /// The epilogue's region, null for none. Alive while kernels are built.
  mlir::Region *epilogue = nullptr;
  /// Number of that region among the distinct ones; 0 for none.
  unsigned epilogueId = 0;

  bool correctsSign() const {
    return microkernel::correctsSign(element, interleave, sign);
  }

  /// Of the memory of B.
  mlir::Type elementOfB() const {
    return quantized ? mlir::IntegerType::get(element.getContext(), 8)
                     : element;
  }

  /// Elements of K that a row of B holds for each column.
  int64_t perRowOfB() const {
    return quantized ? quantized->perByte() * quantized->together()
                     : interleave;
  }
  /// What these are in A: elements, or words of each slice.
  int64_t stepOfA() const {
    return quantized && quantized->slices ? quantized->perByte() : perRowOfB();
  }
  /// Bytes, or elements, for each column in a row of B that is not interleaved.
  int64_t perColumnOfB() const { return quantized ? quantized->together() : 1; }

  /// Whether a row of the tile fills lines, as stores past the caches need.
  bool fillsLines() const {
    return tile.vectors * lanes * stored.getIntOrFloatBitWidth() %
               (8 * kLineBytes) ==
           0;
  }

  /// Whether what the kernel stores are the sums.
  bool storesSums() const { return !epilogue && !accumulate && stored == sum; }
  /// Of the tile, between rows of sums in memory that kernels finish.
  int64_t rowOfSums() const { return tile.vectors * lanes; }

  /// The kernel that only makes the sums of this one, and the one that finishes
  /// them.
  KernelSpec ofSums() const;
  KernelSpec ofFinish() const;

  /// A symbol name, different for different kernels.
  std::string name() const;
  bool hasRowStride(unsigned operand) const {
    return epilogueOperands[operand] == tile::EpilogueBroadcast::PerRow ||
           epilogueOperands[operand] == tile::EpilogueBroadcast::PerElement;
  }
};

/// Columns of sums that a matrix unit makes at once.
inline constexpr int64_t kPartialRow = 32;

/// The arguments of a kernel. Pointers are !llvm.ptr, the rest i64; strides
/// count elements. The same order serves signature and call. One that finishes
/// sums has none of what these are made of: a, b, k and what belongs to them.
struct KernelOperands {
  mlir::Value a, b, c;
  llvm::SmallVector<mlir::Value, 2> epilogueOperands;
  mlir::Value
      k; // Elements of the inner product; with quantized weights, of a group.
  mlir::Value groups,
      scales; // Their number, the first; only with quantized weights.
  llvm::SmallVector<mlir::Value> batch; // Count of each batch dimension.
  mlir::Value aRow, aK;                 // aK: only without unitStrideK.
  mlir::Value bRow, cRow;
  llvm::SmallVector<mlir::Value> aBatch, bBatch;
  llvm::SmallVector<mlir::Value, 2> epilogueRow; // Null without row stride.
  mlir::Value ahead, aheadStep; // Prefetched: from where, bytes per iteration.
  mlir::Value totals;           // Memory for them; only with totals.
  mlir::Value partial; // Sums to begin with; with fromPartial or finishes.
  mlir::Value rows;    // Of C; only with finishes.
  mlir::Value tail;    // Lanes of the last vector, 1..lanes; only with maskedC.

  /// As one list, in the order of the signature.
  llvm::SmallVector<mlir::Value> flatten(const KernelSpec &spec) const;
  static KernelOperands unflatten(const KernelSpec &spec,
                                  mlir::ValueRange values);
};

/// The signature of kernels of `spec`.
mlir::FunctionType getKernelType(const KernelSpec &spec);

/// Builds the function at the builder's insertion point (a module's body).
mlir::func::FuncOp buildKernel(mlir::OpBuilder &builder, mlir::Location loc,
                               const KernelSpec &spec);
/// The same for one that finishes sums.
mlir::func::FuncOp buildFinish(mlir::OpBuilder &builder, mlir::Location loc,
                               const KernelSpec &spec);

/// Prefetches C and epilogue operands of the rows that `arguments`, those of a
/// kernel that finishes sums, name; there need be no sums yet.
void buildFinishPrefetch(mlir::OpBuilder &builder, mlir::Location loc,
                         const KernelSpec &spec, mlir::ValueRange arguments);

} // namespace tenon::microkernel
