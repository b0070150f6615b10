//===- Epilogue.h - what follows a product, in registers -------*- C++ -*-===//
#pragma once

#include "dialects/tile/TileDialect.h"
#include "passes/tiling/GroupLowering.h"

namespace tenon::tiling {

/// The elementwise operations behind the first one of a contraction group, and
/// the tensors they read. Sides and dst are given over the dimensions of dst.
class Epilogue {
public:
  /// `first` is the product.
  Epilogue(GroupContext &ctx, mlir::Operation *first);

  /// Tensors read beside the product, broadcast to dst.
  llvm::SmallVector<Strided> sides;

  /// tile.brgemm with this epilogue. The box of dst and of each side starts at
  /// `start` (per dimension of the tensors), runs over `rows` of dimension
  /// `rowDim` and `columns` of the last one.
  tile::BrgemmOp emitBrgemm(IndexMath &m, mlir::Value a, mlir::Value b,
                            const Strided &dst, llvm::ArrayRef<Strided> sides,
                            llvm::ArrayRef<Ofr> start, int64_t rowDim, Ofr rows,
                            Ofr columns) const;

  /// What is stored, of type `stored`, for the f32 sum `acc` and an element of
  /// each side.
  mlir::Value apply(mlir::OpBuilder &b, mlir::Location loc, mlir::Value acc,
                    mlir::ValueRange sideElements, mlir::Type stored) const;

private:
  llvm::SmallVector<mlir::Operation *> ops;
  mlir::Value product;
  llvm::SmallVector<mlir::Value> sideValues;
};

} // namespace tenon::tiling
