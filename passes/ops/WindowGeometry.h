//===- WindowGeometry.h - sliding windows along dims of tensors -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Which positions of src and dst, and which taps, of a convolution, a pooling
// or a transposed convolution meet.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/tile/TileDialect.h"
#include "passes/support/IndexMath.h"

namespace tenon::passes {

/// A sliding window along one spatial dimension, whose sizes are numbers
/// (WindowDim) or found when the code runs (SizedWindow).
template <class Size> struct WindowOf {
  Size in, out;
  int64_t kernel, stride;
  Size pad;
  int64_t dilation;
  /// Of a pooling: the padding after src; negative: so many elements of src are
  /// cut off.
  Size padEnd = 0;

  /// Elements from the first of the padding before src to the last that a
  /// window reaches.
  Size paddedSize() const;
  /// Positions of dst [first, past) whose window lies inside src.
  std::pair<Size, Size> interior() const;
  /// Taps [lo, hi) of the window at position `start` = stride * index that
  /// fall inside src; lo <= hi.
  std::pair<Index, Index> validTaps(Index start) const;
  /// Elements of src and its padding in the window at `start`, of neighbours.
  Index paddedTaps(Index start) const;
  /// Positions [from, past) of dst whose tap `k` falls inside src.
  std::pair<Index, Index> validPositions(Index k) const;
};

/// All sizes are known, but for `isKnown`.
struct WindowDim : WindowOf<int64_t> {
  bool isKnown() const {
    return !mlir::ShapedType::isDynamic(in) &&
           !mlir::ShapedType::isDynamic(out) &&
           !mlir::ShapedType::isDynamic(kernel);
  }
  /// Whether position i of dst needs position i of src.
  bool isIdentity() const {
    return kernel == 1 && stride == 1 && pad == 0 && in == out;
  }
  /// Taps [lo, hi) of the window at a known position of dst that lie in src.
  std::pair<int64_t, int64_t> tapsAt(int64_t position) const;
};

/// The kernel is known.
using SizedWindow = WindowOf<Index>;

/// `window` with numbers, if all are known.
std::optional<WindowDim> known(const SizedWindow &window);
std::optional<llvm::SmallVector<WindowDim>>
known(llvm::ArrayRef<SizedWindow> windows);

/// One spatial dimension of a transposed convolution, from `in` positions of
/// src to `out` of dst. Position o of dst and tap k meet position
/// (o + pad - k * dilation) / stride of src where that divides.
///
/// Positions c, c + stride, c + 2 * stride, .. are a class: they use the same
/// taps first, first + step, .., and within it the operation is a convolution
/// of stride 1 whose taps go backwards through src, `back` positions each.
struct TransposedDim {
  TransposedDim(Index in, Index out, int64_t kernel, int64_t stride,
                int64_t pad, int64_t dilation);

  Index in, out;
  int64_t kernel, stride, pad, dilation;
  int64_t step; // from one tap of a class to the next
  int64_t back; // positions of src between these

  struct Class {
    Index first; // tap
    Index taps;  // their number
    Index shift; // position q of the class and its first tap meet q + shift
    Index count; // positions
  };
  /// The class of position `c` < stride.
  Class classOf(Index c) const;
  /// Positions [first, past) of a class all of whose taps lie inside src.
  std::pair<Index, Index> interior(const Class &c) const;
  /// Taps [lo, hi) of the class that position `q` of it finds inside src.
  std::pair<Index, Index> validTaps(const Class &c, Index q) const;

private:
  int64_t divisor; // of stride and dilation
  int64_t inverse; // of dilation / divisor modulo step
};

/// Where a position of dst is in the outer dims of a transposed convolution: in
/// each, its class and the taps [lo, hi) that meet src.
struct TransposedRow {
  llvm::SmallVector<TransposedDim::Class> classes;
  llvm::SmallVector<std::pair<Index, Index>> taps;

  /// `row`: a position of each of `outer`.
  TransposedRow(llvm::ArrayRef<TransposedDim> outer, llvm::ArrayRef<Index> row);
};

/// Whether `op` says that its tensors of `rank` have their channels second.
bool isNcx(mlir::Operation *op, int64_t rank);

/// The windows of `op`, whose attributes are those of a pooling, between
/// tensors of these types: `big` is what forward pooling reads. `in` is the
/// size that windows see.
llvm::SmallVector<WindowDim> windowDims(mlir::Operation *op, mlir::Type big,
                                        mlir::Type small, bool ncx,
                                        llvm::ArrayRef<int64_t> kernel);

/// The windows of `op`; sizes may be dynamic.
llvm::SmallVector<WindowDim> windowDims(tile::ConvOp op);

/// `windows` of a convolution or forward pooling `op` with the sizes that types
/// do not tell: `in` and `out` of src and dst, both with channels last. Also
/// with the padding that its auto_pad asks for.
llvm::SmallVector<SizedWindow> withSizes(mlir::Operation *op,
                                         llvm::ArrayRef<WindowDim> windows,
                                         llvm::ArrayRef<Index> in,
                                         llvm::ArrayRef<Index> out);

/// The padding [before, after] src that auto_pad SAME_UPPER (`upper`) or
/// SAME_LOWER means for a dimension of size `in`.
std::pair<Index, Index> samePads(Index in, int64_t kernel, int64_t stride,
                                 int64_t dilation, bool upper);
/// Whether `op` leaves its padding to one of these.
bool hasSamePads(mlir::Operation *op);

/// Whether `op` is a product of each position with one matrix.
bool isPointwise(tile::ConvOp op);

/// Taps [first, past) that meet src at some position; others see only padding.
std::pair<int64_t, int64_t> usefulTaps(const WindowDim &d);

/// Neighbouring positions of dst whose windows have the same taps inside src.
struct WindowSegment {
  int64_t from, count;
  std::pair<int64_t, int64_t> taps; // [lo, hi)
};
llvm::SmallVector<WindowSegment> segmentsOf(const WindowDim &d);

/// Whether windows of a pooling `op` lie inside src, whatever its sizes are.
bool staysInside(mlir::Operation *op, llvm::ArrayRef<SizedWindow> dims);

/// Whether at least one tap of each window meets src; if `whole`, all taps.
bool meetSrc(llvm::ArrayRef<WindowDim> dims, bool whole = false);

} // namespace tenon::passes
