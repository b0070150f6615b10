//===- Harness.h - compile, execute and judge a graph ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/check/Compare.h"
#include "compiler/driver/Session.h"
#include "dialects/graph/reference/Tensor.h"

#include <gtest/gtest.h>

namespace tenon::test {

using Tensors = std::map<uint64_t, reference::Tensor>;

/// How a graph is compiled and executed.
struct RunConfig {
  Options options;
  int threads = 1;
  bool pool = false; // through a caller's parallel_for
};

/// Inputs, the oracle's results and those of plain evaluation, computed once.
struct Oracle {
  graph::Graph graph; // inferred, all shapes known
  Tensors inputs, expected, plain;
  /// Of outputs that are rounded to integers.
  std::map<uint64_t, check::BeforeRounding> before;
  static Expected<Oracle> make(graph::Graph graph, uint64_t seed = 1);
  /// Inputs only, with fractions, so that another order of summation rounds
  /// differently: for results that are compared with each other.
  static Expected<Oracle> unjudged(graph::Graph graph);
  /// Judged by the graph's bound alone, not by what a plain evaluation rounds:
  /// with `inputs`, or with fractions, which are rounded.
  static Expected<Oracle> bounded(graph::Graph graph);
  static Expected<Oracle> bounded(graph::Graph graph, Tensors inputs);
};

/// The elements of all results as bits; of f32 a double keeps each.
std::map<uint64_t, std::vector<uint64_t>> bitsOf(const Tensors &results);

/// Executes `model` on the oracle's inputs.
Expected<Tensors> execute(Compiled &model, const Oracle &oracle,
                          const RunConfig &setup);

/// Fails with the worst element when a result is not what it should be.
/// `conditioned`: an element may also be off as errors of rounding size on the
/// way make it, as in `tenon check`.
testing::AssertionResult agrees(const Oracle &oracle, const Tensors &results,
                                bool fastMath = false,
                                bool conditioned = false);

/// Compiles, executes and judges `graph` under `setup`.
testing::AssertionResult checkGraph(const Oracle &oracle,
                                    const RunConfig &setup);

/// Schedules x threads x own team or caller's pool, as the tests use them.
std::vector<RunConfig> allConfigs();

} // namespace tenon::test
