//===- WinogradTransforms.h - arithmetic of F(2x2, 3x3) --------*- C++ -*-===//
//
// What the lowerings of tile.winograd and tile.winograd_weights share: the
// three transforms of one dimension, and loops over vectors of channels that
// apply them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tiling/Windows.h"

#include <array>

namespace tenon::tiling::winograd {

inline constexpr int64_t kTaps = 3;    // of weights, per dim
inline constexpr int64_t kEdge = 4;    // positions of src a tile reads, per dim
inline constexpr int64_t kOutputs = 2; // of dst that it writes
inline constexpr int64_t kPoints = kEdge * kEdge;

using Four = std::array<mlir::Value, kEdge>;

/// The transforms, on scalars of a loop's body.
struct Transforms {
  mlir::OpBuilder &b;
  mlir::Location loc;

  /// B^T d.
  Four src(const Four &d) const;
  /// The first `count` rows of A^T m.
  llvm::SmallVector<mlir::Value, 2> dst(const Four &m, int64_t count) const;
  /// G g.
  Four weights(mlir::Value g0, mlir::Value g1, mlir::Value g2) const;

private:
  mlir::Value add(mlir::Value x, mlir::Value y) const;
  mlir::Value sub(mlir::Value x, mlir::Value y) const;
  mlir::Value half(mlir::Value x) const;
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

} // namespace tenon::tiling::winograd
