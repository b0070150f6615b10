//===- DirectConv.h - a row of a convolution as products -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A row of dst is one tile.brgemm over the taps that fall inside src. If
// several neighbouring columns lose the same taps to the padding, as with
// dilations, they are another tile.brgemm. For the single columns at the ends
// there are two ways. If a first section has copied src with zeros beside its
// rows, they are part of the row. Otherwise each is a product of its own, for a
// block of rows that use the same taps or, at the top and the bottom, for one
// row.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/Epilogue.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/windows/Windows.h"

namespace tenon::passes {

/// How the columns of a row of dst are shared out to products.
struct RowSegments {
  /// Neighbouring columns whose windows have the taps [lo, hi) inside src.
  struct Range {
    Index from, count;
    std::pair<int64_t, int64_t> taps;
  };
  RowSegments() = default;
  /// The columns are the positions of the last of `dims`. Where their number is
  /// not known, those with all taps are together.
  explicit RowSegments(llvm::ArrayRef<SizedWindow> dims);
  /// Neighbouring columns with the same taps, enough of them for a product.
  llvm::SmallVector<Range> together;
  /// The other columns, as ranges [from, to).
  llvm::SmallVector<std::pair<Index, Index>> alone;

private:
  void share(const WindowDim &columns, int64_t least);
};

/// A convolution that is neither depthwise nor a product of single positions,
/// channels last, of known weights. Rows that a copy of src has with zeros
/// beside them are of known sizes.
class DirectConv {
public:
  /// Writes the sections that copy `src` with zeros beside its rows, if the
  /// rows are to be read from such a copy.
  DirectConv(GroupContext &ctx, tile::ConvOp op, Strided src);

  /// Panels of the weights of one convolution group.
  int64_t panels() const;

  /// Calls `body` with the number of columns of `panel`.
  void overColumns(IndexMath &m, Index panel,
                   llvm::function_ref<void(int64_t)> body) const;

  /// A row of dst.
  struct Row {
    const Epilogue &epilogue;
    const Strided &dst;
    Index image;
    llvm::ArrayRef<Index> outer; // one position per dimension but the last
    Index group, panel;
    int64_t columns; // of the panel
    bool isReadSoon = false;
    /// Which part of the sum this is, and its taps of the first dimension.
    SumPart part = SumPart::whole;
    std::pair<int64_t, int64_t> partTaps = {0, 0};
  };
  /// Ranges of taps of the first dimension, whose sums are computed one after
  /// the other, each for all of dst. It is one range unless panels are large.
  llvm::SmallVector<std::pair<int64_t, int64_t>>
  parts(const Strided &dst) const;
  void emitRow(IndexMath &m, const Row &row) const;

  /// Rows of a block that is computed for one convolution group after the
  /// other, or 0: all rows of a group come before those of the next one.
  int64_t keptRows() const { return kept; }
  /// Whether the panels of all groups, of which there are several, stay near
  /// while a row is computed for one group after the other: rows are then
  /// split among threads, as those of its neighbours are, and each thread finds
  /// what it reads in its own caches.
  bool hasFewWeights() const;

  /// How the rows of the last dimension but one are cut into items, of which
  /// there are as many for each of `others`.
  class Blocks {
  public:
    Blocks(const DirectConv &conv, Index others);
    Index count() const { return blocks + rows - (past - first); }
    /// Block `number`, whatever the last position of `row.outer` is.
    void emit(IndexMath &m, Index number, const Row &row) const;

  private:
    const DirectConv &conv;
    Index rows = 1;
    // Rows [first, past), `block` of them at a time, come before the others.
    Index first = 0, past = 0, block = 1, blocks = 0;
  };

private:
  void padRows(GroupContext &ctx, const WindowDim &columns);
  int64_t panelElements() const;
  /// Whether L2 does not hold the panels, so that each image reads them anew,
  /// and they are larger than an image of src.
  bool panelsStream() const;
  /// Lets `product`, which computes a row of dst, prefetch what is read next.
  void prefetchNext(IndexMath &m, tile::BrgemmOp product, const Row &row,
                    Index src, Index panel) const;
  /// Computes keptRows(): the rows of which L2 holds src beside the weights, if
  /// it does not hold an image. Each group reads only part of the lines of a
  /// row or lines that are far apart, so the next group should find them in L2.
  int64_t rowsKept(int64_t l2Bytes) const;
  /// Which elements of src to prefetch: the distance from the first tap of a
  /// row of dst to the elements that the next row (or this row of the next
  /// block) is the first to read, and their number for each product. Empty if
  /// src stays in L2 or these elements are not contiguous, as with several
  /// groups.
  llvm::SmallVector<int64_t> rowsAhead(int64_t l2Bytes) const;
  using Taps = std::pair<Index, Index>; // [lo, hi)
  /// The taps of a spatial dimension that lie inside src at `position`.
  Taps tapsAt(int64_t dim, Index position) const;
  /// The taps of the first dimension that belong to the part of the sum that
  /// `row` computes.
  static Taps inPart(const Row &row, Taps taps);
  /// `count` positions of dst along spatial dimension `along`, from `at` on,
  /// which all use the same taps; `prefetches`: see prefetchNext().
  void emitColumns(IndexMath &m, const Row &row, llvm::ArrayRef<Index> at,
                   int64_t along, Index count, llvm::ArrayRef<Taps> taps,
                   bool prefetches = false) const;
  /// The columns of a row that are products of a row.
  void emitColumnRanges(IndexMath &m, const Row &row,
                        llvm::ArrayRef<Taps> taps) const;
  /// The other columns, from row `row` on along dimension `along`, which may be
  /// the row's own.
  void emitEnds(IndexMath &m, const Row &row, int64_t along, Index count,
                llvm::ArrayRef<Taps> taps) const;

  mutable tile::ConvOp op; // handles of MLIR have no const methods
  llvm::SmallVector<SizedWindow> dims;
  RowSegments columns;
  Strided src;
  mlir::Value packed; // weights
  int64_t inPerGroup, outPerGroup, panel, k;
  int64_t kept = 0;                 // rowsKept()
  llvm::SmallVector<int64_t> ahead; // rowsAhead()
};

} // namespace tenon::passes
