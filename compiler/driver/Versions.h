//===- Versions.h - a graph with likely sizes ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Beside the code for all sizes that a graph allows there may be code for those
// that are declared to be likely (dialects/graph/SizeFacts.h). Each is the code
// of the graph with these sizes, and the runtime executes the first that fits
// (tenon_model_info::versions).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/infer/Prepare.h"

#include <map>
#include <string>
#include <vector>

namespace tenon {

/// A dim of an input that is not known.
struct OpenDim {
  size_t input; // position of the port
  size_t dim;
};

/// Dims that are a name alone of which something is declared, by name.
std::map<std::string, std::vector<OpenDim>>
openSizes(const graph::Graph &graph);

/// As the C interface says: TENON_MOST_VERSIONS.
inline constexpr size_t kMostVersions = 8;

struct Version {
  std::string name; // "batch=1, tokens=128"
  graph::PreparedGraph graph;
};

struct Versions {
  std::vector<Version> list; // those of the likeliest values first
  /// Combinations of likely values that have none, and why.
  std::vector<std::string> remarks;
};

/// The versions of a graph: one for each combination of likely values of sizes
/// that it does not know.
Versions versionsOf(const graph::PreparedGraph &graph);

} // namespace tenon
