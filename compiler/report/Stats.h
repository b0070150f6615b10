//===- Stats.h - numbers about a graph --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What can be counted without compiling: operations, arithmetic, bytes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tenon::report {

/// Whether operations of a kind move data and compute nothing.
bool movesOnly(std::string_view kind);

/// Floating-point operations of `op`: two for each multiply-add of a
/// contraction, one for each element of the largest operand or result of
/// everything else, none for what only moves data.  Unknown dims: 0.
double flopsOf(const graph::Graph &graph, const graph::Op &op);

/// Bytes of the dense tensor; absent shapes and unknown dims: 0.
double bytesOf(const graph::LogicalTensor &tensor);

struct GraphStats {
  int64_t ops = 0;
  std::map<std::string, int64_t> opsByKind;
  double flops = 0;
  /// Of MatMul, convolutions and their gradients alone.
  double contractionFlops = 0;
  /// Bytes by role; an intermediate is what an operation makes for another.
  double inputBytes = 0, constantBytes = 0, outputBytes = 0;
  double intermediateBytes = 0;
  /// Elements of all tensors together.
  double elements = 0;
  /// Tensors with a dim or rank that is not known: the sums leave them out.
  int64_t unknownTensors = 0;
};

/// Requires complete ports (graph::completePorts).
GraphStats statsOf(const graph::Graph &graph);

/// "2x?x4xf32", "f32" for rank 0, "*xf32" when the rank is unknown.
std::string typeText(const graph::LogicalTensor &tensor);

} // namespace tenon::report
