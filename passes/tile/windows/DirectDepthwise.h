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
#include "passes/tile/windows/Windows.h"

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
  /// The same for sizes that are not known: with those of windows that padding
  /// cuts on one side.
  static bool fits(llvm::ArrayRef<SizedWindow> dims);

  /// Row `outer` (one position per dimension but the last) of dst; of known
  /// sizes.
  void emitRow(IndexMath &m, Index image, llvm::ArrayRef<Index> outer) const;

  /// The same for sizes that are not known: code for each way in which padding
  /// cuts windows on one side.
  /// `otherwise` emits the other rows, `otherwiseColumn` the other columns.
  void emitSizedRow(IndexMath &m, Index image, llvm::ArrayRef<Index> outer,
                    llvm::function_ref<void()> otherwise,
                    llvm::function_ref<void(Index)> otherwiseColumn) const;

private:
  /// `jams`: columns pass together, which takes more code.
  void emitColumns(IndexMath &m, Index image, llvm::ArrayRef<Index> outer,
                   Index column, Index count, llvm::ArrayRef<KnownTaps> taps,
                   bool jams) const;
};

} // namespace tenon::passes
