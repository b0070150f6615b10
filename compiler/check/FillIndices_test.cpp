//===- FillIndices_test.cpp - inputs that say where, and how much ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/Exactness.h"
#include "compiler/check/TestGraph.h"
#include "dialects/graph/forms/OpForms.h"

#include <set>

using namespace tenon;
using namespace tenon::check;

namespace {

graph::Graph graphOf(forms::OpForm form) {
  graph::Graph graph;
  auto add = [&](std::vector<graph::LogicalTensor> &tensors,
                 std::vector<uint64_t> &ids) {
    for (graph::LogicalTensor &tensor : tensors) {
      tensor.id = graph.tensors.size();
      ids.push_back(tensor.id);
      graph.tensors[tensor.id] = tensor;
    }
  };
  add(form.inputs, form.op.inputs);
  add(form.outputs, form.op.outputs);
  graph.ops.push_back(form.op);
  return graph;
}

/// Whatever the form, the evaluator finds no index out of range, and the
/// shapes that the graph declares.
TEST(FillIndices, RandomFormsCanBeEvaluated) {
  for (const char *kind :
       {"Slice", "Pad", "Expand", "Reshape", "Shape", "Gather",
        "GatherElements", "GatherND", "ScatterElements", "ScatterND"}) {
    int drawn = 0, elements = 0;
    for (uint64_t seed = 0; seed < 300; ++seed) {
      forms::Random random(seed);
      auto form = forms::makeForm(*graph::lookupOp(kind), random, {});
      if (!form)
        continue;
      ++drawn;
      graph::Graph graph = graphOf(*form);
      auto results = reference::evaluate(graph, fillOrDie(graph, seed));
      ASSERT_TRUE(results) << kind << " " << seed << str(results.errors());
      elements += results->begin()->second.numElements() > 0;
    }
    EXPECT_GE(drawn, 250) << kind;
    EXPECT_GE(elements, 200) << kind;
  }
}

TEST(FillIndices, FitTheLeastOfAllDims) {
  for (DType type : {DType::s32, DType::s64}) {
    Builder b;
    uint64_t small = b.tensor({3, 9}), large = b.tensor({9, 3});
    uint64_t indices = b.tensor({200}, type), rows = b.tensor({100, 2}, type);
    b.op("Gather", {large, indices}, {200, 3});
    b.op("Gather", {large, indices}, {9, 200}, DType::f32,
         {{"axis", int64_t{-1}}});
    b.op("GatherND", {small, rows}, {100});
    auto inputs = fillOrDie(b.graph, 3);
    for (uint64_t id : {indices, rows}) {
      const Tensor &drawn = inputs.at(id);
      std::set<double> values;
      for (int64_t i = 0; i < drawn.numElements(); ++i)
        values.insert(drawn.at(i));
      EXPECT_EQ(values, (std::set<double>{-3, -2, -1, 0, 1, 2}));
    }
    auto results = reference::evaluate(b.graph, inputs);
    EXPECT_TRUE(results) << str(results.errors());
  }
}

/// What begins and ends hold gives the slices their declared sizes.
TEST(FillIndices, SizesAreThoseOfTheResult) {
  for (int64_t step : {1, 2, -1, -3}) {
    Builder b;
    uint64_t src = b.tensor({2, 7}), begins = b.tensor({1}, DType::s64),
             ends = b.tensor({1}, DType::s64);
    b.op("Slice", {src, begins, ends}, {2, 2}, DType::f32,
         {{"axes", Dims{-1}}, {"steps", Dims{step}}});
    auto results = reference::evaluate(b.graph, fillOrDie(b.graph, 1));
    EXPECT_TRUE(results) << step << str(results.errors());
  }
  Builder b;
  uint64_t src = b.tensor({2, 6}), sizes = b.tensor({2}, DType::s32);
  b.op("Reshape", {src, sizes}, {4, 3});
  uint64_t column = b.tensor({2, 1}), shape = b.tensor({2}, DType::s64);
  b.op("Expand", {column, shape}, {2, 5});
  auto inputs = fillOrDie(b.graph, 1);
  EXPECT_EQ(inputs.at(sizes).data, (std::vector<double>{4, 3}));
  EXPECT_EQ(inputs.at(shape).integers, (std::vector<int64_t>{2, 5}));
  auto results = reference::evaluate(b.graph, inputs);
  EXPECT_TRUE(results) << str(results.errors());
}

/// Sizes of src may be larger than those of the result.
TEST(FillIndices, SizesAreExactInF32Only) {
  Builder b;
  uint64_t shape = b.op("Shape", {b.tensor({5000, 2})}, {2}, DType::s32);
  auto grids = exactEdges(b.graph, fillOrDie(b.graph, 1));
  ASSERT_TRUE(grids.count(shape));
  EXPECT_GE(grids.at(shape).largest, 5000);
}

/// What Pad adds counts.
TEST(FillIndices, FractionsThatPadAdds) {
  Builder b;
  uint64_t padded =
      b.op("Pad", {b.tensor({2})}, {4}, DType::f32,
           {{"pads_begin", Dims{1}}, {"pads_end", Dims{1}}, {"value", 0.25f}});
  auto grids = exactEdges(b.graph, fillOrDie(b.graph, 1));
  ASSERT_TRUE(grids.count(padded));
  EXPECT_LE(grids.at(padded).granule, 0.25);
}

} // namespace
