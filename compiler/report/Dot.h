//===- Dot.h - a graph as a picture -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/report/CompileReport.h"
#include "dialects/graph/Graph.h"

#include <span>
#include <string>
#include <vector>

namespace tenon::report {

/// The operations of each group, indices into `graph.ops`, each in the first
/// one that computes it; in one of kind "pack" or "copy" if there is no other.
std::vector<std::vector<size_t>> membersOf(const graph::Graph &graph,
                                           std::span<const GroupStats> groups);

/// The language of graphviz: one box per operation, boxes of one group in a
/// cluster, edges with shapes and data types, ports as ovals.
std::string toDot(const graph::Graph &graph,
                  std::span<const GroupStats> groups = {});

/// One line per operation: results = kind "name" (operands).
std::string toText(const graph::Graph &graph,
                   std::span<const GroupStats> groups = {});

} // namespace tenon::report
