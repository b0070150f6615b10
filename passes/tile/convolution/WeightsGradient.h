//===- WeightsGradient.h - a gradient of weights and its items --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The problem that LowerConvWeights.cpp solves, and the products of one work
// item.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/WorkItems.h"

namespace tenon::passes {

/// Positions [from, from + count) of a dim.
struct PositionRange {
  Index from, count;
};

/// The gradient of weights that a tile.conv_weights computes.
struct WeightsGradient {
  bool packed; // diff is
  llvm::SmallVector<WindowDim> dims;
  Strided src, dst;
  Strided diff; // [batch, spatial.., panel], at the first panel
  int64_t groups, inPerGroup, outPerGroup, panel, panels;
  Index panelStride, groupStride; // of diff
  bool merged;                    // rows are (tap of the last dim, channel)
  int64_t parts;                  // of the images; 0: items have one outer tap
  Index partStride;               // of dst
  llvm::SmallVector<int64_t> blocks; // positions per block: batch, outer dims
  int64_t scratch = 0;               // elements of a block, when it is copied

  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }
  int64_t rows() const {
    return (merged ? dims.back().kernel : 1) * inPerGroup;
  }
  llvm::ArrayRef<WindowDim> outer() const {
    return llvm::ArrayRef(dims).drop_back();
  }
  /// Products of different taps that an item has.
  int64_t tapsOfItem() const {
    int64_t taps = merged ? 1 : dims.back().kernel;
    if (parts)
      for (const WindowDim &d : outer())
        taps *= d.kernel;
    return taps;
  }
  /// Positions of a block.
  int64_t blockPositions() const {
    return llvm::product_of(blocks) * dims.back().out;
  }
  /// Blocks of all positions; none: the number of images is not known.
  std::optional<int64_t> numBlocks() const {
    auto images = src.sizes[0].constant();
    if (!images)
      return std::nullopt;
    int64_t ofItem = ceilDiv(*images, std::max<int64_t>(parts, 1));
    int64_t count = ceilDiv(ofItem, blocks[0]);
    for (int64_t i = 1; i <= last(); ++i)
      count *= ceilDiv(dims[i - 1].out, blocks[i]);
    return count;
  }
};

/// The positions of `d` whose windows have tap `tap` within src.
PositionRange positionsOf(const WindowDim &d, Index tap);

/// One work item, while its code is written.
struct GradientItem {
  const WeightsGradient &g;
  Index group, panel;
  llvm::SmallVector<Index> taps; // of the outer spatial dims
  Index outerTap, part;          // their number within the item; part of images
  Index firstRow, rowCount;      // of dst, within g.rows()
  int64_t columns;
  mlir::Value memory; // for a block of diff
  /// The buffer for sums that do not go to dst. It has panels from `firstPanel`
  /// on, for each panel the taps that are not rows of the product, and for each
  /// of these `mostRows` rows.
  mlir::Value sums;
  Index firstPanel;
  int64_t mostRows = 0;

  /// Offset of src for (batch, outer positions), row and position `column` of
  /// the last dimension with the item's taps and tap `tap` of the last one.
  Index srcOffset(llvm::ArrayRef<Index> at, Index column, Index tap,
                  Index row) const;

  /// The same of diff, in the item's panel.
  Index diffOffset(llvm::ArrayRef<Index> at, Index column) const;

  /// dst for `rows` rows from `row` of tap `tap`.
  mlir::Value dstBox(IndexMath &m, Index tap, Index row, Index rows) const;

  /// Adds the product of src from `srcAt` and diff from `diffAt` to `c`, or
  /// stores it, summed over `batch` and `k` positions, each with its strides.
  void product(IndexMath &m, Index srcAt, Index diffAt,
               llvm::ArrayRef<Index> batch, llvm::ArrayRef<Index> srcStrides,
               llvm::ArrayRef<Index> diffStrides, Index k, Index srcK,
               Index diffK, Index rows, mlir::Value c, bool accumulate) const;

  /// Taps of the last dim; a single one is known.
  void forTaps(IndexMath &m, llvm::function_ref<void(Index)> body) const;

  /// dst = 0: the sum over nothing.
  void clear(IndexMath &m, Index tap) const;

  /// Strides of src and diff along batch and outer positions.
  void strides(llvm::SmallVectorImpl<Index> &srcStrides,
               llvm::SmallVectorImpl<Index> &diffStrides) const;

  /// Adds positions `column` of the last dimension through tap `tap`; rows
  /// [row, row + rows) count from that tap.
  void addColumns(IndexMath &m, llvm::ArrayRef<PositionRange> block,
                  PositionRange column, Index tap, Index row, Index rows) const;

  /// Adds position `column`, whose taps outside [lo, hi) are cut: the sum is
  /// over the innermost other dimension.
  void addEdge(IndexMath &m, llvm::ArrayRef<PositionRange> block, Index column,
               Index lo, Index hi) const;

  /// Copies a block of diff to scratch, where its rows follow each other, and
  /// adds it from there.
  void addCopied(IndexMath &m, llvm::ArrayRef<PositionRange> block) const;

  /// Adds a block of positions, of all rows.
  void addBlock(IndexMath &m, llvm::ArrayRef<PositionRange> block) const;

  /// Calls `body` for each tap of the outer dims that the item has not fixed
  /// yet, with the item of that tap and the positions of `block` that meet src
  /// there.
  using TapBody = llvm::function_ref<void(const GradientItem &,
                                          llvm::ArrayRef<PositionRange>)>;
  void forOuterTaps(IndexMath &m, llvm::ArrayRef<PositionRange> block,
                    TapBody body) const;

  /// Cuts `all`, ranges of the batch and of outer positions, into blocks and
  /// calls `body` with each. `block` has the ranges of the dims that are
  /// already cut.
  using BlockBody = llvm::function_ref<void(llvm::ArrayRef<PositionRange>)>;
  void forBlocks(IndexMath &m, llvm::ArrayRef<PositionRange> all,
                 llvm::SmallVector<PositionRange> block, BlockBody body) const;
};

} // namespace tenon::passes
