//===- Evaluator_test.cpp - graphs, rounding, errors ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

using namespace tenon;
using namespace tenon::reference;
using graph::DType;

namespace {

/// 0 -> Square -> 1 -> Sqrt -> 2, the edges of type `dtype`.
graph::Graph chain(DType dtype) {
  graph::Graph graph;
  for (uint64_t id : {0, 1, 2}) {
    graph.tensors[id].id = id;
    graph.tensors[id].dtype = dtype;
    graph.tensors[id].shape = graph::Dims{1};
  }
  const char *kinds[] = {"Square", "Sqrt"};
  for (uint64_t i : {1, 0}) { // not in order
    graph::Op op;
    op.id = i;
    op.kind = kinds[i];
    op.inputs = {i};
    op.outputs = {i + 1};
    graph.ops.push_back(op);
  }
  return graph;
}

TEST(Evaluator, OracleDoesNotRoundInside) {
  double x = 1.0 + std::ldexp(1, -7); // its square is no bf16
  std::map<uint64_t, Tensor> inputs = {{0, make({1}, {x}, DType::bf16)}};
  auto exact = evaluate(chain(DType::bf16), inputs);
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->size(), 1u);
  EXPECT_EQ(exact->at(2).data[0], x);
  EvalOptions plain;
  plain.roundEdges = true;
  plain.keep = {1};
  auto rounded = evaluate(chain(DType::bf16), inputs, plain);
  ASSERT_TRUE(rounded);
  EXPECT_EQ(rounded->at(1).data[0], 1 + std::ldexp(2, -7));
  EXPECT_EQ(rounded->at(2).data[0],
            roundTo(DType::bf16, std::sqrt(rounded->at(1).data[0])));
}

TEST(Evaluator, RoundsOutputsUnlessToldNot) {
  OneOp op{"Sqrt", {make({1}, {2})}};
  std::map<uint64_t, Tensor> inputs = {{0, op.inputs[0]}};
  auto rounded = evaluate(op.graph(), inputs);
  ASSERT_TRUE(rounded);
  EXPECT_EQ(rounded->at(100).data[0], static_cast<float>(std::sqrt(2.0)));
  EXPECT_EQ(op.run()[0].data[0], std::sqrt(2.0));
}

TEST(Evaluator, EndMarksAnOutput) {
  graph::Graph graph = chain(DType::f32);
  graph::Op end;
  end.id = 7;
  end.kind = "End";
  end.inputs = {1};
  graph.ops.push_back(end);
  auto results = evaluate(graph, {{0, make({1}, {3})}});
  ASSERT_TRUE(results) << str(results.errors());
  EXPECT_EQ(results->at(1).data[0], 9);
  EXPECT_EQ(results->at(2).data[0], 3);
}

/// Weights [I, O, 1] in two groups with a scale for each channel of each.
TEST(Evaluator, ScalesOfWeightsInGroups) {
  graph::Graph g;
  auto tensor = [&](uint64_t id, DType dtype, graph::Dims shape) {
    g.tensors[id].id = id;
    g.tensors[id].dtype = dtype;
    g.tensors[id].shape = std::move(shape);
  };
  tensor(0, DType::s8, {4, 1, 1});
  tensor(1, DType::f32, {4, 1, 1});
  tensor(2, DType::f32, {1, 4, 1});
  tensor(3, DType::f32, {1, 2, 1});
  graph::AttrMap quant, conv;
  quant["qtype"] = std::string("per_channel");
  quant["scales"] = std::vector<float>{2, 3};
  quant["zps"] = graph::Dims{0, 1};
  conv["strides"] = conv["dilations"] = graph::Dims{1};
  conv["pads_begin"] = conv["pads_end"] = graph::Dims{0};
  conv["groups"] = int64_t(2);
  conv["data_format"] = std::string("NCX");
  conv["weights_format"] = std::string("IOX");
  g.ops.push_back({0, "dq", "Dequantize", quant, {0}, {1}});
  g.ops.push_back({1, "conv", "ConvTranspose", conv, {2, 1}, {3}});
  std::map<uint64_t, Tensor> inputs = {
      {0, make({4, 1, 1}, {1, 1, 2, 2}, DType::s8)},
      {2, make({1, 4, 1}, {1, 10, 100, 1000})}};
  auto result = evaluate(g, inputs);
  ASSERT_TRUE(result) << str(result.errors());
  // 2 * 1 for the first two channels of src, 3 * (2 - 1) for the others.
  expectNear(result->at(3), {1, 2, 1}, {22, 3300});
}

