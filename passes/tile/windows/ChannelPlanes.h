//===- ChannelPlanes.h - one channel with margins, in scratch --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Tensors with channels first (NCX) are processed one channel at a time. The
// spatial dims of a channel are copied to a plane with margins that no window
// leaves, so that the elements that a tap reads in all windows are one box.
// Each row is folded into `stride` rows, of which row `f` has the elements f,
// f + stride, ..: neighbouring windows then read neighbouring elements.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/ops/PlaneShape.h"
#include "passes/tile/core/WorkItems.h"

namespace tenon::passes {

class ChannelPlanes : public PlaneShape {
public:
  using PlaneShape::PlaneShape;

  /// What tap number `tap`, the last dim first, of all windows sees of `plane`:
  /// one element per window.
  mlir::Value tapOf(IndexMath &m, mlir::Value plane, int64_t tap) const;

  /// Whether elements of a row of `s`, channels last, lie together.
  static bool hasRows(const Strided &s);
  /// The element of `image` and `channel` of `s` at position 0.
  static Index start(const Strided &s, Index image, Index channel);
  /// One element per window of such a tensor from `start` on, or of `dense`
  /// memory.
  mlir::Value windowsOf(IndexMath &m, const Strided &s, Index start) const;
  mlir::Value windowsOf(IndexMath &m, mlir::Value dense) const;
  /// The channel of `s` that begins at `start` into `plane`, and back. Margins
  /// are left alone.
  void read(IndexMath &m, const Strided &s, Index start,
            mlir::Value plane) const;
  void write(IndexMath &m, const Strided &s, Index start,
             mlir::Value plane) const;

private:
  void move(IndexMath &m, const Strided &s, Index start, mlir::Value plane,
            bool back) const;
};

} // namespace tenon::passes
