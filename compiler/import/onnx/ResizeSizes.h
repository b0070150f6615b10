//===- ResizeSizes.h - resampling to computed sizes ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/onnx/NodeContext.h"

namespace tenon::onnx {

/// What coordinate_transformation_mode and nearest_mode say.
struct Places {
  std::string coordinates, nearest;
};

/// Resize to the elements of `sizes`, some of which depend on the sizes of
/// inputs. False, and nothing is done, for forms that few models have: dims
/// that are chosen by axes, and smaller images without gaps.
bool resizeToSizes(NodeContext &n, Value sizes, const Places &places);

/// The same by factors that depend on sizes, as quotients of them do: those
/// that give whole numbers for all dims.
bool resizeByFactors(NodeContext &n, Value factors, const Places &places);

} // namespace tenon::onnx
