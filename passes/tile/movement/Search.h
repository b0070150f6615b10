//===- Search.h - lowerings of searches -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/tile/core/Lines.h"

namespace tenon::passes {

/// An operation of class search.
mlir::LogicalResult lowerSearch(GroupContext &ctx, mlir::Operation *op);

// One function for each.
void lowerArgExtreme(GroupContext &ctx, mlir::Operation *op);
void lowerCumSum(GroupContext &ctx, mlir::Operation *op);
void lowerNonMaxSuppression(GroupContext &ctx, mlir::Operation *op);
void lowerNonZero(GroupContext &ctx, mlir::Operation *op);
void lowerRoiAlign(GroupContext &ctx, mlir::Operation *op);
void lowerTopK(GroupContext &ctx, mlir::Operation *op);

/// A section that makes of the counts in `counts`, i64, where each block
/// begins: element i becomes the sum of those before it, and one element more
/// that of all, which goes to `total`, too, if that is not null.
void emitBegins(GroupContext &ctx, mlir::Value counts, Index blocks,
                const Strided *total);

/// Sorts in the scratch memory of an item. A key is an integer of the element
/// in its upper half and the number of the element in the lower one, so no two
/// are equal, and whatever order they are met in gives one result.
class SortKeys {
public:
  /// Keys of elements of type `element`, of the graph, from the largest on or
  /// from the smallest. NaN is greater than any number, -0 equals +0.
  SortKeys(IndexMath &m, mlir::Type element, bool largest);

  /// Bytes of scratch memory to sort `count` keys.
  Index bytesToSort(Index count) const { return (count * 2 + 1) * bytes; }
  Index bytesOf(Index count) const { return count * bytes; }
  /// `count` keys at `byteOffset` of `scratch`.
  mlir::Value view(mlir::Value scratch, Index byteOffset, Index count) const;

  /// The key of `value`, of the storage type of the element; `number` is an
  /// index. `b` and `loc`: for code of a linalg.generic.
  mlir::Value keyOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                    mlir::Value number) const;
  /// The number of the element.
  Index numberOf(mlir::Value key) const;
  /// A key behind that of any element.
  mlir::Value last() const;
  mlir::Value isBefore(mlir::Value x, mlir::Value y) const;
  mlir::Value isLast(mlir::Value key) const;

  /// keys = those of the elements of `line`, a memref of rank 1.
  void fill(mlir::Value line, mlir::Value keys) const;
  /// Sorts the first `count` of `keys`, which has 2 count + 1. The result is
  /// where they begin then.
  Index sort(mlir::Value keys, Index count) const;

private:
  IndexMath &m;
  mlir::Type element;
  mlir::IntegerType type; // of keys
  int64_t bytes;
  bool largest;
};

} // namespace tenon::passes
