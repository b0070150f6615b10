//===- Elements.h - types and elements of tensors in ONNX files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/onnx/Proto.h"
#include "dialects/graph/reference/Numeric.h"
#include "dialects/graph/reference/Tensor.h"

namespace tenon::onnx {

/// The element type that Tenon computes with, or none: it does not have all of
/// ONNX's. Doubles become f32.
std::optional<graph::DType> dtypeOf(DataType type);

/// The element type of an input or output of a model: f64 for doubles.
std::optional<graph::DType> portDTypeOf(DataType type);

/// Numbers of integers of 16 bits, which Tenon does not have: constants of such
/// types become s32. None: the type is another one.
std::optional<reference::Range> shortRange(DataType type);

/// The elements of `tensor`, rounded where doubles become f32. Errors:
/// UnsupportedDType, BadTensorData if there are not as many elements as dims
/// say, UnsupportedForm if they are in another file.
Expected<reference::Tensor> readElements(const TensorProto &tensor);

} // namespace tenon::onnx
