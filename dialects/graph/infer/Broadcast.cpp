//===- Broadcast.cpp - sizes of 1 that code does not broadcast ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Infer.h"
#include "dialects/graph/infer/Shapes.h"

#include <algorithm>

namespace tenon::graph {

namespace {

/// A dim of an operand that is broadcast.
struct BroadcastDim {
  size_t operand, dim;
  int64_t size; // that it gets
};

class Search {
public:
  Search(const Graph &general, const Graph &graph, const Op &op)
      : general(general), graph(graph), op(op),
        dst(*graph.tensor(op.outputs[0]).shape) {}

  std::optional<BroadcastDim> run() {
    std::string_view rule = lookupOp(op.kind)->shapeRule;
    if (rule == "matmul")
      return matmul();
    if (rule != "broadcast" && rule != "select" && rule != "prelu" &&
        rule != "prelu_backward")
      return std::nullopt;
    for (size_t i = 0; i < op.inputs.size() && !found; ++i)
      align(i, shape(i).size(), dst);
    return found;
  }

private:
  const Dims &shape(size_t i) const {
    return *graph.tensor(op.inputs[i]).shape;
  }

  /// Compares the first `count` dims of operand `i` with `to`, aligned at the
  /// right.
  void align(size_t i, size_t count, std::span<const int64_t> to) {
    const std::optional<Dims> &known = general.tensor(op.inputs[i]).shape;
    for (size_t d = 0; d < count && !found; ++d) {
      bool isOpen = !known || (*known)[d] == kUnknownDim;
      if (!isOpen || shape(i)[d] != 1 || to.size() + d < count)
        continue;
      if (int64_t size = to[to.size() + d - count]; size != 1)
        found = {i, d, size};
    }
  }

  std::optional<BroadcastDim> matmul() {
    size_t rows = shape(0).size() > 1, columns = shape(1).size() > 1;
    auto batch = std::span(dst).first(dst.size() - rows - columns);
    for (size_t i = 0; i < 2 && !found; ++i)
      if (shape(i).size() > 2)
        align(i, shape(i).size() - 2, batch);
    if (op.inputs.size() > 2 && !found)
      align(2, std::min(shape(2).size(), dst.size()), dst);
    return found;
  }

  const Graph &general, &graph;
  const Op &op;
  const Dims &dst;
  std::optional<BroadcastDim> found;
};

} // namespace

std::optional<Error> findBroadcast(const Graph &general, const Graph &graph) {
  for (const Op &op : graph.ops) {
    auto isKnown = [&](uint64_t id) {
      return graph.tensor(id).hasStaticShape();
    };
    if (op.outputs.empty() || !lookupOp(op.kind) ||
        !std::all_of(op.inputs.begin(), op.inputs.end(), isKnown) ||
        !isKnown(op.outputs[0]))
      continue;
    std::optional<BroadcastDim> found = Search(general, graph, op).run();
    if (!found)
      continue;
    return errorAbout(
        op, ErrorCode::ShapeMismatch,
        infer::cat("dim ", found->dim, " of operand ", found->operand,
                   " is 1 and would broadcast to ", found->size,
                   ", but was not known to be 1 when this was compiled"),
        "compile for a size of 1, or give as many elements");
  }
  return std::nullopt;
}

} // namespace tenon::graph
