//===- Convert_test.cpp - graphs to MLIR and back -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/Convert.h"

#include "dialects/graph/PlainOp.h"
#include "dialects/graph/TestTensors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace mlir;

// Inside, because both mlir and tenon::graph have an Op.
namespace tenon::graph {
using test::add;
using test::tensor;

namespace {
class ConvertTest : public testing::Test {
protected:
  ConvertTest() { context.loadDialect<GraphDialect, func::FuncDialect>(); }

  OwningOpRef<ModuleOp> parse(const std::string &text) {
    return parseSourceString<ModuleOp>(text, &context);
  }
  std::string print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    OpPrintingFlags flags;
    flags.enableDebugInfo();
    module.print(stream, flags);
    return text;
  }
  /// `graph` prepared, which it then is.
  OwningOpRef<ModuleOp> toModule(Graph &graph) {
    Expected<PreparedGraph> prepared = prepareGraph(graph);
    if (!prepared) {
      ADD_FAILURE() << str(prepared.errors());
      return nullptr;
    }
    graph = **prepared;
    return toMLIR(*prepared, context);
  }
  MLIRContext context;
};

/// Everything in `graph` as text, so that a difference is readable.
std::string dump(const Graph &graph) {
  std::string text = graph.version + " " + graph.engineKind + " " +
                     graph.fpmathMode +
                     (graph.fpmathApplyToInt ? " int\n" : "\n");
  auto list = [&](const auto &values) {
    text += "[";
    for (auto value : values)
      text += " " + std::to_string(value);
    text += " ]";
  };
  list(graph.inputPorts);
  list(graph.outputPorts);
  for (const Op &op : graph.ops) {
    text += "\n" + std::to_string(op.id) + " " + op.kind + " '" + op.name + "'";
    list(op.inputs);
    list(op.outputs);
    for (auto &[name, value] : op.attrs)
      text += " " + name + "#" + std::to_string(value.index());
  }
  std::map<uint64_t, LogicalTensor> tensors(graph.tensors.begin(),
                                            graph.tensors.end());
  for (auto &[id, tensor] : tensors) {
    text += "\n" + std::to_string(id) + " " + std::to_string(tensor.id) + " " +
            std::string(name(tensor.dtype)) + " " +
            std::string(name(tensor.layout)) + " " +
            std::string(name(tensor.property));
    if (tensor.shape)
      list(*tensor.shape);
    list(tensor.strides);
    for (const std::string &size : tensor.sizes)
      text += " '" + size + "'";
  }
  for (const auto &[name, facts] : graph.sizeFacts) {
    text += "\n" + name + " " + facts.str();
    list(facts.likely);
  }
  return text;
}

void expectEqual(const Graph &a, const Graph &b) {
  EXPECT_EQ(dump(a), dump(b));
  ASSERT_EQ(a.ops.size(), b.ops.size());
  for (size_t i = 0; i < a.ops.size(); ++i)
    EXPECT_EQ(a.ops[i].attrs, b.ops[i].attrs) << a.ops[i].name;
}

constexpr uint64_t kHuge = ~uint64_t(0) - 2;

/// All that is unusual at once: huge ids, odd names, layouts, strides,
/// properties, unknown ranks and dims, named sizes, an unused port, several
/// results.
Graph unusualGraph() {
  Graph g;
  g.sizeFacts["batch"] = {2, 64, 2, {2, 16}};
  g.version = "3.5.0";
  g.engineKind = "gpu";
  g.fpmathMode = "bf16";
  g.fpmathApplyToInt = true;
  g.inputPorts = {kHuge, 7, 5, 40};
  g.outputPorts = {9, 7, 12, 13, 11}; // 11: through End
  LogicalTensor x = tensor(kHuge, DType::f32, Dims{2, kUnknownDim});
  x.layout = LayoutType::any;
  x.sizes = {"", "batch * 2"};
  add(g, x);
  LogicalTensor weights = tensor(7, DType::f32, Dims{3, 4});
  weights.property = PropertyType::constant;
  weights.strides = {1, 3};
  add(g, weights);
  LogicalTensor unranked = tensor(5, DType::f32, std::nullopt);
  unranked.layout = LayoutType::any;
  unranked.property = PropertyType::variable;
  add(g, unranked);
  add(g, tensor(40, DType::u8, Dims{}));
  LogicalTensor y = tensor(9, DType::f32, std::nullopt);
  y.layout = LayoutType::opaque;
  y.property = PropertyType::variable;
  add(g, y);
  for (uint64_t id : {11, 12, 13})
    add(g, tensor(id, DType::f32, std::nullopt));
  g.tensor(12).sizes = {"batch"};

  Op matmul{kHuge, "fc \"1\"\n", "MatMul", {}, {kHuge, 7}, {9}};
  matmul.attrs = {{"transpose_a", false},
                  {"transpose_b", false},
                  {"accumulation_mode", std::string("strict")}};
  Op norm{0, "", "LayerNorm", {}, {5, 5, 5}, {11, 12, 13}};
  norm.attrs = {{"keep_stats", true},
                {"begin_norm_axis", int64_t(-1)},
                {"use_affine", true},
                {"epsilon", 0.1f}};
  Op end{3, "end", "End", {}, {11}, {}};
  g.ops = {matmul, norm, end};
  return g;
}
} // namespace

