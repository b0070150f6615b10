//===- TransposeTile.h - square tiles transposed in registers --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Builders.h"

namespace tenon::codegen {

/// Transposes a square of vectors: `rows[i]` becomes column i.  Any power of
/// two; log2 steps of shuffles.
void transposeRows(mlir::OpBuilder &builder, mlir::Location loc,
                   llvm::MutableArrayRef<mlir::Value> rows);

/// A one-dimensional memref without offset, the index of the first element in
/// it, and the number of elements between rows, whose elements are neighbours.
struct TileRows {
  mlir::Value view, start, stride;
};

/// Copies a tile of lanes x lanes groups of `group` neighbours so that the rows
/// of `from` become the columns of `to`: a call of a function that the module
/// has once per element type, for a tile is hundreds of instructions and copies
/// are many. What lies `ahead` elements after each row of `from` is brought to
/// the cache meanwhile; 0: nothing is.
void callTransposeTile(mlir::OpBuilder &builder, mlir::Location loc,
                       int64_t lanes, TileRows from, TileRows to,
                       int64_t group = 1, int64_t ahead = 0);

} // namespace tenon::codegen
