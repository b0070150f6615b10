//===- VectorPlan.h - which loop becomes vectors ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/vector/OperandAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tenon::codegen {

enum class VectorMode {
  /// Scalar loops; `reason` says why.
  Scalar,
  /// The vector dim is parallel; reductions, if any, run inside with one
  /// vector accumulator per block.
  Parallel,
  /// The vector dim is a reduction: vector accumulators, one horizontal
  /// reduction at the end.
  Horizontal,
  /// Square register tiles over vectorDim and tileDim; some input is
  /// contiguous along tileDim.  With groupDim, tiles of groups that move as
  /// one.
  Transpose,
  /// The output has groups of neighbours (groupDim) side by side along
  /// vectorDim: one vector for each member, shuffled together.
  Interleave
};

/// How two partial results become one.
struct Combiner {
  mlir::arith::AtomicRMWKind kind;
  /// x > y ? x : y (or less), which loses a NaN that is not the last element:
  /// for x86 one instruction, where a maximum that keeps NaN takes five.
  std::optional<mlir::arith::CmpFPredicate> selects = {};
  mlir::arith::FastMathFlags flags = mlir::arith::FastMathFlags::none;
};

/// The shape of the code for one operation.
struct VectorPlan {
  VectorMode mode = VectorMode::Scalar;
  std::string reason;
  unsigned vectorDim = 0;
  unsigned tileDim = 0;
  /// A parallel dim of few elements that lie together in the output.
  std::optional<unsigned> groupDim;
  /// Elements per vector.
  int64_t lanes = 1;
  /// Vectors per iteration of the main loop.
  unsigned unroll = 1;
  /// A remainder may be done with masked loads and stores.
  bool canMask = false;
  /// Loops around the vector loop / the reductions without vectorDim, outer to
  /// inner; dims of static size 1 are in neither.
  llvm::SmallVector<unsigned> parallelDims;
  llvm::SmallVector<unsigned> reductionDims;
  /// Iterations of the innermost parallel loop that share a reduction, or for
  /// which kJamAttr asks: what an input has for all of them is loaded once.
  unsigned jam = 1;
  /// Vectors that all iterations pass over before the next ones; 0: all.
  int64_t strip = 0;
  /// Operand numbers of outputs kept in registers during the reduction.
  llvm::SmallVector<unsigned> accumulators;
  /// Operand numbers of outputs that kNontemporalAttr names, of which every
  /// vector is as long as a register and, if the first is, aligned to a line.
  llvm::SmallVector<unsigned> nontemporal;
  /// Per input, the distance that kPrefetchAttr gives; empty: none is
  /// prefetched.
  llvm::SmallVector<int64_t> prefetches;
  /// The main loop loads inputs before it stores what is computed from those
  /// before.  Where an output lies a little after an input modulo 4096 bytes,
  /// a CPU that compares 12 bits of addresses lets a load wait for the stores
  /// above it, and a long computation for the whole of the one before.
  bool loadsAhead = false;
  /// Horizontal only: how each accumulator combines.
  llvm::SmallVector<Combiner> combiners;
};

/// Chooses the plan for `op`, whose accesses are `access`.
VectorPlan planVectors(mlir::linalg::LinalgOp op, const LoopAccess &access,
                       int64_t vectorBits);

} // namespace tenon::codegen