TEST_F(ConvertTest, NothingIsLost) {
  Graph graph = unusualGraph();
  OwningOpRef<ModuleOp> module = toModule(graph);
  ASSERT_TRUE(module);
  EXPECT_TRUE(succeeded(verify(*module)));
  Expected<Graph> back = fromMLIR(*module);
  ASSERT_TRUE(back) << str(back.errors());
  expectEqual(graph, *back);
}

TEST_F(ConvertTest, NothingIsLostInText) {
  Graph graph = unusualGraph();
  OwningOpRef<ModuleOp> module = toModule(graph);
  ASSERT_TRUE(module);
  OwningOpRef<ModuleOp> parsed = parse(print(*module));
  ASSERT_TRUE(parsed) << print(*module);
  Expected<Graph> back = fromMLIR(*parsed);
  ASSERT_TRUE(back) << str(back.errors());
  expectEqual(graph, *back);
}

TEST_F(ConvertTest, DefaultsAreFilledInAndDenseStridesGo) {
  Graph graph;
  graph.inputPorts = {0};
  graph.outputPorts = {1};
  add(graph, tensor(0, DType::f32, Dims{2, 3}));
  add(graph, tensor(1, DType::f32, Dims{2, 3}));
  graph.tensor(0).strides = {3, 1};
  graph.ops = {Op{4, "s", "SoftMax", {}, {0}, {1}}};
  OwningOpRef<ModuleOp> module = toModule(graph);
  ASSERT_TRUE(module);
  Expected<Graph> back = fromMLIR(*module);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ops[0].attrOr("axis", int64_t(0)), 1);
  EXPECT_EQ(back->ops[0].attrOr("mode", std::string()), "none");
  EXPECT_TRUE(back->tensor(0).strides.empty());
}

TEST_F(ConvertTest, AttributesOfEveryKind) {
  Graph graph;
  add(graph, tensor(0, DType::f32, Dims{2, 3}));
  add(graph, tensor(1, DType::u8, Dims{2, 3}));
  Op op{0, "q", "Quantize", {}, {0}, {1}};
  op.attrs = {{"scales", std::vector<float>{0.1f, 0.2f, 3e-39f}},
              {"zps", Dims{1, -2, INT64_MAX}},
              {"qtype", std::string("per_channel")},
              {"axis", int64_t(-1)}};
  graph.ops = {op};
  graph.inputPorts = {0};
  graph.outputPorts = {1};
  OwningOpRef<ModuleOp> module = toModule(graph);
  ASSERT_TRUE(module);
  OwningOpRef<ModuleOp> parsed = parse(print(*module));
  ASSERT_TRUE(parsed);
  Expected<Graph> back = fromMLIR(*parsed);
  ASSERT_TRUE(back) << str(back.errors());
  expectEqual(graph, *back);
}

