// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Summary.h"

#include "dialects/support/Text.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tenon::onnx {

std::vector<Error> joined(const std::vector<Error> &errors) {
  constexpr size_t kMost = 50, kNamed = 4;
  struct Alike {
    size_t place; // in the result
    std::vector<std::string> names;
  };
  std::map<std::tuple<ErrorCode, std::string, std::string>, Alike> alike;
  std::vector<Error> result;
  for (const Error &error : errors) {
    auto [found, isNew] = alike.try_emplace(
        {error.code, error.opKind, error.message}, Alike{result.size(), {}});
    if (isNew)
      result.push_back(error);
    else
      found->second.names.push_back(error.opName);
  }
  for (const auto &[key, others] : alike) {
    if (others.names.empty())
      continue;
    std::string text = " (and of ";
    for (size_t i = 0; i < others.names.size() && i < kNamed; ++i)
      text += (i ? ", \"" : "\"") + others.names[i] + "\"";
    if (others.names.size() > kNamed)
      text += " and " +
              countText(static_cast<int64_t>(others.names.size() - kNamed),
                        "other");
    result[others.place].message += text + ")";
  }
  if (result.size() > kMost) {
    Error more = result[kMost - 1];
    more.opKind = more.opName = "";
    more.message =
        "and " +
        countText(static_cast<int64_t>(result.size() - kMost + 1), "error") +
        " more";
    result.resize(kMost - 1);
    result.push_back(std::move(more));
  }
  return result;
}

/// The type that the model says, with the sizes that `tensor` of the graph has
/// where that says none; null: there is no such tensor.
static std::string typeText(const ValueInfoProto &port,
                            const graph::LogicalTensor *tensor) {
  if (!port.isTensor)
    return "no tensor";
  auto dtype = portDTypeOf(port.type);
  std::string text =
      dtype ? std::string(graph::name(*dtype)) : nameOf(port.type);
  const graph::Dims *known =
      tensor && tensor->shape ? &*tensor->shape : nullptr;
  if (!port.shape && !known)
    return text + " of unknown rank";
  // Exporters write pages of what they know of a size.
  constexpr size_t kLongestName = 48;
  size_t rank = known ? known->size() : port.shape->size();
  text += "[";
  for (size_t i = 0; i < rank; ++i) {
    text += i ? ", " : "";
    const DimProto *dim =
        port.shape && port.shape->size() == rank ? &(*port.shape)[i] : nullptr;
    if (known && (*known)[i] != graph::kUnknownDim)
      text += std::to_string((*known)[i]);
    else if (dim && dim->value && *dim->value >= 0)
      text += std::to_string(*dim->value);
    else if (tensor && i < tensor->sizes.size() && !tensor->sizes[i].empty())
      text += tensor->sizes[i];
    else if (dim && isSizeName(dim->name) && dim->name.size() <= kLongestName)
      text += dim->name;
    else
      text += "?";
  }
  return text + "]";
}

static std::vector<ModelSummary::Port>
portsOf(const std::vector<ValueInfoProto> &infos, const Imported *imported,
        std::vector<Port> Imported::*ports,
        const std::set<std::string_view> &weights) {
  std::vector<ModelSummary::Port> result;
  for (const ValueInfoProto &info : infos) {
    // Old models list weights as inputs, too.
    if (weights.contains(info.name))
      continue;
    const graph::LogicalTensor *tensor = nullptr;
    bool isRead = true;
    if (imported)
      for (const Port &port : imported->*ports) {
        if (port.name != info.name)
          continue;
        isRead = port.id.has_value();
        if (isRead)
          tensor = &imported->graph.tensor(*port.id);
      }
    bool isOpen = !info.shape;
    for (const DimProto &dim : info.shape.value_or(std::vector<DimProto>{}))
      isOpen |= !dim.value || *dim.value < 0;
    result.push_back(
        {std::string(info.name), typeText(info, tensor), isRead, isOpen});
  }
  return result;
}

/// Initializers, and what nodes Constant hold.
static std::vector<const TensorProto *> parametersOf(const GraphProto &graph) {
  std::vector<const TensorProto *> tensors;
  for (const TensorProto &tensor : graph.initializers)
    tensors.push_back(&tensor);
  for (const NodeProto &node : graph.nodes)
    for (const AttributeProto &attribute : node.attributes)
      if (node.opType == "Constant")
        for (const TensorProto &tensor : attribute.tensors)
          tensors.push_back(&tensor);
  return tensors;
}

static void addParameters(const GraphProto &graph, ModelSummary &summary) {
  for (const TensorProto *parameter : parametersOf(graph)) {
    const TensorProto &tensor = *parameter;
    auto elements = static_cast<double>(
        std::max<int64_t>(reference::elementCount(tensor.dims), 0));
    auto dtype = dtypeOf(tensor.type);
    double size = tensor.type == DataType::f64 ? 8
                  : dtype                      ? graph::byteSize(*dtype)
                                               : 0;
    ++summary.parameters;
    summary.parameterElements += elements;
    summary.parameterBytes +=
        tensor.isRaw ? static_cast<double>(tensor.raw.size()) : elements * size;
  }
}

ModelSummary summarize(const ModelProto &model,
                       const std::vector<ConvertedNode> &nodes,
                       const Imported *imported) {
  ModelSummary summary;
  summary.irVersion = model.irVersion;
  std::set<std::string_view> weights;
  for (const TensorProto &tensor : model.graph.initializers)
    weights.insert(tensor.name);
  summary.inputs =
      portsOf(model.graph.inputs, imported, &Imported::inputs, weights);
  summary.outputs =
      portsOf(model.graph.outputs, imported, &Imported::outputs, {});
  addParameters(model.graph, summary);
  std::vector<uint64_t> kept; // ids, ascending
  if (imported)
    for (const graph::Op &op : imported->graph.ops)
      kept.push_back(op.id);
  std::ranges::sort(kept);
  std::map<std::tuple<std::string_view, std::string_view, int64_t>,
           ModelSummary::Operator>
      operators;
  for (const ConvertedNode &node : nodes) {
    ModelSummary::Operator &op =
        operators[{node.domain, node.opType, node.opset}];
    op.name = node.opType;
    op.domain = node.domain == "ai.onnx" ? "" : node.domain;
    op.opset = node.opset;
    ++op.nodes;
    op.waiting += node.isAbandoned;
    op.failed += node.hasFailed && !node.isAbandoned;
    auto first = std::ranges::lower_bound(kept, node.firstOperation);
    bool isKept =
        first != kept.end() && *first < node.firstOperation + node.operations;
    op.folded += imported && !isKept;
  }
  for (auto &[key, op] : operators)
    summary.operators.push_back(std::move(op));
  std::ranges::sort(summary.operators, {}, [](const auto &op) {
    return std::tuple(-op.nodes, op.domain, op.name, op.opset);
  });
  return summary;
}

} // namespace tenon::onnx
