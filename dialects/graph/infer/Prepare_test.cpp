//===- Prepare_test.cpp - graphs that are ready to compile ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/TestTensors.h"
#include "dialects/graph/infer/Prepare.h"

#include <gtest/gtest.h>

namespace tenon::graph::test {
namespace {

/// A ReLU from tensor 0 to tensor 1.
Graph relu() {
  Graph graph;
  add(graph, tensor(0, DType::f32, Dims{2}));
  add(graph, tensor(1, DType::f32, Dims{2}));
  graph.ops = {Op{0, "r", "ReLU", {}, {0}, {1}}};
  graph.inputPorts = {0};
  graph.outputPorts = {1};
  return graph;
}

ErrorCode firstError(const Graph &graph) {
  auto prepared = prepareGraph(graph);
  return prepared ? ErrorCode::Internal : prepared.errors()[0].code;
}

TEST(Prepare, OpsAreSortedAndPortsCompleted) {
  Graph graph;
  for (uint64_t id : {0, 1, 2})
    add(graph, tensor(id, DType::f32, Dims{2}));
  graph.ops = {Op{1, "second", "Exp", {}, {1}, {2}},
               Op{0, "first", "ReLU", {}, {0}, {1}}};
  auto prepared = prepareGraph(graph);
  ASSERT_TRUE(prepared) << str(prepared.errors());
  EXPECT_EQ((*prepared)->ops[0].name, "first");
  EXPECT_EQ((*prepared)->inputPorts, std::vector<uint64_t>{0});
  EXPECT_EQ((*prepared)->outputPorts, std::vector<uint64_t>{2});
}

TEST(Prepare, RepeatedPortsAreOnePort) {
  Graph graph;
  for (uint64_t id : {0, 1, 2})
    add(graph, tensor(id, DType::f32, Dims{2}));
  graph.ops = {Op{0, "add", "Add", {}, {1, 0}, {2}}};
  graph.inputPorts = {1, 0, 1};
  graph.outputPorts = {2, 2};
  auto prepared = prepareGraph(graph);
  ASSERT_TRUE(prepared) << str(prepared.errors());
  EXPECT_EQ((*prepared)->inputPorts, (std::vector<uint64_t>{1, 0}));
  EXPECT_EQ((*prepared)->outputPorts, std::vector<uint64_t>{2});
}

TEST(Prepare, ShapesAreInferredAndPreparingAgainChangesNothing) {
  Graph graph = relu();
  graph.tensor(1).shape.reset();
  auto once = prepareGraph(graph);
  ASSERT_TRUE(once) << str(once.errors());
  EXPECT_EQ(*(*once)->tensor(1).shape, Dims{2});
  auto twice = prepareGraph(**once);
  ASSERT_TRUE(twice) << str(twice.errors());
  EXPECT_EQ((*once)->tensor(1).shape, (*twice)->tensor(1).shape);
  EXPECT_EQ((*once)->ops[0].attrs, (*twice)->ops[0].attrs);
}

TEST(Prepare, BadGraphsAreRefused) {
  Graph good = relu();
  EXPECT_TRUE(prepareGraph(good));

  Graph bad = good;
  bad.ops[0].kind = "Relu";
  EXPECT_EQ(firstError(bad), ErrorCode::UnknownOp);
  bad = good;
  bad.ops[0].inputs = {1};
  EXPECT_EQ(firstError(bad), ErrorCode::Cycle);
  bad = good;
  bad.ops.push_back(bad.ops[0]);
  EXPECT_EQ(firstError(bad), ErrorCode::DuplicateOpId);
  bad = good;
  bad.ops[0].inputs = {77};
  EXPECT_EQ(firstError(bad), ErrorCode::UnknownTensor);
  bad = good;
  bad.outputPorts = {55};
  EXPECT_EQ(firstError(bad), ErrorCode::BadPort);
  bad = good;
  add(bad, tensor(55, DType::f32, Dims{2}));
  bad.outputPorts = {55};
  EXPECT_EQ(firstError(bad), ErrorCode::BadPort);
  bad.outputPorts = {1};
  bad.inputPorts = {0, 55};
  bad.tensor(55).shape = Dims{-3};
  EXPECT_EQ(firstError(bad), ErrorCode::BadDim);
  bad = good;
  bad.tensor(0).strides = {1, 2, 3};
  EXPECT_EQ(firstError(bad), ErrorCode::BadStride);
  bad = good;
  bad.ops[0].attrs["alpha"] = 1.0f;
  EXPECT_EQ(firstError(bad), ErrorCode::UnknownAttr);
}

TEST(Prepare, PortsThatNoOperationTouches) {
  Graph graph;
  for (uint64_t id : {0, 1})
    add(graph, tensor(id, DType::f32, Dims{2}));
  graph.inputPorts = {0, 1};
  graph.outputPorts = {0};
  EXPECT_TRUE(prepareGraph(graph));
  graph.tensor(1).strides = {5, 1};
  EXPECT_EQ(firstError(graph), ErrorCode::BadStride);
  // One without a description may be given and is ignored.
  graph.tensors.erase(1);
  auto prepared = prepareGraph(graph);
  ASSERT_TRUE(prepared) << str(prepared.errors());
  EXPECT_EQ((*prepared)->inputPorts, std::vector<uint64_t>{0});
  EXPECT_EQ((*prepared)->ignoredInputs, std::vector<uint64_t>{1});
}

TEST(Prepare, ElementsOfOutputsAreWrittenOnce) {
  Graph graph = relu();
  for (uint64_t id : {0, 1})
    graph.tensor(id).shape = Dims{2, 3};
  graph.tensor(1).strides = {3, 1};
  EXPECT_TRUE(prepareGraph(graph));
  graph.tensor(1).strides = {2, 1};
  EXPECT_EQ(firstError(graph), ErrorCode::BadStride);
  // Inputs may be read as often as one likes.
  graph.tensor(1).strides.clear();
  graph.tensor(0).strides = {0, 1};
  EXPECT_TRUE(prepareGraph(graph));
}

} // namespace
} // namespace tenon::graph::test
