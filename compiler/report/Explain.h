//===- Explain.h - why operations are fused, or not -------------*- C++ -*-===//
#pragma once

#include "compiler/driver/CompileReport.h"
#include "dialects/graph/Graph.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tenon::report {

/// Where an operation went.
struct OpAnswer {
  size_t op = 0;
  /// Groups that compute it: indices into mainGroups, and into foldGroups of
  /// what is computed once, when constants are bound.
  std::vector<size_t> groups, folds;
  /// "fused", "alone", "folded", "view", "copied" or "none".
  std::string verdict;
  std::string text;
  /// Why it is in no larger group.
  std::vector<std::string> reasons;
  /// Its data in another order: packed weights, copies.
  std::vector<std::string> reorders;
};

/// What becomes of a tensor between one operation and the next.
struct EdgeAnswer {
  /// Operations; absent: an input or an output of the graph.
  std::optional<size_t> from, to;
  uint64_t tensor = 0;
  double bytes = 0; // 0: its size is not known
  /// "fused": not in memory, "memory": written and read, "view": the same
  /// bytes, "folded": once, when constants are bound, "copied", "input",
  /// "output" or "none".
  std::string verdict;
  std::string text;
  std::vector<std::string> reasons;
};

/// Answers about one compiled graph; both have to outlive it.
class Explainer {
public:
  /// `fuse`: whether fusion was asked for.
  Explainer(const graph::Graph &graph, const CompileReport &report, bool fuse);

  OpAnswer explainOp(size_t op) const;
  EdgeAnswer explainEdge(std::optional<size_t> from, uint64_t tensor,
                         std::optional<size_t> to) const;
  /// All edges that lead to an operation, and those to outputs, in order.
  std::vector<EdgeAnswer> explainEdges() const;

  /// `MatMul "fc1"`.
  std::string called(size_t op) const;
  /// "group 0, fc1+relu1 (contraction)".
  std::string groupText(size_t group) const;

private:
  std::vector<std::string> reasonsOf(size_t op) const;
  std::string whyHere(size_t op) const;
  std::string outsideReaders(uint64_t tensor, size_t group) const;
  void explainInner(EdgeAnswer &answer) const;

  const graph::Graph &graph;
  const CompileReport &report;
  bool fuse;
  std::unordered_map<uint64_t, size_t> producers;
  /// By operation: groups that compute it, in main and fold; copies of main.
  std::vector<std::vector<size_t>> mainOf, foldOf, copiesOf;
};

} // namespace tenon::report
