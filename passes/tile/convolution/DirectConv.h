//===- DirectConv.h - a row of a convolution as products -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A row of dst is one tile.brgemm over the taps that fall inside src; columns
// whose taps are cut by the padding are another, where several beside each
// other have the same, as with dilations. The others at the ends are part of
// the row, where a first section has copied src with zeros beside its rows.
// Otherwise such a column is one product for a block of rows, which use the
// same taps, and at the top and the bottom for one row.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/Epilogue.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/windows/Windows.h"

namespace tenon::tiling {

/// The columns of a row.
struct RowSegments {
  RowSegments() = default;
  /// Of the last of `dims`.
  explicit RowSegments(llvm::ArrayRef<WindowDim> dims);
  /// Columns beside each other with the same taps, enough of them for a
  /// product.
  llvm::SmallVector<WindowSegment> together;
  /// The others, [from, to).
  llvm::SmallVector<std::pair<int64_t, int64_t>> alone;
  int64_t numAlone() const;
};

/// A convolution that is neither depthwise nor a product of single positions,
/// channels last, of known sizes but the number of images.
class DirectConv {
public:
  /// May write the sections that copy `src`.
  DirectConv(GroupContext &ctx, tile::ConvOp op, Strided src);

  /// Of the columns of a group's part of the weights.
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
  /// Parts of the sum that are computed one after the other for all of dst:
  /// taps of the first dimension. All, unless panels are large.
  llvm::SmallVector<std::pair<int64_t, int64_t>>
  parts(const Strided &dst) const;
  void emitRow(IndexMath &m, const Row &row) const;

  /// Rows of blocks whose groups follow each other, or 0: rows of one group do.
  int64_t keptRows() const { return kept; }

  /// How the rows of the last dimension but one are cut into items, of which
  /// there are as many for each of `others`.
  class Blocks {
  public:
    Blocks(const DirectConv &conv, int64_t others);
    int64_t count() const { return blocks + rows - (past - first); }
    /// Block `number`, whatever the last position of `row.outer` is.
    void emit(IndexMath &m, Index number, const Row &row) const;

  private:
    const DirectConv &conv;
    int64_t rows = 1;
    // Rows [first, past), `block` of them at a time, come before the others.
    int64_t first = 0, past = 0, block = 1, blocks = 0;
  };

private:
  void padRows(GroupContext &ctx);
  int64_t panelElements() const;
  /// Whether panels come from beyond L2, for each image anew, and more of them
  /// than of src.
  bool panelsStream() const;
  /// Asks for what is read next while `product`, a row of dst, is made.
  void prefetchNext(IndexMath &m, tile::BrgemmOp product, const Row &row,
                    Index src, Index panel) const;
  /// See keptRows(): as many as L2 holds beside the weights, where it holds no
  /// image. Each group reads part of the lines of a row, or some far apart.
  int64_t rowsKept(int64_t l2Bytes) const;
  /// Elements of src from the first tap of a row of dst to what the next row,
  /// or the same one of the next block of rows, reads for the first time, and
  /// how many that are for each product; empty where src stays in L2 or they
  /// are not one piece, as those of one group of several.
  llvm::SmallVector<int64_t> rowsAhead(int64_t l2Bytes) const;
  using Taps = std::pair<Index, Index>; // [lo, hi)
  /// The taps of a spatial dimension that lie inside src at `position`.
  Taps tapsAt(int64_t dim, Index position) const;
  /// The taps of the first dimension that belong to the part of the sum that
  /// `row` computes.
  static Taps inPart(const Row &row, Taps taps);
  /// `count` positions of dst along spatial dimension `along`, from `at` on,
  /// which all use the same taps; `prefetches`: asks for what is read next.
  void emitColumns(IndexMath &m, const Row &row, llvm::ArrayRef<Index> at,
                   int64_t along, Index count, llvm::ArrayRef<Taps> taps,
                   bool prefetches = false) const;
  /// The columns of a row that are products of a row.
  void emitColumnRanges(IndexMath &m, const Row &row,
                        llvm::ArrayRef<Taps> taps) const;
  /// The other columns, from row `row` on along dimension `along`, which may be
  /// the row's own.
  void emitEnds(IndexMath &m, const Row &row, int64_t along, int64_t count,
                llvm::ArrayRef<Taps> taps) const;

  mutable tile::ConvOp op; // handles of MLIR have no const methods
  llvm::SmallVector<WindowDim> dims;
  RowSegments columns;
  Strided src;
  mlir::Value packed; // weights
  int64_t inPerGroup, outPerGroup, panel, k;
  int64_t kept = 0;                 // rowsKept()
  llvm::SmallVector<int64_t> ahead; // rowsAhead()
};

} // namespace tenon::tiling
