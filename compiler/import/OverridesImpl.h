//===- OverridesImpl.h - steps of applyOverrides ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to this folder.  Every step appends to `errors` and goes on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Overrides.h"

#include <map>

namespace tenon::overrides {

using Errors = std::vector<Error>;

/// The shapes, strides and layouts a graph had before it was rewritten.
using Snapshot = std::map<uint64_t, graph::LogicalTensor>;

Error badOverride(std::string message, std::string hint = "");
Error badOverride(const graph::Op &op, std::string message,
                  std::string hint = "");
graph::Op *findOp(graph::Graph &graph, uint64_t id);

/// Wholly decimal text.
std::optional<int64_t> parseInt(std::string_view text);
std::optional<float> parseFloat(std::string_view text);
/// The pieces between `separator`s; of an empty text one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);
/// "2x3x4"; nothing when a piece is no integer.
std::optional<graph::Dims> parseDims(std::string_view text);

// OverrideOps.cpp
void applyAttrs(graph::Graph &graph, const Overrides &o, Errors &errors);
void applyKinds(graph::Graph &graph, const Overrides &o, Errors &errors);

// OverrideTypes.cpp
void applyDType(graph::Graph &graph, graph::DType dtype, Errors &errors);
void applyTypeMaps(graph::Graph &graph, const Overrides &o, Errors &errors);

// OverrideBatch.cpp
/// The graph inputs whose dim 0 is the batch.
std::vector<uint64_t> findBatchInputs(graph::Graph graph);
void applyBatch(graph::Graph &graph, int64_t mb, Errors &errors);

// OverrideShapes.cpp
void applyTensors(graph::Graph &graph, const Overrides &o, Errors &errors);
/// Infers everything that follows from the graph's inputs.
void reinfer(graph::Graph &graph, const Snapshot &old, const Overrides &o,
             Errors &errors);

// OverrideStrides.cpp
/// Axes from outermost to innermost; row-major among equal strides.
graph::Dims axisOrder(const graph::LogicalTensor &t);
/// Dense strides of `shape` with the axes in `order`.
graph::Dims stridesOf(const graph::Dims &shape, const graph::Dims &order);
/// Stores dense strides; none for the row-major order.
void setOrder(graph::LogicalTensor &t, const graph::Dims &order);
/// Gives results strides.  Runs after inference, before output ports get
/// strides of their own.
void layOutResults(graph::Graph &graph, const Snapshot &old, Errors &errors);

} // namespace tenon::overrides
