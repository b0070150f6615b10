//===- OnnxMutate.h - models of ONNX with something wrong ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>
#include <string_view>

namespace tenon::fuzz {

using Random = std::mt19937_64;

/// A model of ONNX with one to a few changes: numbers of fields, names that
/// become others of the model, operators, lists that are longer or shorter,
/// parts that are left out, repeated, or moved, and bytes. Bytes that are no
/// model get changes of bytes. The same for the same state of `random`.
std::string mutateModel(std::string_view bytes, Random &random);

} // namespace tenon::fuzz
