//===- Convolution.h - how the shapes of a convolution relate -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The six convolution operations are one relation of three tensors:
//
//   wide     the tensor that windows slide over: src of Convolution, dst of
//            ConvTranspose
//   narrow   one element per window position: dst of Convolution, src of
//            ConvTranspose
//   weights  `full` dim: all channels of narrow; `perGroup` dim: channels of
//            wide divided by groups.  OIX and IOX: full first, perGroup
//            second; XIO and XOI: perGroup last but one, full last.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/infer/Rules.h"

namespace tenon::graph::infer {

/// One of the three, as far as known; always of the rank of the convolution.
struct ConvTensor {
  Dims dims;
  std::string name;

  std::string text() const { return cat(name, " is ", dims); }
};

/// Position of the dims of the weights.
struct WeightsLayout {
  size_t full, perGroup, firstSpatial, spatialRank;

  /// `rank` >= 3; reads `weights_format`.
  WeightsLayout(const RuleContext &ctx, size_t rank);
  Dims spatial(const Dims &dims) const;
};

enum class ConvForm {
  /// Spatial sizes of narrow follow from wide, and must agree.
  slide,
  /// Spatial sizes of wide follow from narrow and output_padding.
  spread
};

struct Conv {
  ConvTensor wide, narrow, weights;
};

/// The rank that all known shapes have; absent when no shape is known, or
/// after an error (ranks differ, or below 3).
std::optional<size_t> convRank(RuleContext &ctx,
                               std::initializer_list<Shape> shapes);

/// `shape`, or unknown dims.
Dims dimsOrUnknown(const Shape &shape, size_t rank);

/// Completes batch, channels, weights and spatial sizes from each other and
/// resolves auto_pad.  False after an error.
bool relateConv(RuleContext &ctx, Conv &conv, ConvForm form);

} // namespace tenon::graph::infer
