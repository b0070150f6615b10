// SPDX-License-Identifier: Apache-2.0
//
// If and Loop: what they compute, what is refused, and bodies that are wrong.
#include "compiler/import/onnx/TestGraphs.h"

using namespace tenon;
using namespace tenon::onnx;
using namespace tenon::onnx::test;

namespace {

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// y = c ? x + 1 : x - 1 of two elements, the ones from the outer graph.
ModelProto ifModel() {
  return modelOf(
      {node("If", {"c"}, {"y"},
            {attr("then_branch",
                  graphOf({}, {node("Add", {"x", "one"}, {"r"})}, {"r"})),
             attr("else_branch",
                  graphOf({}, {node("Sub", {"x", "one"}, {"r"})}, {"r"}))})},
      {port("c", DataType::boolean, {}), port("x", DataType::f32, {2})}, {"y"},
      {floats("one", {1}, {1})});
}

const Tensor kX = tensor(graph::DType::f32, {2}, {3, 5});

TEST(OnnxIf, ChoosesByData) {
  ModelProto model = ifModel();
  EXPECT_EQ(countOf(model, "Select"), 1u);
  for (graph::Dims dims : {graph::Dims{}, graph::Dims{1}}) {
    model.graph.inputs[0] = port("c", DataType::boolean, dims);
    Tensor yes = truth(true), no = truth(false);
    yes.shape = no.shape = dims;
    expectOutputs(model, {{"c", yes}, {"x", kX}}, {{{2}, {4, 6}}});
    expectOutputs(model, {{"c", no}, {"x", kX}}, {{{2}, {2, 4}}});
  }
  // One that is known is a branch.
  ImportOptions options;
  options.numbers["c"] = {0};
  model.graph.inputs[0] = port("c", DataType::boolean, {});
  auto imported = importModel(model, options);
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->graph.ops.size(), 1u);
  EXPECT_EQ(imported->graph.ops[0].kind, "Subtract");
}

// Errors in branches are told once each, with those behind the node.
TEST(OnnxIf, ErrorsInBranchesEndNothingElse) {
  ModelProto model = ifModel();
  for (AttributeProto &attribute : model.graph.nodes[0].attributes)
    attribute.graphs[0].nodes = {node("Foo", {"x"}, {"q"}),
                                 node("Add", {"q", "one"}, {"r"})};
  model.graph.nodes.push_back(node("Relu", {"y"}, {"z"}));
  model.graph.nodes.push_back(node("Bar", {"x"}, {"u"}));
  std::vector<ConvertedNode> nodes;
  ImportOptions options;
  options.nodes = &nodes;
  auto imported = importModel(model, options);
  ASSERT_FALSE(imported);
  ASSERT_EQ(imported.errors().size(), 2u) << str(imported.errors());
  EXPECT_EQ(imported.errors()[0].opKind, "Foo (ai.onnx 17)");
  EXPECT_EQ(imported.errors()[1].opKind, "Bar (ai.onnx 17)");
  // The node has failed with its branch, and what reads it is not reached.
  std::map<std::string_view, const ConvertedNode *> byType;
  for (const ConvertedNode &each : nodes)
    byType[each.opType] = &each;
  EXPECT_TRUE(byType.at("If")->hasFailed);
  EXPECT_TRUE(byType.at("Relu")->isAbandoned);
  EXPECT_TRUE(byType.at("Add")->isAbandoned);
}

TEST(OnnxIf, RefusesShapesThatDiffer) {
  ModelProto model = ifModel();
  auto &branch = model.graph.nodes[0].attributes[0].graphs[0];
  branch.nodes[0] = node("Concat", {"x", "x"}, {"r"}, {attr("axis", 0)});
  model.graph.nodes[0].name = "choice";
  Error error = failureOf(model);
  EXPECT_EQ(error.code, ErrorCode::UnsupportedForm);
  EXPECT_EQ(error.opKind, "If (ai.onnx 17)");
  EXPECT_EQ(error.opName, "choice");
  EXPECT_NE(error.message.find("[4] or [2]"), std::string::npos)
      << error.message;
  EXPECT_NE(error.hint.find("--bind"), std::string::npos) << error.hint;
  // And types.
  branch.nodes[0] = node("Cast", {"x"}, {"r"}, {attr("to", 7)});
  EXPECT_EQ(failureOf(model).code, ErrorCode::BadDType);
}

