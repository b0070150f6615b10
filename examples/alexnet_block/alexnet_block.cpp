// SPDX-License-Identifier: Apache-2.0
// The first block of AlexNet for inference: 96 filters of 11x11 with stride 4
// on a picture of 227x227, ReLU, and max pooling 3x3 with stride 2.  (The
// original normalises responses after the ReLU; later nets leave that out, and
// so does this one.)
//
//   alexnet_block [FOLDER]     writes alexnet_block.json
#include "examples/GraphBuilder.h"

using namespace tenon;
using examples::GraphBuilder;
using examples::Tensor;
using graph::Dims;

static Expected<graph::Graph> alexnetBlock() {
  GraphBuilder b;
  std::string nxc = "NXC", xio = "XIO";
  Tensor x = b.input({1, 227, 227, 3});
  x = b.op("Convolution", "conv1",
           {x, b.constant({11, 11, 3, 96}), b.constant({96})},
           {{"strides", Dims{4, 4}},
            {"pads_begin", Dims{0, 0}},
            {"pads_end", Dims{0, 0}},
            {"dilations", Dims{1, 1}},
            {"data_format", nxc},
            {"weights_format", xio}});
  x = b.op("ReLU", "relu1", {x});
  x = b.op("MaxPool", "pool1", {x},
           {{"kernel", Dims{3, 3}},
            {"strides", Dims{2, 2}},
            {"pads_begin", Dims{0, 0}},
            {"pads_end", Dims{0, 0}},
            {"data_format", nxc}});
  return b.finish({x});
}

int main(int argc, char **argv) {
  return examples::writeGraph(alexnetBlock(), argc > 1 ? argv[1] : ".",
                              "alexnet_block.json");
}
