//===- Unknown.h - graphs with sizes that are not known ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/Graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::test {

/// One graph for the compiler, and what it may be executed as.
struct UnknownSizes {
  /// Some sizes of inputs are not known; some of these have names. Results have
  /// no shapes, except where inference needs them. Of names may be declared
  /// what is true of both sets of sizes.
  graph::Graph general;
  /// The same with all sizes known: those of the graph it is made of, then
  /// others, which may be 0 or 1.
  std::vector<graph::Graph> known;
};

/// `graph`, of which all sizes are known, without some of them. Which ones
/// follows from `seed`, sizes and ids, so that a graph that is made smaller
/// keeps its choice for the most part. Absent if no choice was found under
/// which other sizes fit.
std::optional<UnknownSizes> withUnknownSizes(const graph::Graph &graph,
                                             uint64_t seed);

/// The row of docs/unknown-sizes.md, "What needs a known size", that all of
/// `errors`, which compiling such a graph gave, are about; absent if an error
/// is about something else.
std::optional<std::string_view>
documentedReason(const std::vector<Error> &errors);

/// All rows that documentedReason() knows.
std::vector<std::string_view> documentedRows();

/// The sizes of the inputs of `known` as `--in-shapes` has them.
std::string shapesText(const graph::Graph &known);

} // namespace tenon::test
