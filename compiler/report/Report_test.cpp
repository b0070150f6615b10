//===- Report_test.cpp - statistics and pictures of graphs ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/Dot.h"
#include "compiler/report/Explain.h"
#include "compiler/report/MemoryPlan.h"
#include "compiler/report/Stats.h"

#include <gtest/gtest.h>

namespace tenon::report {
namespace {

using graph::DType;
using graph::Graph;
using graph::Op;

uint64_t addTensor(Graph &graph, uint64_t id, graph::Dims shape,
                   graph::PropertyType property = graph::PropertyType::undef) {
  graph::LogicalTensor &tensor = graph.tensors[id];
  tensor.id = id;
  tensor.dtype = DType::f32;
  tensor.shape = std::move(shape);
  tensor.property = property;
  return id;
}

void addOp(Graph &graph, const char *kind, const char *name,
           std::vector<uint64_t> inputs, std::vector<uint64_t> outputs,
           graph::AttrMap attrs = {}) {
  Op op;
  op.id = graph.ops.size();
  op.kind = kind;
  op.name = name;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  op.attrs = std::move(attrs);
  graph.ops.push_back(std::move(op));
}

Graph chain() {
  Graph graph;
  addTensor(graph, 0, {4, 8});
  addTensor(graph, 1, {8, 16}, graph::PropertyType::constant);
  addTensor(graph, 2, {4, 16});
  addTensor(graph, 3, {4, 16});
  addOp(graph, "MatMul", "fc", {0, 1}, {2});
  addOp(graph, "ReLU", "act+1", {2}, {3});
  graph.inputPorts = {0, 1};
  graph.outputPorts = {3};
  return graph;
}

TEST(Stats, CountsArithmeticAndBytes) {
  GraphStats stats = statsOf(chain());
  EXPECT_EQ(stats.ops, 2);
  EXPECT_EQ(stats.contractionFlops, 2 * 4 * 16 * 8);
  EXPECT_EQ(stats.flops, 2 * 4 * 16 * 8 + 4 * 16);
  EXPECT_EQ(stats.inputBytes, 4 * 8 * 4);
  EXPECT_EQ(stats.constantBytes, 8 * 16 * 4);
  EXPECT_EQ(stats.intermediateBytes, 4 * 16 * 4);
  EXPECT_EQ(stats.outputBytes, 4 * 16 * 4);
  EXPECT_EQ(stats.opsByKind.at("ReLU"), 1);
  EXPECT_EQ(stats.unknownTensors, 0);
}

TEST(Stats, ConvolutionsInEveryDirectionCountTheSameWork) {
  // 2x10x10x6 data, 3x3 windows, 12 channels, 3 groups.
  double expected = 2.0 * 2 * 8 * 8 * 12 * 3 * 3 * 2;
  struct Case {
    const char *kind;
    graph::Dims first, second, result;
  };
  graph::Dims src = {2, 10, 10, 6}, weights = {3, 3, 2, 12},
              dst = {2, 8, 8, 12};
  for (const Case &c :
       {Case{"Convolution", src, weights, dst},
        Case{"ConvolutionBackwardData", dst, weights, src},
        Case{"ConvolutionBackwardWeights", src, dst, weights},
        Case{"ConvTranspose", dst, weights, src},
        Case{"ConvTransposeBackwardData", src, weights, dst},
        Case{"ConvTransposeBackwardWeights", dst, src, weights}}) {
    Graph graph;
    addTensor(graph, 0, c.first);
    addTensor(graph, 1, c.second);
    addTensor(graph, 2, c.result);
    addOp(graph, c.kind, "op", {0, 1}, {2}, {{"groups", int64_t(3)}});
    EXPECT_EQ(flopsOf(graph, graph.ops[0]), expected) << c.kind;
  }
}

TEST(Stats, RecurrentCells) {
  // 5 steps of 3 entries, 2 layers of 7 units: four gates from 7 + 7 values.
  Graph graph;
  addTensor(graph, 0, {5, 3, 7});
  addTensor(graph, 1, {2, 1, 7, 4, 7});
  addTensor(graph, 2, {2, 1, 7, 4, 7});
  addTensor(graph, 3, {2, 1, 4, 7});
  addTensor(graph, 4, {5, 3, 7});
  addOp(graph, "LSTM", "op", {0, 1, 2, 3}, {4});
  EXPECT_EQ(flopsOf(graph, graph.ops[0]), 2.0 * 5 * 3 * 2 * 4 * 7 * (7 + 7));
  // The gradients of data and of weights_iter, and the way back of the state.
  addTensor(graph, 5, {2, 1, 5, 3, 42});
  addTensor(graph, 6, {5, 3, 7});
  addTensor(graph, 7, {2, 1, 7, 4, 7});
  addOp(graph, "LSTMBackward", "gradient", {0, 1, 2, 5, 4}, {6, 7});
  graph.ops[1].absentOutputs = 1 << 1;
  EXPECT_EQ(flopsOf(graph, graph.ops[1]), 2.0 * 5 * 3 * 2 * 4 * 7 * 3 * 7);
  graph.tensor(0).shape = graph::Dims{graph::kUnknownDim, 3, 7};
  EXPECT_EQ(flopsOf(graph, graph.ops[0]), 0);
}

TEST(Stats, UnknownDimsAreLeftOut) {
  Graph graph = chain();
  graph.tensor(0).shape = graph::Dims{graph::kUnknownDim, 8};
  graph.tensor(2).shape.reset();
  EXPECT_EQ(statsOf(graph).unknownTensors, 2);
  EXPECT_EQ(typeText(graph.tensor(0)), "?x8xf32");
  EXPECT_EQ(typeText(graph.tensor(2)), "*xf32");
}

GroupStats groupOf(const char *kind, std::vector<size_t> ops) {
  GroupStats group;
  group.kind = kind;
  group.ops = std::move(ops);
  return group;
}

TEST(Dot, GroupsBecomeClusters) {
  Graph graph = chain();
  std::vector<GroupStats> groups = {groupOf("matmul", {0, 1})};
  std::string dot = toDot(graph, groups);
  EXPECT_NE(dot.find("subgraph cluster_0"), std::string::npos) << dot;
  EXPECT_NE(dot.find("op0 -> op1 [label=\"2: 4x16xf32\"]"), std::string::npos)
      << dot;
  EXPECT_NE(dot.find("op1 -> out3"), std::string::npos) << dot;
  EXPECT_EQ(toDot(graph).find("cluster"), std::string::npos);
}

TEST(Dot, AnOperationIsWhereItIsComputedFirst) {
  using Members = std::vector<std::vector<size_t>>;
  std::vector<GroupStats> groups = {
      groupOf("pack", {0}), groupOf("contraction", {0}),
      groupOf("reduction", {0, 1}), groupOf("", {})};
  EXPECT_EQ(membersOf(chain(), groups), (Members{{}, {0}, {1}, {}}));
  groups = {groupOf("copy", {1}), groupOf("pack", {0, 1})};
  EXPECT_EQ(membersOf(chain(), groups), (Members{{1}, {0}}));
}

TEST(Dot, NamesAreEscaped) {
  Graph graph = chain();
  graph.ops[0].name = "a\"b\\c\n\x01";
  std::string dot = toDot(graph);
  EXPECT_NE(dot.find("a\\\"b\\\\c\\n "), std::string::npos) << dot;
}

TEST(Text, OneLinePerOperation) {
  std::string text = toText(chain());
  EXPECT_NE(text.find("2: 4x16xf32 = MatMul \"fc\" (0, 1)\n"),
            std::string::npos)
      << text;
}

/// x -> fc (weights) -> act+1 -> view -> sum (two operands) -> output, and
/// side, which reads what fc makes.
struct Explained {
  Explained() : graph(chain()) {
    addTensor(graph, 4, {16, 4});
    addTensor(graph, 5, {16, 4});
    addTensor(graph, 6, {4, 16});
    addTensor(graph, 7, {8, 16}, graph::PropertyType::constant);
    addTensor(graph, 8, {8, 16});
    addOp(graph, "StaticTranspose", "view", {3}, {4});
    addOp(graph, "ReduceSum", "sum", {4}, {5});
    addOp(graph, "Exp", "side", {2}, {6});
    addOp(graph, "Exp", "once", {7}, {8});
    addOp(graph, "Add", "gone", {5, 8}, {});
    graph.inputPorts = {0, 1, 7};
    graph.outputPorts = {5, 6};
    report.mainGroups = {groupOf("pack", {0}), groupOf("contraction", {0, 1}),
                         groupOf("reduction", {3}),
                         groupOf("elementwise", {4})};
    addReorder(When::run, "packed in panels", {0}, {}, {0}).input = 1;
    addReorder(When::bind, "transformed", {5}, {}, {5}).input = 7;
    addReorder(When::never, "read in another order", {}, {0, 1}, {3});
    // Never leaves its group.
    addReorder(When::never, "kept", {}, {0}, {1});
    addReorder(When::run, "copied", {3}, {3}, {}).output = 5;
    report.foldGroups = {groupOf("elementwise", {5})};
    report.remarks = {"sum: its operand reaches it through a view",
                      "sum: its operand reaches it through a view",
                      "other+side: no: really no"};
  }
  using When = ReorderInfo::When;
  ReorderInfo &addReorder(When when, const char *what, std::vector<size_t> ops,
                          std::vector<size_t> from, std::vector<size_t> to) {
    ReorderInfo &info = report.reorders.emplace_back();
    info.when = when;
    info.what = what;
    info.types = "8x16xf32 -> 1x8x16xf32";
    info.ops = std::move(ops);
    info.from = std::move(from);
    info.to = std::move(to);
    info.bytes = {512, 1024};
    return info;
  }
  /// A byte takes a nanosecond to read and two to write.
  Explainer explainer(bool fuse = true) const {
    return {graph, report, fuse,
            [](const Traffic &t) { return 1e-9 * (t.read + 2 * t.written); }};
  }

