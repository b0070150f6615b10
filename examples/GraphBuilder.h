//===- GraphBuilder.h - graphs built by hand --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What the examples write their graphs with: one call for each tensor and each
// operation.  Ids are given in order of creation; shapes of results are
// inferred at the end.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/json/Json.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/infer/Infer.h"

#include <cstdio>
#include <initializer_list>
#include <string>
#include <utility>

namespace tenon::examples {

/// A tensor id of the graph under construction.
using Tensor = uint64_t;

class GraphBuilder {
public:
  explicit GraphBuilder(graph::DType dtype = graph::DType::f32)
      : dtype(dtype) {}

  /// Data that changes from run to run.  A dim may be graph::kUnknownDim.
  Tensor input(graph::Dims shape) {
    return leaf(std::move(shape), graph::PropertyType::variable);
  }

  /// Data that never changes: weights.
  Tensor constant(graph::Dims shape) {
    return leaf(std::move(shape), graph::PropertyType::constant);
  }

  /// Adds an operation with one result, and returns the result.
  Tensor op(std::string kind, std::string name,
            std::initializer_list<Tensor> inputs, graph::AttrMap attrs = {}) {
    graph::Op op;
    op.id = graph.ops.size();
    op.kind = std::move(kind);
    op.name = std::move(name);
    op.attrs = std::move(attrs);
    op.inputs = inputs;
    Tensor result = nextTensor++;
    op.outputs = {result};
    graph::LogicalTensor t;
    t.id = result;
    t.dtype = dtype;
    graph.tensors.emplace(result, std::move(t));
    graph.ops.push_back(std::move(op));
    return result;
  }

  /// The graph with inferred shapes.  `outputs` are its results, besides those
  /// nobody reads.  The builder is empty afterwards.
  Expected<graph::Graph> finish(std::initializer_list<Tensor> outputs) {
    graph.outputPorts = outputs;
    std::vector<Error> errors = graph::inferGraph(graph);
    if (errors.empty())
      errors = graph::completePorts(graph);
    if (!errors.empty())
      return errors;
    return std::move(graph);
  }

private:
  Tensor leaf(graph::Dims shape, graph::PropertyType property) {
    graph::LogicalTensor t;
    t.id = nextTensor++;
    t.dtype = dtype;
    t.shape = std::move(shape);
    t.property = property;
    graph.inputPorts.push_back(t.id);
    graph.tensors.emplace(t.id, t);
    return t.id;
  }

  graph::DType dtype;
  graph::Graph graph;
  Tensor nextTensor = 0;
};

/// Writes `graph` as JSON to `folder`/`file`.  The exit code of a program:
/// errors go to stderr.
inline int writeGraph(const Expected<graph::Graph> &graph, std::string folder,
                      const char *file) {
  std::string path = std::move(folder) + "/" + file;
  if (!graph) {
    std::fprintf(stderr, "%s: %s\n", file, str(graph.errors()).c_str());
    return 1;
  }
  std::string text = json::writeJson(*graph);
  std::FILE *out = std::fopen(path.c_str(), "wb");
  bool ok = out && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  ok &= out && std::fclose(out) == 0;
  if (!ok)
    std::perror(path.c_str());
  return ok ? 0 : 1;
}

} // namespace tenon::examples
