//===- ControlFlow.h - graphs in attributes of nodes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What conversions of If, Loop and Scan need from the importer. Tenon's graphs
// have no control flow: branches and steps become part of the graph.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/onnx/Builder.h"

namespace tenon::onnx {

/// What a name of the model stands for: a tensor of which, with a `count`, the
/// first entries along `axis` count, as many as that scalar says.
struct Named {
  Value value = kNone;
  Value count = kNone;
  int axis = 0;
  bool isLost = false; // to an error, which has been told
};

/// Converts graphs that are attributes of the node that is being converted.
class Subgraphs {
public:
  virtual ~Subgraphs() = default;

  /// Adds what `graph` computes of `arguments`, one for each of its inputs,
  /// and gives its outputs. It sees the names around it, and its own are seen
  /// nowhere else. After an error: as many of nothing.
  virtual std::vector<Named> convert(const GraphProto &graph,
                                     const std::vector<Value> &arguments) = 0;
};

} // namespace tenon::onnx