ErrorCode errorOf(const graph::Graph &graph, std::map<uint64_t, Tensor> inputs,
                  EvalOptions options = {}) {
  auto results = evaluate(graph, std::move(inputs), options);
  EXPECT_FALSE(static_cast<bool>(results));
  return results ? ErrorCode::Internal : results.errors().front().code;
}

TEST(Evaluator, Errors) {
  std::map<uint64_t, Tensor> good = {{0, make({1}, {3})}};
  graph::Graph graph = chain(DType::f32);
  EXPECT_EQ(errorOf(graph, {}), ErrorCode::UnknownTensor);
  EXPECT_EQ(errorOf(graph, {{0, make({2}, {3, 3})}}), ErrorCode::BadTensorData);
  EXPECT_EQ(errorOf(graph, {{0, make({1}, {3, 3})}}), ErrorCode::BadTensorData);
  EvalOptions keep;
  keep.keep = {77};
  EXPECT_EQ(errorOf(graph, good, keep), ErrorCode::UnknownTensor);
  EvalOptions small;
  small.maxElements = 0;
  EXPECT_EQ(errorOf(graph, good, small), ErrorCode::TooLarge);
  graph.tensor(2).shape = graph::Dims{2};
  EXPECT_EQ(errorOf(graph, good), ErrorCode::ShapeMismatch);
  graph.ops[0].kind = "Nonsense";
  EXPECT_EQ(errorOf(graph, good), ErrorCode::UnsupportedOp);
  graph.ops[0].kind = "Add";
  EXPECT_EQ(errorOf(graph, good), ErrorCode::OperandCount);
}

TEST(Evaluator, HugeShapesAreRefused) {
  // 2^40 elements from two operands that fit.
  OneOp op{"Add",
           {make({1 << 20, 1}, std::vector<double>(1 << 20)),
            make({1, 1 << 20}, std::vector<double>(1 << 20))}};
  EXPECT_EQ(op.error(), ErrorCode::TooLarge);
  OneOp grow{"Interpolate",
             {make({1, 1, 1}, {0})},
             {{"mode", std::string("nearest")},
              {"sizes", graph::Dims{int64_t{1} << 60}}}};
  EXPECT_EQ(grow.error(), ErrorCode::TooLarge);
  // Empty, but with 2^60 rows to walk.
  OneOp rows{"ReduceSum",
             {make({int64_t{1} << 30, int64_t{1} << 30, 0}, {})},
             {{"axes", graph::Dims{2}}}};
  EXPECT_EQ(rows.error(), ErrorCode::TooLarge);
  OneOp window{"AvgPool",
               {make({1, 2, 1}, {1, 2})},
               {{"kernel", graph::Dims{int64_t{1} << 31}},
                {"strides", graph::Dims{1}},
                {"pads_begin", graph::Dims{(int64_t{1} << 31) - 1}},
                {"pads_end", graph::Dims{0}}}};
  EXPECT_EQ(window.error(), ErrorCode::TooLarge);
}

TEST(Evaluator, KnowsTheKinds) {
  EXPECT_TRUE(canEvaluate("MatMul"));
  EXPECT_FALSE(canEvaluate("Wildcard"));
  EXPECT_FALSE(canEvaluate(""));
}

} // namespace
