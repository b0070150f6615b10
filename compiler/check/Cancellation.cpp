//===- Cancellation.cpp - sizes of terms that may cancel ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Cancellation.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/Cancellation.h"
#include "dialects/graph/reference/Evaluator.h"

#include <cmath>

namespace tenon::check {

using reference::Tensor;
using Tensors = std::map<uint64_t, Tensor>;

namespace {

/// The result of `op` alone, computed as `kind` on its first `count` operands.
std::optional<Tensor> evaluateAs(const graph::Graph &graph, graph::Op op,
                                 const char *kind, size_t count,
                                 const Tensors &operands) {
  op.kind = kind;
  op.inputs.resize(count);
  graph::Graph alone = graph;
  uint64_t id = op.outputs[0];
  alone.inputPorts = op.inputs;
  alone.outputPorts = {id};
  alone.ops = {std::move(op)};
  Tensors inputs;
  for (uint64_t input : alone.inputPorts)
    inputs[input] = operands.at(input);
  reference::EvalOptions options;
  options.roundOutputs = false;
  auto results = reference::evaluate(alone, inputs, options);
  if (!results)
    return std::nullopt;
  return results->at(id);
}

/// |t1| + |t2| of OpTraits.h. With operands made positive LRNBackward is
/// |t1| - |t2|, and LRN is s w^-beta, that is s |t1| / |dd|; where s is 0 there
/// is no t2.
std::vector<double> lrnTerms(const graph::Graph &graph, const graph::Op &op,
                             Tensors values) {
  for (uint64_t id : op.inputs)
    for (double &x : values.at(id).data)
      x = std::fabs(x);
  auto difference = evaluateAs(graph, op, "LRNBackward", 2, values);
  auto scaled = evaluateAs(graph, op, "LRN", 1, values);
  if (!difference || !scaled)
    return {};
  const Tensor &src = values.at(op.inputs[0]), &diff = values.at(op.inputs[1]);
  std::vector<double> terms;
  for (size_t i = 0; i < src.data.size(); ++i) {
    double s = src.data[i], d = difference->data[i];
    double first = s != 0 ? diff.data[i] * scaled->data[i] / s : std::fabs(d);
    double both = first + std::fabs(first - d);
    terms.push_back(std::isfinite(both) ? both : 0);
  }
  return terms;
}

} // namespace

std::vector<double> cancellingTerms(const graph::Graph &graph,
                                    uint64_t outputId, const Tensors &inputs) {
  auto producers = graph.producers();
  auto found = producers.find(outputId);
  if (found == producers.end())
    return {};
  const graph::Op &op = graph.ops[found->second];
  if (op.kind != "LRNBackward" || op.inputs.size() != 2)
    return {};
  reference::EvalOptions options;
  options.roundOutputs = false;
  options.keep = op.inputs;
  auto values = reference::evaluate(graph, inputs, options);
  if (!values)
    return {};
  Tensors operands;
  for (uint64_t id : op.inputs) {
    auto value = values->find(id);
    operands[id] = value != values->end() ? value->second : inputs.at(id);
  }
  return lrnTerms(graph, op, std::move(operands));
}

} // namespace tenon::check
