//===- Stats.cpp - numbers about a graph ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Stats.h.  All sums are doubles: sizes come from files and may be absurd.
//
//===----------------------------------------------------------------------===//
#include "compiler/report/Stats.h"
#include "dialects/graph/OpTable.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace tenon::report {

using graph::Dims;
using graph::factsOf;
using graph::forwardOf;
using graph::Graph;
using graph::LogicalTensor;
using graph::Op;
using graph::OpClass;
using graph::OpInfo;

namespace {

double elementsOf(const LogicalTensor &tensor) {
  if (!tensor.shape)
    return 0;
  double count = 1;
  for (int64_t dim : *tensor.shape) {
    if (dim < 0)
      return 0;
    count *= static_cast<double>(dim);
  }
  return count;
}

/// The channel dim of a data tensor.
double channelsOf(const Op &op, const LogicalTensor &tensor) {
  if (!tensor.shape || tensor.shape->size() < 2)
    return 0;
  bool last = op.attrOr<std::string>("data_format", "NXC") == "NXC";
  int64_t channels = last ? tensor.shape->back() : (*tensor.shape)[1];
  return channels > 0 ? static_cast<double>(channels) : 0;
}

/// Multiply-adds of the convolution family: every element of `side`, which is
/// the tensor on the dense side of the window, meets all weights of its
/// channel.
double convolutionMacs(const Op &op, const LogicalTensor &side,
                       double weightElements) {
  double channels = channelsOf(op, side);
  return channels > 0 ? elementsOf(side) * weightElements / channels : 0;
}

/// Each weight of input and state is used once per step and batch entry; in a
/// gradient, where that of the state always goes back, once for each of its
/// products that is asked for. 0 when `op` lacks operands.
double recurrentMacs(const Graph &graph, const Op &op) {
  const auto &data = graph.tensor(op.inputs[0]).shape;
  if (op.inputs.size() < 3 || !data || data->size() != 3 || (*data)[0] < 0 ||
      (*data)[1] < 0)
    return 0;
  const OpInfo &info = factsOf(op.kind);
  bool isGradient = !info.backwardOf.empty();
  int ofInput = isGradient ? 0 : 1, ofState = 1;
  for (size_t i = 0; isGradient && i < op.outputs.size(); ++i) {
    std::string_view name = info.results[op.outputSlot(i)].name;
    ofInput += name == "diff_src_layer" || name == "diff_weights_layer";
    ofState += name == "diff_weights_iter";
  }
  return static_cast<double>((*data)[0]) * static_cast<double>((*data)[1]) *
         (ofInput * elementsOf(graph.tensor(op.inputs[1])) +
          ofState * elementsOf(graph.tensor(op.inputs[2])));
}

/// 0 when `op` is no contraction or lacks operands.
double contractionMacs(const Graph &graph, const Op &op) {
  if (op.inputs.size() < 2 || op.outputs.empty())
    return 0;
  const LogicalTensor &first = graph.tensor(op.inputs[0]);
  const LogicalTensor &second = graph.tensor(op.inputs[1]);
  const LogicalTensor &result = graph.tensor(op.outputs[0]);
  std::string_view rule = factsOf(op.kind).shapeRule;
  if (rule == "matmul") {
    if (!first.shape || first.shape->empty())
      return 0;
    size_t rank = first.shape->size();
    bool transposed = rank > 1 && op.attrOr<bool>("transpose_a", false);
    int64_t depth = (*first.shape)[transposed ? rank - 2 : rank - 1];
    return depth > 0 ? elementsOf(result) * static_cast<double>(depth) : 0;
  }
  if (rule.starts_with("recurrent"))
    return recurrentMacs(graph, op);
  // Forward and by data the weights are an operand, by weights the result.
  const OpInfo &info = factsOf(op.kind);
  bool isTransposed = forwardOf(info).shapeRule == "conv_transpose";
  bool isForward = info.backwardOf.empty();
  if (graph::isWeightsGradient(info))
    return convolutionMacs(op, isTransposed ? first : second,
                           elementsOf(result));
  return convolutionMacs(op, isTransposed == isForward ? first : result,
                         elementsOf(second));
}

bool isContraction(const Op &op) {
  OpClass opClass = factsOf(op.kind).opClass;
  return opClass == OpClass::contraction || opClass == OpClass::recurrent;
}

} // namespace

bool movesOnly(std::string_view kind) {
  std::string_view category = factsOf(kind).category;
  return category == "data_movement" || category == "structural";
}

double flopsOf(const Graph &graph, const Op &op) {
  if (isContraction(op))
    return 2 * contractionMacs(graph, op);
  if (movesOnly(op.kind))
    return 0;
  double largest = 0;
  for (const std::vector<uint64_t> *ids : {&op.inputs, &op.outputs})
    for (uint64_t id : *ids)
      largest = std::max(largest, elementsOf(graph.tensor(id)));
  return largest;
}

double bytesOf(const LogicalTensor &tensor) {
  return elementsOf(tensor) * graph::byteSize(tensor.dtype);
}

GraphStats statsOf(const Graph &graph) {
  GraphStats stats;
  stats.ops = static_cast<int64_t>(graph.ops.size());
  for (const Op &op : graph.ops) {
    ++stats.opsByKind[op.kind];
    double flops = flopsOf(graph, op);
    stats.flops += flops;
    if (isContraction(op))
      stats.contractionFlops += flops;
  }
  std::set<uint64_t> inputs(graph.inputPorts.begin(), graph.inputPorts.end());
  std::set<uint64_t> outputs(graph.outputPorts.begin(),
                             graph.outputPorts.end());
  for (const auto &[id, tensor] : graph.tensors) {
    stats.unknownTensors += !tensor.hasStaticShape();
    stats.elements += elementsOf(tensor);
    double bytes = bytesOf(tensor);
    if (inputs.count(id))
      (tensor.property == graph::PropertyType::constant ? stats.constantBytes
                                                        : stats.inputBytes) +=
          bytes;
    else if (outputs.count(id))
      stats.outputBytes += bytes;
    else
      stats.intermediateBytes += bytes;
  }
  return stats;
}

std::string typeText(const LogicalTensor &tensor) {
  std::string text;
  if (!tensor.shape)
    text = "*x";
  else
    for (int64_t dim : *tensor.shape)
      text += (dim == graph::kUnknownDim ? "?" : std::to_string(dim)) + "x";
  return text + std::string(graph::name(tensor.dtype));
}

} // namespace tenon::report
