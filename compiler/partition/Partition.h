//===- Partition.h - what compiles together --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Cuts a graph into regions around operations that Tenon does not compile.
// Purely structural: no shapes, no MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

namespace tenon {

/// A region of a graph.
struct Partition {
  /// Indices into graph.ops, in their order.
  std::vector<size_t> ops;
  /// Tensors that cross the border, in the order of their first use and of
  /// their production. A tensor that both others and the region read is an
  /// output, once.
  std::vector<uint64_t> inputs, outputs;
  bool supported = true;
  /// Why it does not compile; empty when it does.
  std::string reason;
};

enum class PartitionPolicy {
  fusion, // regions as large as they can be
  debug   // one operation each
};

/// Why an operation does not compile, as far as its kind and element types
/// tell; empty: it may.
std::string whyUnsupported(const graph::Graph &graph, const graph::Op &op);

/// The partitions of a topologically sorted graph with complete ports, in an
/// order in which they can be executed. Each operation is in exactly one; End
/// belongs to none. Regions are convex: no path leaves one and comes back. An
/// operation that does not compile is alone. Linear in the graph.
std::vector<Partition> partition(const graph::Graph &graph,
                                 PartitionPolicy policy);

/// The operations of a region as a graph of its own: ports are the region's,
/// and what the whole graph ignores, it ignores.
graph::Graph extract(const graph::Graph &graph, const Partition &partition);

} // namespace tenon
