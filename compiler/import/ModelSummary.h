//===- ModelSummary.h - what a model of ONNX has ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

/// What a model of ONNX has, and what became of it when it was read, also where
/// it was not converted. Nodes are those of the graph, of the functions that it
/// calls, once for each call, and of branches that are taken.
struct ModelSummary {
  struct Operator {
    std::string name;
    std::string domain; // empty: ONNX's own
    int64_t opset = 0;  // the version of the domain
    int64_t nodes = 0;
    /// Of these: nothing of them is in the graph, since they compute shapes or
    /// constants, move nothing, or no output needs them.
    int64_t folded = 0;
    int64_t failed = 0;  // have an error
    int64_t waiting = 0; // need a result of one that has
  };
  struct Port {
    std::string name;
    std::string type; // "f32[batch, 3, 224, 224]"
    bool isRead = true;
    bool isOpen = false; // some of its sizes are not known
  };

  int64_t irVersion = 0;
  std::vector<Operator> operators; // most frequent first
  std::vector<Port> inputs, outputs;
  int64_t parameters = 0; // tensors of the model
  double parameterElements = 0, parameterBytes = 0;

  /// The sum of a number over all operators.
  int64_t sum(int64_t Operator::*number) const {
    int64_t total = 0;
    for (const Operator &op : operators)
      total += op.*number;
    return total;
  }
};

} // namespace tenon
