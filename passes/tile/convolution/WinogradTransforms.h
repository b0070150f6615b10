//===- WinogradTransforms.h - arithmetic of F(m x m, 3x3) ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What the lowerings of tile.winograd and tile.winograd_weights share: the
// sizes of tiles, the three transforms of one dimension, and loops over vectors
// of channels that apply them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/ops/WinogradTile.h"
#include "passes/tile/windows/Windows.h"

namespace tenon::passes::winograd {

using Values = llvm::SmallVector<mlir::Value, 6>;

/// The transforms, on scalars of a loop's body.
struct Transforms {
  mlir::OpBuilder &b;
  mlir::Location loc;
  Tile tile;

  /// B^T d.
  Values src(llvm::ArrayRef<mlir::Value> d) const;
  /// The first `count` rows of A^T m; m as Tile::pointsFor says.
  Values dst(llvm::ArrayRef<mlir::Value> m, int64_t count) const;
  /// G g.
  Values weights(llvm::ArrayRef<mlir::Value> g) const;

  /// `rows` rows of a row-major matrix transformed along both dims: columns
  /// first, then rows.
  using Apply = llvm::function_ref<Values(llvm::ArrayRef<mlir::Value>)>;
  static llvm::SmallVector<mlir::Value> both(llvm::ArrayRef<mlir::Value> matrix,
                                             int64_t rows, Apply ofColumn,
                                             Apply ofRow);

private:
  struct Term {
    double factor;
    mlir::Value value;
  };
  using Terms = llvm::SmallVector<Term, 6>;

  mlir::Value add(mlir::Value sum, const Term &term) const;
  mlir::Value scale(mlir::Value x, double factor) const;
  mlir::Value sum(llvm::ArrayRef<Term> terms) const;
};

/// Two parallel loops over `ins` and `outs`, each read or written at its map.
void emitLoops(IndexMath &m, mlir::ValueRange ins, mlir::ValueRange outs,
               llvm::ArrayRef<mlir::AffineMap> maps, ElementsBody body);

/// Expressions for maps of emitLoops.
struct Coordinates {
  mlir::MLIRContext *context;

  mlir::AffineExpr outer() const { return mlir::getAffineDimExpr(0, context); }
  mlir::AffineExpr inner() const { return mlir::getAffineDimExpr(1, context); }
  mlir::AffineExpr number(int64_t n) const {
    return mlir::getAffineConstantExpr(n, context);
  }
  mlir::AffineMap map(llvm::ArrayRef<mlir::AffineExpr> results) const {
    return mlir::AffineMap::get(2, 0, results, context);
  }
};

} // namespace tenon::passes::winograd