TEST_F(ConvertTest, StridesOfAnotherRankDoNotReachMLIR) {
  Graph graph;
  add(graph, tensor(0, DType::f32, Dims{2, kUnknownDim}));
  graph.tensor(0).strides = {kUnknownDim}; // how files write "not known"
  graph.inputPorts = {0};
  graph.outputPorts = {0};
  OwningOpRef<ModuleOp> module = toModule(graph);
  ASSERT_TRUE(module);
  EXPECT_TRUE(parse(print(*module)));
}

TEST_F(ConvertTest, HandWrittenModules) {
  OwningOpRef<ModuleOp> module = parse(R"(
    func.func @main(%x: tensor<?x4xf32>, %w: tensor<4x2xf32> {graph.id = 0 : ui64})
        -> tensor<?x2xf32> {
      %0 = graph.MatMul %x, %w : (tensor<?x4xf32>, tensor<4x2xf32>)
          -> tensor<?x2xf32>
      %1 = graph.ReLU %0 : (tensor<?x2xf32>) -> tensor<?x2xf32> loc("act")
      return %1 : tensor<?x2xf32>
    })");
  ASSERT_TRUE(module);
  Expected<Graph> graph = fromMLIR(*module);
  ASSERT_TRUE(graph) << str(graph.errors());
  EXPECT_EQ(graph->ops[0].name, "MatMul_0");
  EXPECT_EQ(graph->ops[1].name, "act");
  EXPECT_EQ(graph->inputPorts.size(), 2u);
  EXPECT_EQ(graph->inputPorts[1], 0u);
  EXPECT_NE(graph->inputPorts[0], 0u);
  EXPECT_EQ(graph->tensors.size(), 4u);
  EXPECT_EQ(graph->engineKind, "cpu");
}

TEST_F(ConvertTest, ClonedOperationsGetFreshIds) {
  Graph graph;
  add(graph, tensor(0, DType::f32, Dims{2}));
  add(graph, tensor(1, DType::f32, Dims{2}));
  graph.ops = {Op{0, "r", "ReLU", {}, {0}, {1}}};
  OwningOpRef<ModuleOp> module = toModule(graph);
  ASSERT_TRUE(module);
  module->walk([](ReLUOp op) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    builder.clone(*op);
    return WalkResult::interrupt();
  });
  Expected<Graph> back = fromMLIR(*module);
  ASSERT_TRUE(back) << str(back.errors());
  ASSERT_EQ(back->ops.size(), 2u);
  EXPECT_NE(back->ops[0].id, back->ops[1].id);
  EXPECT_NE(back->ops[0].outputs[0], back->ops[1].outputs[0]);
}

TEST_F(ConvertTest, ForeignModulesAreRefused) {
  auto code = [&](const std::string &text) {
    context.allowUnregisteredDialects();
    OwningOpRef<ModuleOp> module = parse(text);
    EXPECT_TRUE(module) << text;
    if (!module)
      return ErrorCode::Internal;
    Expected<Graph> graph = fromMLIR(*module);
    return graph ? ErrorCode::Internal : graph.errors()[0].code;
  };
  EXPECT_EQ(code("func.func @f() { return }"), ErrorCode::UnsupportedForm);
  EXPECT_EQ(code("func.func private @main()"), ErrorCode::UnsupportedForm);
  EXPECT_EQ(code("func.func @main(%i: index) { return }"),
            ErrorCode::WrongType);
  for (const char *facts :
       {"3", "{n = 3}", "{n = {min = \"1\"}}", "{n = {least = 1}}",
        "{n = {likely = [1]}}", "{n = {max = 99999999999999999999 : i128}}"})
    EXPECT_EQ(code(std::string("func.func @main() attributes "
                               "{graph.size_facts = ") +
                   facts + "} { return }"),
              ErrorCode::WrongType)
        << facts;
  EXPECT_EQ(code("func.func @main() { \"x.y\"() : () -> ()  return }"),
            ErrorCode::UnknownOp);
  EXPECT_EQ(code("func.func @main() { \"x.br\"()[^bb1] : () -> () ^bb1: "
                 "return }"),
            ErrorCode::UnsupportedForm);
}

