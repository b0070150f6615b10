// SPDX-License-Identifier: Apache-2.0
// One training step of AlexNet's first block, forward and backward, as one
// graph: 96 filters of 11x11 with stride 4 on pictures of 227x227, ReLU, local
// response normalisation, max pooling 3x3 with stride 2, a squared-error loss
// and the gradients of weights and bias.
//
//   alexnet_training [FOLDER]     writes alexnet_training.json
#include "examples/alexnet_training/TrainingGraph.h"

using namespace tenon;

int main(int argc, char **argv) {
  auto training = examples::trainingGraph(examples::Block());
  Expected<graph::Graph> graph =
      training ? Expected<graph::Graph>(training->graph)
               : Expected<graph::Graph>(training.errors());
  return examples::writeGraph(graph, argc > 1 ? argv[1] : ".",
                              "alexnet_training.json");
}
