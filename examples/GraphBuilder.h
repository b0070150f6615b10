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
#include <vector>

namespace tenon::examples {

/// A tensor id of the graph under construction.
using Tensor = uint64_t;

/// A size of a tensor: a number, graph::kUnknownDim, or an expression of named
/// sizes (dialects/graph/SizeExpr.h).
struct Size {
  Size(int number) : number(number) {}
  Size(int64_t number) : number(number) {}
  Size(const char *text) : text(text) {}
  int64_t number = graph::kUnknownDim;
  std::string text;
};
struct Sizes : std::vector<Size> {
  using std::vector<Size>::vector;
  Sizes(const graph::Dims &dims) : vector(dims.begin(), dims.end()) {}
};

class GraphBuilder {
public:
  explicit GraphBuilder(graph::DType dtype = graph::DType::f32)
      : dtype(dtype) {}

  /// Data that changes from run to run.
  Tensor input(const Sizes &sizes) { return input(dtype, sizes); }
  Tensor input(graph::DType type, const Sizes &sizes) {
    return leaf(type, sizes, graph::PropertyType::variable);
  }

  /// Data that never changes: weights.
  Tensor constant(const Sizes &sizes) {
    return leaf(dtype, sizes, graph::PropertyType::constant);
  }

  /// Adds an operation with one result, and returns the result.
  Tensor op(std::string kind, std::string name,
            std::initializer_list<Tensor> inputs, graph::AttrMap attrs = {}) {
    return op(dtype, std::move(kind), std::move(name), inputs,
              std::move(attrs));
  }
  Tensor op(graph::DType type, std::string kind, std::string name,
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
    t.dtype = type;
    graph.tensors.emplace(result, std::move(t));
    graph.ops.push_back(std::move(op));
    return result;
  }

  /// The same elements in another shape.
  Tensor reshape(std::string name, Tensor x, const Sizes &sizes) {
    Tensor result =
        op(graph.tensors.at(x).dtype, "StaticReshape", std::move(name), {x},
           {{"shape", numbersOf(sizes)}, {"special_zero", false}});
    setSizes(result, sizes);
    return result;
  }

  /// The first elements along `axis`, as many as `sizes`, those of the result,
  /// say.
  Tensor first(std::string name, Tensor x, int64_t axis, const Sizes &sizes) {
    Tensor result =
        op(graph.tensors.at(x).dtype, "Slice", std::move(name), {x},
           {{"begins", graph::Dims{0}},
            {"ends", graph::Dims{sizes[static_cast<size_t>(axis)].number}},
            {"axes", graph::Dims{axis}}});
    setSizes(result, sizes);
    return result;
  }

  /// The graph with inferred shapes.  `outputs` are its results, besides those
  /// nobody reads.  The builder is empty afterwards.
  Expected<graph::Graph> finish(const std::vector<Tensor> &outputs) {
    graph.outputPorts = outputs;
    std::vector<Error> errors = graph::inferGraph(graph);
    if (errors.empty())
      errors = graph::completePorts(graph);
    if (!errors.empty())
      return errors;
    return std::move(graph);
  }

private:
  Tensor leaf(graph::DType type, const Sizes &sizes,
              graph::PropertyType property) {
    graph::LogicalTensor t;
    t.id = nextTensor++;
    t.dtype = type;
    t.property = property;
    graph.inputPorts.push_back(t.id);
    graph.tensors.emplace(t.id, t);
    setSizes(t.id, sizes);
    return t.id;
  }

  static graph::Dims numbersOf(const Sizes &sizes) {
    graph::Dims numbers;
    for (const Size &size : sizes)
      numbers.push_back(size.number);
    return numbers;
  }

  void setSizes(Tensor tensor, const Sizes &sizes) {
    graph::LogicalTensor &t = graph.tensors.at(tensor);
    t.shape = numbersOf(sizes);
    bool anyText = false;
    for (const Size &size : sizes)
      anyText |= !size.text.empty();
    for (const Size &size : sizes)
      if (anyText)
        t.sizes.push_back(size.text);
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
