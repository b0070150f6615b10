//===- PadSizes.h - pads that depend on sizes ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/onnx/NodeContext.h"

namespace tenon::onnx {

/// Pad whose operand pads is computed from sizes that are not known, as one
/// that makes an image a multiple of a window: the numbers of the dims `axes`,
/// all begins, then all ends. Whether it is one; the result is then set, or
/// there is an error.
bool padToSizes(NodeContext &n, const graph::Dims &axes);

} // namespace tenon::onnx
