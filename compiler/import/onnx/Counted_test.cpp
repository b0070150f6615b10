// SPDX-License-Identifier: Apache-2.0
//
// What follows operators whose results have as many entries as the data says.
#include "compiler/import/onnx/TestGraphs.h"

using namespace tenon;
using namespace tenon::onnx;
using namespace tenon::onnx::test;

namespace {

/// x is 4, 3; the rows with a first number above 0 are found by "rows", an s64
/// of rank 1.
std::vector<NodeProto> rowsOf(std::vector<NodeProto> more) {
  std::vector<NodeProto> nodes = {
      node("Slice", {"x", "zero", "one", "one"}, {"firsts"}),
      node("Squeeze", {"firsts", "one"}, {"scores"}),
      node("Greater", {"scores", "nothing"}, {"isKept"}),
      node("NonZero", {"isKept"}, {"places"}),
      node("Squeeze", {"places", "zero"}, {"rows"})};
  nodes.insert(nodes.end(), more.begin(), more.end());
  return nodes;
}

ModelProto rowsModel(std::vector<NodeProto> more) {
  return modelOf(rowsOf(std::move(more)), {port("x", DataType::f32, {4, 3})},
                 {"y"},
                 {integers("zero", {1}, {0}), integers("one", {1}, {1}),
                  integers("two", {1}, {2}), integers("twice", {1, 1}, {2}),
                  integers("flat", {1}, {-1}), integers("first", {}, {0}),
                  integers("pairs", {2}, {2, 1}), floats("nothing", {}, {0})});
}

Tensor computed(const ModelProto &model, const Given &given) {
  auto imported = importModel(model);
  EXPECT_TRUE(imported) << str(imported.errors());
  std::vector<Tensor> results =
      imported ? evaluated(*imported, given) : std::vector<Tensor>{};
  return results.empty() ? Tensor{} : results[0];
}

const Given kTwoRows{
    {"x", tensor(graph::DType::f32, {4, 3},
                 {-1, 10, 11, 2, 20, 21, -3, 30, 31, 4, 40, 41})}};
const Given kNoRow{{"x", tensor(graph::DType::f32, {4, 3}, Numbers(12, -1))}};

TEST(OnnxCounted, RowsAreLookedUpAndComputedWith) {
  struct Case {
    std::vector<NodeProto> nodes;
    graph::Dims shape;
    Numbers expected;
  };
  const std::vector<Case> cases = {
      {{node("Gather", {"x", "rows"}, {"y"})}, {2, 3}, {2, 20, 21, 4, 40, 41}},
      {{node("Transpose", {"places"}, {"pairs of one"}),
        node("GatherND", {"x", "pairs of one"}, {"y"})},
       {2, 3},
       {2, 20, 21, 4, 40, 41}},
      {{node("Gather", {"x", "rows"}, {"kept"}),
        node("Gather", {"kept", "pairs"}, {"parts"},
             {attr("axis", int64_t{1})}),
        node("Transpose", {"parts"}, {"across"}),
        node("Mul", {"across", "across"}, {"y"})},
       {2, 2},
       {441, 1681, 400, 1600}},
      {{node("Gather", {"x", "rows"}, {"kept"}),
        node("ReduceMax", {"kept"}, {"most"},
             {attr("axes", graph::Dims{1}), attr("keepdims", int64_t{0})}),
        node("Unsqueeze", {"most", "one"}, {"column"}),
        node("Concat", {"column", "column"}, {"both"},
             {attr("axis", int64_t{1})}),
        node("Reshape", {"column", "flat"}, {"line"}),
        node("Slice", {"line", "zero", "one"}, {"y"})},
       {1},
       {21}},
      {{node("Gather", {"x", "rows"}, {"kept"}),
        node("Slice", {"kept", "one", "two", "one"}, {"seconds"}),
        node("Greater", {"seconds", "thirty"}, {"isLarge"}),
        node("Squeeze", {"isLarge", "one"}, {"which"}),
        node("NonZero", {"which"}, {"found"}),
        node("Squeeze", {"found", "zero"}, {"among"}),
        node("Gather", {"kept", "among"}, {"y"})},
       {1, 3},
       {4, 40, 41}}};
  for (const Case &each : cases) {
    ModelProto model = rowsModel(each.nodes);
    model.graph.initializers.push_back(floats("thirty", {}, {30}));
    Tensor y = computed(model, kTwoRows);
    EXPECT_EQ(y.shape, each.shape);
    EXPECT_EQ(y.data, each.expected);
    // Without a row there is none to fail.
    y = computed(model, kNoRow);
    EXPECT_EQ(y.numElements(), 0);
  }
}

TEST(OnnxCounted, EachOutputHasACount) {
  ModelProto model = rowsModel({node("Gather", {"x", "rows"}, {"y"})});
  model.graph.outputs.push_back(port("rows", DataType::s64, {0}));
  auto imported = importModel(model);
  ASSERT_TRUE(imported) << str(imported.errors());
  ASSERT_EQ(imported->outputs.size(), 2u);
  for (const Port &output : imported->outputs) {
    ASSERT_TRUE(output.count);
    EXPECT_EQ(imported->graph.tensor(*output.count).name,
              output.name + ".count");
  }
}

/// What depends on entries that do not count, or on their number.
TEST(OnnxCounted, RefusesWhatMixesEntries) {
  for (const std::vector<NodeProto> &nodes :
       std::vector<std::vector<NodeProto>>{
           {node("ReduceSum", {"rows", "zero"}, {"y"})},
           {node("Gather", {"rows", "first"}, {"y"})},
           {node("Slice", {"rows", "flat", "two"}, {"y"})},
           {node("Squeeze", {"places"}, {"y"})},
           {node("Concat", {"rows", "one"}, {"y"}, {attr("axis", int64_t{0})})},
           {node("Add", {"rows", "pairs"}, {"y"})},
           {node("CumSum", {"rows", "first"}, {"y"})},
           {node("Shape", {"rows"}, {"y"})}}) {
    auto imported = importModel(rowsModel(nodes));
    ASSERT_FALSE(imported) << nodes[0].opType;
    EXPECT_NE(str(imported.errors()).find("as many entries as the data says"),
              std::string::npos)
        << str(imported.errors());
  }
}

TEST(OnnxCounted, BoxesThatAreKept) {
  ModelProto model = modelOf(
      {node("NonMaxSuppression", {"boxes", "scores", "most", "overlap"},
            {"kept"}),
       node("Gather", {"kept", "box"}, {"numbers"}, {attr("axis", int64_t{1})}),
       node("Squeeze", {"boxes", "zero"}, {"all"}),
       node("Gather", {"all", "numbers"}, {"corners"}),
       node("GatherND", {"scores", "kept"}, {"score"}),
       node("Unsqueeze", {"score", "one"}, {"column"}),
       node("Concat", {"column", "corners"}, {"y"},
            {attr("axis", int64_t{1})})},
      {port("boxes", DataType::f32, {1, 3, 4}),
       port("scores", DataType::f32, {1, 1, 3})},
      {"y"},
      {integers("zero", {1}, {0}), integers("one", {1}, {1}),
       integers("box", {}, {2}), integers("most", {1}, {3}),
       floats("overlap", {1}, {0.5f})});
  Given given{{"boxes", tensor(graph::DType::f32, {1, 3, 4},
                               {0, 0, 1, 1, 0, 0, 1, 0.9, 5, 5, 6, 6})},
              {"scores", tensor(graph::DType::f32, {1, 1, 3}, {3, 2, 4})}};
  Tensor y = computed(model, given);
  EXPECT_EQ(y.shape, (graph::Dims{2, 5}));
  EXPECT_EQ(y.data, (Numbers{4, 5, 5, 6, 6, 3, 0, 0, 1, 1}));
}

} // namespace
