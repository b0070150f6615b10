// SPDX-License-Identifier: Apache-2.0
// Recurrent cells where one graph is not enough: steps and batch that only an
// execution knows, and the same bits for any number of threads.
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

using namespace tenon;
using namespace tenon::test;

namespace {

graph::Graph parsed(const std::string &text) {
  auto graph = parseGraph(text);
  EXPECT_TRUE(graph) << str(graph.errors());
  return graph ? *graph : graph::Graph();
}

TEST(Recurrent, StepsAndBatchOfTheExecution) {
  graph::Graph g = parsed("y,h,c = LSTM ?x?x7 1x1x7x4x21c 1x1x21x4x21c "
                          "1x1x4x21c 1x1x?x21 1x1x?x21");
  for (const char *schedule : {"avx2", "avx512"}) {
    RunConfig config;
    config.options.schedule = schedule;
    auto model = Compiled::compile(g, config.options);
    ASSERT_TRUE(model) << str(model.errors());
    for (int64_t steps : {0, 1, 2, 7})
      for (int64_t batch : {0, 1, 5, 70}) {
        SCOPED_TRACE(std::to_string(steps) + " steps, batch " +
                     std::to_string(batch));
        graph::Graph sized = (*model)->graph();
        sized.tensor(sized.inputPorts[0]).shape = {{steps, batch, 7}};
        for (int port : {4, 5})
          sized.tensor(sized.inputPorts[port]).shape = {{1, 1, batch, 21}};
        auto oracle = Oracle::make(sized);
        ASSERT_TRUE(oracle) << str(oracle.errors());
        config.threads = 1 + static_cast<int>(batch % 3);
        auto results = execute(**model, *oracle, config);
        ASSERT_TRUE(results) << str(results.errors());
        EXPECT_TRUE(agrees(*oracle, *results));
      }
  }
}

TEST(Recurrent, SameBitsOnAnyNumberOfThreads) {
  graph::Graph g = parsed("y,h,c = LSTM 6x33x64 2x1x64x4x64c 2x1x64x4x64c "
                          "2x1x4x64c 2x1x33x64");
  auto oracle = Oracle::make(g);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  auto model = Compiled::compile(g, Options());
  ASSERT_TRUE(model) << str(model.errors());
  RunConfig config;
  auto one = execute(**model, *oracle, config);
  ASSERT_TRUE(one) << str(one.errors());
  EXPECT_TRUE(agrees(*oracle, *one));
  for (int threads : {2, 3})
    for (bool pool : {false, true}) {
      config.threads = threads;
      config.pool = pool;
      auto more = execute(**model, *oracle, config);
      ASSERT_TRUE(more) << str(more.errors());
      for (auto &[id, tensor] : *one)
        EXPECT_EQ(more->at(id).data, tensor.data) << threads << " threads";
    }
}

TEST(Recurrent, UnknownStepsNeedStatesOfTheHiddenWidth) {
  graph::Graph g =
      parsed("LSTM ?x2x7 1x1x7x4x16c 1x1x9x4x16c 1x1x4x16c 1x1x2x9");
  auto model = Compiled::compile(g, Options());
  ASSERT_FALSE(model);
  EXPECT_NE(str(model.errors()).find("states of 9 channels and 16 hidden"),
            std::string::npos)
      << str(model.errors());
}

TEST(Recurrent, LengthsBeyondTheStepsFail) {
  graph::Graph g = parsed("y,h = GRU ?x3x7 1x1x7x3x16c 1x1x16x3x16c _ _ 3/s32");
  auto model = Compiled::compile(g, Options());
  ASSERT_TRUE(model) << str(model.errors());
  graph::Graph sized = (*model)->graph();
  sized.tensor(sized.inputPorts[0]).shape = {{4, 3, 7}};
  auto oracle = Oracle::make(sized);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  reference::Tensor &lengths = oracle->inputs.at(sized.inputPorts[3]);
  for (double wrong : {5.0, -1.0}) {
    lengths.data = {4, wrong, 0};
    auto results = execute(**model, *oracle, RunConfig());
    ASSERT_FALSE(results);
    EXPECT_EQ(results.errors()[0].code, ErrorCode::BadTensorData);
    EXPECT_NE(str(results.errors()).find("outside of its range"),
              std::string::npos)
        << str(results.errors());
  }
  lengths.data = {4, 1, 0};
  EXPECT_TRUE(execute(**model, *oracle, RunConfig()));
}

/// Shapes without elements may have any size elsewhere: no work, no crash.
TEST(Recurrent, HugeSizesOfNothing) {
  for (const char *text :
       {"LSTM 1000000000000x0x3 1x1x3x4x8c 1x1x8x4x8c 1x1x4x8c",
        "y,h,c = LSTM 1000000000x5x3 1x1x3x4x0c 1x1x0x4x0c 1x1x4x0c"}) {
    graph::Graph g = parsed(text);
    auto model = Compiled::compile(g, Options());
    ASSERT_TRUE(model) << text << str(model.errors());
    auto exec = Executor::create({});
    ASSERT_TRUE(exec) << str(exec.errors());
    const graph::Graph &compiled = (*model)->graph();
    HostTensors in, constants, out;
    std::vector<float> memory(1024); // all that any tensor has
    for (uint64_t id : compiled.inputPorts) {
      const graph::LogicalTensor &t = compiled.tensor(id);
      in[id] = {memory.data(), *t.shape};
      if (t.property == graph::PropertyType::constant)
        constants[id] = in[id];
    }
    for (uint64_t id : compiled.outputPorts)
      out[id] = {memory.data(), *compiled.tensor(id).shape};
    ASSERT_TRUE((*model)->bindConstants(**exec, constants));
    EXPECT_TRUE((*model)->execute(**exec, in, out)) << text;
  }
  for (const char *text :
       {"LSTM 3x2x0 1000000000x1x0x4x0c 1000000000x1x0x4x0c 1000000000x1x4x0c",
        "LSTM 3x0x0 1x1x0x4x1000000000000c 1x1x1000000000000x4x0c "
        "1x1x4x1000000000000c"}) {
    auto g = parseGraph(text);
    if (!g)
      continue; // refused already by the rule
    auto model = Compiled::compile(*g, Options());
    ASSERT_FALSE(model) << text;
    EXPECT_NE(str(model.errors()).find("do not compile"), std::string::npos)
        << str(model.errors());
  }
}

} // namespace