/// A condition on a size: y = x with dim 0 dropped if it is 1, else x or -x.
ModelProto sizeModel(bool drops) {
  NodeProto yes =
      drops ? node("Squeeze", {"x", "zero"}, {"r"}) : node("Neg", {"x"}, {"r"});
  return modelOf({node("Shape", {"x"}, {"all"}),
                  node("Gather", {"all", "zero"}, {"n"}),
                  node("Equal", {"n", "one"}, {"c"}),
                  node("If", {"c"}, {"y"},
                       {attr("then_branch", graphOf({}, {yes}, {"r"})),
                        attr("else_branch", graphOf({}, {}, {"x"}))})},
                 {named("x", DataType::f32, {"n", "m"})}, {"y"},
                 {integers("zero", {1}, {0}), integers("one", {1}, {1})});
}

TEST(OnnxIf, SizesThatAreNotKnownChooseWhenTheCodeRuns) {
  EXPECT_EQ(countOf(sizeModel(false), "Select"), 1u);
  expectOutputs(sizeModel(false),
                {{"x", tensor(graph::DType::f32, {1, 2}, {3, 5})}},
                {{{1, 2}, {-3, -5}}});
  expectOutputs(sizeModel(false),
                {{"x", tensor(graph::DType::f32, {2, 1}, {3, 5})}},
                {{{2, 1}, {3, 5}}});
  // No trial has the size 1, which proves nothing.
  Error error = failureOf(sizeModel(true));
  EXPECT_EQ(error.code, ErrorCode::UnsupportedForm);
  EXPECT_NE(error.hint.find("--input"), std::string::npos) << error.str();
  ImportOptions options;
  options.shapes["x"] = {1, 2};
  expectOutputs(sizeModel(true),
                {{"x", tensor(graph::DType::f32, {1, 2}, {3, 5})}},
                {{{2}, {3, 5}}}, options);
}

TEST(OnnxIf, NamesOfBranchesStayThere) {
  // "r" is a name of the branches alone.
  ModelProto model = ifModel();
  model.graph.nodes.push_back(node("Neg", {"r"}, {"z"}));
  EXPECT_EQ(failureOf(model).code, ErrorCode::UnknownTensor);
  ImportOptions options;
  options.numbers["c"] = {1};
  EXPECT_EQ(failureOf(model, options).code, ErrorCode::UnknownTensor);
  // One of a branch hides the same one outside.
  model = ifModel();
  model.graph.nodes[0].attributes[0].graphs[0].initializers = {
      floats("one", {1}, {10})};
  expectOutputs(model, {{"c", truth(true)}, {"x", kX}}, {{{2}, {13, 15}}});
  expectOutputs(model, {{"c", truth(false)}, {"x", kX}}, {{{2}, {2, 4}}});
}

TEST(OnnxIf, CountedResultsPassThroughOneBranch) {
  ModelProto model = ifModel();
  model.graph.nodes[0].attributes[0].graphs[0].nodes[0] =
      node("NonZero", {"x"}, {"r"});
  ImportOptions options;
  options.numbers["c"] = {1};
  auto imported = importModel(model, options);
  ASSERT_TRUE(imported) << str(imported.errors());
  EXPECT_TRUE(imported->outputs[0].count);
  EXPECT_EQ(failureOf(model).code, ErrorCode::UnsupportedForm);
}