TEST_F(ConvertTest, ShapesOfAModule) {
  OwningOpRef<ModuleOp> module = parse(R"(
    func.func @main(%x: tensor<1x8x8x3xf32>, %w: tensor<3x3x3x16xf32>)
        -> (tensor<*xf32>, tensor<*xf32>) {
      %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0],
          pads_end = [0, 0], dilations = [1, 1], auto_pad = "SAME_UPPER"}
          : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<*xf32>
      %1 = graph.ReduceMean %0 {axes = [1, 2]}
          : (tensor<*xf32>) -> tensor<*xf32>
      return %0, %1 : tensor<*xf32>, tensor<*xf32>
    })");
  ASSERT_TRUE(module);
  Expected<Graph> graph = fromMLIR(*module);
  ASSERT_TRUE(graph) << str(graph.errors());
  module = toModule(*graph);
  ASSERT_TRUE(module && succeeded(verify(*module)));
  auto function = module->lookupSymbol<func::FuncOp>("main");
  EXPECT_EQ(llvm::cast<TensorType>(function.getResultTypes()[0]).getShape(),
            ArrayRef<int64_t>({1, 8, 8, 16}));
  EXPECT_EQ(llvm::cast<TensorType>(function.getResultTypes()[1]).getShape(),
            ArrayRef<int64_t>({1, 16}));
  module->walk([](ConvolutionOp op) {
    EXPECT_EQ(op.getAutoPad(), "None");
    EXPECT_EQ(op.getPadsBegin(), ArrayRef<int64_t>({1, 1}));
  });
}

TEST_F(ConvertTest, LayoutOfAnUnrankedResultSurvivesInference) {
  Graph graph;
  add(graph, tensor(0, DType::f32, Dims{2, 3}));
  LogicalTensor y = tensor(1, DType::f32, std::nullopt);
  y.layout = LayoutType::any;
  add(graph, y);
  graph.ops = {Op{0, "r", "ReLU", {}, {0}, {1}}};
  OwningOpRef<ModuleOp> module = toModule(graph);
  ASSERT_TRUE(module);
  Expected<Graph> back = fromMLIR(*module);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->tensor(1).layout, LayoutType::any);
  EXPECT_EQ(*back->tensor(1).shape, (Dims{2, 3}));
}

TEST_F(ConvertTest, ShapeErrorsAreAllReported) {
  OwningOpRef<ModuleOp> module = parse(R"(
    func.func @main(%x: tensor<2x3xf32>, %u: tensor<*xf32>) {
      %0 = graph.Add %x, %u : (tensor<2x3xf32>, tensor<*xf32>) -> tensor<*xf32>
      %1 = graph.Wildcard %x : (tensor<2x3xf32>) -> tensor<*xf32>
      %2 = graph.Wildcard %x : (tensor<2x3xf32>) -> tensor<*xf32>
      return
    })");
  ASSERT_TRUE(module);
  Expected<Graph> graph = fromMLIR(*module);
  ASSERT_TRUE(graph) << str(graph.errors());
  Expected<PreparedGraph> prepared = prepareGraph(std::move(*graph));
  ASSERT_FALSE(prepared);
  const std::vector<Error> &errors = prepared.errors();
  EXPECT_EQ(std::ranges::count(errors, ErrorCode::UnknownShape, &Error::code),
            2);
}

} // namespace tenon::graph
