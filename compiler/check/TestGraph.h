//===- TestGraph.h - graphs and data for tests of the checks ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/check/Fill.h"
#include "compiler/check/Reference.h"
#include "dialects/graph/reference/Evaluator.h"

#include "gtest/gtest.h"

namespace tenon::check {

using graph::AttrMap;
using graph::Dims;
using graph::DType;
using reference::Tensor;

/// Builds graphs edge by edge.
struct Builder {
  graph::Graph graph;

  uint64_t tensor(Dims shape, DType dtype = DType::f32) {
    uint64_t id = graph.tensors.size();
    graph.tensors[id].id = id;
    graph.tensors[id].dtype = dtype;
    graph.tensors[id].shape = std::move(shape);
    return id;
  }
  uint64_t op(const char *kind, std::vector<uint64_t> inputs, Dims shape,
              DType dtype = DType::f32, AttrMap attrs = {}) {
    graph::Op op;
    op.id = graph.ops.size();
    op.kind = kind;
    op.inputs = std::move(inputs);
    op.outputs = {tensor(std::move(shape), dtype)};
    op.attrs = std::move(attrs);
    graph.ops.push_back(op);
    return op.outputs[0];
  }
};

inline Tensor vec(std::vector<double> data, DType dtype = DType::f32) {
  return Tensor{dtype, {static_cast<int64_t>(data.size())}, std::move(data)};
}

inline std::map<uint64_t, Tensor>
fillOrDie(const graph::Graph &graph, uint64_t seed,
          FillMode mode = FillMode::semantic) {
  auto inputs = fillInputs(graph, seed, mode);
  EXPECT_TRUE(static_cast<bool>(inputs));
  return inputs ? *inputs : std::map<uint64_t, Tensor>();
}

/// What an f32 implementation without extra precision returns.
inline std::map<uint64_t, Tensor>
plainResults(const graph::Graph &graph, std::map<uint64_t, Tensor> inputs) {
  reference::EvalOptions options;
  options.roundEdges = true;
  auto results = reference::evaluate(graph, std::move(inputs), options);
  EXPECT_TRUE(static_cast<bool>(results));
  return *results;
}

} // namespace tenon::check
