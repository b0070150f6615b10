//===- TestModels.h - models made in memory --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/onnx/Importer.h"

#include <gtest/gtest.h>

namespace tenon::onnx::test {

/// A tensor with these dims; its elements are all 1.
inline TensorProto ones(std::string_view name, DataType type,
                        graph::Dims dims) {
  TensorProto tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.dims = std::move(dims);
  auto count = static_cast<size_t>(reference::elementCount(tensor.dims));
  tensor.floats.assign(type == DataType::f32 ? count : 0, 1.0f);
  tensor.int64s.assign(type == DataType::s64 ? count : 0, 1);
  tensor.int32s.assign(type == DataType::boolean ? count : 0, 1);
  return tensor;
}

inline ValueInfoProto port(std::string_view name, DataType type,
                           const graph::Dims &dims) {
  ValueInfoProto value;
  value.name = name;
  value.isTensor = true;
  value.type = type;
  value.shape.emplace();
  for (int64_t dim : dims)
    value.shape->emplace_back().value = dim;
  return value;
}

inline NodeProto nodeOf(std::string_view opType,
                        std::vector<std::string_view> inputs = {}) {
  NodeProto node;
  node.opType = opType;
  node.inputs = std::move(inputs);
  return node;
}

/// A model of one node, whose result is the output.
inline ModelProto modelOf(NodeProto node, int64_t opset = 17) {
  ModelProto model;
  model.irVersion = 8;
  model.operatorSets = {{.domain = "", .version = opset}};
  node.outputs = {"y"};
  model.graph.nodes = {std::move(node)};
  model.graph.outputs = {port("y", DataType::f32, {})};
  return model;
}

} // namespace tenon::onnx::test
