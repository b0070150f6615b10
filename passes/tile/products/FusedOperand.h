//===- FusedOperand.h - operands that are computed where read --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// An operand of a product that elementwise operations of its group make, as
// they dequantise int8 keys, for example. Views may stand between and after
// them: each dimension of the operand is one loop or, where what is read has
// groups of elements along it, several loops inside each other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/GroupLowering.h"

#include "llvm/ADT/SetVector.h"

namespace tenon::passes {

/// A value and the elementwise operations of the group that make it, if any.
class FusedOperand {
public:
  /// `value` is made by operations for which findViewedLoops finds loops.
  FusedOperand(GroupContext &ctx, mlir::Value value);

  /// What is read for it: tensors over its dimensions. A stride along several
  /// loops is that of the innermost.
  llvm::ArrayRef<Strided> tensors() const { return sources; }
  mlir::Type elementType() const;
  /// One element, from one of each tensor, in the type `to`. In f32 it is not
  /// rounded to a narrower type first.
  mlir::Value elementOf(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::ValueRange elements, mlir::Type to) const;
  mlir::Value elementOf(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::ValueRange elements) const {
    return elementOf(b, loc, elements, elementType());
  }
  /// Whether it is an argument of the group.
  bool isRead() const { return before.empty(); }
  /// Operations that make an element.
  size_t cost() const { return before.size(); }
  /// Whether a dimension, counted from the last (0), is several loops, and if
  /// the innermost is shorter than vectors.
  bool isSplit(int64_t fromEnd) const;
  bool isFine(int64_t fromEnd) const;

  /// Where a box begins in a tensor, and its strides along the box.
  struct Place {
    Index start;
    llvm::SmallVector<Index> strides;
  };
  /// Writes the box of `sizes` at `places`, one for each tensor, to `to`;
  /// prefetches what is `ahead` elements after each that is read (0: nothing).
  void emitBox(IndexMath &m, llvm::ArrayRef<Place> places,
               llvm::ArrayRef<Index> sizes, mlir::Value to,
               int64_t ahead = 0) const;

  /// A box that is described loop by loop, with the strides of what is read
  /// and of something else along them.
  struct Loops {
    llvm::SmallVector<Place> places;
    llvm::SmallVector<Index> sizes, steps;
  };
  /// Loops of none yet, from `starts` in the tensors on.
  Loops loopsFrom(llvm::ArrayRef<Index> starts) const;
  /// Adds those over `size` elements of a dimension, counted from the last (0).
  /// All of them if it is several loops, which have strides of their own
  /// instead of `strides`. `step` is between its elements in something else.
  void addLoops(Loops &loops, int64_t fromEnd, Index size,
                llvm::ArrayRef<Index> strides, Index step) const;
  /// Writes the box to `memory`, from `offset` on; its steps are those there.
  void emitBox(IndexMath &m, const Loops &loops, mlir::Value memory,
               Index offset) const;
  /// What is read for such a box.
  struct Reads {
    llvm::SmallVector<mlir::Value> boxes;
    /// The loops of the box along which each changes.
    llvm::SmallVector<llvm::SmallVector<unsigned>> dims;
  };
  Reads readsOf(IndexMath &m, llvm::ArrayRef<Place> places,
                llvm::ArrayRef<Index> sizes) const;

private:
  /// A loop of a dimension and the strides of the tensors along it.
  struct Part {
    Index size;
    llvm::SmallVector<Index> strides;
  };

  void readPlain(GroupContext &ctx);
  void readViewed(GroupContext &ctx);
  static void mergeParts(llvm::SmallVector<Part> &dim);

  mlir::Value value;
  llvm::SmallVector<mlir::Operation *> before;
  llvm::SetVector<mlir::Value> read;
  llvm::SmallVector<Strided> sources;
  /// Of each dimension, outer loops first; where there are views.
  llvm::SmallVector<llvm::SmallVector<Part>> parts;
};

} // namespace tenon::passes
