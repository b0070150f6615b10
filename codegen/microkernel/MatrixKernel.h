//===- MatrixKernel.h - products in a matrix unit --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// AMX: eight tile registers of 16 rows x 64 bytes, and instructions that add
// the product of two to a third. A matrix kernel sums up to 32 rows x 32
// columns of C over all whole steps of k (16 groups of B). Where that is all
// there is, the sums go to C. Otherwise they are left in scratch memory, and a
// kernel of vectors (Kernel.h) takes them from there: the rest of k, the
// epilogue and C are its.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/microkernel/Kernel.h"

namespace tenon::microkernel {

/// Rows of a tile, columns of sums in a tile, groups of k in a tile of B.
inline constexpr int64_t kTileRows = 16, kTileColumns = 16, kTileGroups = 16;
/// Tiles of sums along either dimension, at most.
inline constexpr int64_t kTilesPerSide = 2;

struct MatrixKernelSpec {
  int64_t rowTiles = 2, columnTiles = 2;
  mlir::Type element, sum;
  ByteSign sign = ByteSign::Signed;
  int64_t interleave = 2;
  unsigned numBatchDims = 0;
  /// Lines of other memory that each step brings to the L2 cache; only without
  /// batch dimensions.
  int64_t prefetch = 0;
  /// ... or to the L1 cache.
  bool prefetchNear = false;
  /// Lines of A are prefetched some steps ahead.
  bool prefetchRows = true;

  std::string name() const;
};

/// The arguments: pointers are !llvm.ptr, the rest i64; strides count elements.
struct MatrixKernelOperands {
  /// First row of A for each tile of rows, and where its sums go.
  llvm::SmallVector<mlir::Value, 2> a, sums;
  mlir::Value b;
  mlir::Value ahead; // Prefetched from here on; only with prefetch.
  mlir::Value steps; // of 16 groups
  mlir::Value aRow, bRow, sumRow;
  llvm::SmallVector<mlir::Value> batch, aBatch, bBatch;

  llvm::SmallVector<mlir::Value> flatten() const;
};

/// Steps ahead that lines of A are prefetched; with no more steps than these
/// there is nothing to prefetch.
inline constexpr int64_t kStepsAhead = 2;

/// Builds the function at the builder's insertion point (a module's body).
mlir::func::FuncOp buildMatrixKernel(mlir::OpBuilder &builder,
                                     mlir::Location loc,
                                     const MatrixKernelSpec &spec);

inline constexpr int64_t kConfigurationBytes = 64;
/// Code that sets the tile registers up for rows of C and A in tiles of `rows`
/// (i64, 1..16). `memory` are kConfigurationBytes.
void buildTileConfiguration(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value memory, mlir::Value rows);
/// Code that gives them back.
void buildTileRelease(mlir::OpBuilder &builder, mlir::Location loc);

} // namespace tenon::microkernel
