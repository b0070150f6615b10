// SPDX-License-Identifier: Apache-2.0
//
// Sizes that are not known: shapes that models compute from them become
// expressions of names.
#include "compiler/import/onnx/SizeTrials.h"
#include "compiler/import/onnx/TestGraphs.h"
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
        "(tokens + 16) // 16 * 16 + 28"}) {
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

/// Of numbers between those that are tried nothing is known: 16 and 17 more are
/// the same there.
TEST(SizeTrials, RefusesWhatFitsByChance) {
  SizeTrials trials;
  ASSERT_TRUE(trials.numbersOf("samples"));
  std::string padded = "(samples + 17) // 64 * 64 + 84";
  auto numbers = *trials.numbersOf(padded);
  EXPECT_FALSE(trials.expressionOf(numbers));
  trials.note(padded);
  EXPECT_EQ(trials.expressionOf(numbers), padded);
  // Remainders of several names are the same, or 0, in too many trials.
  std::string rest = "(samples // 4) % 4";
  trials.note(rest);
  EXPECT_FALSE(trials.expressionOf(*trials.numbersOf(rest)));
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

/// What a model computes step by step is a factor of other sizes.
TEST(SizeTrials, SizesThatAreNoted) {
  SizeTrials trials;
  for (const char *name : {"batch", "height", "width"})
    ASSERT_TRUE(trials.numbersOf(name));
  std::string tokens = "1 + (height // 14) * (width // 14)";
  auto numbers = *trials.numbersOf(tokens),
       all = *trials.numbersOf("6 * batch * (" + tokens + ")");
  EXPECT_FALSE(trials.expressionOf(numbers));
  EXPECT_FALSE(trials.expressionOf(all));
  trials.note(tokens, all); // has other numbers
  EXPECT_FALSE(trials.expressionOf(numbers));
  trials.note(tokens, numbers);
  EXPECT_EQ(trials.expressionOf(numbers), tokens);
  auto found = trials.expressionOf(all);
  ASSERT_TRUE(found);
  EXPECT_EQ(trials.numbersOf(*found), all) << *found;
}

Imported importedOf(const ModelProto &model) {
  auto imported = importModel(model);
  EXPECT_TRUE(imported) << (imported ? "" : str(imported.errors()));
  return imported ? std::move(*imported) : Imported{};
}

const graph::Op *find(const graph::Graph &graph, std::string_view kind) {
  for (const graph::Op &op : graph.ops)
    if (op.kind == kind)
      return &op;
  return nullptr;
}

using Texts = std::vector<std::string>;

/// The sizes of the result of the first operation of this kind.
Texts sizesOf(const Imported &imported, std::string_view kind) {
  const graph::Op *op = find(imported.graph, kind);
  EXPECT_TRUE(op) << kind;
  return op ? imported.graph.tensor(op->outputs[0]).sizes : Texts{};
}

const graph::LogicalTensor &output(const Imported &imported, size_t i = 0) {
  return imported.graph.tensor(*imported.outputs.at(i).id);
}

/// The shape of x, "all", its sizes 0 and 1, "b" and "t", and what is made of
/// them.
std::vector<NodeProto> withSizesOfX(const std::vector<NodeProto> &more) {
  std::vector<NodeProto> nodes = {node("Shape", {"x"}, {"all"}),
                                  node("Gather", {"all", "zero"}, {"b"}),
                                  node("Gather", {"all", "one"}, {"t"})};
  nodes.insert(nodes.end(), more.begin(), more.end());
  return nodes;
}

/// Those of 64 bits with one element, or none of the dims.
std::vector<TensorProto> numbers(graph::Dims dims = {1}) {
  return {integers("zero", dims, {0}), integers("one", dims, {1}),
          integers("all of it", dims, {INT64_MAX})};
}

/// A reshape of x, [batch, sequence length, 24], to the sizes `first` and
/// `second`, which are computed from its shape, and `rest`.
Imported reshaped(std::string_view first, std::string_view second,
                  const graph::Dims &rest) {
  std::vector<TensorProto> weights = numbers();
  weights.push_back(
      integers("rest", {static_cast<int64_t>(rest.size())}, rest));
  return importedOf(
      modelOf(withSizesOfX({node("Concat", {first, second, "rest"}, {"shape"},
                                 {attr("axis", int64_t{0})}),
                            node("Reshape", {"x", "shape"}, {"y"})}),
              {named("x", DataType::f32, {"batch", "sequence length", "24"})},
              {"y"}, weights));
}

TEST(OnnxSizes, ReshapesByComputedShapes) {
  // Sizes that stay where they are need no names.
  Imported kept = reshaped("b", "t", {3, 8});
  ASSERT_EQ(kept.graph.ops.size(), 1u); // only the reshape is left
  EXPECT_EQ(kept.graph.ops[0].attrOr<graph::Dims>("shape", {}),
            (graph::Dims{0, 0, 3, 8}));
  const graph::LogicalTensor &x = kept.graph.tensor(kept.graph.inputPorts[0]);
  EXPECT_EQ(x.sizes, (Texts{"batch", "sequence_length", "24"}));
  EXPECT_EQ(output(kept).name, "y");

  Imported moved = reshaped("t", "b", {24});
  EXPECT_EQ(output(moved).shape, (graph::Dims{kAny, kAny, 24}));
  EXPECT_EQ(output(moved).sizes, (Texts{"sequence_length", "batch", "24"}));

  // One is left to the elements.
  EXPECT_EQ(output(reshaped("t", "b", {2, -1})).sizes.back(), "12");
}

/// Positions 0, 1, .. of as many tokens as there are; centres of cells are
/// counted in f32.
TEST(OnnxSizes, RangesUpToASize) {
  std::vector<TensorProto> weights = numbers({});
  weights.push_back(floats("zero, f32", {}, {0}));
  weights.push_back(floats("one, f32", {}, {1}));
  for (const Names &ends :
       {Names{"zero", "t", "one"}, {"zero, f32", "floats", "one, f32"}}) {
    ModelProto model = modelOf(
        withSizesOfX({node("Cast", {"t"}, {"floats"}, {attr("to", int64_t{1})}),
                      node("Range", ends, {"y"})}),
        {named("x", DataType::f32, {"batch", "tokens"})}, {"y"}, weights);
    Imported imported = importedOf(model);
    EXPECT_EQ(sizesOf(imported, "Expand"), Texts{"tokens"});
    EXPECT_TRUE(find(imported.graph, "GenIndex"));
  }
}

/// Before version 13 the dims from the axis on are one.
TEST(OnnxSizes, FlattensForOldSoftmax) {
  for (int64_t axis : {1, 2}) {
    Imported imported = importedOf(modelOf(
        {node("Softmax", {"x"}, {"y"}, {attr("axis", axis)})},
        {named("x", DataType::f32, {"batch", "h", "w"})}, {"y"}, {}, 11));
    const graph::Op *softmax = find(imported.graph, "SoftMax");
    ASSERT_TRUE(softmax);
    // The last dim is alone, and nothing is reshaped.
    EXPECT_EQ(imported.graph.ops.size(), axis == 2 ? 1u : 3u);
    EXPECT_EQ(imported.graph.tensor(softmax->inputs[0]).shape->size(),
              axis == 2 ? 3u : 2u);
    EXPECT_EQ(output(imported).shape, (graph::Dims{kAny, kAny, kAny}));
    if (axis == 1)
      EXPECT_EQ(output(imported).sizes, (Texts{"batch", "h", "w"}));
  }
}

/// A table that is cut to as many rows as there are tokens: the first ones, or
/// the last ones, of which -0 are all.
TEST(OnnxSizes, SlicesOfATable) {
  for (bool isFirst : {true, false}) {
    Imported imported = importedOf(modelOf(
        withSizesOfX({node("Neg", {"t"}, {"less"}),
                      node("Slice",
                           isFirst ? Names{"table", "zero", "t", "one"}
                                   : Names{"table", "less", "all of it", "one"},
                           {"y"})}),
        {named("x", DataType::f32, {"batch", "tokens"}),
         named("table", DataType::f32, {"1", isFirst ? "512" : "total"})},
        {"y"}, numbers()));
    EXPECT_EQ(sizesOf(imported, "Slice"), (Texts{"1", "tokens"}));
    const auto &facts = imported.graph.sizeFacts;
    EXPECT_FALSE(facts.contains("total"));
    if (isFirst)
      continue;
    ASSERT_TRUE(facts.contains("tokens"));
    EXPECT_EQ(facts.at("tokens").min, 1);
  }
}

/// A mask that is cut to as many entries as there are tokens with those before,
/// which are fewer than the mask has in hardly any trial.
TEST(OnnxSizes, CutsThatFitInEachExecution) {
  for (const char *total : {"total", "16"}) {
    Imported imported = importedOf(modelOf(
        {node("Concat", {"past", "x"}, {"both"}, {attr("axis", int64_t{1})}),
         node("Shape", {"both"}, {"shape"}),
         node("Gather", {"shape", "one"}, {"n"}),
         node("Slice", {"mask", "zero", "n", "one"}, {"y"})},
        {named("x", DataType::f32, {"batch", "tokens"}),
         named("mask", DataType::f32, {"batch", total}),
         named("past", DataType::f32, {"batch", "past"})},
        {"y"}, numbers()));
    EXPECT_EQ(output(imported).sizes, (Texts{"batch", "(tokens + past)"}));
  }
}

/// Attention of two heads with these operands, after other nodes.
Imported attended(std::vector<NodeProto> nodes, Names operands,
                  std::vector<ValueInfoProto> inputs) {
  nodes.push_back(node("Attention", operands, {"y", "present"},
                       {attr("num_heads", int64_t{2})}));
  nodes.back().domain = "com.microsoft";
  inputs.push_back(named("x", DataType::f32, {"batch", "tokens", "8"}));
  inputs.push_back(port("w", DataType::f32, {8, 24}));
  inputs.push_back(port("b", DataType::f32, {24}));
  bool hasPast = operands.size() > 4;
  ModelProto model = modelOf(std::move(nodes), std::move(inputs),
                             hasPast ? Names{"y", "present"} : Names{"y"});
  if (!hasPast)
    model.graph.nodes.back().outputs.pop_back();
  model.operatorSets.push_back({.domain = "com.microsoft", .version = 1});
  return importedOf(model);
}

/// Keys and values of the past are side by side in front of the samples, whose
/// number and length are not known.
TEST(OnnxSizes, PastOfAttention) {
  Imported imported = attended(
      {}, {"x", "w", "b", "", "past"},
      {named("past", DataType::f32, {"2", "batch", "2", "before", "4"})});
  EXPECT_EQ(output(imported).shape, (graph::Dims{kAny, kAny, 8}));
  EXPECT_EQ(output(imported, 1).shape, (graph::Dims{2, kAny, 2, kAny, 4}));
}

/// Lengths of as many samples as there are; and their ends, then their
/// beginnings.
TEST(OnnxSizes, LengthsOfSamples) {
  NodeProto join =
      node("Concat", {"ends", "ends"}, {"both"}, {attr("axis", int64_t{0})});
  for (std::string_view lengths : {"ends", "both"}) {
    Imported imported = attended({join}, {"x", "w", "b", lengths},
                                 {named("ends", DataType::s32, {"batch"})});
    EXPECT_EQ(output(imported).shape, (graph::Dims{kAny, kAny, 8}));
  }
}

/// Exporters write sums where two dims are joined.
TEST(OnnxSizes, DimsMayBeSums) {
  Imported imported = importedOf(modelOf(
      {node("Concat", {"past", "x"}, {"y"}, {attr("axis", int64_t{0})}),
       node("Add", {"y", "mask"}, {"z"}), node("Relu", {"other"}, {"o"})},
      {named("past", DataType::f32, {"past", "4"}),
       named("x", DataType::f32, {"new", "4"}),
       named("mask", DataType::f32, {"past + new", "4"}),
       named("other", DataType::f32, {"past + gone", "4"})},
      {"y", "z", "o"}));
  const graph::Graph &g = imported.graph;
  EXPECT_EQ(g.tensor(*imported.inputs.at(2).id).sizes[0], "past + new");
  EXPECT_EQ(g.tensor(*imported.inputs.at(3).id).sizes[0], "past___gone");
}

} // namespace
