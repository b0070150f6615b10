//===- Graph_test.cpp - the plain graph model -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/Graph.h"

#include <gtest/gtest.h>

namespace tenon::graph {
namespace {

/// Operations of kind "Op<id>", each {id, inputs, outputs}.
struct OpSpec {
  uint64_t id;
  std::vector<uint64_t> inputs, outputs;
};

Graph makeGraph(std::vector<OpSpec> specs) {
  Graph graph;
  for (OpSpec &spec : specs) {
    Op op;
    op.id = spec.id;
    op.kind = "Op" + std::to_string(spec.id);
    op.inputs = spec.inputs;
    op.outputs = spec.outputs;
    for (uint64_t id : op.inputs)
      graph.tensors[id].id = id;
    for (uint64_t id : op.outputs)
      graph.tensors[id].id = id;
    graph.ops.push_back(std::move(op));
  }
  return graph;
}

std::vector<uint64_t> order(const Graph &graph) {
  std::vector<uint64_t> ids;
  for (const Op &op : graph.ops)
    ids.push_back(op.id);
  return ids;
}

TEST(Graph, NamesRoundTrip) {
  for (int i = 0; i <= int(kLastDType); ++i)
    EXPECT_EQ(parseDType(name(DType(i))), DType(i));
  for (int i = 0; i <= int(LayoutType::opaque); ++i)
    EXPECT_EQ(parseLayoutType(name(LayoutType(i))), LayoutType(i));
  for (int i = 0; i <= int(PropertyType::host_scalar); ++i)
    EXPECT_EQ(parsePropertyType(name(PropertyType(i))), PropertyType(i));
  EXPECT_EQ(name(DType::boolean), "boolean");
  EXPECT_FALSE(parseDType("f128"));
  EXPECT_FALSE(parseLayoutType(""));
  EXPECT_FALSE(parsePropertyType("Constant"));
  EXPECT_EQ(name(DType(200)), "undef");
}

TEST(Graph, DTypeFacts) {
  EXPECT_TRUE(isFloat(DType::f8_e4m3));
  EXPECT_TRUE(isFloat(DType::f64));
  EXPECT_FALSE(isFloat(DType::s64));
  EXPECT_FALSE(isFloat(DType::boolean));
  EXPECT_EQ(byteSize(DType::u4), 0.5);
  EXPECT_EQ(byteSize(DType::bf16), 2);
  EXPECT_EQ(byteSize(DType::s64), 8);
}

TEST(Graph, Strides) {
  EXPECT_EQ(denseStrides({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(denseStrides({2, 0, 4}), (Dims{4, 4, 1}));
  EXPECT_EQ(denseStrides({}), Dims{});
  EXPECT_EQ(denseStrides({2, kUnknownDim, 4}), (Dims{kUnknownDim, 4, 1}));
  EXPECT_EQ(denseStrides({2, INT64_MAX, 4})[0], INT64_MAX);
  LogicalTensor tensor;
  EXPECT_EQ(tensor.effectiveStrides(), Dims{});
  tensor.shape = Dims{2, 3};
  EXPECT_EQ(tensor.effectiveStrides(), (Dims{3, 1}));
  tensor.strides = {1, 2};
  EXPECT_EQ(tensor.effectiveStrides(), (Dims{1, 2}));
}

TEST(Graph, Elements) {
  LogicalTensor tensor;
  EXPECT_FALSE(tensor.hasStaticShape());
  tensor.shape = Dims{2, kUnknownDim};
  EXPECT_FALSE(tensor.hasStaticShape());
  tensor.shape = Dims{};
  EXPECT_TRUE(tensor.hasStaticShape());
  EXPECT_EQ(tensor.numElements(), 1);
  tensor.shape = Dims{2, 3};
  EXPECT_EQ(tensor.numElements(), 6);
  tensor.shape = Dims{INT64_MAX, INT64_MAX, 0};
  EXPECT_EQ(tensor.numElements(), 0);
  tensor.shape = Dims{INT64_MAX, 3};
  EXPECT_EQ(tensor.numElements(), INT64_MAX);
}

TEST(Graph, Attributes) {
  Op op;
  op.attrs["axis"] = int64_t(3);
  EXPECT_EQ(op.attrOr<int64_t>("axis", 1), 3);
  EXPECT_EQ(op.attrOr<int64_t>("other", 1), 1);
  EXPECT_EQ(op.attrOr<float>("axis", 2.0f), 2.0f);
  EXPECT_EQ(op.attr("other"), nullptr);
}

TEST(TopologicalSort, IsStable) {
  Graph graph = makeGraph({{5, {1}, {2}}, {3, {1}, {3}}, {4, {2, 3}, {4}}});
  EXPECT_TRUE(topologicalSort(graph).empty());
  EXPECT_EQ(order(graph), (std::vector<uint64_t>{5, 3, 4}));
}

TEST(TopologicalSort, ProducersFirst) {
  Graph graph =
      makeGraph({{1, {12, 12}, {13}}, {2, {11}, {12}}, {3, {10}, {11}}});
  EXPECT_TRUE(topologicalSort(graph).empty());
  EXPECT_EQ(order(graph), (std::vector<uint64_t>{3, 2, 1}));
  EXPECT_EQ(graph.producers().at(12), 1u);
  EXPECT_EQ(graph.producers().count(10), 0u);
}

TEST(TopologicalSort, LongChainBackwards) {
  std::vector<OpSpec> specs;
  for (uint64_t i = 20000; i > 0; --i)
    specs.push_back({i, {i}, {i + 1}});
  Graph graph = makeGraph(std::move(specs));
  EXPECT_TRUE(topologicalSort(graph).empty());
  EXPECT_EQ(graph.ops.front().id, 1u);
  EXPECT_EQ(graph.ops.back().id, 20000u);
}

TEST(TopologicalSort, NamesTheCycle) {
  // 4 only hangs on the cycle of 1, 2, 3.
  Graph graph = makeGraph(
      {{4, {12}, {14}}, {1, {13}, {11}}, {2, {11}, {12}}, {3, {12}, {13}}});
  std::vector<Error> errors = topologicalSort(graph);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, ErrorCode::Cycle);
  for (const char *part : {"Op1", "Op2", "Op3"})
    EXPECT_NE(errors[0].message.find(part), std::string::npos);
  EXPECT_EQ(errors[0].message.find("Op4"), std::string::npos);
  EXPECT_EQ(graph.ops.size(), 4u);
}

TEST(TopologicalSort, OperationFeedingItself) {
  Graph graph = makeGraph({{1, {7}, {7}}});
  std::vector<Error> errors = topologicalSort(graph);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, ErrorCode::Cycle);
}

TEST(TopologicalSort, ReportsDuplicates) {
  Graph graph = makeGraph({{1, {1}, {2}}, {1, {1}, {2}}});
  std::vector<Error> errors = topologicalSort(graph);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].code, ErrorCode::DuplicateOpId);
  EXPECT_EQ(errors[1].code, ErrorCode::TwoProducers);
}

TEST(CompletePorts, AddsInOrder) {
  Graph graph = makeGraph({{1, {5, 6}, {7, 9}}, {2, {7}, {8}}});
  graph.inputPorts = {6};
  graph.outputPorts = {7};
  EXPECT_TRUE(completePorts(graph).empty());
  EXPECT_EQ(graph.inputPorts, (std::vector<uint64_t>{6, 5}));
  EXPECT_EQ(graph.outputPorts, (std::vector<uint64_t>{7, 9, 8}));
}

TEST(CompletePorts, ListsEachTensorOnce) {
  Graph graph;
  graph.tensors[1].id = 1;
  graph.tensors[2].id = 2;
  graph.ops.push_back({7, "relu", "ReLU", {}, {1}, {2}});
  graph.inputPorts = {1, 1};
  graph.outputPorts = {2, 2, 2};
  EXPECT_TRUE(completePorts(graph).empty());
  EXPECT_EQ(graph.inputPorts, (std::vector<uint64_t>{1}));
  EXPECT_EQ(graph.outputPorts, (std::vector<uint64_t>{2}));
}

TEST(CompletePorts, EndMakesAResult) {
  Graph graph = makeGraph({{1, {5}, {6}}, {2, {6}, {7}}});
  graph.ops.push_back({3, "end", "End", {}, {6}, {}});
  graph.ops.push_back({4, "end", "End", {}, {5}, {}});
  EXPECT_TRUE(completePorts(graph).empty());
  EXPECT_EQ(graph.outputPorts, (std::vector<uint64_t>{7, 6}));
}

TEST(CompletePorts, RefusesBadPorts) {
  Graph graph = makeGraph({{1, {5}, {6}}});
  graph.inputPorts = {6, 77};
  graph.outputPorts = {78};
  std::vector<Error> errors = completePorts(graph);
  ASSERT_EQ(errors.size(), 2u);
  for (const Error &error : errors)
    EXPECT_EQ(error.code, ErrorCode::BadPort);
}

TEST(CompletePorts, IgnoresInputsThatNothingReads) {
  Graph graph = makeGraph({{1, {5}, {6}}});
  graph.tensors[7].id = 7;
  graph.inputPorts = {77, 5, 7, 77};
  EXPECT_TRUE(completePorts(graph).empty());
  EXPECT_EQ(graph.inputPorts, (std::vector<uint64_t>{5}));
  EXPECT_EQ(graph.ignoredInputs, (std::vector<uint64_t>{77, 7}));
  std::vector<std::string> remarks = remarksOnPorts(graph);
  ASSERT_EQ(remarks.size(), 2u);
  EXPECT_NE(remarks[0].find("tensor 77"), std::string::npos);
  EXPECT_TRUE(completePorts(graph).empty());
  EXPECT_EQ(graph.ignoredInputs.size(), 2u);
  // One with a type is an input as any other.
  graph.tensors[8].dtype = DType::f32;
  graph.inputPorts.push_back(8);
  EXPECT_TRUE(completePorts(graph).empty());
  EXPECT_EQ(graph.inputPorts, (std::vector<uint64_t>{5, 8}));
}

} // namespace
} // namespace tenon::graph
