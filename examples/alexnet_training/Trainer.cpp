// SPDX-License-Identifier: Apache-2.0
#include "examples/alexnet_training/Trainer.h"

#include "compiler/driver/Session.h"

#include <cmath>
#include <random>

namespace tenon::examples {
namespace {

using Values = std::vector<float>;

class Trainer {
public:
  Trainer(const TrainingOptions &options, Training training)
      : options(options), training(std::move(training)), random(options.seed) {}

  Expected<std::vector<float>> run() {
    auto compiled = Compiled::compile(training.graph, Options());
    if (!compiled)
      return compiled.errors();
    model = std::move(*compiled);
    auto created = Executor::create({.threads = options.threads});
    if (!created)
      return created.errors();
    executor = std::move(*created);
    for (uint64_t id : training.graph.inputPorts)
      values[id].resize(training.graph.tensor(id).numElements());
    for (uint64_t id : training.graph.outputPorts)
      values[id].resize(training.graph.tensor(id).numElements());
    if (auto done = teach(); !done)
      return done.errors();
    std::vector<float> losses;
    for (int step = 0; step <= options.steps; ++step) {
      if (auto done = execute(); !done)
        return done.errors();
      losses.push_back(values[training.loss].front());
      descend(training.weights, training.diffWeights);
      descend(training.bias, training.diffBias);
    }
    return losses;
  }

private:
  /// Pictures, and as target what random weights make of them; then other
  /// random weights to start from.
  Expected<bool> teach() {
    fill(training.source, 1);
    drawWeights();
    if (auto done = execute(); !done)
      return done;
    values[training.target] = values[training.result];
    drawWeights();
    return true;
  }

  void fill(Tensor id, double deviation) {
    std::normal_distribution<float> normal(0, static_cast<float>(deviation));
    for (float &x : values[id])
      x = normal(random);
  }

  /// Such that sums over a window are about as large as pixels.
  void drawWeights() {
    const Block &b = options.block;
    fill(training.weights,
         1 / std::sqrt(double(b.kernel * b.kernel * b.channels)));
    fill(training.bias, 0.1);
  }

  void descend(Tensor weights, Tensor gradient) {
    const Block &b = options.block;
    float rate = options.rate / float(b.batch * b.pooled() * b.pooled());
    Values &w = values[weights], &g = values[gradient];
    for (size_t i = 0; i < w.size(); ++i)
      w[i] -= rate * g[i];
  }

  Expected<bool> execute() {
    HostTensors inputs, outputs;
    const graph::Graph &g = training.graph;
    for (uint64_t id : g.inputPorts)
      inputs[id] = {values[id].data(), *g.tensor(id).shape};
    for (uint64_t id : g.outputPorts)
      outputs[id] = {values[id].data(), *g.tensor(id).shape};
    return model->execute(*executor, inputs, outputs);
  }

  TrainingOptions options;
  Training training;
  std::mt19937_64 random;
  std::unique_ptr<Compiled> model;
  std::unique_ptr<Executor> executor;
  std::map<uint64_t, Values> values;
};

} // namespace

Expected<std::vector<float>> train(const TrainingOptions &options) {
  auto training = trainingGraph(options.block);
  if (!training)
    return training.errors();
  return Trainer(options, std::move(*training)).run();
}

} // namespace tenon::examples
