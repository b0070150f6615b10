//===- PlaneShape.h - how one channel lies with its margins ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The sizes of the planes that ChannelPlanes.h reads and writes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/ops/WindowGeometry.h"

namespace tenon::passes {

class PlaneShape {
public:
  explicit PlaneShape(llvm::ArrayRef<WindowDim> dims);

  /// Whether a plane is small enough, its rows can be folded, and the code for
  /// its taps, each written out, is not too long.
  bool fit() const;
  /// Of a plane, margins included; windows; taps of a window.
  int64_t elements = 1, windows = 1, taps = 1;

protected:
  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }
  const WindowDim &row() const { return dims.back(); }

  llvm::SmallVector<WindowDim> dims;
  int64_t margin, pitch;              // of a folded row, in its elements
  llvm::SmallVector<int64_t> strides; // of outer dims
};

} // namespace tenon::passes
