// SPDX-License-Identifier: Apache-2.0
#include "passes/layout/MinCut.h"

#include "llvm/Support/DebugLog.h"

#include <algorithm>
#include <cassert>
#include <limits>

#define DEBUG_TYPE "tenon-assign-layouts"

namespace tenon::passes {

static constexpr size_t kUnreached = std::numeric_limits<size_t>::max();

MinCut::MinCut(size_t nodes)
    : source(nodes), sink(nodes + 1), arcs(nodes + 2), first(nodes, 0),
      second(nodes, 0) {}

void MinCut::addCosts(size_t node, int64_t onFirst, int64_t onSecond) {
  assert(node < first.size() && onFirst >= 0 && onSecond >= 0);
  first[node] = std::min(kNever, first[node] + onFirst);
  second[node] = std::min(kNever, second[node] + onSecond);
}

void MinCut::addEdge(size_t a, size_t b, int64_t cost) {
  assert(a < first.size() && b < first.size());
  if (a != b && cost > 0)
    addArcs(a, b, cost, cost);
}

void MinCut::addArcs(size_t from, size_t to, int64_t there, int64_t back) {
  arcs[from].push_back({to, arcs[to].size(), there});
  arcs[to].push_back({from, arcs[from].size() - 1, back});
}

/// Distances from the source along arcs that take more; whether the sink has
/// one.
bool MinCut::findLevels() {
  level.assign(arcs.size(), kUnreached);
  std::vector<size_t> queue = {source};
  level[source] = 0;
  for (size_t at = 0; at < queue.size(); ++at)
    for (const Arc &arc : arcs[queue[at]])
      if (arc.capacity > 0 && level[arc.to] == kUnreached) {
        level[arc.to] = level[queue[at]] + 1;
        queue.push_back(arc.to);
      }
  return level[sink] != kUnreached;
}

/// Sends what one more shortest path takes; 0: there is none. Without
/// recursion: a path may have a node for each operation of a graph.
int64_t MinCut::augment() {
  std::vector<Arc *> path;
  size_t at = source;
  while (at != sink) {
    if (next[at] == arcs[at].size()) {
      if (path.empty())
        return 0;
      at = arcs[path.back()->to][path.back()->reverse].to;
      path.pop_back();
      ++next[at];
      continue;
    }
    Arc &arc = arcs[at][next[at]];
    if (arc.capacity > 0 && level[arc.to] == level[at] + 1) {
      path.push_back(&arc);
      at = arc.to;
    } else {
      ++next[at];
    }
  }
  int64_t flow = kNever;
  for (const Arc *arc : path)
    flow = std::min(flow, arc->capacity);
  for (Arc *arc : path) {
    arc->capacity -= flow;
    arcs[arc->to][arc->reverse].capacity += flow;
  }
  return flow;
}

std::vector<bool> MinCut::solve() {
  for (size_t i = 0; i < first.size(); ++i) {
    // What is due on either side decides nothing.
    int64_t both = std::min(first[i], second[i]);
    if (first[i] > both)
      addArcs(i, sink, first[i] - both, 0);
    if (second[i] > both)
      addArcs(source, i, second[i] - both, 0);
  }
  int64_t total = 0;
  while (findLevels()) {
    next.assign(arcs.size(), 0);
    while (int64_t flow = augment())
      total += flow;
  }
  LDBG() << "the least cut of " << first.size() << " nodes costs " << total;
  // The source reaches what no cheapest cut puts on the second side.
  std::vector<bool> sides(first.size());
  for (size_t i = 0; i < sides.size(); ++i)
    sides[i] = level[i] == kUnreached;
  return sides;
}

} // namespace tenon::passes
