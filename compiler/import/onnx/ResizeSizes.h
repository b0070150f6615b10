//===- ResizeSizes.h - resampling to computed sizes ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/onnx/NodeContext.h"

namespace tenon::onnx {

/// Resize to the sizes of operand 3, some of which depend on those of inputs.
/// False, and nothing is done, for another form than nearest or linear of all
/// dims.
bool resizeToSizes(NodeContext &n);

} // namespace tenon::onnx
