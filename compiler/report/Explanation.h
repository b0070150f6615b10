//===- Explanation.h - answers as text and as JSON --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/report/Explain.h"

namespace tenon::report {

/// Answers about some operations and edges of a graph, or about all.
struct Explanation {
  std::vector<OpAnswer> ops;
  std::vector<EdgeAnswer> edges;
  /// Whether operations are followed by numbers about their groups.
  bool groups = false;
  /// Whether what holds for the whole graph follows.
  bool summary = true;
};

/// Of all operations and edges.
Explanation explainAll(const graph::Graph &graph, const Explainer &explainer);

/// Lines for people. What an Explainer was made of is given with it.
std::string explanationText(const graph::Graph &graph,
                            const CompileReport &report,
                            const Explainer &explainer,
                            const Explanation &explanation);

/// The same and more for programs; `model` is what the graph is called.
std::string explanationJson(const std::string &model, const graph::Graph &graph,
                            const CompileReport &report,
                            const Explainer &explainer,
                            const Explanation &explanation);

} // namespace tenon::report
