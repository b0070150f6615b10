//===- ScaleGroups_test.cpp - scales of weights in groups -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/Infer.h"

#include <gtest/gtest.h>

namespace tenon::graph {
namespace {

constexpr uint64_t kBytes = 0, kWeights = 1, kSrc = 2, kDst = 3, kOther = 4;

void addTensor(Graph &g, uint64_t id, DType dtype, Dims shape) {
  LogicalTensor &t = g.tensors[id];
  t.id = id;
  t.dtype = dtype;
  t.shape = std::move(shape);
}

/// Weights [4, 3, 1] quantised with `scales` scales along dim 1, which a
/// ConvTranspose in two groups reads: three channels each.
Graph makeGraph(size_t scales) {
  Graph g;
  addTensor(g, kBytes, DType::s8, {4, 3, 1});
  addTensor(g, kWeights, DType::f32, {4, 3, 1});
  addTensor(g, kSrc, DType::f32, {1, 4, 5});
  addTensor(g, kDst, DType::f32, {1, 6, 5});
  AttrMap quant;
  quant["qtype"] = std::string("per_channel");
  quant["scales"] = std::vector<float>(scales, 0.5f);
  g.ops.push_back({0, "dq", "Dequantize", quant, {kBytes}, {kWeights}});
  AttrMap conv;
  conv["strides"] = conv["dilations"] = Dims{1};
  conv["pads_begin"] = conv["pads_end"] = Dims{0};
  conv["groups"] = int64_t(2);
  conv["data_format"] = std::string("NCX");
  conv["weights_format"] = std::string("IOX");
  g.ops.push_back({1, "conv", "ConvTranspose", conv, {kSrc, kWeights}, {kDst}});
  return g;
}

/// What inference and verification, which agree, find.
std::string problems(Graph g) {
  std::string inferred = str(inferGraph(g));
  EXPECT_EQ(inferred, str(verifyGraph(g)));
  return inferred;
}

TEST(ScaleGroups, OfTheReaderOfWeights) {
  EXPECT_EQ(problems(makeGraph(3)), ""); // shared by the groups
  EXPECT_EQ(problems(makeGraph(6)), "");
  EXPECT_EQ(scaleGroups(makeGraph(6), makeGraph(6).ops[0]), 2);
  for (size_t count : {2, 4, 5, 9, 12})
    EXPECT_NE(problems(makeGraph(count)).find("E1208"), std::string::npos)
        << count << " scales";
  EXPECT_NE(problems(makeGraph(9)).find("or 2 times as many"),
            std::string::npos);
}

TEST(ScaleGroups, AlongTheChannelsOfAGroupAlone) {
  Graph g = makeGraph(8); // twice as many as dim 0 is large
  g.ops[0].attrs["axis"] = int64_t(0);
  EXPECT_NE(problems(g).find("E1208"), std::string::npos);
  // [X, O, I]: of rank 3 dim 1 again.
  Graph last = makeGraph(6);
  last.ops[1].attrs["weights_format"] = std::string("XOI");
  last.tensor(kBytes).shape = last.tensor(kWeights).shape = Dims{1, 3, 4};
  EXPECT_EQ(problems(last), "");
}

TEST(ScaleGroups, OtherReadersAreAnError) {
  Graph g = makeGraph(6);
  addTensor(g, kOther, DType::f32, {4, 3, 1});
  g.ops.push_back({2, "relu", "ReLU", {}, {kWeights}, {kOther}});
  EXPECT_NE(problems(g).find("which alone read the result"), std::string::npos);
  // A cast that the convolution reads is none.
  g = makeGraph(6);
  addTensor(g, kOther, DType::bf16, {4, 3, 1});
  g.tensor(kSrc).dtype = g.tensor(kDst).dtype = DType::bf16;
  g.ops.push_back({2, "cast", "TypeCast", {}, {kWeights}, {kOther}});
  g.ops[1].inputs[1] = kOther;
  EXPECT_EQ(problems(g), "");
  // Nor may the graph return them.
  g = makeGraph(6);
  g.outputPorts = {kWeights, kDst};
  EXPECT_NE(problems(g).find("E1208"), std::string::npos);
  // Two numbers of groups contradict.
  g = makeGraph(6);
  addTensor(g, kOther, DType::f32, {1, 12, 5});
  g.ops.push_back(g.ops[1]);
  g.ops[2].id = 2;
  g.ops[2].attrs["groups"] = int64_t(4);
  g.ops[2].outputs = {kOther};
  EXPECT_NE(problems(g).find("E1208"), std::string::npos);
}

} // namespace
} // namespace tenon::graph
