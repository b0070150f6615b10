// SPDX-License-Identifier: Apache-2.0
// Trains AlexNet's first block for some steps of gradient descent and prints
// the losses.
//
//   train [STEPS [THREADS]]
#include "examples/alexnet_training/Trainer.h"

#include <cstdlib>

int main(int argc, char **argv) {
  tenon::examples::TrainingOptions options;
  if (argc > 1)
    options.steps = std::atoi(argv[1]);
  if (argc > 2)
    options.threads = std::atoi(argv[2]);
  auto losses = tenon::examples::train(options);
  if (!losses) {
    std::fprintf(stderr, "%s\n", str(losses.errors()).c_str());
    return 1;
  }
  for (size_t i = 0; i < losses->size(); ++i)
    std::printf("step %3zu  loss %g\n", i, (*losses)[i]);
  return losses->back() < losses->front() ? 0 : 1;
}
