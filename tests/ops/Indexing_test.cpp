// SPDX-License-Identifier: Apache-2.0
// Indices beyond what they index: an error, and no access outside.
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

using namespace tenon;
using namespace tenon::test;

namespace {

struct BadIndex {
  const char *text;
  size_t operand;
  int64_t size; // of the dim
};

class Indices : public testing::TestWithParam<BadIndex> {};

TEST_P(Indices, OutsideFail) {
  const BadIndex &p = GetParam();
  auto graph = parseGraph(p.text);
  ASSERT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::make(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  auto model = Compiled::compile(*graph, Options());
  ASSERT_TRUE(model) << str(model.errors());
  reference::Tensor &indices =
      oracle->inputs.at(graph->ops[0].inputs[p.operand]);
  auto set = [&](int64_t i, int64_t value) {
    reference::setInteger(indices, i, value);
  };
  RunConfig config;
  config.threads = 2;
  for (int64_t wrong :
       {p.size, -p.size - 1, int64_t{1} << 30, -(int64_t{1} << 30)})
    for (int64_t place : {int64_t{0}, indices.numElements() - 1}) {
      int64_t before = reference::integerAt(indices, place);
      set(place, wrong);
      auto results = execute(**model, *oracle, config);
      ASSERT_FALSE(results) << wrong << " at " << place;
      EXPECT_EQ(results.errors()[0].code, ErrorCode::BadTensorData);
      set(place, before);
    }
  for (int64_t edge : {p.size - 1, -p.size}) {
    set(0, edge);
    EXPECT_TRUE(execute(**model, *oracle, config)) << edge;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Indices,
    testing::Values(BadIndex{"Gather 13x64 7/s64", 1, 13},
                    BadIndex{"Gather 13x64 7/s32 axis=1", 1, 64},
                    BadIndex{"GatherElements 13x17 5x17/s64", 1, 13},
                    BadIndex{"GatherND 13x17 4x1/s64", 1, 13},
                    BadIndex{"ScatterElements 13x17 5x17/s64 5x17", 1, 13},
                    BadIndex{"ScatterND 13x17 4x1/s32 4x17 reduction=add", 1,
                             13}));

/// 64 bits of an index count, not the lower half.
TEST(Indices, LargeOnesFail) {
  auto graph = parseGraph("Gather 13x64 7/s64");
  ASSERT_TRUE(graph);
  auto oracle = Oracle::make(*graph);
  ASSERT_TRUE(oracle);
  auto model = Compiled::compile(*graph, Options());
  ASSERT_TRUE(model);
  reference::Tensor &indices = oracle->inputs.at(graph->ops[0].inputs[1]);
  for (int64_t wrong : {int64_t{1} << 32, INT64_MIN, INT64_MAX}) {
    indices.integers[3] = wrong;
    EXPECT_FALSE(execute(**model, *oracle, RunConfig())) << wrong;
  }
}

/// What Reshape reads says inference nothing, but the shape of its result.
TEST(Reshape, ToTheShapeOfItsResult) {
  for (const char *type : {"f32", "s64", "boolean"}) {
    std::string operand = std::string("5x36/") + type;
    auto graph = parseGraphOnly("y/" + std::string(type) + " = Reshape " +
                                operand + " 3/s64");
    ASSERT_TRUE(graph) << str(graph.errors());
    graph->tensor(graph->ops[0].outputs[0]).shape = {{9, 4, 5}};
    auto oracle = Oracle::make(*graph);
    ASSERT_TRUE(oracle) << str(oracle.errors());
    EXPECT_TRUE(checkGraph(*oracle, RunConfig())) << type;
  }
}

/// Many updates of few elements: the same bits for any number of threads.
class Sums : public testing::TestWithParam<const char *> {};

TEST_P(Sums, DoNotDependOnThreads) {
  auto graph = parseGraph(GetParam());
  ASSERT_TRUE(graph);
  auto oracle = Oracle::make(*graph);
  ASSERT_TRUE(oracle);
  auto model = Compiled::compile(*graph, Options());
  ASSERT_TRUE(model);
  RunConfig config;
  auto one = execute(**model, *oracle, config);
  ASSERT_TRUE(one);
  for (int threads : {2, 3}) {
    config.threads = threads;
    auto more = execute(**model, *oracle, config);
    ASSERT_TRUE(more);
    EXPECT_EQ(bitsOf(*one), bitsOf(*more)) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scatter, Sums,
    testing::Values(
        "ScatterND 7x64 5000x1/s64 5000x64 reduction=add",
        "ScatterElements 40x7 40x5000/s64 40x5000 axis=1 reduction=add",
        "ScatterElements 7 90000/s64 90000 reduction=add"));

} // namespace
