//===- Window.h - arithmetic of sliding windows ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by pooling and convolutions.  All lists have one entry per spatial
// dim; unknown sizes are kUnknownDim.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/infer/Rules.h"

namespace tenon::graph::infer {

enum class Rounding { floor, ceil };

struct Window {
  Dims kernel, strides, dilations, padsBegin, padsEnd;
};

/// Reads strides, dilations (ones where the operation has none) and pads; with
/// an `auto_pad` other than None the pads are unknown.  Absent after an error.
std::optional<Window> readWindow(RuleContext &ctx, Dims kernel);

/// Sets the pads that `auto_pad` stands for, where the sizes are known or the
/// stride is 1, and makes them attributes when all are.  With dk = dilation *
/// (kernel - 1) + 1: the total of a dim is dk - (size % stride, or stride when
/// that is 0), not below 0; SAME_UPPER puts the larger half at the end,
/// SAME_LOWER at the beginning; VALID means zeros.
void resolveAutoPad(RuleContext &ctx, Window &window, const Dims &sizes);
/// The rule of the transposed convolution: the total is dk - stride.
void resolveAutoPadTransposed(RuleContext &ctx, Window &window);

/// Number of window positions over `sizes`: (size + pads - dk) / stride + 1,
/// the division rounded as told.  Absent after an error: the padded size is
/// smaller than the kernel.  `name` is whose sizes they are.
std::optional<Dims> slide(RuleContext &ctx, const Window &window,
                          const Dims &sizes, Rounding rounding,
                          const std::string &name);

/// Sizes a transposed convolution gives:
/// stride * (size - 1) + dk - pads + outputPadding.
std::optional<Dims> spread(RuleContext &ctx, const Window &window,
                           const Dims &sizes, const Dims &outputPadding,
                           const std::string &name);

/// Checks that `given`, spatial sizes of `name`, is what the window gives;
/// reports otherwise.
bool requireSpatial(RuleContext &ctx, const Dims &given, const Dims &expected,
                    const std::string &name);

} // namespace tenon::graph::infer
