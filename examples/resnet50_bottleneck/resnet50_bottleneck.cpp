// SPDX-License-Identifier: Apache-2.0
// A bottleneck of ResNet-50 in its second stage: 1x1, 3x3 and 1x1 convolutions
// (256 -> 64 -> 64 -> 256 channels at 56x56), batch normalisation behind each,
// the identity added before the last ReLU.
//
//   resnet50_bottleneck [FOLDER]     writes resnet50_bottleneck.json
#include "examples/GraphBuilder.h"

using namespace tenon;
using examples::GraphBuilder;
using examples::Tensor;
using graph::Dims;

/// Convolution with a square kernel that keeps the size, then batch norm.
static Tensor convNorm(GraphBuilder &b, const std::string &name, Tensor x,
                       int64_t kernel, int64_t in, int64_t out) {
  int64_t pad = kernel / 2;
  x = b.op("Convolution", name, {x, b.constant({kernel, kernel, in, out})},
           {{"strides", Dims{1, 1}},
            {"pads_begin", Dims{pad, pad}},
            {"pads_end", Dims{pad, pad}},
            {"dilations", Dims{1, 1}},
            {"data_format", std::string("NXC")},
            {"weights_format", std::string("XIO")}});
  Tensor gamma = b.constant({out}), beta = b.constant({out});
  Tensor mean = b.constant({out}), variance = b.constant({out});
  return b.op("BatchNormInference", name + ".norm",
              {x, gamma, beta, mean, variance},
              {{"epsilon", 1e-5f}, {"data_format", std::string("NXC")}});
}

static Expected<graph::Graph> bottleneck() {
  GraphBuilder b;
  const int64_t wide = 256, narrow = 64;
  Tensor identity = b.input({1, 56, 56, wide});
  Tensor x = convNorm(b, "reduce", identity, 1, wide, narrow);
  x = b.op("ReLU", "reduce.relu", {x});
  x = convNorm(b, "spatial", x, 3, narrow, narrow);
  x = b.op("ReLU", "spatial.relu", {x});
  x = convNorm(b, "expand", x, 1, narrow, wide);
  x = b.op("Add", "residual", {x, identity});
  x = b.op("ReLU", "out.relu", {x});
  return b.finish({x});
}

int main(int argc, char **argv) {
  return examples::writeGraph(bottleneck(), argc > 1 ? argv[1] : ".",
                              "resnet50_bottleneck.json");
}
