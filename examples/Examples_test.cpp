//===- Examples_test.cpp - the graphs of the examples ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// That each file is what its program writes is checked beside the program.
// Here: they read strictly, verify, and are the nets they claim to be.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Load.h"
#include "dialects/graph/infer/Infer.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace tenon;
using namespace tenon::graph;

namespace {

Graph load(const std::string &file, size_t outputs = 1) {
  LoadOptions options;
  options.strict = true;
  Expected<Model> model = loadModel("examples/" + file, options);
  if (!model) {
    ADD_FAILURE() << str(model.errors());
    return Graph();
  }
  Graph &g = model->graph;
  std::vector<Error> errors = verifyGraph(g);
  EXPECT_TRUE(errors.empty()) << str(errors);
  EXPECT_EQ(g.outputPorts.size(), outputs);
  return std::move(g);
}

int64_t count(const Graph &g, std::string_view kind) {
  return std::count_if(g.ops.begin(), g.ops.end(),
                       [&](const Op &op) { return op.kind == kind; });
}

/// Elements of all weights.
int64_t parameters(const Graph &g) {
  int64_t sum = 0;
  for (uint64_t id : g.inputPorts)
    if (g.tensor(id).property == PropertyType::constant)
      sum += g.tensor(id).numElements();
  return sum;
}

Dims result(const Graph &g) {
  return g.outputPorts.empty() ? Dims() : *g.tensor(g.outputPorts[0]).shape;
}

TEST(Examples, mlp) {
  Graph g = load("mlp/mlp.json");
  EXPECT_EQ(result(g), (Dims{64, 128}));
  EXPECT_EQ(parameters(g), 13 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128);
  EXPECT_EQ(result(load("mlp/mlp_dynamic.json")), (Dims{kUnknownDim, 128}));
}

TEST(Examples, alexnetBlock) {
  Graph g = load("alexnet_block/alexnet_block.json");
  EXPECT_EQ(*g.tensor(g.ops[0].outputs[0]).shape, (Dims{1, 55, 55, 96}));
  EXPECT_EQ(result(g), (Dims{1, 27, 27, 96}));
}

TEST(Examples, alexnetTraining) {
  Graph g = load("alexnet_training/alexnet_training.json", 4);
  ASSERT_EQ(g.outputPorts.size(), 4u);
  auto shape = [&](size_t i) { return *g.tensor(g.outputPorts[i]).shape; };
  EXPECT_EQ(shape(0), (Dims{2, 27, 27, 96}));
  EXPECT_EQ(shape(1), Dims());
  EXPECT_EQ(shape(2), (Dims{11, 11, 3, 96}));
  EXPECT_EQ(shape(3), Dims{96});
  EXPECT_EQ(count(g, "LRN") + count(g, "LRNBackward"), 2);
}

TEST(Examples, resnetBottleneck) {
  Graph g = load("resnet50_bottleneck/resnet50_bottleneck.json");
  EXPECT_EQ(result(g), (Dims{1, 56, 56, 256}));
  EXPECT_EQ(count(g, "Convolution"), 3);
  EXPECT_EQ(count(g, "BatchNormInference"), 3);
  EXPECT_EQ(count(g, "ReLU"), 3);
  EXPECT_EQ(parameters(g), 2 * 256 * 64 + 9 * 64 * 64 + 4 * (64 + 64 + 256));
}

TEST(Examples, bertLayer) {
  Graph g = load("bert_layer/bert_layer.json");
  EXPECT_EQ(result(g), (Dims{1, 128, 768}));
  EXPECT_EQ(count(g, "MatMul"), 8);
  // The published size of a layer, and one scale.
  EXPECT_EQ(parameters(g), 7087872 + 1);
}

/// One layer each; the published sizes of a layer and of what is around all,
/// and numbers that the caller fills in.
TEST(Examples, transformers) {
  constexpr int64_t kLayer = 7087872, kDense = 768 * 768 + 768;
  Graph bert = load("transformers/bert.json", 2);
  EXPECT_EQ(parameters(bert),
            (30522 + 512 + 2 + 2) * 768 + kLayer + kDense + 3);
  Graph gpt2 = load("transformers/gpt2.json", 3);
  EXPECT_EQ(parameters(gpt2), 124439808 - 11 * kLayer + 2);
  Graph llama = load("transformers/llama.json", 3);
  EXPECT_EQ(parameters(llama), 60821504 + 2);
  EXPECT_EQ(result(llama), (Dims{kUnknownDim, kUnknownDim, 2048}));
}

TEST(Examples, depthwiseSeparable) {
  Graph g = load("depthwise_separable/depthwise_separable.json");
  EXPECT_EQ(result(g), (Dims{1, 112, 112, 64}));
  EXPECT_EQ(parameters(g), 9 * 32 + 32 * 64 + 4 * (32 + 64));
}

TEST(Examples, lstm) {
  Graph g = load("lstm/lstm.json");
  EXPECT_EQ(result(g), (Dims{20, 4, 64}));
  // Per layer: four gates of 64 units, each from 64 + 64 values and a bias.
  EXPECT_EQ(parameters(g), 2 * 4 * 64 * (64 + 64 + 1));
}

} // namespace
