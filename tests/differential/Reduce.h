//===- Reduce.h - the smallest graph that still fails -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/Graph.h"

#include <functional>

namespace tenon::test {

/// Whether a valid graph shows the failure.
using StillFails = std::function<bool(const graph::Graph &)>;

/// Makes `graph`, which fails, smaller as long as it fails: removes operations
/// and outputs, shrinks sizes, drops attributes, strides and constants. Every
/// candidate is inferred and verified before `stillFails` sees it. At most
/// `maxCandidates` are tried.
graph::Graph reduceGraph(graph::Graph graph, const StillFails &stillFails,
                         int maxCandidates = 400);

} // namespace tenon::test
