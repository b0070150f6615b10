// SPDX-License-Identifier: Apache-2.0
// Two layers of LSTM cells over four sequences of 20 steps, 64 channels each:
// the size of a small sequence tagger.
//
//   lstm [FOLDER]     writes lstm.json
#include "examples/GraphBuilder.h"

using namespace tenon;
using examples::GraphBuilder;
using examples::Tensor;

static Expected<graph::Graph> lstm() {
  const int64_t steps = 20, batch = 4, layers = 2, units = 64;
  GraphBuilder b;
  Tensor x = b.input({steps, batch, units});
  Tensor weights = b.constant({layers, 1, units, 4, units});
  Tensor recurrent = b.constant({layers, 1, units, 4, units});
  Tensor bias = b.constant({layers, 1, 4, units});
  return b.finish({b.op("LSTM", "lstm", {x, weights, recurrent, bias})});
}

int main(int argc, char **argv) {
  return examples::writeGraph(lstm(), argc > 1 ? argv[1] : ".", "lstm.json");
}