/// Indices of a branch that is not taken may be anything.
TEST(OnnxIf, IndicesAreCheckedWhereTheyCount) {
  ModelProto model = ifModel();
  NodeProto &choice = model.graph.nodes[0];
  choice.attributes[0].graphs[0].nodes[0] = node("Gather", {"x", "i"}, {"r"});
  choice.attributes[1].graphs[0].nodes[0] = node("Gather", {"x", "k"}, {"r"});
  model.graph.inputs.push_back(port("i", DataType::s64, {2}));
  model.graph.inputs.push_back(port("k", DataType::s32, {2}));
  auto with = [](bool c, Numbers i, Numbers k) {
    return Given{{"c", truth(c)},
                 {"x", kX},
                 {"i", tensor(graph::DType::s64, {2}, std::move(i))},
                 {"k", tensor(graph::DType::s32, {2}, std::move(k))}};
  };
  expectOutputs(model, with(true, {1, 0}, {7, -9}), {{{2}, {5, 3}}});
  expectOutputs(model, with(false, {2, 7}, {-1, 1}), {{{2}, {5, 5}}});
  auto imported = importModel(model);
  ASSERT_TRUE(imported);
  std::map<uint64_t, Tensor> operands = imported->constants;
  Given wrong = with(true, {2, 7}, {0, 0});
  for (const Port &input : imported->inputs)
    operands.emplace(*input.id, wrong.at(input.name));
  EXPECT_FALSE(reference::evaluate(imported->graph, operands));
  // Those that are known to be right cost nothing.
  model.graph.initializers.push_back(integers("i", {2}, {1, 0}));
  choice.attributes[1].graphs[0].nodes[0] = node("Gather", {"x", "i"}, {"r"});
  EXPECT_EQ(countOf(model, "Select"), 1u);
}

