//===- TrainingGraph.h - one step of training AlexNet's first block -------===//
// SPDX-License-Identifier: Apache-2.0
//
//   y = MaxPool(LRN(ReLU(Convolution(src, weights) + bias)))
//   d = y - target
//   loss = sum of d * d
//
// and the gradients of the loss with respect to weights and bias, in one graph.
// ReLU's gradient is taken from its result, which LRN reads anyway.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "examples/GraphBuilder.h"

namespace tenon::examples {

/// Sizes of the block; the defaults are those of the paper.
struct Block {
  int64_t batch = 2, image = 227, channels = 3;
  int64_t filters = 96, kernel = 11, stride = 4;
  int64_t lrnSize = 5;
  float lrnAlpha = 1e-4f, lrnBeta = 0.75f, lrnK = 1.0f;

  int64_t convolved() const { return (image - kernel) / stride + 1; }
  int64_t pooled() const { return (convolved() - 3) / 2 + 1; }
  graph::Dims sourceShape() const { return {batch, image, image, channels}; }
  graph::Dims weightsShape() const {
    return {kernel, kernel, channels, filters};
  }
  graph::Dims resultShape() const {
    return {batch, pooled(), pooled(), filters};
  }
};

/// The graph and the ids of its inputs and results.
struct Training {
  graph::Graph graph;
  Tensor source, weights, bias, target;
  Tensor result, loss, diffWeights, diffBias;
};

inline Expected<Training> trainingGraph(const Block &block) {
  using graph::AttrMap, graph::Dims;
  GraphBuilder b;
  Training t;
  t.source = b.input(block.sourceShape());
  t.weights = b.input(block.weightsShape());
  t.bias = b.input({block.filters});
  t.target = b.input(block.resultShape());

  const AttrMap convolution = {{"strides", Dims{block.stride, block.stride}},
                               {"pads_begin", Dims{0, 0}},
                               {"pads_end", Dims{0, 0}},
                               {"dilations", Dims{1, 1}},
                               {"data_format", std::string("NXC")},
                               {"weights_format", std::string("XIO")}};
  const AttrMap lrn = {{"algorithm", std::string("across_channels")},
                       {"size", block.lrnSize},
                       {"alpha", block.lrnAlpha},
                       {"beta", block.lrnBeta},
                       {"k", block.lrnK},
                       {"data_format", std::string("NXC")}};
  const AttrMap pool = {{"kernel", Dims{3, 3}},
                        {"strides", Dims{2, 2}},
                        {"pads_begin", Dims{0, 0}},
                        {"pads_end", Dims{0, 0}},
                        {"data_format", std::string("NXC")}};
  Tensor conv =
      b.op("Convolution", "conv1", {t.source, t.weights, t.bias}, convolution);
  Tensor relu = b.op("ReLU", "relu1", {conv});
  Tensor norm = b.op("LRN", "norm1", {relu}, lrn);
  t.result = b.op("MaxPool", "pool1", {norm}, pool);

  Tensor d = b.op("Subtract", "difference", {t.result, t.target});
  Tensor squares = b.op("Multiply", "squares", {d, d});
  t.loss = b.op("ReduceSum", "loss", {squares},
                {{"axes", Dims{0, 1, 2, 3}}, {"keep_dims", false}});

  Tensor diff = b.op("Add", "diff_result", {d, d});
  diff = b.op("MaxPoolBackward", "pool1_backward", {norm, diff}, pool);
  diff = b.op("LRNBackward", "norm1_backward", {relu, diff}, lrn);
  diff =
      b.op("ReLUBackward", "relu1_backward", {relu, diff}, {{"use_dst", true}});
  AttrMap toWeights = convolution;
  toWeights["weights_shape"] = block.weightsShape();
  t.diffWeights = b.op("ConvolutionBackwardWeights", "conv1_backward",
                       {t.source, diff}, toWeights);
  t.diffBias = b.op("BiasAddBackward", "bias1_backward", {diff},
                    {{"data_format", std::string("NXC")}});

  Expected<graph::Graph> graph =
      b.finish({t.result, t.loss, t.diffWeights, t.diffBias});
  if (!graph)
    return graph.errors();
  t.graph = std::move(*graph);
  return t;
}

} // namespace tenon::examples
