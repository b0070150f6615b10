// SPDX-License-Identifier: Apache-2.0
// A multilayer perceptron as recommender models have it at their bottom:
// 13 dense features through layers of 512, 256 and 128, each with bias and
// ReLU.  Written twice: for a batch of 64, and for any batch.
//
//   mlp [FOLDER]     writes mlp.json and mlp_dynamic.json
#include "examples/GraphBuilder.h"

using namespace tenon;
using examples::GraphBuilder;
using examples::Tensor;

static Expected<graph::Graph> mlp(int64_t batch) {
  GraphBuilder b;
  const int64_t widths[] = {13, 512, 256, 128};
  Tensor x = b.input({batch, widths[0]});
  for (int layer = 1; layer <= 3; ++layer) {
    int64_t in = widths[layer - 1], out = widths[layer];
    std::string name = "fc" + std::to_string(layer);
    x = b.op("MatMul", name, {x, b.constant({in, out}), b.constant({out})});
    x = b.op("ReLU", name + ".relu", {x});
  }
  return b.finish({x});
}

int main(int argc, char **argv) {
  std::string folder = argc > 1 ? argv[1] : ".";
  return examples::writeGraph(mlp(64), folder, "mlp.json") |
         examples::writeGraph(mlp(graph::kUnknownDim), folder,
                              "mlp_dynamic.json");
}