  Graph graph;
  CompileReport report;
};

TEST(Explain, Operations) {
  Explained e;
  Explainer explainer = e.explainer();
  OpAnswer fc = explainer.explainOp(0);
  EXPECT_EQ(fc.verdict, "fused");
  EXPECT_EQ(fc.groups, (std::vector<size_t>{1}));
  ASSERT_EQ(fc.reorders.size(), 1u);
  EXPECT_EQ(fc.reorders[0].text,
            "packed in panels, 8x16xf32 -> 1x8x16xf32: 512 bytes read, 1024 "
            "written, at best 2.56 us, in every execution");
  EXPECT_DOUBLE_EQ(fc.reorders[0].seconds, 2560e-9);
  ASSERT_EQ(fc.reasons.size(), 1u);
  EXPECT_NE(fc.reasons[0].find("starts its group"), std::string::npos);
  OpAnswer act = explainer.explainOp(1);
  EXPECT_NE(act.text.find("with 1 other operation"), std::string::npos);
  EXPECT_NE(act.reasons.at(0).find("joined group 1 after MatMul \"fc\""),
            std::string::npos);
  EXPECT_EQ(explainer.explainOp(2).verdict, "view");
  OpAnswer sum = explainer.explainOp(3);
  EXPECT_EQ(sum.verdict, "alone");
  EXPECT_EQ(sum.reasons, (std::vector<std::string>{
                             "its operand reaches it through a view"}));
  EXPECT_EQ(explainer.explainOp(4).reasons,
            (std::vector<std::string>{"no: really no"}));
  EXPECT_EQ(explainer.explainOp(5).verdict, "folded");
  EXPECT_EQ(explainer.explainOp(6).verdict, "none");
  EXPECT_EQ(e.explainer(false).explainOp(3).reasons.at(0), "fusion is off");
}

TEST(Explain, Edges) {
  Explained e;
  Explainer explainer = e.explainer();
  EdgeAnswer inside = explainer.explainEdge(0, 2, 1);
  EXPECT_EQ(inside.verdict, "fused");
  EXPECT_EQ(inside.bytes, 4 * 16 * 4);
  EXPECT_NE(inside.text.find("written as well: Exp \"side\" reads it"),
            std::string::npos)
      << inside.text;
  EdgeAnswer memory = explainer.explainEdge(0, 2, 4);
  EXPECT_EQ(memory.verdict, "memory");
  EXPECT_NE(memory.text.find("256 bytes"), std::string::npos) << memory.text;
  EXPECT_EQ(memory.reasons, (std::vector<std::string>{"no: really no"}));
  EXPECT_EQ(explainer.explainEdge(1, 3, 2).verdict, "view");
  EXPECT_EQ(explainer.explainEdge(2, 4, 3).verdict, "view");
  EXPECT_EQ(explainer.explainEdge(5, 8, 6).verdict, "folded");
  EXPECT_EQ(explainer.explainEdge(3, 5, 6).verdict, "none");
  EXPECT_EQ(explainer.explainEdge({}, 0, 0).verdict, "input");
  EXPECT_EQ(explainer.explainEdge({}, 7, 5).verdict, "folded");
  EXPECT_EQ(explainer.explainEdge(3, 5, {}).verdict, "output");
  EXPECT_EQ(explainer.explainEdges().size(), 11u);
  e.report.mainGroups.push_back(groupOf("copy", {2}));
  EXPECT_EQ(e.explainer().explainEdge(1, 3, 2).verdict, "copied");
  EXPECT_EQ(e.explainer().explainOp(2).verdict, "copied");
  e.report.mainGroups[e.explainer().explainOp(4).groups.at(0)].inPlace = {0};
  EdgeAnswer placed = e.explainer().explainEdge(0, 2, 4);
  EXPECT_EQ(placed.verdict, "in place");
  EXPECT_NE(placed.text.find("writes 256 bytes where"), std::string::npos)
      << placed.text;
}

std::vector<std::string> textsOf(const std::vector<ReorderAnswer> &reorders) {
  std::vector<std::string> texts;
  for (const ReorderAnswer &reorder : reorders)
    texts.push_back(reorder.text);
  return texts;
}

TEST(Explain, OrdersOnEdgesHaveCosts) {
  Explained e;
  Explainer explainer = e.explainer();
  std::string types = ", 8x16xf32 -> 1x8x16xf32: ",
              cost = "512 bytes read, 1024 written, at best 2.56 us, ";
  using Texts = std::vector<std::string>;
  EXPECT_EQ(textsOf(explainer.explainEdge({}, 1, 0).reorders),
            (Texts{"packed in panels" + types + cost + "in every execution"}));
  EXPECT_EQ(
      textsOf(explainer.explainEdge({}, 7, 5).reorders),
      (Texts{"transformed" + types + cost + "once, when constants are bound"}));
  // On the edge from the view to its reader, not before.
  EXPECT_EQ(textsOf(explainer.explainEdge(2, 4, 3).reorders),
            (Texts{"read in another order" + types + "saves a copy, " + cost +
                   "in every execution"}));
  EXPECT_TRUE(explainer.explainEdge(1, 3, 2).reorders.empty());
  EXPECT_TRUE(explainer.explainEdge(0, 2, 1).reorders.empty());
  EXPECT_EQ(explainer.explainEdge(3, 5, {}).reorders.size(), 1u);
  EXPECT_TRUE(explainer.explainEdge({}, 0, 0).reorders.empty());
}

TEST(Explain, OrdersAddUp) {
  Explained e;
  e.report.reorders.back().sized = false;
  ReorderSum run = e.explainer().sumOf(ReorderInfo::When::run);
  EXPECT_EQ(run.count, 2u);
  EXPECT_EQ(run.unsized, 1u);
  EXPECT_EQ(run.bytes.written, 1024);
  std::string cost = "512 bytes read, 1024 written, at best 2.56 us";
  EXPECT_EQ(e.explainer().sumTexts(),
            (std::vector<std::string>{
                "in every execution: 2 copies, " + cost + ", 1 of unknown size",
                "once, when constants are bound: 1 copy, " + cost,
                "saved in every execution: 1 copy, " + cost}));
  // Nobody has measured the machine.
  e.report.reorders.resize(1);
  EXPECT_EQ(Explainer(e.graph, e.report, true).sumTexts().front(),
            "in every execution: 1 copy, 512 bytes read, 1024 written");
  e.report.reorders.front().sized = false;
  EXPECT_NE(e.explainer().explainOp(0).reorders.at(0).text.find(
                "a tensor of unknown size, in every execution"),
            std::string::npos);
}

CompileReport arena() {
  CompileReport report;
  report.arenaBytes = 320;
  report.arenaSteps = {"a", "b<&>", "c"};
  report.arena = {{"a", "16xf32", 0, 64, 0, 1},
                  {"b<&>", "64xf32", 64, 256, 1, 2},
                  {"c", "16xf32", 0, 64, 2, 2}};
  return report;
}

TEST(Memory, TextHasPeakSumAndLines) {
  std::string text = memoryText(arena());
  EXPECT_NE(text.find("peak 320 bytes, sum of all buffers 384 bytes, in use at "
                      "once at most 320 bytes (step 1)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("    1-2               64          256  b<&>: 64xf32\n"),
            std::string::npos)
      << text;
  EXPECT_NE(memoryText({}).find("peak 0 bytes"), std::string::npos);
}

/// How often `part` occurs.
size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos;
       at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(Memory, PictureHasARectangleForEachBuffer) {
  std::string svg = memorySvg(arena());
  EXPECT_EQ(countOf(svg, "class=\"buffer\""), 3u);
  EXPECT_NE(svg.find("peak: 320 bytes, sum of all buffers: 384 bytes in 3"),
            std::string::npos);
  EXPECT_NE(svg.find("b&lt;&amp;&gt;: 64xf32, 256 bytes at 64, steps 1 to 2"),
            std::string::npos)
      << svg;
  // a is below b, for as long as b is half: 480 pixels are 320 bytes.
  EXPECT_NE(svg.find("x=\"110.0\" y=\"448.00\" width=\"240.0\" "
                     "height=\"96.00\""),
            std::string::npos)
      << svg;
  EXPECT_NE(svg.find("x=\"230.0\" y=\"64.00\" width=\"240.0\" "
                     "height=\"384.00\""),
            std::string::npos)
      << svg;
  EXPECT_EQ(countOf(svg, "<g>"), countOf(svg, "</g>"));
  EXPECT_EQ(countOf(svg, "<text"), countOf(svg, "</text>"));
}

} // namespace
} // namespace tenon::report
