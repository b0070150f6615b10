//===- Window.h - sliding windows over spatial dims ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Geometry shared by convolutions and pooling, and the canonical channel-last
// form in which they are computed.  Internal.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/reference/OpContext.h"

#include <algorithm>

namespace tenon::reference {

/// A window of `kernel` elements, `dilations` apart, that moves over `big`
/// spatial dims in steps of `strides` and stops at `small` positions.
/// The forward convolution and pooling read `big` and write `small`.
struct Window {
  Dims big, small, kernel, strides, dilations, padsBegin, padsEnd;

  /// Elements of `big` that exist: a negative end padding cuts some off.
  int64_t present(int d) const {
    return big[d] + std::min<int64_t>(padsEnd[d], 0);
  }
  int spatial() const { return static_cast<int>(kernel.size()); }
  /// Extent of the dilated window.
  int64_t extent(int d) const { return dilations[d] * (kernel[d] - 1) + 1; }
  /// Where element k of the window at position p lies; may be outside.
  int64_t source(int d, int64_t position, int64_t k) const {
    return position * strides[d] - padsBegin[d] + k * dilations[d];
  }
};

/// Reads strides, pads and, when `dilated`, dilations; `kernel` is given.
/// Does not resolve auto_pad.
std::optional<Window> readWindow(OpContext &c, Dims kernel, bool dilated);

/// Sets the pads as auto_pad wants them for these spatial dims (those of the
/// `big` side).  `transposed`: the rule of ConvTranspose forward.
void resolveAutoPad(OpContext &c, Window &window, const Dims &spatialDims,
                    bool transposed = false);

/// Sets window.small from window.big, rounding down or up; fails when the
/// window does not fit into the padded dims.
bool computeSmall(OpContext &c, Window &window, bool ceil = false);

/// Spatial dims of a data tensor's shape.
Dims spatialOf(const Dims &shape, bool channelLast);
/// A shape from its parts.
Dims dataShape(int64_t batch, int64_t channels, const Dims &spatial,
               bool channelLast);

/// The elements of an NCX tensor as N, spatial..., C (a copy when already so).
std::vector<double> toChannelLast(const Tensor &tensor, bool channelLast);
/// The reverse: writes `data` into `tensor`, whose shape is set.
void fromChannelLast(const std::vector<double> &data, Tensor &tensor,
                     bool channelLast);

/// Calls `visit(index vector, linear index)` for all of `dims`.
template <typename Visit> void forEachPosition(const Dims &dims, Visit visit) {
  int64_t count = elementCount(dims);
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    visit(index, i);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d])
        break;
      index[d] = 0;
    }
  }
}

/// The index vector of linear index `i` in `dims`.
Dims unravel(int64_t i, const Dims &dims);

} // namespace tenon::reference
