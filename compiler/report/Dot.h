//===- Dot.h - a graph as a picture -----------------------------*- C++ -*-===//
#pragma once

#include "dialects/graph/Graph.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tenon::report {

/// The operations of each group: indices into `graph.ops`.  `groups` are the
/// compiler's: label and kind, where the label joins the names of operations
/// with "+" and may end in "+..." (the names that follow are then not known).
/// An operation is in at most one group; names that occur twice go to the
/// groups in order, those of kind "pack" and "copy" last.
std::vector<std::vector<size_t>>
membersOf(const graph::Graph &graph,
          std::span<const std::pair<std::string, std::string>> groups);

/// The language of graphviz: one box per operation, boxes of one group in a
/// cluster, edges with shapes and data types, ports as ovals.
std::string
toDot(const graph::Graph &graph,
      std::span<const std::pair<std::string, std::string>> groups = {});

/// One line per operation: results = kind "name" (operands).
std::string
toText(const graph::Graph &graph,
       std::span<const std::pair<std::string, std::string>> groups = {});

} // namespace tenon::report
