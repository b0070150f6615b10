//===- Scopes.h - nodes, functions, and graphs in graphs -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/onnx/Conversions.h"
#include "compiler/import/onnx/Importer.h"

namespace tenon::onnx {

/// Converts nodes, and keeps what their names stand for. A graph in a node has
/// a scope within the one of the node, a function has one of its own.
/// Not thread-safe.
class Scopes final : public Subgraphs {
public:
  /// `copies` gets nodes of functions with the attributes of their callers;
  /// `nodes`, unless null, what became of each. All of these must outlive this.
  Scopes(const ModelProto &model, Builder &builder,
         std::deque<NodeProto> &copies, std::vector<ConvertedNode> *nodes);

  void define(std::string_view name, Named named) {
    scope->values[name] = named;
  }
  /// What the innermost scope with this name says of it; null: nothing gives
  /// it.
  const Named *find(std::string_view name) const;
  /// What a name stands for. An error, and a value that is lost, if nothing
  /// gives it; one that was lost before makes the operator an abandoned one.
  Named named(std::string_view name);
  void addWeights(const GraphProto &graph);
  /// Operators that follow one with an error are converted, too, unless they
  /// need its results: users learn all that is missing.
  void convert(const NodeProto &node);
  std::vector<Named> convert(const GraphProto &graph,
                             const std::vector<Value> &arguments) override;
  /// Whether there was so much that no further node is converted.
  bool isStopped() const { return hasStopped; }

private:
  struct Scope {
    /// Whose names are seen here, too.
    const Scope *outer = nullptr;
    const std::vector<OperatorSet> *sets = nullptr;
    /// The function that the nodes are of, and the node that calls it.
    const FunctionProto *function = nullptr;
    const NodeProto *caller = nullptr;
    std::map<std::string_view, Named> values = {};
  };
  class Inside;

  void stop(std::string why, std::string hint = {});
  bool isTooMuch(size_t more);
  void enter(const NodeProto &node, int64_t opset);
  void convertOperator(const NodeProto &node, int64_t opset);
  void note(const NodeProto &node, ConvertedNode about);
  void callFunction(const NodeProto &node, const FunctionProto &function);
  const NodeProto *withAttributesOfCaller(const NodeProto &node);

  const ModelProto &model;
  Builder &builder;
  std::deque<NodeProto> &copies;
  std::vector<ConvertedNode> *nodes;
  std::set<const NodeProto *> noted; // of graphs, which loops convert again
  /// Where a node of a function has its copy, by the node that calls it.
  std::map<std::pair<const NodeProto *, const NodeProto *>, const NodeProto *>
      copied;
  Scope outermost;
  Scope *scope = &outermost;
  int depth = 0;
  bool hasStopped = false;
  size_t converted = 0;
};

} // namespace tenon::onnx
