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
  op.outputs.resize(1);
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

/// |t1| + |t2| of OpTraits.h, where `difference` is |t1| - |t2| and `first`
/// |t1|.
double sumOfSizes(double first, double difference) {
  double both = first + std::fabs(first - difference);
  return std::isfinite(both) ? both : 0;
}

/// With operands made positive LRNBackward is |t1| - |t2|, and LRN is s
/// w^-beta, that is s |t1| / |dd|; where s is 0 there is no t2. RMSNormBackward
/// and RMSNorm are related in the same way, with dd times gamma.
std::vector<double> termsOf(const graph::Graph &graph, const graph::Op &op,
                            Tensors values) {
  for (uint64_t id : op.inputs)
    for (double &x : values.at(id).data)
      x = std::fabs(x);
  auto difference =
      evaluateAs(graph, op, op.kind.c_str(), op.inputs.size(), values);
  const char *forward = op.kind == "LRNBackward" ? "LRN" : "RMSNorm";
  auto scaled = evaluateAs(graph, op, forward, 1, values);
  if (!difference || !scaled)
    return {};
  const Tensor &src = values.at(op.inputs[0]), &diff = values.at(op.inputs[1]);
  std::vector<double> terms;
  for (size_t i = 0; i < src.data.size(); ++i) {
    double s = src.data[i], d = difference->data[i], g = diff.data[i];
    if (op.inputs.size() > 2) {
      const auto &gamma = values.at(op.inputs[2]).data; // of the last dims
      g *= gamma[i % gamma.size()];
    }
    double first = s != 0 ? g * scaled->data[i] / s : std::fabs(d);
    terms.push_back(sumOfSizes(first, d));
  }
  return terms;
}

bool mayCancel(const graph::Op &op, size_t number) {
  return (op.kind == "LRNBackward" || op.kind == "RMSNormBackward") &&
         number == 0 && op.inputs.size() >= 2;
}

} // namespace

std::vector<double> cancellingTerms(const graph::Graph &graph,
                                    const graph::Op &op, size_t number,
                                    std::span<const Tensor *const> operands) {
  if (!mayCancel(op, number))
    return {};
  Tensors values;
  for (size_t i = 0; i < op.inputs.size(); ++i)
    values[op.inputs[i]] = *operands[op.inputSlot(i)];
  return termsOf(graph, op, std::move(values));
}

std::vector<double> cancellingTerms(const graph::Graph &graph,
                                    uint64_t outputId, const Tensors &inputs) {
  auto producers = graph.producers();
  auto found = producers.find(outputId);
  if (found == producers.end())
    return {};
  const graph::Op &op = graph.ops[found->second];
  if (op.outputs[0] != outputId || !mayCancel(op, 0))
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
  return termsOf(graph, op, std::move(operands));
}

} // namespace tenon::check
