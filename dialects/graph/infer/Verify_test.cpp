//===- Verify_test.cpp - generic checks, graphs, defaults -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/RuleTest.h"
#include "dialects/graph/infer/Rules.h"

#include <algorithm>

namespace tenon::graph::test {
namespace {

TEST(Verify, EveryOperationHasARule) {
  for (const OpInfo &info : allOps())
    EXPECT_NE(infer::lookupRule(info.shapeRule), nullptr) << info.kind;
}

TEST(Verify, EveryNamedRuleExists) {
  for (const OpInfo &info : allOps()) {
    EXPECT_TRUE(info.typeRule.empty() || infer::isTypeRule(info.typeRule))
        << info.kind;
    for (std::string_view rule : info.attrRules)
      EXPECT_TRUE(infer::isAttrRule(rule)) << info.kind;
  }
}

TEST(Verify, EveryRuleHasAnOperation) {
  for (auto family : {infer::elementwiseRules(), infer::contractionRules(),
                      infer::windowRules(), infer::normRules(),
                      infer::recurrentRules(), infer::reduceRules(),
                      infer::quantizeRules(), infer::dataMovementRules(),
                      infer::indexingRules(), infer::backwardRules()})
    for (const infer::RuleEntry &entry : family)
      EXPECT_TRUE(std::ranges::count(allOps(), entry.name, &OpInfo::shapeRule))
          << entry.name;
}

TEST(Verify, Attributes) {
  runCases({{
      {"Abs", "alpha=1", "2", "E1205 takes no attributes"},
      {"Add", "axis=1", "2 2", "E1205 it has auto_broadcast"},
      {"Elu", "", "2", "E1206 alpha"},
      {"GELU", "mode=GELU_ERF", "2", "E1208 upper and lower case"},
  }});
  Parsed p = parse({"Elu", "", "2", "*"});
  p.op.attrs["alpha"] = int64_t(1);
  EXPECT_NE(str(verifyOp(p.op, p.inputs, p.outputs))
                .find("E1207 Elu \"op\" (id 0): attribute alpha is of type "
                      "s64, needed is f32"),
            std::string::npos);
}

TEST(Verify, TypesAndCounts) {
  runCases({{
      {"Exp", "", "s32:2", "E1204 src is s32, allowed is f32, bf16, f16"},
      {"Abs", "", "2", "E1204 both are", "f16:2"},
      {"Abs", "", "2 2", "E1201 has 2 operands"},
      {"Abs", "", "2", "E1201 has 2 results", "2 2"},
      {"GenIndex", "axis=0", "2", "E1204 allowed is s32", "f32:2"},
      {"Convolution", "strides=[1] dilations=[1] pads_begin=[0] pads_end=[0]",
       "1x1x1", "E1201 needed are 2 or 3"},
  }});
}

TEST(Verify, Tensors) {
  runCases({{
      {"Abs", "", "-1x3", "E1209 size -1"},
      {"Abs", "", "1x1x1x1x1x1x1x1x1x1x1x1x1", "E1202 rank 13"},
      {"Abs", "", "4294967296x4294967296", "E1209 any memory"},
      {"Abs", "", "2x3/3", "E1210 1 strides"},
      {"Abs", "", "2x3/-3:1", "E1210 stride -3"},
      {"Abs", "", "2x3/0:1", "2x3"},
      {"Abs", "", "2x3", "E1210 share memory", "2x3/0:1"},
      {"Abs", "", "2x3", "E1210 share memory", "?x3/0:1"},
      {"Abs", "", "3/9223372036854775807", "E1210 extent"},
      {"Abs", "", "0/9223372036854775807", "0"},
      {"Abs", "",
       "4x4x4x4/"
       "9223372036854775807:9223372036854775807:9223372036854775807:1",
       "E1210 extent"},
  }});
}

TEST(Verify, ReportsEveryProblem) {
  Parsed p = parse({"MatMul", "foo=1 accumulation_mode=slow", "s32:2x3 f16:4x5",
                    "2x5", "f16:*"});
  std::vector<Error> errors = verifyOp(p.op, p.inputs, p.outputs);
  std::string text = str(errors);
  EXPECT_EQ(errors.size(), 4u) << text;
  for (const char *part : {"E1204", "E1205", "E1208"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Verify, FailureChangesNothing) {
  Parsed p = parse({"Convolution",
                    "strides=[1] dilations=[1] pads_begin=[7] pads_end=[7] "
                    "auto_pad=SAME_UPPER",
                    "1x5x4 3x4x9 8", "*"});
  EXPECT_FALSE(inferOp(p.op, p.inputs, p.outputs).empty());
  EXPECT_FALSE(p.outputs[0].shape);
  EXPECT_EQ(p.op.attrOr<Dims>("pads_begin", {}), Dims{7});
}

//===----------------------------------------------------------------------===//
// Graphs.
//===----------------------------------------------------------------------===//

void addTensor(Graph &graph, uint64_t id, const char *text) {
  graph.tensors[id] = parseTensor(text, DType::f32);
  graph.tensors[id].id = id;
}

Op makeOp(uint64_t id, const char *kind, std::vector<uint64_t> inputs,
          std::vector<uint64_t> outputs, AttrMap attrs = {}) {
  Op op;
  op.id = id;
  op.name = "op" + std::to_string(id);
  op.kind = kind;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  op.attrs = std::move(attrs);
  return op;
}

/// relu(a * b), the operations in the wrong order.
Graph matmulRelu() {
  Graph graph;
  addTensor(graph, 1, "2x3");
  addTensor(graph, 2, "3x4");
  addTensor(graph, 3, "*");
  addTensor(graph, 4, "*");
  graph.ops = {makeOp(0, "ReLU", {3}, {4}), makeOp(1, "MatMul", {1, 2}, {3})};
  return graph;
}

TEST(InferGraph, SortsAndPropagates) {
  Graph graph = matmulRelu();
  EXPECT_EQ(str(inferGraph(graph)), "");
  EXPECT_EQ(graph.ops[0].kind, "MatMul");
  EXPECT_EQ(graph.tensor(4).shape, (Dims{2, 4}));
  EXPECT_EQ(str(verifyGraph(graph)), "");
}

TEST(InferGraph, CallsBack) {
  Graph graph = matmulRelu();
  std::vector<std::string> seen;
  EXPECT_EQ(str(inferGraph(graph,
                           [&](Op &op, std::span<const LogicalTensor> inputs) {
                             seen.push_back(op.kind +
                                            infer::toString(inputs[0].shape));
                           })),
            "");
  EXPECT_EQ(seen, (std::vector<std::string>{"MatMul2x3", "ReLU2x4"}));
}

TEST(InferGraph, ReportsAllOperations) {
  Graph graph = matmulRelu();
  addTensor(graph, 2, "4x4");
  addTensor(graph, 5, "*");
  graph.ops.push_back(makeOp(2, "Elu", {4}, {5}));
  graph.ops.push_back(makeOp(3, "Abs", {5}, {99}));
  std::string text = str(inferGraph(graph));
  for (const char *part :
       {"E1203 MatMul \"op1\" (id 1)", "E1206 Elu \"op2\" (id 2)",
        "E1107 Abs \"op3\" (id 3): tensor 99"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(InferGraph, RefusesCycles) {
  Graph graph = matmulRelu();
  graph.ops[1].inputs[0] = 4;
  EXPECT_NE(str(inferGraph(graph)).find("E1105"), std::string::npos);
  EXPECT_NE(str(verifyGraph(graph)).find("E1105"), std::string::npos);
}

TEST(VerifyGraph, FindsStaleShapes) {
  Graph graph = matmulRelu();
  addTensor(graph, 3, "2x4");
  addTensor(graph, 4, "2x5");
  EXPECT_NE(str(verifyGraph(graph)).find("E1203 ReLU"), std::string::npos);
}

TEST(FillDefaults, AddsWhatIsAbsent) {
  Op op = makeOp(1, "SoftMax", {}, {}, {{"axis", int64_t(-1)}});
  fillDefaults(op);
  EXPECT_EQ(op.attrOr<int64_t>("axis", 0), -1);
  EXPECT_EQ(op.attrOr<std::string>("mode", ""), "none");
  Op pool = makeOp(1, "MaxPool", {}, {});
  fillDefaults(pool);
  EXPECT_EQ(pool.attr("dilations"), nullptr);
  EXPECT_EQ(pool.attr("strides"), nullptr);
  EXPECT_EQ(pool.attrOr<std::string>("data_format", ""), "NXC");
  Op unknown = makeOp(1, "Frobnicate", {}, {});
  fillDefaults(unknown);
  EXPECT_TRUE(unknown.attrs.empty());
}

} // namespace
} // namespace tenon::graph::test
