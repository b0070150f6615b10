//===- Trainer.h - stochastic gradient descent on the block ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "examples/alexnet_training/TrainingGraph.h"

#include <vector>

namespace tenon::examples {

struct TrainingOptions {
  Block block;
  int steps = 20;
  float rate = 0.1f; // relative to the mean over images and positions
  int threads = 1;
  uint64_t seed = 1;
};

/// Trains the block from random weights to give what another random block, the
/// teacher, gives for the same pictures. Returns the loss before each step, and
/// after the last.
Expected<std::vector<float>> train(const TrainingOptions &options);

} // namespace tenon::examples
