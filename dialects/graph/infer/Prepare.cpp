//===- Prepare.cpp - graphs that are ready to compile ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/infer/Prepare.h"

#include "dialects/graph/infer/Infer.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace tenon::graph {

static Error makeError(ErrorCode code, std::string message,
                       std::string hint = "") {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

/// Tensors that only ports name, which no operation has checked.
static std::vector<Error> checkPorts(const Graph &graph) {
  std::vector<Error> errors;
  std::set<uint64_t> ports(graph.inputPorts.begin(), graph.inputPorts.end());
  ports.insert(graph.outputPorts.begin(), graph.outputPorts.end());
  for (uint64_t id : ports) {
    std::string label = "tensor " + std::to_string(id);
    const LogicalTensor &tensor = graph.tensor(id);
    for (int64_t dim : tensor.shape.value_or(Dims()))
      if (dim < 0 && dim != kUnknownDim)
        errors.push_back(
            makeError(ErrorCode::BadDim,
                      label + " has a dim of size " + std::to_string(dim),
                      "sizes are 0 or more"));
    bool anyStride = std::ranges::any_of(
        tensor.strides, [](int64_t s) { return s != kUnknownDim; });
    if (anyStride && tensor.shape &&
        tensor.shape->size() != tensor.strides.size())
      errors.push_back(makeError(
          ErrorCode::BadStride,
          label + " has rank " + std::to_string(tensor.shape->size()) +
              " and " + std::to_string(tensor.strides.size()) + " strides",
          "one stride per dim"));
  }
  return errors;
}

/// Whether two elements of `t` share memory, as far as its sizes are known.
static bool overlaps(const LogicalTensor &t) {
  if (!t.hasStaticShape() || t.strides.empty())
    return false;
  std::vector<std::pair<int64_t, int64_t>> dims; // stride, size
  for (size_t i = 0; i < std::min(t.strides.size(), t.shape->size()); ++i) {
    if ((*t.shape)[i] == 0)
      return false;
    if ((*t.shape)[i] > 1)
      dims.push_back({t.strides[i], (*t.shape)[i]});
  }
  std::sort(dims.begin(), dims.end());
  int64_t span = 1;
  for (auto [stride, size] : dims) {
    if (stride < span)
      return true;
    span = stride * (size - 1) + span;
  }
  return false;
}

/// Outputs are written, and once per element.
static std::vector<Error> checkOutputs(const Graph &graph) {
  std::vector<Error> errors;
  std::map<uint64_t, size_t> producers = graph.producers();
  std::set<uint64_t> inputs(graph.inputPorts.begin(), graph.inputPorts.end());
  for (uint64_t id : graph.outputPorts) {
    if (!producers.count(id) && !inputs.count(id))
      errors.push_back(makeError(ErrorCode::BadPort,
                                 "output_ports names tensor " +
                                     std::to_string(id) +
                                     ", which nothing produces",
                                 "list it in input_ports too"));
    if (overlaps(graph.tensor(id)))
      errors.push_back(makeError(ErrorCode::BadStride,
                                 "elements of output " + std::to_string(id) +
                                     " share memory under its strides"));
  }
  return errors;
}

Expected<PreparedGraph> prepareGraph(Graph graph) {
  if (auto errors = inferGraph(graph); !errors.empty())
    return errors;
  for (auto check : {completePorts, +[](Graph &g) { return checkPorts(g); },
                     +[](Graph &g) { return checkOutputs(g); }})
    if (auto errors = check(graph); !errors.empty())
      return errors;
  return PreparedGraph(std::move(graph));
}

void PreparedGraph::layOutOutput(uint64_t id, Dims strides) {
  LogicalTensor &tensor = graph.tensor(id);
  assert(std::ranges::count(graph.outputPorts, id) == 1 &&
         "inputs are as the caller says");
  assert(tensor.hasStaticShape() && strides.size() == tensor.shape->size() &&
         "a layout is one of known sizes");
  tensor.strides = std::move(strides);
  assert(!overlaps(tensor) && "elements are written once each");
}

} // namespace tenon::graph
