//===- TestTensors.h - graphs of tests, tensor by tensor -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/Graph.h"

#include <optional>
#include <utility>

namespace tenon::graph::test {

/// A tensor without a layout; no `shape`: its rank is unknown.
inline LogicalTensor tensor(uint64_t id, DType dtype,
                            std::optional<Dims> shape) {
  LogicalTensor result;
  result.id = id;
  result.dtype = dtype;
  result.shape = std::move(shape);
  return result;
}

inline void add(Graph &graph, LogicalTensor tensor) {
  graph.tensors[tensor.id] = std::move(tensor);
}

} // namespace tenon::graph::test
