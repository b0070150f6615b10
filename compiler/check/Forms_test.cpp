//===- Forms_test.cpp - random forms, filled and evaluated ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Of every operation that is evaluated only, which random graphs leave out:
// there are forms, and the numbers drawn for them are those that it takes.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/Exactness.h"
#include "compiler/check/TestGraph.h"
#include "dialects/graph/OpTable.h"
#include "dialects/graph/forms/OpForms.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::check;
using forms::OpForm;

namespace {

graph::Graph graphOf(const OpForm &form) {
  Builder b;
  graph::Op op = form.op;
  for (const graph::LogicalTensor &tensor : form.inputs)
    op.inputs.push_back(b.tensor(*tensor.shape, tensor.dtype));
  for (const graph::LogicalTensor &tensor : form.outputs)
    op.outputs.push_back(b.tensor(*tensor.shape, tensor.dtype));
  b.graph.ops.push_back(op);
  return b.graph;
}

TEST(Forms, CanBeFilledAndEvaluated) {
  forms::FormOptions options;
  options.onlyCompiling = false;
  options.palette = {1, 2, 3, 4};
  options.maxElements = 400;
  for (const graph::OpInfo &info : graph::allOps()) {
    if (!info.compiles.empty() || !reference::canEvaluate(info.kind))
      continue;
    SCOPED_TRACE(info.kind);
    int drawn = 0;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      forms::Random random(seed);
      std::optional<OpForm> form = forms::makeForm(info, random, options);
      if (!form)
        continue;
      ++drawn;
      graph::Graph graph = graphOf(*form);
      for (FillMode mode : {FillMode::semantic, FillMode::real}) {
        auto inputs = fillInputs(graph, seed, mode);
        ASSERT_TRUE(static_cast<bool>(inputs)) << str(inputs.errors());
        auto results = reference::evaluate(graph, *inputs);
        EXPECT_TRUE(static_cast<bool>(results)) << str(results.errors());
      }
    }
    EXPECT_GE(drawn, 20);
  }
}

/// Inputs for 50 regions of images of `shape`.
std::map<uint64_t, Tensor> fillRoiAlign(const Dims &shape, float scale) {
  Builder b;
  uint64_t src = b.tensor(shape), rois = b.tensor({50, 4}),
           images = b.tensor({50}, DType::s64);
  b.op("RoiAlign", {src, rois, images}, {50, 1, 1, shape[3]}, DType::f32,
       {{"spatial_scale", scale}});
  auto inputs = fillInputs(b.graph, 3);
  EXPECT_TRUE(static_cast<bool>(inputs)) << str(inputs.errors());
  return std::move(*inputs);
}

TEST(Forms, RegionsAreInsideTheirImages) {
  auto inputs = fillRoiAlign({3, 8, 16, 2}, 0.5f);
  const Tensor &rois = inputs.at(1);
  for (int64_t r = 0; r < 50; ++r)
    for (int64_t i = r * 4; i < r * 4 + 2; ++i) {
      EXPECT_GE(rois.data[i], 0);
      EXPECT_LT(rois.data[i], rois.data[i + 2]);
      EXPECT_LE(rois.data[i + 2], 16); // 8 positions of src
    }
  const std::vector<int64_t> &images = inputs.at(2).integers;
  EXPECT_EQ(*std::ranges::min_element(images), 0);
  EXPECT_EQ(*std::ranges::max_element(images), 2);
}

TEST(Forms, SearchesOfExactNumbersAreExact) {
  Builder b;
  uint64_t x = b.tensor({2, 512});
  uint64_t where =
      b.op("ArgMax", {x}, {2, 1}, DType::s32, {{"axis", int64_t{1}}});
  uint64_t rounded = b.op("Exp", {x}, {2, 512});
  uint64_t other =
      b.op("ArgMax", {rounded}, {2, 1}, DType::s32, {{"axis", int64_t{1}}});
  auto exact = exactEdges(b.graph, *fillInputs(b.graph, 1));
  ASSERT_TRUE(exact.count(where));
  EXPECT_EQ(exact.at(where).largest, 512);
  EXPECT_FALSE(exact.count(other));
}

} // namespace
