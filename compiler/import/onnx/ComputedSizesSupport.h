//===- ComputedSizesSupport.h - models read with and without sizes -*- C++ -*-//
// SPDX-License-Identifier: Apache-2.0
//
// Operators whose operands are computed from sizes that are not known: each
// model is read once for any sizes and once for given ones, and both must
// compute the same.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/onnx/TestGraphs.h"
#include "dialects/graph/infer/Prepare.h"

namespace tenon::onnx::test {

inline AttributeProto text(std::string_view name, std::string_view value) {
  AttributeProto attribute;
  attribute.name = name;
  attribute.s = value;
  return attribute;
}

inline Tensor ramp(const graph::Dims &shape) {
  Numbers elements;
  for (int64_t i = 0; i < reference::elementCount(shape); ++i)
    elements.push_back(static_cast<double>(i * i % 37) - 9);
  return tensor(graph::DType::f32, shape, elements);
}

/// What the graph computes once its sizes are those of `given`.
inline Tensor computed(Imported imported, const Given &given) {
  for (const Port &input : imported.inputs)
    if (input.id)
      imported.graph.tensors.at(*input.id).shape = given.at(input.name).shape;
  auto prepared = graph::prepareGraph(imported.graph);
  EXPECT_TRUE(prepared) << (prepared ? "" : str(prepared.errors()));
  if (!prepared)
    return {};
  imported.graph = **prepared;
  std::vector<Tensor> results = evaluated(imported, given);
  return results.empty() ? Tensor{} : results[0];
}

/// Expects that the model computes the same in output y, read for any sizes
/// and for these.
inline void expectSameFor(
    const ModelProto &model,
    const std::vector<std::map<std::string, graph::Dims, std::less<>>> &sizes,
    double scale = 1) {
  auto open = importModel(model);
  ASSERT_TRUE(open) << str(open.errors());
  for (const auto &shapes : sizes) {
    ImportOptions options;
    options.shapes = shapes;
    auto closed = importModel(model, options);
    ASSERT_TRUE(closed) << str(closed.errors());
    Given given;
    for (const auto &[name, shape] : shapes) {
      Tensor &numbers = given[name] = ramp(shape);
      for (double &number : numbers.data)
        number *= scale;
    }
    Tensor expected = computed(*closed, given), y = computed(*open, given);
    ASSERT_EQ(y.shape, expected.shape);
    for (int64_t i = 0; i < y.numElements(); ++i)
      EXPECT_NEAR(y.at(i), expected.at(i), 1e-5) << i;
  }
}

/// Inputs x and like of the sizes `x` and `like`; output y.
inline void
expectSame(const std::vector<NodeProto> &nodes,
           const std::vector<std::pair<graph::Dims, graph::Dims>> &sizes,
           const std::vector<TensorProto> &weights) {
  static constexpr std::string_view names[] = {"a", "b", "c", "d"},
                                    others[] = {"e", "f", "g", "h"};
  Names dims(names, names + sizes[0].first.size()),
      likeDims(others, others + sizes[0].second.size());
  std::vector<std::map<std::string, graph::Dims, std::less<>>> shapes;
  for (const auto &[x, like] : sizes)
    shapes.push_back({{"x", x}, {"like", like}});
  expectSameFor(modelOf(nodes,
                        {named("x", DataType::f32, dims),
                         named("like", DataType::f32, likeDims)},
                        {"y"}, weights),
                shapes);
}

/// b, the size of dim 1 of x, and f, that of like, as s64 of rank 1.
inline std::vector<NodeProto> sizesOfBoth(std::vector<NodeProto> more) {
  std::vector<NodeProto> nodes = {node("Shape", {"x"}, {"shape"}),
                                  node("Gather", {"shape", "one"}, {"b"}),
                                  node("Shape", {"like"}, {"shape2"}),
                                  node("Gather", {"shape2", "one"}, {"f"})};
  nodes.insert(nodes.end(), more.begin(), more.end());
  return nodes;
}

inline std::vector<TensorProto> constants() {
  return {integers("one", {1}, {1}),
          integers("zero", {1}, {0}),
          integers("two", {1}, {2}),
          integers("step", {1}, {1}),
          integers("first", {1}, {graph::kUnknownDim}),
          integers("last", {1}, {INT64_MAX}),
          integers("back", {1}, {-1})};
}

} // namespace tenon::onnx::test
