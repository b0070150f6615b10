//===- Epilogue.h - what follows a product or a window ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/tile/TileDialect.h"
#include "passes/tile/core/GroupLowering.h"

#include <optional>

namespace tenon::passes {

/// Which part of a sum over K a product computes. The first part overwrites
/// dst, later ones add to it, and the last one applies the epilogue.
enum class SumPart { whole, first, middle, last };

/// Number `i` of `count` parts.
inline SumPart partOf(size_t i, size_t count) {
  bool first = i == 0, last = i + 1 == count;
  return first && last ? SumPart::whole
         : first       ? SumPart::first
         : last        ? SumPart::last
                       : SumPart::middle;
}

/// Code for one element of the result of the last of `ops`, which are
/// elementwise or views, in type `stored`. `values` has an element of each
/// operand that is neither made by them nor a constant of one value.
mlir::Value emitScalarOps(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::ArrayRef<mlir::Operation *> ops,
                          llvm::DenseMap<mlir::Value, mlir::Value> values,
                          mlir::Type stored);

/// Whether code for `ops` reads elements of `v` from memory: none of them
/// computes `v`, and it is no constant of one value.
bool isReadBy(llvm::ArrayRef<mlir::Operation *> ops, mlir::Value v);

/// The elementwise operations after the first one of a group, and the tensors
/// they read. Epilogue operands and dst are given over the dimensions of dst.
class Epilogue {
public:
  /// The operations after `first`, a product or a window, in `ops`; in the
  /// whole group, if `ops` is not given. Other operations of the group compute
  /// at most one operand of `ops`.
  Epilogue(GroupContext &ctx, mlir::Operation *first);
  Epilogue(GroupContext &ctx, mlir::Operation *first,
           llvm::ArrayRef<mlir::Operation *> ops);

  bool empty() const { return ops.empty(); }

  /// Tensors read beside the result of `first`, broadcast to dst.
  llvm::SmallVector<Strided> epilogueOperands;
  /// The number of the operand that the same chain computes, if there is one.
  /// Its place in memory is not known yet.
  std::optional<size_t> linked;

  /// The last value, of type `stored`, from one element of the result of
  /// `first` and one of each epilogue operand.
  mlir::Value apply(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value element, mlir::ValueRange epilogueElements,
                    mlir::Type stored) const;

  /// tile.brgemm with this epilogue. The box of dst and of each epilogue
  /// operand starts at `start` (an index per dimension of the tensors) and has
  /// `rows` elements along dimension `rowDim` and `columns` along the last one.
  /// Only sums of floats have parts.
  tile::BrgemmOp emitBrgemm(IndexMath &m, mlir::Value a, mlir::Value b,
                            const Strided &dst,
                            llvm::ArrayRef<Strided> epilogueOperands,
                            llvm::ArrayRef<Index> start, int64_t rowDim,
                            Index rows, Index columns,
                            SumPart part = SumPart::whole) const;

  /// The same for a box of `sums`, [rows, columns] in f32.
  void emitElementwise(IndexMath &m, mlir::Value sums, const Strided &dst,
                       llvm::ArrayRef<Strided> epilogueOperands,
                       llvm::ArrayRef<Index> start, int64_t rowDim, Index rows,
                       Index columns) const;

private:
  /// Boxes of dst and of epilogue operands.
  struct Boxes {
    mlir::Value dst;
    llvm::SmallVector<mlir::Value> epilogueOperands;
    llvm::SmallVector<mlir::AffineMap> maps;
  };
  static Boxes boxesAt(IndexMath &m, const Strided &dst,
                       llvm::ArrayRef<Strided> epilogueOperands,
                       llvm::ArrayRef<Index> start, int64_t rowDim, Index rows,
                       Index columns);

  llvm::SmallVector<mlir::Operation *> ops;
  mlir::Value made; // the result of the first operation
  llvm::SmallVector<mlir::Value> epilogueValues;
};

/// Marks the result of `product` as read soon: it is neither prefetched nor
/// written with non-temporal stores.
void keepNear(tile::BrgemmOp product);

} // namespace tenon::passes
