//===- ChannelPlanes.h - one channel with margins, in scratch --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Of tensors with channels apart, windows are taken a channel at a time. Its
// spatial dims are copied to a plane with margins, which no window leaves: what
// a tap sees of all windows is one box. Rows are folded into as many as the
// stride, row `f` of which has elements f, f + stride, ..: the columns of a tap
// are neighbours.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/ops/PlaneShape.h"
#include "passes/tile/core/WorkItems.h"

namespace tenon::tiling {

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

} // namespace tenon::tiling
