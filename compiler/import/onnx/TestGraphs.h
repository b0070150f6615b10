//===- TestGraphs.h - graphs in nodes, and what they compute ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/onnx/TestModels.h"

#include "dialects/graph/reference/Entries.h"
#include "dialects/graph/reference/Evaluator.h"

#include <algorithm>

namespace tenon::onnx::test {

using reference::Tensor;
using Names = std::vector<std::string_view>;
using Numbers = std::vector<double>;

inline NodeProto node(std::string_view opType, Names inputs, Names outputs,
                      std::vector<AttributeProto> attributes = {}) {
  NodeProto result = nodeOf(opType, std::move(inputs));
  result.outputs = std::move(outputs);
  result.attributes = std::move(attributes);
  return result;
}

inline AttributeProto attr(std::string_view name, GraphProto graph) {
  AttributeProto attribute;
  attribute.name = name;
  attribute.graphs = {std::move(graph)};
  return attribute;
}
inline AttributeProto attr(std::string_view name, int64_t number) {
  AttributeProto attribute;
  attribute.name = name;
  attribute.i = number;
  return attribute;
}
inline AttributeProto attr(std::string_view name, graph::Dims numbers) {
  AttributeProto attribute;
  attribute.name = name;
  attribute.ints = std::move(numbers);
  return attribute;
}

inline ValueInfoProto untyped(std::string_view name) {
  ValueInfoProto value;
  value.name = name;
  return value;
}

/// Inputs and outputs have no types, as exporters may leave them.
inline GraphProto graphOf(Names inputs, std::vector<NodeProto> nodes,
                          Names outputs) {
  GraphProto graph;
  graph.name = "g";
  graph.nodes = std::move(nodes);
  for (std::string_view name : inputs)
    graph.inputs.push_back(untyped(name));
  for (std::string_view name : outputs)
    graph.outputs.push_back(untyped(name));
  return graph;
}

inline TensorProto weightOf(std::string_view name, DataType type,
                            graph::Dims dims) {
  TensorProto tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.dims = std::move(dims);
  return tensor;
}

inline TensorProto floats(std::string_view name, graph::Dims dims,
                          std::vector<float> elements) {
  TensorProto tensor = weightOf(name, DataType::f32, std::move(dims));
  tensor.floats = std::move(elements);
  return tensor;
}

inline TensorProto integers(std::string_view name, graph::Dims dims,
                            std::vector<int64_t> elements) {
  TensorProto tensor = weightOf(name, DataType::s64, std::move(dims));
  tensor.int64s = std::move(elements);
  return tensor;
}

inline TensorProto boolean(std::string_view name, bool value) {
  TensorProto tensor = ones(name, DataType::boolean, {});
  tensor.int32s = {value};
  return tensor;
}

inline ModelProto modelOf(std::vector<NodeProto> nodes,
                          std::vector<ValueInfoProto> inputs, Names outputs,
                          std::vector<TensorProto> weights = {},
                          int64_t opset = 17) {
  ModelProto model;
  model.irVersion = 8;
  model.operatorSets = {{.domain = "", .version = opset}};
  model.graph = graphOf({}, std::move(nodes), std::move(outputs));
  model.graph.inputs = std::move(inputs);
  model.graph.initializers = std::move(weights);
  return model;
}

/// Dims that are names, or numbers.
inline ValueInfoProto named(std::string_view name, DataType type,
                            const Names &dims) {
  ValueInfoProto value = port(name, type, {});
  for (std::string_view dim : dims)
    if (dim.find_first_not_of("0123456789") == dim.npos)
      value.shape->emplace_back().value = std::stoll(std::string(dim));
    else
      value.shape->emplace_back().name = dim;
  return value;
}

inline Tensor tensor(graph::DType dtype, graph::Dims shape, Numbers elements) {
  Tensor result{graph::DType::undef, std::move(shape), std::move(elements)};
  reference::setDType(result, dtype);
  return result;
}

inline Tensor truth(bool value) {
  return tensor(graph::DType::boolean, {}, {value ? 1.0 : 0.0});
}

using Given = std::map<std::string, Tensor, std::less<>>;

/// What evaluating the graph gives, cut to the entries that count.
inline std::vector<Tensor> evaluated(const Imported &imported,
                                     const Given &given) {
  std::map<uint64_t, Tensor> operands = imported.constants;
  for (auto &[id, weight] : imported.weights)
    operands.emplace(id, *readElements(*weight));
  for (const Port &input : imported.inputs)
    if (input.id)
      operands.emplace(*input.id, given.at(input.name));
  auto results = reference::evaluate(imported.graph, operands);
  EXPECT_TRUE(results) << (results ? "" : str(results.errors()));
  std::vector<Tensor> outputs;
  for (const Port &output : imported.outputs) {
    if (!results)
      break;
    Tensor result = results->at(*output.id);
    if (output.count) {
      int64_t count = results->at(*output.count).integers.at(0);
      result = reference::firstEntries(result, output.axis, count);
    }
    outputs.push_back(std::move(result));
  }
  return outputs;
}

inline Numbers numbersOf(const Tensor &tensor) {
  Numbers numbers;
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    numbers.push_back(tensor.at(i));
  return numbers;
}

struct Result {
  graph::Dims shape;
  Numbers numbers;
};

/// Expects that the model computes these outputs.
inline void expectOutputs(const ModelProto &model, const Given &given,
                          const std::vector<Result> &expected,
                          const ImportOptions &options = {}) {
  auto imported = importModel(model, options);
  ASSERT_TRUE(imported) << str(imported.errors());
  std::vector<Tensor> outputs = evaluated(*imported, given);
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].shape, expected[i].shape) << "output " << i;
    EXPECT_EQ(numbersOf(outputs[i]), expected[i].numbers) << "output " << i;
  }
}

inline Error failureOf(const ModelProto &model,
                       const ImportOptions &options = {}) {
  auto imported = importModel(model, options);
  EXPECT_FALSE(imported);
  return imported ? Error{} : imported.errors().front();
}

/// How many operations of this kind the graph has.
inline size_t countOf(const ModelProto &model, std::string_view kind) {
  auto imported = importModel(model);
  EXPECT_TRUE(imported) << str(imported.errors());
  return imported
             ? std::ranges::count(imported->graph.ops, kind, &graph::Op::kind)
             : 0;
}

} // namespace tenon::onnx::test
