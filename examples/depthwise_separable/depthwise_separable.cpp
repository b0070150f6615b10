// SPDX-License-Identifier: Apache-2.0
// A depthwise separable convolution as in MobileNet: a 3x3 filter for each of
// 32 channels at 112x112, then a 1x1 convolution to 64 channels; batch norm
// and ReLU6 behind each.
//
//   depthwise_separable [FOLDER]     writes depthwise_separable.json
#include "examples/GraphBuilder.h"

using namespace tenon;
using examples::GraphBuilder;
using examples::Tensor;
using graph::Dims;

/// Convolution that keeps the size, batch norm, ReLU6.
static Tensor convNormRelu6(GraphBuilder &b, const std::string &name, Tensor x,
                            Dims weights, int64_t groups) {
  int64_t pad = weights[0] / 2, channels = weights[3];
  x = b.op("Convolution", name, {x, b.constant(weights)},
           {{"strides", Dims{1, 1}},
            {"pads_begin", Dims{pad, pad}},
            {"pads_end", Dims{pad, pad}},
            {"dilations", Dims{1, 1}},
            {"groups", groups},
            {"data_format", std::string("NXC")},
            {"weights_format", std::string("XIO")}});
  Tensor gamma = b.constant({channels}), beta = b.constant({channels});
  Tensor mean = b.constant({channels}), variance = b.constant({channels});
  x = b.op("BatchNormInference", name + ".norm",
           {x, gamma, beta, mean, variance},
           {{"epsilon", 1e-3f}, {"data_format", std::string("NXC")}});
  return b.op("Clamp", name + ".relu6", {x}, {{"min", 0.0f}, {"max", 6.0f}});
}

static Expected<graph::Graph> depthwiseSeparable() {
  GraphBuilder b;
  const int64_t in = 32, out = 64;
  Tensor x = b.input({1, 112, 112, in});
  x = convNormRelu6(b, "depthwise", x, {3, 3, 1, in}, in);
  x = convNormRelu6(b, "pointwise", x, {1, 1, in, out}, 1);
  return b.finish({x});
}

int main(int argc, char **argv) {
  return examples::writeGraph(depthwiseSeparable(), argc > 1 ? argv[1] : ".",
                              "depthwise_separable.json");
}
