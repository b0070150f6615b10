//===- Explain.h - why operations are fused and copied, or not --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/report/CompileReport.h"
#include "dialects/graph/Graph.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tenon::report {

/// Seconds that a machine takes at best to move so much; 0: not known.
using MoveTime = std::function<double(const Traffic &)>;

/// A copy in another order, or why there is none.
struct ReorderAnswer {
  ReorderInfo info;
  double seconds = 0; // of the copy, made or saved; 0: not known
  std::string text;
};

/// All copies of one time.
struct ReorderSum {
  size_t count = 0;
  Traffic bytes;
  double seconds = 0;
  size_t unsized = 0; // of the count, not in the rest
};

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
  /// Where its images have their channels and what that saves, if it was moved
  /// or could be.
  std::vector<std::string> layouts;
  /// Copies that its code makes: packed weights, other orders.
  std::vector<ReorderAnswer> reorders;
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
  /// The order of the tensor's elements: copies, and what made them needless.
  std::vector<ReorderAnswer> reorders;
};

/// Answers about one compiled graph; both have to outlive it.
class Explainer {
public:
  /// `fuse`: whether fusion was asked for. `moveTime` may be empty.
  Explainer(const graph::Graph &graph, const CompileReport &report, bool fuse,
            MoveTime moveTime = {});

  OpAnswer explainOp(size_t op) const;
  EdgeAnswer explainEdge(std::optional<size_t> from, uint64_t tensor,
                         std::optional<size_t> to) const;
  /// All edges that lead to an operation, and those to outputs, in order.
  std::vector<EdgeAnswer> explainEdges() const;

  /// What all copies of one time cost, or would.
  ReorderSum sumOf(ReorderInfo::When when) const;
  /// "in every execution: 2 copies, 8 bytes read, 8 written, at best 1 us"; a
  /// text for each time.
  std::vector<std::string> sumTexts() const;

  /// `MatMul "fc1"`.
  std::string called(size_t op) const;
  /// "group 0, fc1+relu1 (contraction)".
  std::string groupText(size_t group) const;

private:
  std::vector<std::string> remarksOf(size_t op, bool layout) const;
  std::vector<std::string> reasonsOf(size_t op) const;
  std::string whyHere(size_t op) const;
  std::string outsideReaders(uint64_t tensor, size_t group) const;
  void explainInner(EdgeAnswer &answer) const;
  EdgeAnswer explainPlace(std::optional<size_t> from, uint64_t tensor,
                          std::optional<size_t> to) const;
  bool shareGroup(const ReorderInfo &reorder) const;
  bool isOn(const ReorderInfo &reorder, const EdgeAnswer &edge) const;
  double secondsOf(const Traffic &bytes) const;
  ReorderAnswer answerFor(const ReorderInfo &reorder) const;

  const graph::Graph &graph;
  const CompileReport &report;
  bool fuse;
  MoveTime moveTime;
  /// Those of the report but for values that never leave a group.
  std::vector<const ReorderInfo *> reorders;
  std::map<uint64_t, size_t> producers;
  /// By operation: groups that compute it, in main and fold; copies of main.
  std::vector<std::vector<size_t>> mainOf, foldOf, copiesOf;
};

} // namespace tenon::report