TEST(OnnxIf, WrongNodesAreErrors) {
  auto with = [](auto change) {
    ModelProto model = ifModel();
    change(model.graph.nodes[0]);
    return failureOf(model).code;
  };
  EXPECT_EQ(with([](NodeProto &n) { n.attributes.pop_back(); }),
            ErrorCode::MissingAttr);
  EXPECT_EQ(with([](NodeProto &n) { n.attributes[0].graphs.clear(); }),
            ErrorCode::MissingAttr);
  EXPECT_EQ(with([](NodeProto &n) { n.attributes[1].graphs[0].outputs = {}; }),
            ErrorCode::OperandCount);
  EXPECT_EQ(with([](NodeProto &n) {
              n.attributes[1].graphs[0].outputs[0].name = "nothing";
            }),
            ErrorCode::UnknownTensor);
  EXPECT_EQ(with([](NodeProto &n) {
              n.attributes[1].graphs[0].inputs = {untyped("a")};
            }),
            ErrorCode::OperandCount);
  EXPECT_EQ(with([](NodeProto &n) { n.inputs = {"x"}; }), ErrorCode::BadDType);
  EXPECT_EQ(with([](NodeProto &n) { n.inputs = {}; }), ErrorCode::BadDType);
  EXPECT_EQ(with([](NodeProto &n) { n.inputs = {""}; }), ErrorCode::BadDType);
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

/// s = 0; for i < m while c: s += x[i], c = whatever `condition` gives as "go".
/// Results are s and, of each step, s.
ModelProto sumModel(std::vector<NodeProto> condition, std::string_view m,
                    std::string_view c, std::vector<TensorProto> weights) {
  std::vector<NodeProto> nodes{node("Gather", {"x", "i"}, {"part"}),
                               node("Add", {"s", "part"}, {"next"})};
  nodes.insert(nodes.end(), condition.begin(), condition.end());
  weights.push_back(floats("start", {}, {0}));
  weights.push_back(floats("ten", {}, {10}));
  weights.push_back(integers("four", {}, {4}));
  weights.push_back(integers("three", {}, {3}));
  return modelOf(
      {node("Loop", {m, c, "start"}, {"sum", "sums"},
            {attr("body", graphOf({"i", "go on", "s"}, std::move(nodes),
                                  {"go", "next", "next"}))})},
      {port("x", DataType::f32, {5})}, {"sum", "sums"}, std::move(weights));
}

const NodeProto kPass = node("Identity", {"go on"}, {"go"});
const NodeProto kBelowTen = node("Less", {"next", "ten"}, {"go"});
const Given kFive{{"x", tensor(graph::DType::f32, {5}, {1, 2, 3, 4, 5})}};

TEST(OnnxLoop, KnownStepsAreWrittenOut) {
  auto model = [](int64_t steps) {
    return sumModel({kPass}, "four", "", {integers("m", {}, {steps})});
  };
  expectOutputs(model(4), kFive, {{{}, {10}}, {{4}, {1, 3, 6, 10}}});
  for (bool vector : {false, true}) {
    ModelProto m =
        sumModel({kPass}, "m", "c",
                 {integers("m", vector ? graph::Dims{1} : graph::Dims{}, {2}),
                  boolean("c", true)});
    expectOutputs(m, kFive, {{{}, {3}}, {{2}, {1, 3}}});
  }
  // None at all: results have the shapes that one would give.
  ModelProto none = sumModel({kPass}, "m", "", {integers("m", {}, {0})});
  expectOutputs(none, kFive, {{{}, {0}}, {{0}, {}}});
  none = sumModel({kPass}, "m", "", {integers("m", {}, {-3})});
  expectOutputs(none, kFive, {{{}, {0}}, {{0}, {}}});
  none = sumModel({kPass}, "four", "c", {boolean("c", false)});
  expectOutputs(none, kFive, {{{}, {0}}, {{0}, {}}});
}

TEST(OnnxLoop, ConditionsThatAreKnownEndIt) {
  // i < 3, without a trip count, with a large one, and with one in an input.
  NodeProto below = node("Less", {"i", "three"}, {"go"});
  const Result sum{{}, {10}}, sums{{4}, {1, 3, 6, 10}};
  expectOutputs(sumModel({below}, "", "", {}), kFive, {sum, sums});
  expectOutputs(
      sumModel({below}, "m", "", {integers("m", {}, {int64_t{1} << 62})}),
      kFive, {sum, sums});
  ModelProto model = sumModel({below}, "m", "", {});
  model.graph.inputs.push_back(port("m", DataType::s64, {}));
  for (int64_t steps : {0, 2, 4, 9}) {
    Given given = kFive;
    given["m"] = Tensor{graph::DType::s64, {}, {}, {steps}};
    auto count = std::min<size_t>(steps, 4);
    Numbers all(sums.numbers.begin(), sums.numbers.begin() + count);
    expectOutputs(
        model, given,
        {{{}, {count ? all.back() : 0}}, {{static_cast<int64_t>(count)}, all}});
  }
}

TEST(OnnxLoop, DataMayEndIt) {
  ModelProto model = sumModel({kBelowTen}, "four", "", {});
  auto with = [](Numbers numbers) {
    return Given{{"x", tensor(graph::DType::f32, {5}, std::move(numbers))}};
  };
  expectOutputs(model, with({1, 2, 3, 2, 9}), {{{}, {8}}, {{4}, {1, 3, 6, 8}}});
  expectOutputs(model, with({4, 7, 3, 2, 9}), {{{}, {11}}, {{2}, {4, 11}}});
  expectOutputs(model, with({40, 7, 3, 2, 9}), {{{}, {40}}, {{1}, {40}}});
  // And the data may say that there is none.
  for (const NodeProto &condition : {kBelowTen, kPass}) {
    model = sumModel({condition}, "four", "c", {});
    model.graph.inputs.push_back(port("c", DataType::boolean, {1}));
    for (bool begins : {false, true}) {
      Given given = with({1, 1, 1, 1, 1});
      given["c"] = tensor(graph::DType::boolean, {1}, {begins ? 1.0 : 0.0});
      if (begins)
        expectOutputs(model, given, {{{}, {4}}, {{4}, {1, 2, 3, 4}}});
      else
        expectOutputs(model, given, {{{}, {0}}, {{0}, {}}});
    }
  }
}

/// k = 0; while k < n: s += x[k], k += 1. Steps behind the end have k = n.
TEST(OnnxLoop, StepsBehindTheEndReadNothing) {
  GraphProto body = graphOf(
      {"i", "go on", "k", "s"},
      {node("Gather", {"x", "k"}, {"part"}), node("Add", {"s", "part"}, {"t"}),
       node("Add", {"k", "one"}, {"l"}), node("Less", {"l", "n"}, {"go"})},
      {"go", "l", "t", "part"});
  ModelProto model =
      modelOf({node("Less", {"zero", "n"}, {"begins"}),
               node("Loop", {"m", "begins", "zero", "start"}, {"k", "s", "all"},
                    {attr("body", body)})},
              {port("x", DataType::f32, {5}), port("n", DataType::s64, {})},
              {"s", "all"},
              {integers("m", {}, {8}), integers("zero", {}, {0}),
               integers("one", {}, {1}), floats("start", {}, {0})});
  for (int64_t n : {0, 3, 5}) {
    Given given = kFive;
    given["n"] = Tensor{graph::DType::s64, {}, {}, {n}};
    Numbers all{1, 2, 3, 4, 5};
    all.resize(n);
    expectOutputs(model, given,
                  {{{}, {static_cast<double>(n * (n + 1) / 2)}}, {{n}, all}});
  }
}

/// k = 0; while the sum is below 10 and k < 4: sum += x[k], k += 1. There is no
/// trip count, and exporters write "and" as an If, too.
TEST(OnnxLoop, CountersMayLimitWhatDataEnds) {
  NodeProto both = node("And", {"goes", "counts"}, {"go"});
  NodeProto choice =
      node("If", {"goes"}, {"go"},
           {attr("then_branch", graphOf({}, {}, {"counts"})),
            attr("else_branch",
                 graphOf({}, {node("Identity", {"no"}, {"f"})}, {"f"}))});
  for (const NodeProto &condition : {both, choice}) {
    GraphProto body = graphOf(
        {"i", "go on", "k", "s"},
        {node("Gather", {"x", "k"}, {"part"}),
         node("Add", {"s", "part"}, {"t"}), node("Add", {"k", "one"}, {"l"}),
         node("Less", {"t", "ten"}, {"goes"}),
         node("Less", {"l", "four"}, {"counts"}), condition},
        {"go", "l", "t"});
    ModelProto model =
        modelOf({node("Loop", {"", "", "zero", "start"}, {"k", "s"},
                      {attr("body", body)})},
                {port("x", DataType::f32, {5})}, {"k", "s"},
                {integers("zero", {}, {0}), integers("one", {}, {1}),
                 integers("four", {}, {4}), floats("start", {}, {0}),
                 floats("ten", {}, {10}), boolean("no", false)});
    auto with = [](Numbers numbers) {
      return Given{{"x", tensor(graph::DType::f32, {5}, std::move(numbers))}};
    };
    expectOutputs(model, with({1, 2, 3, 2, 9}), {{{}, {4}}, {{}, {8}}});
    expectOutputs(model, with({4, 7, 3, 2, 9}), {{{}, {2}}, {{}, {11}}});
    expectOutputs(model, with({1, 2, 8, 2, 9}), {{{}, {3}}, {{}, {11}}});
  }
}

TEST(OnnxLoop, ShapesMayGrow) {
  // r = x; 3 times: r = concat(r, x).
  GraphProto body =
      graphOf({"i", "c", "r"},
              {node("Concat", {"r", "x"}, {"longer"}, {attr("axis", 0)})},
              {"c", "longer"});
  ModelProto model =
      modelOf({node("Loop", {"m", "", "x"}, {"y"}, {attr("body", body)})},
              {port("x", DataType::f32, {2})}, {"y"}, {integers("m", {}, {3})});
  expectOutputs(model, {{"x", kX}}, {{{8}, {3, 5, 3, 5, 3, 5, 3, 5}}});
  // But not where the data says how often.
  model.graph.nodes[0].inputs[1] = "c0";
  model.graph.inputs.push_back(port("c0", DataType::boolean, {}));
  Error error = failureOf(model);
  EXPECT_EQ(error.code, ErrorCode::UnsupportedForm);
  EXPECT_NE(error.message.find("[4] or [2]"), std::string::npos)
      << error.message;
  // Entries of one result have one shape.
  model.graph.nodes[0].inputs[1] = "";
  model.graph.nodes[0].outputs = {"y", "all"};
  model.graph.nodes[0].attributes[0].graphs[0].outputs.push_back(
      untyped("longer"));
  EXPECT_EQ(failureOf(model).code, ErrorCode::UnsupportedForm);
}

TEST(OnnxLoop, RefusesWhatHasNoBound) {
  auto refused = [](const ModelProto &model, const char *text) {
    Error error = failureOf(model);
    EXPECT_EQ(error.code, ErrorCode::UnsupportedForm) << error.str();
    EXPECT_EQ(error.opKind, "Loop (ai.onnx 17)");
    EXPECT_NE(error.message.find(text), std::string::npos) << error.str();
    EXPECT_FALSE(error.hint.empty()) << error.str();
  };
  refused(sumModel({kBelowTen}, "", "", {}), "until the data ends it");
  refused(sumModel({kPass}, "", "", {}), "does not end it");
  refused(sumModel({kPass}, "m", "", {integers("m", {}, {100000})}), "100000");
  refused(sumModel({kBelowTen}, "m", "", {integers("m", {}, {100000})}),
          "100000");
  ModelProto model = sumModel({kPass}, "m", "", {});
  model.graph.inputs.push_back(port("m", DataType::s64, {}));
  refused(model, "trip count is not known");
  // One that counts, but too far: 4096 steps are tried.
  NodeProto far = node("Less", {"i", "million"}, {"go"});
  model = sumModel({far}, "", "", {integers("million", {}, {1000000})});
  model.graph.nodes[0].attributes[0].graphs[0].nodes[0].inputs = {"x", "three"};
  refused(model, "4096");
}

TEST(OnnxLoop, OneMayBeInAnother) {
  // y = 0; 3 times: 2 times: y += x if the outer step is even, else y -= x.
  GraphProto yes = graphOf({}, {node("Add", {"b", "x"}, {"r"})}, {"r"});
  GraphProto no = graphOf({}, {node("Sub", {"b", "x"}, {"r"})}, {"r"});
  GraphProto inner =
      graphOf({"j", "d", "b"},
              {node("If", {"even"}, {"r"},
                    {attr("then_branch", yes), attr("else_branch", no)})},
              {"d", "r"});
  GraphProto outer =
      graphOf({"i", "c", "a"},
              {node("Mod", {"i", "two"}, {"rest"}),
               node("Equal", {"rest", "zero"}, {"even"}),
               node("Loop", {"two", "c", "a"}, {"n"}, {attr("body", inner)})},
              {"c", "n"});
  ModelProto model = modelOf(
      {node("Loop", {"three", "", "start"}, {"y"}, {attr("body", outer)})},
      {port("x", DataType::f32, {2})}, {"y"},
      {integers("three", {}, {3}), integers("two", {}, {2}),
       integers("zero", {}, {0}), floats("start", {2}, {0, 0})});
  expectOutputs(model, {{"x", kX}}, {{{2}, {6, 10}}});
  EXPECT_EQ(countOf(model, "Select"), 0u);
}

TEST(OnnxLoop, FunctionsHaveLoops) {
  // The body refers to an attribute of the caller.
  AttributeProto slope;
  slope.name = "alpha";
  slope.reference = "slope";
  GraphProto body = graphOf(
      {"i", "c", "a"}, {node("LeakyRelu", {"a"}, {"b"}, {slope})}, {"c", "b"});
  FunctionProto function;
  function.name = "Twice";
  function.domain = "local";
  function.inputs = {"v", "m"};
  function.outputs = {"r"};
  function.nodes = {node("Loop", {"m", "", "v"}, {"r"}, {attr("body", body)})};
  NodeProto call = node("Twice", {"x", "two"}, {"y"});
  call.domain = "local";
  call.attributes.emplace_back().name = "slope";
  call.attributes[0].f = 0.5f;
  ModelProto model = modelOf({call}, {port("x", DataType::f32, {2})}, {"y"},
                             {integers("two", {}, {2})});
  model.functions = {function};
  expectOutputs(model, {{"x", tensor(graph::DType::f32, {2}, {-8, 3})}},
                {{{2}, {-2, 3}}});
  // Names around the caller are not those of the function.
  model.functions[0].nodes[0].attributes[0].graphs[0].nodes[0].inputs = {"x"};
  EXPECT_EQ(failureOf(model).code, ErrorCode::UnknownTensor);
  // A graph of the caller would have its names.
  model.functions = {function};
  model.functions[0].nodes[0].attributes[0].graphs.clear();
  model.functions[0].nodes[0].attributes[0].reference = "what";
  model.graph.nodes[0].attributes.push_back(attr("what", body));
  EXPECT_EQ(failureOf(model).code, ErrorCode::UnsupportedForm);
}

TEST(OnnxLoop, WrongBodiesAreErrors) {
  auto with = [](auto change) {
    ModelProto model = sumModel({kPass}, "four", "", {});
    change(model.graph.nodes[0], model.graph.nodes[0].attributes[0].graphs[0]);
    return failureOf(model).code;
  };
  using Node = NodeProto &;
  using Body = GraphProto &;
  EXPECT_EQ(with([](Node n, Body) { n.attributes.clear(); }),
            ErrorCode::MissingAttr);
  EXPECT_EQ(with([](Node, Body b) { b.outputs.clear(); }),
            ErrorCode::OperandCount);
  EXPECT_EQ(with([](Node, Body b) { b.outputs.pop_back(); }),
            ErrorCode::OperandCount);
  EXPECT_EQ(with([](Node, Body b) { b.inputs.clear(); }),
            ErrorCode::OperandCount);
  EXPECT_EQ(with([](Node, Body b) { b.inputs.push_back(untyped("z")); }),
            ErrorCode::OperandCount);
  EXPECT_EQ(with([](Node, Body b) { b.outputs[0].name = "next"; }),
            ErrorCode::BadDType);
  EXPECT_EQ(with([](Node, Body b) { b.outputs[1].name = "i"; }),
            ErrorCode::BadDType);
  EXPECT_EQ(with([](Node, Body b) { b.outputs[1].name = ""; }),
            ErrorCode::UnknownTensor);
  EXPECT_EQ(with([](Node n, Body) { n.inputs[2] = ""; }),
            ErrorCode::OperandCount);
  EXPECT_EQ(with([](Node n, Body) { n.inputs[0] = "x"; }), ErrorCode::BadDType);
  EXPECT_EQ(with([](Node n, Body) { n.inputs[1] = "x"; }), ErrorCode::BadDType);
  EXPECT_EQ(with([](Node, Body b) { b.nodes[0].opType = "Nonsense"; }),
            ErrorCode::UnsupportedOp);
  EXPECT_EQ(with([](Node n, Body) { n.outputs = {"a", "b", "c", "d"}; }),
            ErrorCode::OperandCount);
}

/// Nodes that follow one with an error are looked at, but no further steps.
TEST(OnnxLoop, AnErrorInABodyEndsIt) {
  ModelProto model = sumModel({kPass}, "four", "", {});
  GraphProto &body = model.graph.nodes[0].attributes[0].graphs[0];
  body.nodes[0].opType = "Nonsense";
  std::vector<ConvertedNode> nodes;
  ImportOptions options;
  options.nodes = &nodes;
  auto imported = importModel(model, options);
  ASSERT_FALSE(imported);
  ASSERT_EQ(imported.errors().size(), 1u) << str(imported.errors());
  EXPECT_EQ(imported.errors()[0].str(),
            "E2001 Nonsense (ai.onnx 17) \"part\": this operator is not "
            "converted");
  // A body that needs what an error outside has taken says nothing.
  model = sumModel({kPass}, "four", "", {});
  model.graph.nodes.insert(model.graph.nodes.begin(),
                           node("Nonsense", {"x"}, {"z"}));
  model.graph.nodes[1].attributes[0].graphs[0].nodes[0].inputs = {"z", "i"};
  imported = importModel(model, options);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.errors().size(), 1u) << str(imported.errors());
}

