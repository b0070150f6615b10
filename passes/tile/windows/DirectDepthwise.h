//===- DirectDepthwise.h - depthwise with few taps -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A row of dst is a linalg.generic per range of columns whose windows have
// the same taps inside src. The taps stand in its body, and after them what
// follows in the group: a sum never leaves its register.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/Epilogue.h"
#include "passes/tile/core/WorkItems.h"

namespace tenon::passes {

/// Weights [taps.., 1, C] without the 1.
Strided depthwiseWeights(Strided weights);

struct DirectDepthwise {
  llvm::ArrayRef<SizedWindow> dims;
  Strided src, dst, weights; // channels last; weights [taps.., C]
  const Epilogue &epilogue;
  /// Whether src comes from beyond L2: the row that the next one reads first is
  /// prefetched.
  bool prefetches = false;

  /// Whether the sums of these windows are few enough to be written out, with
  /// those at the ends, which sizes that are known tell.
  static bool fits(llvm::ArrayRef<WindowDim> dims);
  /// Whether `op` is depthwise with such windows.
  static bool fits(tile::ConvOp op);
  /// Whether the sums of windows inside src are, whatever its sizes are.
  static bool fitsInside(llvm::ArrayRef<SizedWindow> dims);

  /// Row `outer` (one position per dimension but the last) of dst; of known
  /// sizes.
  void emitRow(IndexMath &m, Index image, llvm::ArrayRef<Index> outer) const;

  /// The same for sizes that are not known: code for each way in which padding
  /// cuts windows, if these are few, at least for windows that it does not cut.
  /// `otherwise` emits the other rows, `otherwiseColumn` the other columns.
  void emitSizedRow(IndexMath &m, Index image, llvm::ArrayRef<Index> outer,
                    llvm::function_ref<void()> otherwise,
                    llvm::function_ref<void(Index)> otherwiseColumn) const;

private:
  using Taps = std::pair<int64_t, int64_t>; // [lo, hi) of one dimension
  /// Per dim, the taps that windows have inside src: all, and those that are
  /// left where padding cuts windows on one side, if that is little code.
  llvm::SmallVector<llvm::SmallVector<Taps>> waysToCut() const;
  /// `jams`: columns pass together, which takes more code.
  void emitColumns(IndexMath &m, Index image, llvm::ArrayRef<Index> outer,
                   Index column, Index count, llvm::ArrayRef<Taps> taps,
                   bool jams) const;
};

} // namespace tenon::passes
