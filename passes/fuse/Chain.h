//===- Chain.h - what can be computed a band of rows at a time -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/ops/WindowGeometry.h"

namespace tenon::passes {

/// A tensor as chains see it, channels last; a dimension it does not have is 1.
struct BandShape {
  int64_t images, rows, columns, channels;
};
/// [rows, channels], [images, rows, channels] or all four, of known sizes.
std::optional<BandShape> bandShape(mlir::Type type);

/// The dimension of rows of a product or a window, if a band of them can be
/// computed from a band of src: a product with one matrix, a convolution, if
/// depthwise then one with few taps.
std::optional<WindowDim> bandWindow(mlir::Operation *first);

/// Whether src may be a band: not that of a convolution with several taps,
/// strides or padding, unless it is depthwise.
bool readsBands(mlir::Operation *first);

/// Where a member of the chain begins: a product or a window.
bool startsMember(mlir::Operation *op);

/// Bytes of scratch memory for `rows` rows of a tensor between members, and
/// elements from one column to the next in it.
struct BandBuffer {
  int64_t bytes, pitch;
  BandBuffer(mlir::RankedTensorType type, int64_t rows);
};

/// Rows of src that `count` neighbours of dst, at most, need.
int64_t rowsNeeded(const WindowDim &rows, int64_t count);

} // namespace tenon::passes