TEST(OnnxLoop, NestedLoopsAreBounded) {
  // 4000^10 steps, with bodies of hardly anything and of weights.
  for (bool hasWeights : {false, true}) {
    GraphProto body = graphOf({"i", "c"}, {}, {"c"});
    if (hasWeights)
      for (int i = 0; i < 100; ++i)
        body.initializers.push_back(ones("w", DataType::f32, {4096}));
    for (int depth = 0; depth < 10; ++depth)
      body = graphOf(
          {"i", "c"},
          {node("Loop", {"many", ""}, {}, {attr("body", std::move(body))})},
          {"c"});
    ModelProto model =
        modelOf(body.nodes, {}, {}, {integers("many", {}, {4000})});
    EXPECT_EQ(failureOf(model).code, ErrorCode::TooLarge);
  }
  // What is known of the steps stays bounded, too: 4096 elements each.
  GraphProto body =
      graphOf({"i", "c", "a"}, {node("Add", {"a", "a"}, {"b"})}, {"c", "b"});
  GraphProto outer =
      graphOf({"i", "c", "a"},
              {node("Loop", {"many", "", "a"}, {"b"}, {attr("body", body)})},
              {"c", "b"});
  ModelProto model = modelOf(
      {node("Loop", {"many", "", "one"}, {"y"}, {attr("body", outer)})}, {},
      {"y"},
      {integers("many", {}, {4000}), ones("one", DataType::f32, {4096})});
  EXPECT_EQ(failureOf(model).code, ErrorCode::TooLarge);
  // Constants of the steps, of 2^20 elements each, and many operations of one
  // node.
  GraphProto ranges =
      graphOf({"i", "c", "a"}, {node("Range", {"zero", "far", "one"}, {"r"})},
              {"c", "a"});
  GraphProto products = graphOf(
      {"i", "c", "a"}, {node("CumProd", {"a", "zero"}, {"b"})}, {"c", "b"});
  for (const GraphProto &large : {ranges, products}) {
    GraphProto around =
        graphOf({"i", "c", "a"},
                {node("Loop", {"many", "", "a"}, {"b"}, {attr("body", large)})},
                {"c", "b"});
    model = modelOf(
        {node("Loop", {"many", "", "x"}, {"y"}, {attr("body", around)})},
        {port("x", DataType::f32, {1 << 30})}, {"y"},
        {integers("many", {}, {4000}), integers("zero", {}, {0}),
         integers("one", {}, {1}), integers("far", {}, {1 << 20})},
        26);
    EXPECT_EQ(failureOf(model).code, ErrorCode::TooLarge);
  }
  // Graphs that are too deep.
  GraphProto deep = graphOf({}, {}, {"x"});
  for (int depth = 0; depth < 1000; ++depth)
    deep = graphOf({},
                   {node("If", {"c"}, {"x"},
                         {attr("then_branch", std::move(deep)),
                          attr("else_branch", graphOf({}, {}, {"c"}))})},
                   {"x"});
  EXPECT_EQ(failureOf(modelOf(deep.nodes,
                              {port("c", DataType::boolean, {}),
                               port("x", DataType::f32, {})},
                              {}))
                .code,
            ErrorCode::TooLarge);
}

} // namespace
