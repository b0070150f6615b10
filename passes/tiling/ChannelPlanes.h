//===- ChannelPlanes.h - one channel with margins, in scratch --*- C++ -*-===//
//
// Of tensors with channels apart, windows are taken a channel at a time. Its
// spatial dims are copied to a plane with margins, which no window leaves: what
// a tap sees of all windows is one box. Rows are folded into as many as the
// stride, row `f` of which has elements f, f + stride, ..: the columns of a tap
// are neighbours.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tiling/Items.h"

namespace tenon::tiling {

class ChannelPlanes {
public:
  explicit ChannelPlanes(llvm::ArrayRef<WindowDim> dims);

  /// Whether a plane is small enough, its rows can be folded, and the code for
  /// its taps, each written out, is not too long.
  bool fit() const;
  /// Of a plane, margins included; windows; taps of a window.
  int64_t elements = 1, windows = 1, taps = 1;

  /// What tap number `tap`, the last dim first, of all windows sees of `plane`:
  /// one element per window.
  mlir::Value tapOf(IndexMath &m, mlir::Value plane, int64_t tap) const;

  /// Whether elements of a row of `s`, channels last, lie together.
  static bool hasRows(const Strided &s);
  /// The element of `image` and `channel` of `s` at position 0.
  static Ofr start(IndexMath &m, const Strided &s, Ofr image, Ofr channel);
  /// One element per window of such a tensor from `start` on, or of `dense`
  /// memory.
  mlir::Value windowsOf(IndexMath &m, const Strided &s, Ofr start) const;
  mlir::Value windowsOf(IndexMath &m, mlir::Value dense) const;
  /// The channel of `s` that begins at `start` into `plane`, and back. Margins
  /// are left alone.
  void read(IndexMath &m, const Strided &s, Ofr start, mlir::Value plane) const;
  void write(IndexMath &m, const Strided &s, Ofr start,
             mlir::Value plane) const;

private:
  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }
  const WindowDim &row() const { return dims.back(); }
  void move(IndexMath &m, const Strided &s, Ofr start, mlir::Value plane,
            bool back) const;

  llvm::SmallVector<WindowDim> dims;
  int64_t margin, pitch;              // of a folded row, in its elements
  llvm::SmallVector<int64_t> strides; // of outer dims
};

} // namespace tenon::tiling
