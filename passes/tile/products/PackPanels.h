//===- PackPanels.h - operands of products that are copied -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Packs weights: all panels in sections of their own, or one panel inside a
// work item that multiplies with it. Elements may be computed on the way. Int8
// keys, for example, are dequantised as they are packed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/GroupLowering.h"

#include "llvm/ADT/SetVector.h"

namespace tenon::passes {

/// A value and the elementwise operations of the group that make it, if any.
class FusedOperand {
public:
  FusedOperand(GroupContext &ctx, mlir::Value value);

  /// What is read for it: tensors over its dimensions.
  llvm::ArrayRef<Strided> tensors() const { return sources; }
  mlir::Type elementType() const;
  /// One element, from one of each tensor.
  mlir::Value elementOf(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::ValueRange elements) const;
  /// Whether it is an argument of the group.
  bool isRead() const { return before.empty(); }

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

private:
  mlir::Value value;
  llvm::SmallVector<mlir::Operation *> before;
  llvm::SetVector<mlir::Value> read;
  llvm::SmallVector<Strided> sources;
};

/// A part of packed weights: panels [first, first + count), of each `columns`
/// columns from `column` on, and of K `groups` whole groups of `part`
/// neighbours, from element `inGroup` of a group of dst.
struct PanelPart {
  Index first, count;
  Index column, columns;
  Index firstGroup, groups;
  Index inGroup, part;
  bool zeros = false;
};

/// Where the elements of a matrix [K, N] are in memory.
struct MatrixPlace {
  mlir::Value base;
  Index start, alongK, alongN;
};

/// Copies the matrix [k, n] at `from` to panels of so many columns at the start
/// of `to`, in its element type, with `interleave` neighbours of K together and
/// zeros beyond k and n.
void packMatrix(IndexMath &m, const MatrixPlace &from, Index k, Index n,
                int64_t panel, int64_t interleave, mlir::Value to);

class PanelPacking {
public:
  PanelPacking(GroupContext &ctx, tile::PackOp op);

  /// Tensors that are read, over the dimensions of the weights.
  llvm::ArrayRef<Strided> tensors() const { return weights.tensors(); }
  /// Elements of a panel with `k` rows of K.
  Index panelSize(Index k) const;
  /// Elements of all panels of one matrix.
  Index matrixSize() const;
  /// Whether what is packed lies in memory: `tensors` is that alone.
  bool isRead() const { return weights.isRead(); }
  mlir::Type elementType() const { return weights.elementType(); }

  /// Sections that write all panels to `dst`.
  void emitSections(const Strided &dst) const;

  /// Writes a panel to `dst`, from element `offset` on: rows [from, from + k)
  /// of K, `columns` of which there are, and zeros. `starts` are where the
  /// matrix begins in each of `tensors`. With an interleave `from` is 0.
  void emitPanel(IndexMath &m, llvm::ArrayRef<Index> starts, Index number,
                 Index columns, Index from, Index k, mlir::Value dst,
                 Index offset) const;

  /// The same for all panels, of all of K.
  void emitPanels(IndexMath &m, llvm::ArrayRef<Index> starts,
                  mlir::Value dst) const;

private:
  int64_t rank() const { return sizes.size(); }
  bool isGrouped() const;
  /// Dims of dst before P.
  int64_t lead() const { return isGrouped() ? 1 : rank() - 2; }
  Strided partOf(const Strided &src, const PanelPart &p) const;
  Strided partOfDst(const Strided &dst, const PanelPart &p) const;
  void emitSection(const Strided &dst, const PanelPart &p) const;

  GroupContext &ctx;
  mutable tile::PackOp op; // handles of MLIR have no const methods
  FusedOperand weights;
  llvm::SmallVector<Index> sizes; // of them
};

} // namespace tenon::passes
