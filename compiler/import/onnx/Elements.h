//===- Elements.h - types and elements of tensors in ONNX files -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/onnx/Proto.h"
#include "dialects/graph/reference/Numeric.h"
#include "dialects/graph/reference/Tensor.h"

namespace tenon::onnx {

/// What becomes of double, which Tenon does not compute with.
enum class Doubles { refuse, asFloats };

/// The element type, or none: Tenon does not have all of ONNX's.
std::optional<graph::DType> dtypeOf(DataType type, Doubles doubles);

/// Numbers of integers of 16 bits, which Tenon does not have: constants of such
/// types become s32. None: the type is another one.
std::optional<reference::Range> shortRange(DataType type);

/// The elements of `tensor`, rounded where doubles become floats. Errors:
/// UnsupportedDType, BadTensorData if there are not as many elements as dims
/// say, UnsupportedForm if they are in another file.
Expected<reference::Tensor> readElements(const TensorProto &tensor,
                                         Doubles doubles);

} // namespace tenon::onnx
