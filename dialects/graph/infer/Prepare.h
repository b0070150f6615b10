//===- Prepare.h - graphs that are ready to compile ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A graph comes from a file, from MLIR text, from the C interface or from a
// program that fills in the struct. Whatever is done with it afterwards, it
// passes here once: what takes a PreparedGraph neither checks nor infers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

namespace tenon::graph {

/// A graph that has been checked as a whole. Operations are sorted, the shape
/// of every tensor is as known as it follows from the inputs, `auto_pad` is
/// resolved, ports are complete, and every port has a description.
class PreparedGraph {
public:
  /// The empty graph, which has nothing to prepare.
  PreparedGraph() = default;

  const Graph &operator*() const { return graph; }
  const Graph *operator->() const { return &graph; }

  /// Lays out an output port whose layout was left to the compiler. The strides
  /// must be those of a dense tensor in some order of its axes.
  void layOutOutput(uint64_t id, Dims strides);

private:
  friend Expected<PreparedGraph> prepareGraph(Graph graph);
  explicit PreparedGraph(Graph graph) : graph(std::move(graph)) {}

  Graph graph;
};

/// Sorts, infers, completes the ports and checks what no operation is to blame
/// for. Errors: those of inferGraph and completePorts; BadDim and BadStride of
/// ports; BadPort for an output that nothing produces; BadStride for an output
/// whose elements share memory.
Expected<PreparedGraph> prepareGraph(Graph graph);

} // namespace tenon::graph
