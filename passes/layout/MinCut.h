//===- MinCut.h - two sides of a graph at least cost -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Each node belongs to the first or to the second side; nodes have a cost for
// each, edges one that is due where they join both. The least total is a cut
// of a flow network: Y. Dinitz, "Algorithm for solution of a problem of maximum
// flow in networks with power estimation" (1970).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::passes {

class MinCut {
public:
  /// Of at most half the greatest integer: not to be paid.
  static constexpr int64_t kNever = int64_t(1) << 60;

  explicit MinCut(size_t nodes);

  /// Adds to what `node` costs on each side; neither is negative.
  void addCosts(size_t node, int64_t first, int64_t second);
  /// Due, as often as it is added, where `a` and `b` are on different sides.
  void addEdge(size_t a, size_t b, int64_t cost);

  /// For each node whether it is on the second side: of all cuts of least cost
  /// the one with most nodes there.
  std::vector<bool> solve();

private:
  struct Arc {
    size_t to, reverse; // the arc back, in `to`
    int64_t capacity;
  };

  void addArcs(size_t from, size_t to, int64_t there, int64_t back);
  bool findLevels();
  int64_t augment();

  size_t source, sink;
  std::vector<std::vector<Arc>> arcs;
  std::vector<int64_t> first, second;
  std::vector<size_t> level, next; // next: arcs before it lead nowhere
};

} // namespace tenon::passes
