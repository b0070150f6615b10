// SPDX-License-Identifier: Apache-2.0
//
// Sizes that are not known: shapes that models compute from them become
// expressions of names.
#include "compiler/import/onnx/SizeTrials.h"
#include "compiler/import/onnx/TestModels.h"
#include "dialects/graph/SizeExpr.h"

using namespace tenon;
using namespace tenon::onnx;
using namespace tenon::onnx::test;

namespace {

constexpr int64_t kAny = graph::kUnknownDim;

TEST(SizeTrials, FindsWhatNumbersAreMadeOf) {
  SizeTrials trials;
  for (const char *name : {"batch", "tokens", "height", "width"})
    ASSERT_TRUE(trials.numbersOf(name));
  for (const char *text :
       {"batch", "12 * batch", "tokens + 1", "batch * tokens",
        "768 * batch * tokens", "height // 2", "(height + 1) // 2",
        "(batch + tokens)", "height // 32", "batch * height * width", "7",
        "tokens - 1", "height * width // 4", "21 * height * width // 1024",
        "batch * ((height + 31) // 32) * (width // 4) * 3",
        "(width + 6) // 7 * 7", "(tokens + 191) // 192 * 192",
        "(tokens + 3) // 16 * 16 + 28"}) {
    auto numbers = trials.numbersOf(text);
    ASSERT_TRUE(numbers) << text;
    auto found = trials.expressionOf(*numbers);
    ASSERT_TRUE(found) << text;
    // Another text may say the same.
    EXPECT_EQ(trials.numbersOf(*found), numbers) << text << ": " << *found;
  }
  EXPECT_FALSE(trials.numbersOf("batch *"));
  // The smaller of a size and a limit is not the size.
  auto limited = *trials.numbersOf("tokens");
  for (auto &number : limited)
    number = std::min<int64_t>(*number, 8192);
  EXPECT_FALSE(trials.expressionOf(limited));
  // Nothing that names give, and nothing that one trial tells.
  SizeTrials::Numbers odd{1, 5, 2, 77, 3};
  EXPECT_FALSE(trials.expressionOf(odd));
  SizeTrials::Numbers one{};
  one[0] = 4;
  EXPECT_FALSE(trials.expressionOf(one));
}

/// Of few trials that tell, as those of a model with a short table of
/// positions, nothing follows that fits by chance.
TEST(SizeTrials, ShortTables) {
  SizeTrials trials;
  for (const char *name : {"batch", "seq", "total", "past", "enc"})
    ASSERT_TRUE(trials.numbersOf(name));
  for (const char *text :
       {"(seq + past)", "(seq + past) - 1", "(seq + enc)", "batch * seq",
        "(total + past)", "4 * batch * seq", "(past + enc)"}) {
    SizeTrials::Numbers all = *trials.numbersOf(text), few = all;
    size_t tells = 0;
    for (auto &number : few)
      if (number && *number > 40)
        number.reset();
      else
        tells += number.has_value();
    if (tells < 2)
      continue;
    // Another text may say the same.
    auto found = trials.expressionOf(few);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(trials.numbersOf(*found), all) << text << ": " << *found;
    // Two numbers are what many expressions give.
    for (size_t k = 0; k < few.size() && tells > 2; ++k)
      if (few[k]) {
        few[k].reset();
        --tells;
      }
    if (found = trials.expressionOf(few); found)
      EXPECT_EQ(trials.numbersOf(*found), all) << text << ": " << *found;
  }
}

/// What is found is right for all sizes, not only for those that are tried.
TEST(SizeTrials, TellsMultiplesOfPowersOf2) {
  SizeTrials trials;
  for (const char *name : {"batch", "tokens", "height", "width"})
    ASSERT_TRUE(trials.numbersOf(name));
  for (std::string name : {"batch", "tokens", "height", "width"})
    for (int64_t window : {2, 4, 8, 16, 32, 64}) {
      std::string by = std::to_string(window);
      for (const std::string &part :
           {name + " // " + by,
            "(" + name + " + " + std::to_string(window - 1) + ") // " + by})
        for (const std::string &text : {part, part + " * " + by}) {
          auto found = trials.expressionOf(*trials.numbersOf(text));
          ASSERT_TRUE(found) << text;
          auto expected = graph::SizeExpr::parse(text),
               expression = graph::SizeExpr::parse(*found);
          ASSERT_TRUE(expected && expression) << *found;
          for (int64_t size = 1; size <= 200; ++size) {
            auto sizeOf = [&](std::string_view) { return std::optional(size); };
            ASSERT_EQ(expression->evaluate(sizeOf), expected->evaluate(sizeOf))
                << text << ": " << *found << " of " << size;
          }
        }
    }
}

/// What windows round down several times is known by how it came about.
TEST(SizeTrials, PositionsOfWindows) {
  SizeTrials trials;
  ASSERT_TRUE(trials.numbersOf("samples"));
  ASSERT_TRUE(trials.numbersOf("batch"));
  trials.addPositions("samples", -5, 5);            // 10 taps, stride 5
  trials.addPositions("(samples - 5) // 5", -1, 2); // 3 taps, stride 2
  const char *twice = "((samples - 5) // 5 - 1) // 2";
  auto found = trials.expressionOf(*trials.numbersOf(twice));
  EXPECT_EQ(found, "(samples - 10) // 10");
  auto tokens = *trials.numbersOf(std::string("3 * batch * (") + twice + ")");
  found = trials.expressionOf(tokens);
  ASSERT_TRUE(found);
  EXPECT_EQ(trials.numbersOf(*found), tokens) << *found;
  // The next multiple of a window.
  auto padded = *trials.numbersOf(std::string("(") + twice + " + 6) // 7 * 7");
  found = trials.expressionOf(padded);
  ASSERT_TRUE(found);
  EXPECT_EQ(trials.numbersOf(*found), padded) << *found;
}

ValueInfoProto named(std::string_view name, DataType type,
                     const std::vector<std::string_view> &dims) {
  ValueInfoProto value = port(name, type, {});
  for (std::string_view dim : dims)
    if (dim.find_first_not_of("0123456789") == dim.npos)
      value.shape->emplace_back().value = std::stoll(std::string(dim));
    else
      value.shape->emplace_back().name = dim;
  return value;
}

NodeProto named(NodeProto node, std::string_view result) {
  node.outputs = {result};
  return node;
}

TensorProto integers(std::string_view name, std::vector<int64_t> values,
                     bool isScalar = false) {
  TensorProto tensor;
  tensor.name = name;
  tensor.type = DataType::s64;
  if (!isScalar)
    tensor.dims = {static_cast<int64_t>(values.size())};
  tensor.int64s = std::move(values);
  return tensor;
}

const graph::Op *find(const graph::Graph &graph, std::string_view kind) {
  for (const graph::Op &op : graph.ops)
    if (op.kind == kind)
      return &op;
  return nullptr;
}

/// A reshape of x, [batch, sequence length, 24], to the sizes `first` and
/// `second`, which are computed from its shape, and `rest`.
Expected<Imported> reshaped(std::string_view first, std::string_view second,
                            std::vector<int64_t> rest) {
  ModelProto model = modelOf(nodeOf("Reshape", {"x", "shape"}));
  NodeProto reshape = model.graph.nodes[0];
  NodeProto concat = named(nodeOf("Concat", {first, second, "rest"}), "shape");
  concat.attributes.emplace_back().name = "axis";
  model.graph.nodes = {named(nodeOf("Shape", {"x"}), "all"),
                       named(nodeOf("Gather", {"all", "zero"}), "b"),
                       named(nodeOf("Gather", {"all", "one"}), "t"), concat,
                       reshape};
  model.graph.inputs = {
      named("x", DataType::f32, {"batch", "sequence length", "24"})};
  model.graph.initializers = {integers("zero", {0}), integers("one", {1}),
                              integers("rest", std::move(rest))};
  return importModel(model);
}

TEST(OnnxSizes, ReshapesByComputedShapes) {
  // Sizes that stay where they are need no names.
  auto kept = reshaped("b", "t", {3, 8});
  ASSERT_TRUE(kept) << str(kept.errors());
  ASSERT_EQ(kept->graph.ops.size(), 1u); // only the reshape is left
  EXPECT_EQ(kept->graph.ops[0].attrOr<graph::Dims>("shape", {}),
            (graph::Dims{0, 0, 3, 8}));
  const graph::LogicalTensor &x = kept->graph.tensor(kept->graph.inputPorts[0]);
  EXPECT_EQ(x.sizes,
            (std::vector<std::string>{"batch", "sequence_length", "24"}));
  EXPECT_EQ(kept->graph.tensor(*kept->outputs[0].id).name, "y");

  auto moved = reshaped("t", "b", {24});
  ASSERT_TRUE(moved) << str(moved.errors());
  const graph::LogicalTensor &y = moved->graph.tensor(*moved->outputs[0].id);
  EXPECT_EQ(y.shape, (graph::Dims{kAny, kAny, 24}));
  EXPECT_EQ(y.sizes,
            (std::vector<std::string>{"sequence_length", "batch", "24"}));

  // One is left to the elements.
  auto rest = reshaped("t", "b", {2, -1});
  ASSERT_TRUE(rest) << str(rest.errors());
  EXPECT_EQ(rest->graph.tensor(*rest->outputs[0].id).sizes.back(), "12");
}

/// Positions 0, 1, .. of as many tokens as there are.
TEST(OnnxSizes, RangesUpToASize) {
  ModelProto model = modelOf(nodeOf("Range", {"zero", "n", "one"}));
  NodeProto range = model.graph.nodes[0];
  model.graph.nodes = {named(nodeOf("Shape", {"x"}), "all"),
                       named(nodeOf("Gather", {"all", "one"}), "n"), range};
  model.graph.inputs = {named("x", DataType::f32, {"batch", "tokens"})};
  model.graph.initializers = {integers("zero", {0}, true),
                              integers("one", {1}, true)};
  auto imported = importModel(model);
  ASSERT_TRUE(imported) << str(imported.errors());
  const graph::Op *expand = find(imported->graph, "Expand");
  ASSERT_TRUE(expand);
  EXPECT_EQ(imported->graph.tensor(expand->outputs[0]).sizes,
            std::vector<std::string>{"tokens"});
  EXPECT_TRUE(find(imported->graph, "GenIndex"));

  // Centres of cells are counted in f32.
  NodeProto cast = named(nodeOf("Cast", {"n"}), "m");
  cast.attributes.emplace_back().name = "to";
  cast.attributes.back().i = 1;
  model.graph.nodes.insert(model.graph.nodes.begin() + 2, cast);
  model.graph.nodes[3].inputs = {"zero", "m", "one"};
  TensorProto zero = integers("zero", {}, true), one = zero;
  zero.type = one.type = DataType::f32;
  one.name = "step";
  zero.int64s = {};
  zero.floats = {0};
  one.floats = {1};
  model.graph.initializers[0] = zero;
  model.graph.initializers.push_back(one);
  model.graph.nodes[3].inputs[2] = "step";
  auto floats = importModel(model);
  ASSERT_TRUE(floats) << str(floats.errors());
  expand = find(floats->graph, "Expand");
  ASSERT_TRUE(expand);
  EXPECT_EQ(floats->graph.tensor(expand->outputs[0]).sizes,
            std::vector<std::string>{"tokens"});
}

/// Before version 13 the dims from the axis on are one.
TEST(OnnxSizes, FlattensForOldSoftmax) {
  for (int64_t axis : {1, 2}) {
    ModelProto model = modelOf(nodeOf("Softmax", {"x"}), 11);
    AttributeProto &attribute = model.graph.nodes[0].attributes.emplace_back();
    attribute.name = "axis";
    attribute.i = axis;
    model.graph.inputs = {named("x", DataType::f32, {"batch", "h", "w"})};
    auto imported = importModel(model);
    ASSERT_TRUE(imported) << str(imported.errors());
    const graph::Op *softmax = find(imported->graph, "SoftMax");
    ASSERT_TRUE(softmax);
    // The last dim is alone, and nothing is reshaped.
    EXPECT_EQ(imported->graph.ops.size(), axis == 2 ? 1u : 3u);
    EXPECT_EQ(imported->graph.tensor(softmax->inputs[0]).shape->size(),
              axis == 2 ? 3u : 2u);
    EXPECT_EQ(imported->graph.tensor(*imported->outputs[0].id).shape,
              (graph::Dims{kAny, kAny, kAny}));
    if (axis == 1)
      EXPECT_EQ(imported->graph.tensor(*imported->outputs[0].id).sizes,
                (std::vector<std::string>{"batch", "h", "w"}));
  }
}

/// A table that is cut to as many rows as there are tokens.
TEST(OnnxSizes, SlicesUpToASize) {
  ModelProto model = modelOf(nodeOf("Slice", {"table", "from", "n", "axis"}));
  NodeProto slice = model.graph.nodes[0];
  model.graph.nodes = {named(nodeOf("Shape", {"x"}), "all"),
                       named(nodeOf("Gather", {"all", "axis"}), "n"), slice};
  model.graph.inputs = {named("x", DataType::f32, {"batch", "tokens"}),
                        port("table", DataType::f32, {1, 512})};
  model.graph.initializers = {integers("from", {0}), integers("axis", {1})};
  auto imported = importModel(model);
  ASSERT_TRUE(imported) << str(imported.errors());
  const graph::Op *op = find(imported->graph, "Slice");
  ASSERT_TRUE(op);
  EXPECT_EQ(imported->graph.tensor(op->outputs[0]).sizes,
            (std::vector<std::string>{"1", "tokens"}));
}

/// The last rows of a table are those of the tokens, of which -0 are all.
TEST(OnnxSizes, SlicesFromTheEnd) {
  ModelProto model = modelOf(nodeOf("Slice", {"table", "less", "to", "axis"}));
  NodeProto slice = model.graph.nodes[0];
  model.graph.nodes = {named(nodeOf("Shape", {"x"}), "all"),
                       named(nodeOf("Gather", {"all", "axis"}), "n"),
                       named(nodeOf("Neg", {"n"}), "less"), slice};
  model.graph.inputs = {named("x", DataType::f32, {"batch", "tokens"}),
                        named("table", DataType::f32, {"1", "total"})};
  model.graph.initializers = {integers("to", {INT64_MAX}),
                              integers("axis", {1})};
  auto imported = importModel(model);
  ASSERT_TRUE(imported) << str(imported.errors());
  const graph::Op *op = find(imported->graph, "Slice");
  ASSERT_TRUE(op);
  EXPECT_EQ(imported->graph.tensor(op->outputs[0]).sizes,
            (std::vector<std::string>{"1", "tokens"}));
  ASSERT_TRUE(imported->graph.sizeFacts.contains("tokens"));
  EXPECT_EQ(imported->graph.sizeFacts.at("tokens").min, 1);
  EXPECT_FALSE(imported->graph.sizeFacts.contains("total"));
}

/// A mask that is cut to as many entries as there are tokens with those before,
/// which are fewer than the mask has in hardly any trial.
TEST(OnnxSizes, CutsThatFitInEachExecution) {
  ModelProto model = modelOf(nodeOf("Slice", {"mask", "from", "n", "axis"}));
  NodeProto slice = model.graph.nodes[0];
  NodeProto join = named(nodeOf("Concat", {"past", "x"}), "both");
  join.attributes.emplace_back().name = "axis";
  join.attributes.back().i = 1;
  model.graph.nodes = {join, named(nodeOf("Shape", {"both"}), "shape"),
                       named(nodeOf("Gather", {"shape", "axis"}), "n"), slice};
  model.graph.inputs = {named("x", DataType::f32, {"batch", "tokens"}),
                        named("mask", DataType::f32, {"batch", "total"}),
                        named("past", DataType::f32, {"batch", "past"})};
  model.graph.initializers = {integers("from", {0}), integers("axis", {1})};
  for (const char *total : {"total", "16"}) {
    model.graph.inputs[1] = named("mask", DataType::f32, {"batch", total});
    auto imported = importModel(model);
    ASSERT_TRUE(imported) << str(imported.errors());
    EXPECT_EQ(imported->graph.tensor(*imported->outputs[0].id).sizes,
              (std::vector<std::string>{"batch", "(tokens + past)"}));
  }
}

/// Keys and values of the past are side by side in front of the samples, whose
/// number and length are not known.
TEST(OnnxSizes, PastOfAttention) {
  ModelProto model = modelOf(nodeOf("Attention", {"x", "w", "b", "", "past"}));
  model.operatorSets.push_back({.domain = "com.microsoft", .version = 1});
  NodeProto &attention = model.graph.nodes[0];
  attention.domain = "com.microsoft";
  attention.outputs = {"y", "present"};
  AttributeProto &heads = attention.attributes.emplace_back();
  heads.name = "num_heads";
  heads.i = 2;
  model.graph.inputs = {
      named("x", DataType::f32, {"batch", "tokens", "8"}),
      port("w", DataType::f32, {8, 24}), port("b", DataType::f32, {24}),
      named("past", DataType::f32, {"2", "batch", "2", "before", "4"})};
  model.graph.outputs.push_back(port("present", DataType::f32, {}));
  auto imported = importModel(model);
  ASSERT_TRUE(imported) << str(imported.errors());
  EXPECT_EQ(imported->graph.tensor(*imported->outputs[0].id).shape,
            (graph::Dims{kAny, kAny, 8}));
  EXPECT_EQ(imported->graph.tensor(*imported->outputs[1].id).shape,
            (graph::Dims{2, kAny, 2, kAny, 4}));
}

/// Lengths of as many samples as there are; and their ends, then their
/// beginnings.
TEST(OnnxSizes, LengthsOfSamples) {
  for (bool both : {false, true}) {
    ModelProto model = modelOf(nodeOf("Attention", {"x", "w", "b", "lengths"}));
    model.operatorSets.push_back({.domain = "com.microsoft", .version = 1});
    NodeProto attention = model.graph.nodes[0];
    attention.domain = "com.microsoft";
    AttributeProto &heads = attention.attributes.emplace_back();
    heads.name = "num_heads";
    heads.i = 2;
    model.graph.nodes = {attention};
    model.graph.inputs = {named("x", DataType::f32, {"batch", "tokens", "8"}),
                          port("w", DataType::f32, {8, 24}),
                          port("b", DataType::f32, {24}),
                          named("lengths", DataType::s32, {"batch"})};
    if (both) {
      model.graph.inputs.back().name = "ends";
      NodeProto join = named(nodeOf("Concat", {"ends", "ends"}), "lengths");
      join.attributes.emplace_back().name = "axis";
      model.graph.nodes.insert(model.graph.nodes.begin(), join);
    }
    auto imported = importModel(model);
    ASSERT_TRUE(imported) << str(imported.errors());
    EXPECT_EQ(imported->graph.tensor(*imported->outputs[0].id).shape,
              (graph::Dims{kAny, kAny, 8}));
  }
}

/// Exporters write sums where two dims are joined.
TEST(OnnxSizes, DimsMayBeSums) {
  ModelProto model = modelOf(nodeOf("Concat", {"past", "x"}));
  model.graph.nodes[0].attributes.emplace_back().name = "axis";
  model.graph.inputs = {named("past", DataType::f32, {"past", "4"}),
                        named("x", DataType::f32, {"new", "4"}),
                        named("mask", DataType::f32, {"past + new", "4"}),
                        named("other", DataType::f32, {"past + gone", "4"})};
  NodeProto add = named(nodeOf("Add", {"y", "mask"}), "z");
  model.graph.nodes.push_back(add);
  model.graph.nodes.push_back(named(nodeOf("Relu", {"other"}), "o"));
  model.graph.outputs.push_back(port("z", DataType::f32, {}));
  model.graph.outputs.push_back(port("o", DataType::f32, {}));
  auto imported = importModel(model);
  ASSERT_TRUE(imported) << str(imported.errors());
  const graph::Graph &g = imported->graph;
  EXPECT_EQ(g.tensor(*imported->inputs[2].id).sizes[0], "past + new");
  EXPECT_EQ(g.tensor(*imported->inputs[3].id).sizes[0], "past___gone");
}

} // namespace
