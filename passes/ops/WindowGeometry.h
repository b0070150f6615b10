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

/// A sliding window along one spatial dimension; all sizes known, but for
/// `isKnown`.
struct WindowDim {
  int64_t in, out, kernel, stride, pad, dilation;
  /// Of a pooling: the padding after src; negative: so many elements of src are
  /// cut off.
  int64_t padEnd = 0;

  bool isKnown() const {
    return !mlir::ShapedType::isDynamic(in) &&
           !mlir::ShapedType::isDynamic(out) &&
           !mlir::ShapedType::isDynamic(kernel);
  }
  /// Whether position i of dst needs position i of src.
  bool isIdentity() const {
    return kernel == 1 && stride == 1 && pad == 0 && in == out;
  }
  /// Elements from the first of the padding before src to the last that a
  /// window reaches.
  int64_t paddedSize() const {
    return std::max<int64_t>(out - 1, 0) * stride + (kernel - 1) * dilation + 1;
  }
  /// Positions of dst [first, past) whose window lies inside src.
  std::pair<int64_t, int64_t> interior() const;
  /// Taps [lo, hi) of the window at a known position of dst that lie in src.
  std::pair<int64_t, int64_t> tapsAt(int64_t position) const;
  /// Taps [lo, hi) of the window at position `start` = stride * index that
  /// fall inside src; lo <= hi.
  std::pair<Index, Index> validTaps(Index start) const;
  /// Elements of src and its padding in the window at `start`, of neighbours.
  Index paddedTaps(Index start) const;
  /// Positions [from, past) of dst whose tap `k` falls inside src.
  std::pair<Index, Index> validPositions(Index k) const;
};

/// One spatial dimension of a transposed convolution, from `in` positions of
/// src to `out` of dst. Position o of dst and tap k meet position
/// (o + pad - k * dilation) / stride of src where that divides.
///
/// Positions c, c + stride, c + 2 * stride, .. are a class: they use the same
/// taps first, first + step, .., and within it the operation is a convolution
/// of stride 1 whose taps go backwards through src, `back` positions each.
struct TransposedDim {
  TransposedDim(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                int64_t pad, int64_t dilation);

  int64_t in, out, kernel, stride, pad, dilation;
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

/// Whether at least one tap of each window meets src; if `whole`, all taps.
bool meetSrc(llvm::ArrayRef<WindowDim> dims, bool whole = false);

} // namespace tenon::passes
