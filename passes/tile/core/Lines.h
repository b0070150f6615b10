//===- Lines.h - tensors as lines along one dim -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A search along a dim does the same for each line of elements along it, so
// lines are the work items. What the lowerings of searches share is here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/GroupLowering.h"

namespace tenon::passes {

/// Tensors that differ in the size of one dim only, as lines along it.
class Lines {
public:
  /// One tensor: a line has `length` elements, each `step` after the one
  /// before.
  struct Tensor {
    mlir::Value base;
    Index offset, step, length;
    llvm::SmallVector<Index> strides; // of the other dims
  };

  /// Lines along `axis` of `tensors`.
  Lines(llvm::ArrayRef<Strided> tensors, int64_t axis);

  const Tensor &operator[](int64_t i) const { return parts[i]; }
  /// Lets lines of all tensors begin at their last element.
  void reverse();
  /// The number of lines.
  Index count() const { return product(sizes); }
  /// Whether it is known that there is nothing to do.
  bool areEmpty() const {
    return count().isConstant(0) || parts.front().length.isConstant(0);
  }
  /// Elements of the last of the other dims: the first elements of so many
  /// lines are one row.
  Index rowLength() const { return sizes.back(); }
  /// Of a row, what emitRows takes at once: a constant.
  int64_t mostInRow() const;
  /// Whether vectors are best made of elements of neighbouring lines rather
  /// than of one line of tensor 0.
  bool areSideBySide() const;
  /// The place in memory of the first element of line `number` of tensor `i`.
  Index begin(int64_t i, Index number) const;
  /// `count` elements `at` steps from the first one on, a memref.
  mlir::Value part(IndexMath &m, int64_t i, Index number, Index at,
                   Index count) const;

  /// A section over all lines, some to an item; `body` gets their numbers.
  void emitLines(GroupContext &ctx, Index scratchBytes,
                 llvm::function_ref<void(Index, mlir::Value)> body) const;
  /// A section over parts of rows of neighbouring lines, at most mostInRow()
  /// each: `body` gets the number of the first line and how many there are.
  void emitRows(GroupContext &ctx, int64_t scratchBytes,
                llvm::function_ref<void(Index, Index, mlir::Value)> body) const;
  /// Elements number `at` of `count` lines from `number` on, a memref.
  mlir::Value row(IndexMath &m, int64_t i, Index number, Index at,
                  Index count) const;

private:
  llvm::SmallVector<Index> sizes; // of the other dims, merged; at least one
  llvm::SmallVector<Tensor> parts;
};

/// The buffer of a result of the group's operation; null: nobody reads it.
const Strided *outputOf(GroupContext &ctx, mlir::Value result);

/// The element at `place` of the memory `base`, counted in elements.
mlir::Value loadAt(IndexMath &m, mlir::Value base, Index place);
void storeAt(IndexMath &m, mlir::Value element, mlir::Value base, Index place);

/// A loop over [from, to) from one iteration of which `values` pass to the
/// next; `body` returns them. The result is what the last one returned.
llvm::SmallVector<mlir::Value> emitCarried(
    IndexMath &m, Index from, Index to, mlir::ValueRange values,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(Index, mlir::ValueRange)>
        body);
/// The execution fails unless `x` is less than `y`. Nothing where that is
/// known.
void requireLess(GroupContext &ctx, Index x, Index y);
/// Calls `body` where `x` is less than `y`.
void emitIfLess(IndexMath &m, Index x, Index y,
                llvm::function_ref<void()> body);
/// Calls `body` where `condition`, an i1, holds.
void emitIf(IndexMath &m, mlir::Value condition,
            llvm::function_ref<void()> body);

} // namespace tenon::passes
