//===- Json.h - graphs as JSON files ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The interchange format of serialised graphs: one object with the operations
// in "graph", each with its attributes and the logical tensors it touches.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <string>
#include <string_view>

namespace tenon::json {

struct JsonOptions {
  /// Reject keys the format does not define, repeated keys and values written
  /// in an unusual type, instead of making sense of them.
  bool strict = false;
  /// Errors listed; the rest is counted in one last error.
  unsigned maxErrors = 20;
};

/// Reads a graph.  `sourceName` (a file name) only appears in messages.
///
/// Tolerant: keys may be missing or in any order, files of all versions of the
/// format read.  The result is sorted topologically and its ports are complete.
/// Names, kinds and attributes are not checked against the operation table;
/// attributes that partitioning adds ("partition_id", "backend", ...) are
/// dropped.  Of several descriptions of one tensor, what is known wins over
/// what is unknown; where a reader of a tensor gives the shape it broadcasts
/// from, the producer's wins.  Output ports without a tensor are dropped.
/// Dense row-major strides are stored as no strides.
///
/// Errors: Syntax, WrongType, MissingKey, TooLarge, BadDType, BadDim, BadRank,
/// BadStride, AttrType, AttrValue, EdgeConflict, DuplicateOpId, TwoProducers,
/// Cycle, BadPort.  Time and memory are linear in the text; any bytes are fine.
/// Thread-safe.
Expected<graph::Graph> readJson(std::string_view text,
                                std::string_view sourceName,
                                const JsonOptions &options = {});

/// Writes a graph: keys in a fixed order, attributes sorted, floats as the
/// shortest text that reads back as the same value (infinities and NaN as
/// strings).  Reading the result and writing it again gives the same bytes.
/// Thread-safe.
std::string writeJson(const graph::Graph &graph);

} // namespace tenon::json
