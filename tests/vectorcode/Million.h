//===- Million.h - every operation at 10^6 elements -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/Graph.h"

#include <string>
#include <vector>

namespace tenon::test {

/// Graphs (GraphText.h) of one operation each with 10^6 elements, or a few
/// more: one for every kind that compiles, in the form models use.
std::vector<std::string> millionCases();

/// What an operation must do at least.
struct Work {
  /// Of contractions and windows, as multiply-adds of 2 each (an addition or a
  /// comparison keeps a unit as busy); other arithmetic is not counted.
  double flops = 0;
  double readBytes = 0, writtenBytes = 0;
};

/// The work of a graph of one operation with known shapes; every operand is
/// read and every result written once.
Work workOf(const graph::Graph &graph);

} // namespace tenon::test
