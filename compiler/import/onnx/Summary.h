//===- Summary.h - what is told of a model ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/ModelSummary.h"
#include "compiler/import/onnx/Importer.h"

namespace tenon::onnx {

/// One error for all that differ in nothing but the node; it names some of
/// them. At most 50, of which the last counts the others.
std::vector<Error> joined(const std::vector<Error> &errors);

/// What `model` has, with the `nodes` that importModel looked at. `imported` is
/// what came out; null after errors.
ModelSummary summarize(const ModelProto &model,
                       const std::vector<ConvertedNode> &nodes,
                       const Imported *imported);

} // namespace tenon::onnx
