// SPDX-License-Identifier: Apache-2.0
//
// Operands that are computed from sizes that are not known.
#include "compiler/import/onnx/ComputedSizesSupport.h"

#include <limits>

using namespace tenon;
using namespace tenon::onnx;
using namespace tenon::onnx::test;

namespace {

TEST(ComputedSizes, Slices) {
  // Beside an end, exporters write the step, and the least number for a begin.
  for (Names ends : {Names{"zero", "f"},
                     {"one", "f"},
                     {"f", "last"},
                     {"f", "back"},
                     {"f", "b"},
                     {"first", "back"},
                     // Counted from the end, as positions of the last tokens.
                     {"less", "last"},
                     {"first", "less"},
                     {"one", "less"},
                     {"less", "back"}}) {
    std::vector<NodeProto> nodes = sizesOfBoth(
        {node("Neg", {"f"}, {"less"}),
         node("Slice", {"x", ends[0], ends[1], "one", "step"}, {"part"}),
         node("ReduceSum", {"like"}, {"sum"}),
         node("Add", {"part", "sum"}, {"y"})});
    expectSame(nodes, {{{2, 9}, {2, 4}}, {{3, 5}, {1, 2}}}, constants());
  }
}

/// A size is itself, whatever it is: the branch that is for others is not
/// there.
TEST(ComputedSizes, AreThemselves) {
  ModelProto model = modelOf(
      {node("Shape", {"x"}, {"all"}), node("Gather", {"all", "zero"}, {"n"}),
       node("Relu", {"x"}, {"like"}), node("Shape", {"like"}, {"shape"}),
       node("Gather", {"shape", "zero"}, {"k"}),
       node("Equal", {"n", "k"}, {"c"}),
       node("If", {"c"}, {"y"},
            {attr("then_branch",
                  graphOf({}, {node("Neg", {"like"}, {"r"})}, {"r"})),
             attr("else_branch",
                  graphOf({}, {node("Transpose", {"x"}, {"t"})}, {"t"}))})},
      {named("x", DataType::f32, {"n", "m"})}, {"y"},
      {integers("zero", {1}, {0})});
  EXPECT_EQ(countOf(model, "Select"), 0u);
  expectOutputs(model, {{"x", tensor(graph::DType::f32, {1, 2}, {-3, 5})}},
                {{{1, 2}, {0, -5}}});
  // Two sizes may be the same.
  model.graph.nodes[4].inputs[1] = "one";
  model.graph.initializers.push_back(integers("one", {1}, {1}));
  EXPECT_EQ(failureOf(model).code, ErrorCode::UnsupportedForm);
}

TEST(ComputedSizes, Ranges) {
  for (Names ends : {Names{"nothing", "f", "step"},
                     {"f", "b", "step"},
                     {"unit", "b", "pair"}}) {
    std::vector<NodeProto> nodes = sizesOfBoth(
        {node("Squeeze", {"f", "zero"}, {"f0"}),
         node("Squeeze", {"b", "zero"}, {"b0"}),
         node("Range",
              {ends[0] == "f" ? "f0" : ends[0], ends[1] == "f" ? "f0" : "b0",
               ends[2] == "pair" ? "pair" : "unit"},
              {"numbers"}),
         node("Cast", {"numbers"}, {"floats"},
              {attr("to", static_cast<int64_t>(DataType::f32))}),
         node("ReduceSum", {"x"}, {"sum"}),
         node("ReduceSum", {"like"}, {"sum2"}),
         node("Add", {"sum", "sum2"}, {"sums"}),
         node("Squeeze", {"sums"}, {"scalar"}),
         node("Add", {"floats", "scalar"}, {"y"})});
    std::vector<TensorProto> weights = constants();
    weights.push_back(integers("nothing", {}, {0}));
    weights.push_back(integers("unit", {}, {1}));
    weights.push_back(integers("pair", {}, {2}));
    expectSame(nodes, {{{2, 9}, {2, 4}}, {{3, 6}, {1, 2}}}, weights);
  }
}

TEST(ComputedSizes, Repetitions) {
  expectSame(sizesOfBoth({node("Concat", {"one", "f"}, {"repeats"},
                               {attr("axis", int64_t{0})}),
                          node("Tile", {"x", "repeats"}, {"tiled"}),
                          node("ReduceSum", {"like"}, {"sum"}),
                          node("Add", {"tiled", "sum"}, {"y"})}),
             {{{2, 3}, {2, 4}}, {{3, 5}, {1, 2}}}, constants());
}

TEST(ComputedSizes, FlattenedDims) {
  for (int64_t axis : {0, 1, 2})
    expectSame({node("Flatten", {"x"}, {"flat"}, {attr("axis", axis)}),
                node("ReduceSum", {"like"}, {"sum"}),
                node("Add", {"flat", "sum"}, {"y"})},
               {{{2, 3}, {2, 4}}, {{3, 5}, {1, 2}}}, {});
}

/// Dim 1 gets as many entries more as dim 1 of the other operand has, or what
/// makes it a multiple of 4, as windows need it.
TEST(ComputedSizes, Pads) {
  for (std::string_view mode : {"constant", "edge", "reflect"})
    for (Names ends : {Names{"f", "one"}, {"one", "f"}, {"zero", "end"}}) {
      SCOPED_TRACE(std::string(mode) + " " + std::string(ends[1]));
      std::vector<NodeProto> nodes =
          sizesOfBoth({node("Mod", {"b", "four"}, {"rest"}),
                       node("Sub", {"four", "rest"}, {"missing"}),
                       node("Mod", {"missing", "four"}, {"end"}),
                       node("Concat", {"zero", ends[0], "zero", ends[1]},
                            {"pads"}, {attr("axis", int64_t{0})}),
                       node("Pad", {"x", "pads", "value"}, {"padded"},
                            {text("mode", mode)}),
                       node("ReduceSum", {"like"}, {"sum"}),
                       node("Add", {"padded", "sum"}, {"y"})});
      std::vector<TensorProto> weights = constants();
      weights.push_back(integers("four", {1}, {4}));
      weights.push_back(floats("value", {}, {-2}));
      expectSame(nodes, {{{2, 9}, {2, 4}}, {{3, 6}, {1, 1}}, {{1, 8}, {2, 5}}},
                 weights);
    }
}

/// What makes a signal as long as windows of windows need it, for each length.
TEST(ComputedSizes, PadsForSeveralWindows) {
  std::vector<TensorProto> weights = constants();
  weights.push_back(integers("four", {1}, {4}));
  weights.push_back(integers("eight", {1}, {8}));
  auto positions = [](std::string_view of, Names made) {
    return std::vector<NodeProto>{node("Sub", {of, "one"}, {made[0]}),
                                  node("Div", {made[0], "four"}, {made[1]})};
  };
  auto samples = [](std::string_view of, Names made) {
    return std::vector<NodeProto>{node("Sub", {of, "one"}, {made[0]}),
                                  node("Mul", {made[0], "four"}, {made[1]}),
                                  node("Add", {made[1], "eight"}, {made[2]})};
  };
  std::vector<NodeProto> nodes;
  for (const auto &part : {positions("b", {"more0", "once"}),
                           positions("once", {"more1", "twice"}),
                           samples("twice", {"s0", "s1", "inner"}),
                           samples("inner", {"s2", "s3", "length"})})
    nodes.insert(nodes.end(), part.begin(), part.end());
  nodes.push_back(node("Sub", {"length", "b"}, {"more"}));
  nodes.push_back(node("Concat", {"zero", "zero", "zero", "more"}, {"pads"},
                       {attr("axis", int64_t{0})}));
  nodes.push_back(node("Pad", {"x", "pads"}, {"padded"}));
  nodes.push_back(node("ReduceSum", {"like"}, {"sum"}));
  nodes.push_back(node("Add", {"padded", "sum"}, {"y"}));
  std::vector<std::pair<graph::Dims, graph::Dims>> sizes;
  for (int64_t length = 30; length < 66; ++length)
    sizes.push_back({{1, length}, {1, 2}});
  expectSame(sizesOfBoth(nodes), sizes, weights);
}

/// Tokens of an image with one more: no search finds that sum, and what is made
/// of it is a product of it.
TEST(ComputedSizes, TokensOfPatches) {
  std::vector<TensorProto> weights = constants();
  weights.push_back(integers("patch", {1}, {3}));
  weights.push_back(integers("unit", {}, {1}));
  weights.push_back(integers("nothing", {}, {0}));
  weights.push_back(integers("rest", {1}, {-1}));
  expectSame(
      sizesOfBoth({node("Div", {"b", "patch"}, {"columns"}),
                   node("Gather", {"shape", "zero"}, {"a"}),
                   node("Div", {"a", "patch"}, {"rows"}),
                   node("Mul", {"rows", "columns"}, {"patches"}),
                   node("Add", {"one", "patches"}, {"tokens"}),
                   node("Squeeze", {"tokens", "zero"}, {"limit"}),
                   node("Range", {"nothing", "limit", "unit"}, {"places"}),
                   node("Cast", {"places"}, {"numbers"},
                        {attr("to", static_cast<int64_t>(DataType::f32))}),
                   node("Concat", {"f", "tokens"}, {"repeated"},
                        {attr("axis", int64_t{0})}),
                   node("Expand", {"numbers", "repeated"}, {"table"}),
                   node("Concat", {"rest", "f"}, {"turned"},
                        {attr("axis", int64_t{0})}),
                   node("Reshape", {"table", "turned"}, {"tokensFirst"}),
                   node("ReduceSum", {"x"}, {"sum"}),
                   node("ReduceSum", {"like"}, {"sum2"}),
                   node("Add", {"sum", "sum2"}, {"sums"}),
                   node("Add", {"tokensFirst", "sums"}, {"y"})}),
      {{{6, 9}, {2, 4}}, {{7, 11}, {1, 2}}, {{3, 5}, {2, 3}}}, weights);
}

/// As many entries of the middle as another operand has.
TEST(ComputedSizes, PartsInTheMiddle) {
  std::vector<TensorProto> weights = constants();
  expectSame(sizesOfBoth(
                 {node("Sub", {"b", "f"}, {"more"}),
                  node("Div", {"more", "two"}, {"begin"}),
                  node("Add", {"begin", "f"}, {"end"}),
                  node("Slice", {"x", "begin", "end", "one", "step"}, {"part"}),
                  node("Add", {"part", "like"}, {"y"})}),
             {{{2, 9}, {2, 4}}, {{3, 6}, {3, 6}}, {{1, 8}, {1, 5}}}, weights);
}

/// Around the middle of a table: a begin that is below 0 in some trials.
TEST(ComputedSizes, DifferencesBelow0) {
  std::vector<TensorProto> weights = constants();
  weights.push_back(integers("centre", {1}, {7}));
  expectSame(sizesOfBoth({node("Sub", {"centre", "f"}, {"begin"}),
                          node("Add", {"centre", "f"}, {"end"}),
                          node("Slice", {"x", "begin", "end", "one"}, {"part"}),
                          node("ReduceSum", {"like"}, {"sum"}),
                          node("Add", {"part", "sum"}, {"y"})}),
             {{{2, 15}, {2, 4}}, {{3, 14}, {3, 6}}, {{1, 9}, {1, 1}}}, weights);
}

/// Both dims to multiples of a window, where their remainders differ.
TEST(ComputedSizes, PadsOfBothDims) {
  std::vector<TensorProto> weights = constants();
  weights.push_back(integers("four", {1}, {4}));
  std::vector<NodeProto> nodes = {node("Gather", {"shape", "zero"}, {"a"})};
  for (auto [size, made] : {std::pair{"a", Names{"a0", "a1", "a2"}},
                            {"b", Names{"b0", "b1", "b2"}}}) {
    nodes.push_back(node("Mod", {size, "four"}, {made[0]}));
    nodes.push_back(node("Sub", {"four", made[0]}, {made[1]}));
    nodes.push_back(node("Mod", {made[1], "four"}, {made[2]}));
  }
  nodes.push_back(node("Concat", {"zero", "zero", "a2", "b2"}, {"pads"},
                       {attr("axis", int64_t{0})}));
  nodes.push_back(node("Pad", {"x", "pads"}, {"padded"}));
  nodes.push_back(node("ReduceSum", {"like"}, {"sum"}));
  nodes.push_back(node("Add", {"padded", "sum"}, {"y"}));
  expectSame(sizesOfBoth(nodes),
             {{{13, 11}, {2, 4}}, {{9, 13}, {1, 2}}, {{16, 10}, {1, 2}}},
             weights);
}

/// Names of two inputs that are one size in each execution: what is made of
/// both has that size, and a reshape by one name fits the other.
TEST(ComputedSizes, SizesThatAreTheSame) {
  std::vector<TensorProto> weights = constants();
  weights.push_back(integers("rest", {1}, {-1}));
  weights.push_back(integers("lone", {1}, {1}));
  expectSame({node("MatMul", {"x", "like"}, {"product"}),
              node("Add", {"product", "x"}, {"sums"}),
              node("Shape", {"sums"}, {"shape"}),
              node("Gather", {"shape", "zero"}, {"a"}),
              node("Gather", {"shape", "one"}, {"b"}),
              node("Concat", {"b", "lone", "rest"}, {"apart"},
                   {attr("axis", int64_t{0})}),
              node("Reshape", {"like", "apart"}, {"split"}),
              node("Concat", {"lone", "a", "b"}, {"whole"},
                   {attr("axis", int64_t{0})}),
              node("Reshape", {"sums", "whole"}, {"turned"}),
              node("Add", {"split", "turned"}, {"y"})},
             {{{4, 4}, {4, 4}}, {{3, 3}, {3, 3}}}, weights);
}

/// From the last entry to the first, all of them or every second one.
TEST(ComputedSizes, ReversedDims) {
  for (int64_t step : {-1, -2}) {
    std::vector<TensorProto> weights = constants();
    weights.push_back(integers("backwards", {2}, {step, 1}));
    weights.push_back(integers("begins", {2}, {-1, 1}));
    weights.push_back(integers("ends", {2}, {-INT64_MAX, INT64_MAX}));
    weights.push_back(integers("axes", {2}, {1, 0}));
    expectSame({node("Slice", {"x", "begins", "ends", "axes", "backwards"},
                     {"reversed"}),
                node("ReduceSum", {"like"}, {"sum"}),
                node("Add", {"reversed", "sum"}, {"y"})},
               {{{2, 9}, {2, 4}}, {{3, 6}, {1, 2}}}, weights);
  }
}

/// The first or the last entry alone has the size 1, and is repeated.
TEST(ComputedSizes, PartsOfOneEntry) {
  for (Names ends : {Names{"zero", "step"}, {"back", "last"}})
    expectSame({node("Slice", {"x", ends[0], ends[1], "one"}, {"part"}),
                node("Div", {"x", "part"}, {"quotients"}),
                node("ReduceSum", {"like"}, {"sum"}),
                node("Add", {"quotients", "sum"}, {"y"})},
               {{{2, 9}, {2, 4}}, {{3, 6}, {1, 2}}}, constants());
}

TEST(ComputedSizes, FramesOfSignals) {
  for (int64_t onesided : {0, 1}) {
    std::vector<TensorProto> weights = constants();
    weights.push_back(integers("hop", {}, {2}));
    weights.push_back(integers("length", {}, {4}));
    weights.push_back(floats("window", {4}, {1, 2, -1, 3}));
    for (std::string_view window : {"window", ""})
      expectSame({node("STFT", {"x", "hop", window, "length"}, {"frames"},
                       {attr("onesided", onesided)}),
                  node("ReduceSum", {"like"}, {"sum"}),
                  node("Squeeze", {"sum"}, {"scalar"}),
                  node("Add", {"frames", "scalar"}, {"y"})},
                 {{{2, 9}, {2, 4}}, {{3, 6}, {1, 2}}, {{1, 4}, {1, 2}}},
                 weights);
  }
}

TEST(ComputedSizes, PartsThatAreHalves) {
  for (bool isGiven : {false, true})
    expectSame(
        sizesOfBoth({node("Div", {"b", "pair"}, {"half"}),
                     node("Sub", {"b", "half"}, {"rest"}),
                     node("Concat", {"half", "rest"}, {"parts"},
                          {attr("axis", int64_t{0})}),
                     node("Split", isGiven ? Names{"x", "parts"} : Names{"x"},
                          {"left", "right"}, {attr("axis", int64_t{1})}),
                     node("ReduceSum", {"right"}, {"sum"}),
                     node("ReduceSum", {"like"}, {"sum2"}),
                     node("Add", {"left", "sum"}, {"sums"}),
                     node("Add", {"sums", "sum2"}, {"y"})}),
        {{{2, 8}, {2, 4}}, {{3, 6}, {1, 3}}},
        {integers("one", {1}, {1}), integers("pair", {1}, {2})});
}

/// Each letter is the name of a size.
TEST(ComputedSizes, SumsOfProducts) {
  const std::map<char, int64_t> sizes = {{'b', 2}, {'q', 3}, {'c', 4},
                                         {'h', 5}, {'x', 1}, {'y', 6}};
  for (std::string_view equation :
       {"bq,cq->bc", "bq,cq->", "bq,cq->cbq", "b,c->cb", "bqch,bcxy->bqhxy",
        "bqhy,bxhy->bqx", "bqcy,bqcy->bqy"}) {
    SCOPED_TRACE(equation);
    size_t comma = equation.find(','), arrow = equation.find("->");
    std::vector<ValueInfoProto> inputs;
    ImportOptions options;
    Given given;
    for (auto [name, letters] :
         {std::pair{"x", equation.substr(0, comma)},
          {"like", equation.substr(comma + 1, arrow - comma - 1)}}) {
      Names dims;
      graph::Dims shape;
      for (size_t i = 0; i < letters.size(); ++i) {
        dims.push_back(letters.substr(i, 1));
        shape.push_back(sizes.at(letters[i]));
      }
      inputs.push_back(named(name, DataType::f32, dims));
      options.shapes.emplace(name, shape);
      given.emplace(name, ramp(shape));
    }
    ModelProto model = modelOf(
        {node("Einsum", {"x", "like"}, {"y"}, {text("equation", equation)})},
        inputs, {"y"});
    auto open = importModel(model), closed = importModel(model, options);
    ASSERT_TRUE(open) << str(open.errors());
    ASSERT_TRUE(closed) << str(closed.errors());
    Tensor expected = computed(*closed, given), y = computed(*open, given);
    ASSERT_EQ(y.shape, expected.shape);
    for (int64_t i = 0; i < y.numElements(); ++i)
      EXPECT_NEAR(y.at(i), expected.at(i), 1e-3) << i;
  }
}

/// As many as there are, but at most so many, which is what exporters write for
/// searches; ramps have equal elements.
TEST(ComputedSizes, SearchesOfAtMost) {
  for (DataType type : {DataType::f32, DataType::s64, DataType::u8})
    for (int64_t largest : {0, 1})
      for (int64_t limit : {5, 1000}) {
        std::vector<TensorProto> weights = constants();
        weights.push_back(integers("limit", {1}, {limit}));
        ModelProto model = modelOf(
            {node("Shape", {"x"}, {"shape"}),
             node("Gather", {"shape", "one"}, {"b"}),
             node("Min", {"b", "limit"}, {"k"}),
             node("Cast", {"x"}, {"numbers"},
                  {attr("to", static_cast<int64_t>(type))}),
             node("TopK", {"numbers", "k"}, {"values", "places"},
                  {attr("largest", largest)}),
             node("Cast", {"values"}, {"floats"}, {attr("to", int64_t{1})}),
             node("Cast", {"places"}, {"more"}, {attr("to", int64_t{1})}),
             node("Mul", {"more", "hundred"}, {"hundreds"}),
             node("Add", {"floats", "hundreds"}, {"y"})},
            {named("x", DataType::f32, {"a", "b"})}, {"y"}, weights);
        model.graph.initializers.push_back(floats("hundred", {}, {100}));
        expectSameFor(model, {{{"x", {2, 3}}},
                              {{"x", {2, 5}}},
                              {{"x", {3, 9}}},
                              {{"x", {1, 1003}}}});
      }
}

/// The same of a dim whose size is no expression: of at most so many elements.
TEST(ComputedSizes, SearchesOfAtMostOfParts) {
  std::vector<TensorProto> weights = constants();
  weights.push_back(integers("limit", {1}, {4}));
  weights.push_back(integers("most", {1}, {60}));
  ModelProto model =
      modelOf({node("Slice", {"x", "zero", "most", "one"}, {"part"}),
               node("Shape", {"part"}, {"shape"}),
               node("Gather", {"shape", "one"}, {"b"}),
               node("Min", {"b", "limit"}, {"k"}),
               node("TopK", {"part", "k"}, {"y", ""})},
              {named("x", DataType::f32, {"a", "b"})}, {"y"}, weights);
  EXPECT_EQ(failureOf(model).code, ErrorCode::UnsupportedForm);
  (*model.graph.inputs[0].shape)[0].value = 2;
  expectSameFor(model, {{{"x", {2, 3}}}, {{"x", {2, 9}}}, {{"x", {2, 70}}}});
}

/// Infinities and NaN are elements like others; what is behind them is none.
TEST(ComputedSizes, SearchesOfInfinities) {
  double infinity = std::numeric_limits<double>::infinity(),
         nan = std::numeric_limits<double>::quiet_NaN();
  for (int64_t largest : {0, 1}) {
    ModelProto model = modelOf(
        {node("Shape", {"x"}, {"b"}), node("Min", {"b", "limit"}, {"k"}),
         node("TopK", {"x", "k"}, {"values", "y"}, {attr("largest", largest)})},
        {named("x", DataType::f32, {"b"})}, {"y"},
        {integers("limit", {1}, {8})});
    auto open = importModel(model);
    ASSERT_TRUE(open) << str(open.errors());
    Given given{{"x", tensor(graph::DType::f32, {5},
                             {-infinity, nan, 2, infinity, nan})}};
    Numbers expected =
        largest ? Numbers{1, 4, 3, 2, 0} : Numbers{0, 2, 3, 1, 4};
    EXPECT_EQ(numbersOf(computed(*open, given)), expected);
  }
}

/// A k that is not the smaller of the size and a number stays an operand.
TEST(ComputedSizes, SearchesOfOtherSizes) {
  auto found = [](std::string_view more) {
    return countOf(
        modelOf({node("Shape", {"x"}, {"b"}), node("Shape", {"like"}, {"f"}),
                 node("Min", {"b", more}, {"k"}),
                 node("TopK", {"x", "k"}, {"y", ""})},
                {named("x", DataType::f32, {"b"}),
                 named("like", DataType::f32, {"f"})},
                {"y"}, {integers("limit", {1}, {8})}),
        "Pad");
  };
  EXPECT_EQ(found("limit"), 1u);
  EXPECT_EQ(found("f"), 0u);
}

/// Inputs whose elements nothing reads: the graph has them for their sizes.
TEST(ComputedSizes, OfInputsThatAreNotRead) {
  ModelProto model =
      modelOf({node("Shape", {"mask"}, {"sizes"}),
               node("Expand", {"x", "sizes"}, {"y"})},
              {named("x", DataType::f32, {"batch", "one"}),
               named("other", DataType::f32, {"batch", "unread"}),
               named("mask", DataType::s64, {"batch", "tokens"})},
              {"y"});
  (*model.graph.inputs[0].shape)[1].value = 1;
  auto imported = importModel(model);
  ASSERT_TRUE(imported) << str(imported.errors());
  EXPECT_TRUE(imported->inputs[0].id);
  EXPECT_FALSE(imported->inputs[1].id);
  ASSERT_TRUE(imported->inputs[2].id);
  EXPECT_EQ(
      std::ranges::count(imported->graph.inputPorts, *imported->inputs[2].id),
      1);
  Given given{{"x", ramp({2, 1})},
              {"mask", tensor(graph::DType::s64, {2, 3}, Numbers(6))}};
  Tensor y = computed(*imported, given);
  EXPECT_EQ(y.shape, (graph::Dims{2, 3}));
  EXPECT_EQ(numbersOf(y), (Numbers{-9, -9, -9, -8, -8, -8}));
  // The sizes of one that is not read may be made of those of another one.
  (*model.graph.inputs[1].shape)[1].name = "past";
  (*model.graph.inputs[2].shape)[1].name = "past + 2";
  imported = importModel(model);
  ASSERT_TRUE(imported) << str(imported.errors());
  EXPECT_TRUE(imported->inputs[1].id);
}

} // namespace
