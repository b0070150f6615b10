// SPDX-License-Identifier: Apache-2.0
// Every example agrees with the evaluator: 1 and 2 threads, AVX2, AVX-512 and
// generic schedules, own team and caller's pool; the dynamic MLP at several
// batch sizes from one compilation.
#include "tests/e2e/Harness.h"

using namespace tenon;
using namespace tenon::test;

namespace {

class Example : public testing::TestWithParam<const char *> {};

std::string path(std::string_view name) {
  return "examples/" + std::string(name);
}

TEST_P(Example, AgreesWithTheEvaluator) {
  auto model = readModel(path(GetParam()));
  ASSERT_TRUE(model) << str(model.errors());
  auto oracle = Oracle::make(model->graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  for (const RunConfig &s : allConfigs())
    EXPECT_TRUE(checkGraph(*oracle, s))
        << s.options.schedule << ", " << s.threads << " threads, "
        << (s.pool ? "caller's pool" : "own team");
}

INSTANTIATE_TEST_SUITE_P(
    All, Example,
    testing::Values("mlp/mlp.json", "alexnet_block/alexnet_block.json",
                    "alexnet_training/alexnet_training.json",
                    "resnet50_bottleneck/resnet50_bottleneck.json",
                    "bert_layer/bert_layer.json",
                    "depthwise_separable/depthwise_separable.json",
                    "lstm/lstm.json"),
    [](const auto &info) {
      std::string s = info.param;
      return s.substr(0, s.find('/'));
    });

TEST(DynamicBatch, OneCompilationServesAllBatches) {
  auto read = readModel(path("mlp/mlp_dynamic.json"));
  ASSERT_TRUE(read) << str(read.errors());
  auto model = Compiled::compile(read->graph, Options());
  ASSERT_TRUE(model) << str(model.errors());
  for (int64_t batch : {1, 7, 64}) {
    graph::Graph g = (*model)->graph();
    for (auto &[id, t] : g.tensors)
      for (int64_t &d : *t.shape)
        if (d == graph::kUnknownDim)
          d = batch;
    auto oracle = Oracle::make(g);
    ASSERT_TRUE(oracle) << str(oracle.errors());
    auto results = execute(**model, *oracle, RunConfig{});
    ASSERT_TRUE(results) << str(results.errors());
    EXPECT_TRUE(agrees(*oracle, *results)) << "batch " << batch;
  }
}

} // namespace
