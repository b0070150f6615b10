//===- ScaleGroups.h - scales of weights in groups -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The weights of a convolution have one dim of channels per group: O for a
// transposed one. Quantised per channel along it, they may have a scale for
// each channel of each group, groups times as many as the dim is large. Only
// who reads the weights knows how many groups there are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <unordered_map>
#include <vector>

namespace tenon::graph::infer {

/// About a graph that outlives it and does not change.
class ScaleGroups {
public:
  explicit ScaleGroups(const Graph &graph) : graph(graph) {}

  /// Groups of the convolutions that alone read what `op`, a (dynamic) Quantize
  /// or Dequantize, makes, perhaps through casts and other quantisation, as
  /// weights whose channels per group lie along its axis. 1: there are none, or
  /// they differ.
  int64_t of(const Op &op);

  /// What is wrong with the numbers of scales in the graph, whose shapes have
  /// been inferred.
  std::vector<Error> check();

private:
  struct Reader {
    const Op *op;
    size_t operand;
  };
  const std::vector<Reader> &readersOf(uint64_t id);
  int64_t groupsAt(const Reader &reader, int64_t axis, size_t rank);

  const Graph &graph;
  std::unordered_map<uint64_t, std::vector<Reader>> readers; // on first use
};

} // namespace tenon::graph::infer
