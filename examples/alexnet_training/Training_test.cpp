// SPDX-License-Identifier: Apache-2.0
// The gradients of the training graph are those of its loss, by differences of
// the evaluator in double; compiled training lowers the loss.
#include "dialects/graph/reference/Evaluator.h"
#include "examples/alexnet_training/Trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace tenon;
using namespace tenon::examples;

namespace {

/// Small, with a normalisation that matters.
Block smallBlock() {
  Block b;
  b.batch = 2;
  b.image = 23;
  b.channels = 2;
  b.filters = 7;
  b.kernel = 5;
  b.stride = 2;
  b.lrnAlpha = 0.5f;
  return b;
}

using Inputs = std::map<uint64_t, reference::Tensor>;

Inputs randomInputs(const Training &t) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  Inputs inputs;
  for (uint64_t id : t.graph.inputPorts) {
    reference::Tensor &x = inputs[id];
    x.dtype = graph::DType::f32;
    x.shape = *t.graph.tensor(id).shape;
    x.data.resize(t.graph.tensor(id).numElements());
    for (double &v : x.data)
      v = normal(random);
  }
  return inputs;
}

Inputs run(const Training &t, const Inputs &inputs) {
  reference::EvalOptions options;
  options.roundOutputs = false;
  auto results = reference::evaluate(t.graph, inputs, options);
  EXPECT_TRUE(results) << str(results.errors());
  return results ? std::move(*results) : Inputs();
}

TEST(Training, GradientsAreThoseOfTheLoss) {
  auto t = trainingGraph(smallBlock());
  ASSERT_TRUE(t) << str(t.errors());
  Inputs inputs = randomInputs(*t);
  Inputs results = run(*t, inputs);
  constexpr double step = 1e-6;
  for (auto [operand, gradient] : {std::pair(t->weights, t->diffWeights),
                                   std::pair(t->bias, t->diffBias)}) {
    const std::vector<double> &expected = results.at(gradient).data;
    std::vector<double> &x = inputs.at(operand).data;
    ASSERT_EQ(x.size(), expected.size());
    for (size_t i = 0; i < x.size(); i += x.size() < 10 ? 1 : 13) {
      double saved = x[i], loss[2];
      for (int side : {0, 1}) {
        x[i] = saved + (side ? step : -step);
        loss[side] = run(*t, inputs).at(t->loss).data.at(0);
      }
      x[i] = saved;
      EXPECT_NEAR((loss[1] - loss[0]) / (2 * step), expected[i],
                  1e-5 * (1 + std::fabs(expected[i])))
          << "operand " << operand << ", element " << i;
    }
  }
}

TEST(Training, LossFalls) {
  TrainingOptions options;
  options.block = smallBlock();
  for (int threads : {1, 2}) {
    options.threads = threads;
    auto losses = train(options);
    ASSERT_TRUE(losses) << str(losses.errors());
    ASSERT_EQ(losses->size(), 21u);
    for (size_t i = 1; i < losses->size(); ++i)
      EXPECT_LT((*losses)[i], (*losses)[i - 1]) << "step " << i;
    EXPECT_LT(losses->back(), 0.5f * losses->front());
  }
}

TEST(Training, ErrorsComeBack) {
  TrainingOptions options;
  options.block.image = 5; // smaller than the filters
  EXPECT_FALSE(train(options));
}

} // namespace
