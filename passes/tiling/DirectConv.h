//===- DirectConv.h - a row of a convolution as products -------*- C++ -*-===//
//
// A row of dst is one tile.brgemm over the taps that fall inside src; the few
// columns at its ends whose taps are cut by the padding are products of one row
// each, or part of the row, where a first section has copied src with zeros
// beside its rows.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tiling/Epilogue.h"
#include "passes/tiling/Items.h"

namespace tenon::tiling {

/// A convolution that is neither depthwise nor a product of single positions,
/// channels last, of known sizes but the number of images.
class DirectConv {
public:
  /// May write the sections that copy `src`.
  DirectConv(GroupContext &ctx, tile::ConvOp op, Strided src);

  /// Of the columns of a group's part of the weights.
  int64_t panels() const;

  /// Calls `body` with the number of columns of `panel`.
  void overColumns(IndexMath &m, Ofr panel,
                   llvm::function_ref<void(IndexMath &, int64_t)> body) const;

  /// A row of dst.
  struct Row {
    const Epilogue &epilogue;
    const Strided &dst;
    Ofr image;
    llvm::ArrayRef<Ofr> outer; // one position per dimension but the last
    Ofr group, panel;
    int64_t columns; // of the panel
    bool isReadSoon = false;
  };
  void emitRow(IndexMath &m, const Row &row) const;

private:
  void padRows(GroupContext &ctx);
  /// Elements of src from the first tap of a row of dst to what the next row
  /// reads for the first time, and how many that are; empty where src stays in
  /// L2 or they are not one piece.
  llvm::SmallVector<int64_t> rowsAhead(int64_t l2Bytes) const;
  /// Columns [column, column + count) of dst, of which all use the taps
  /// [lo, hi) of the last spatial dim.
  void emitStretch(IndexMath &m, const Row &row, Ofr column, Ofr count, Ofr lo,
                   Ofr hi) const;

  mutable tile::ConvOp op; // handles of MLIR have no const methods
  llvm::SmallVector<WindowDim> dims;
  Strided src;
  mlir::Value packed; // weights
  int64_t inPerGroup, outPerGroup, panel, k;
  llvm::SmallVector<int64_t> ahead; // rowsAhead()
};

} // namespace tenon::tiling
