//===- OverrideShapes.cpp - new shapes and what follows from them ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/OverridesImpl.h"

#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Infer.h"

#include <algorithm>
#include <set>

namespace tenon::overrides {

using graph::Dims;
using graph::Graph;
using graph::kUnknownDim;
using graph::LogicalTensor;
using graph::Op;

/// Sets strides or axis order of `t`, which has its shape already.
static void applyLayout(LogicalTensor &t, const Overrides::Tensor &o,
                        Errors &errors) {
  size_t rank = t.shape ? t.shape->size() : 0;
  size_t given = std::max(o.order.size(), o.strides.size());
  if (given != rank) {
    errors.push_back(badOverride("--in-shapes: tensor " + std::to_string(t.id) +
                                 " of rank " + std::to_string(rank) +
                                 " cannot have a layout of " +
                                 std::to_string(given) + " axes"));
    errors.back().code = ErrorCode::BadStride;
    return;
  }
  t.layout = graph::LayoutType::strided;
  if (!o.order.empty()) {
    setOrder(t, o.order);
    return;
  }
  t.strides = o.strides;
  if (t.strides == graph::denseStrides(*t.shape))
    t.strides.clear();
}

static bool isPort(const std::vector<uint64_t> &ports, uint64_t id) {
  return std::find(ports.begin(), ports.end(), id) != ports.end();
}

void applyTensors(Graph &graph, const Overrides &o, Errors &errors) {
  for (const Overrides::Tensor &wanted : o.tensors) {
    auto it = graph.tensors.find(wanted.id);
    std::string label = "tensor " + std::to_string(wanted.id);
    if (it == graph.tensors.end()) {
      errors.push_back(badOverride("--in-shapes: the graph has no " + label,
                                   "ids are those of tensors"));
      errors.back().code = ErrorCode::UnknownTensor;
      continue;
    }
    LogicalTensor &t = it->second;
    bool isInput = isPort(graph.inputPorts, wanted.id);
    if (!isInput && !isPort(graph.outputPorts, wanted.id)) {
      errors.push_back(badOverride("--in-shapes: " + label +
                                       " is neither input nor output of the "
                                       "graph",
                                   "shapes in between are inferred"));
      continue;
    }
    if (!isInput)
      continue; // after inference
    if (wanted.shape) {
      t.shape = wanted.shape;
      t.strides.clear();
      t.layout = graph::LayoutType::strided;
    }
    if (!wanted.order.empty() || !wanted.strides.empty())
      applyLayout(t, wanted, errors);
  }
}

/// Results are given what was asked for; inference has checked the shape.
static void applyOutputLayouts(Graph &graph, const Overrides &o,
                               Errors &errors) {
  for (const Overrides::Tensor &wanted : o.tensors) {
    LogicalTensor &t = graph.tensor(wanted.id);
    if (isPort(graph.inputPorts, wanted.id))
      continue;
    if (!wanted.order.empty() || !wanted.strides.empty())
      applyLayout(t, wanted, errors);
    else if (wanted.shape)
      t.strides.clear();
  }
}

//===----------------------------------------------------------------------===//
// Attributes that follow shapes
//===----------------------------------------------------------------------===//

/// Makes per-channel lists as long as the channel dim, but where they are for
/// weights in groups and have a scale for each channel of each.
static void fitQuantisation(const Graph &graph, Op &op,
                            const LogicalTensor &src) {
  if (op.attrOr<std::string>("qtype", "per_tensor") != "per_channel" ||
      !src.shape)
    return;
  int64_t rank = static_cast<int64_t>(src.shape->size());
  int64_t axis = op.attrOr<int64_t>("axis", 1);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank)
    return;
  int64_t channels = (*src.shape)[axis];
  // Beyond any real channel count lists would only exhaust memory; inference
  // then reports that they do not fit.
  constexpr int64_t kMostChannels = int64_t(1) << 24;
  if (channels == kUnknownDim || channels > kMostChannels)
    return;
  size_t count = op.attrOr<std::vector<float>>("scales", {}).size();
  if (count > static_cast<size_t>(channels) &&
      count == static_cast<size_t>(channels * graph::scaleGroups(graph, op)))
    return;
  if (auto it = op.attrs.find("scales"); it != op.attrs.end())
    if (auto *s = std::get_if<std::vector<float>>(&it->second);
        s && !s->empty()) {
      size_t given = s->size();
      s->resize(channels);
      for (size_t i = given; i < s->size(); ++i)
        (*s)[i] = (*s)[i % given];
    }
  if (auto it = op.attrs.find("zps"); it != op.attrs.end())
    if (auto *z = std::get_if<Dims>(&it->second); z && !z->empty())
      z->resize(channels, 0);
}

/// Makes group_shape the ratio of the shapes of data and scales.
static void fitGroups(Op &op, const LogicalTensor &src,
                      const LogicalTensor &scales) {
  auto it = op.attrs.find("group_shape");
  auto *groups =
      it == op.attrs.end() ? nullptr : std::get_if<Dims>(&it->second);
  if (!groups || !src.hasStaticShape() || !scales.hasStaticShape() ||
      src.shape->size() != scales.shape->size() ||
      groups->size() != src.shape->size())
    return;
  for (size_t i = 0; i < groups->size(); ++i) {
    int64_t n = (*src.shape)[i], parts = (*scales.shape)[i];
    if (parts > 0 && n % parts == 0)
      (*groups)[i] = n / parts;
  }
}

/// A reshape whose target names the old batch gets the new one.
static void fitReshape(Op &op, const LogicalTensor &src,
                       const LogicalTensor &was) {
  auto it = op.attrs.find("shape");
  auto *target =
      it == op.attrs.end() ? nullptr : std::get_if<Dims>(&it->second);
  if (!target || target->empty() || (*target)[0] <= 0 ||
      !src.hasStaticShape() || !was.hasStaticShape() || src.shape->empty() ||
      was.shape->empty())
    return;
  int64_t before = (*was.shape)[0], now = (*src.shape)[0];
  int64_t scaled = 0;
  if (before > 0 && (*target)[0] % before == 0 &&
      !__builtin_mul_overflow((*target)[0] / before, now, &scaled))
    (*target)[0] = scaled;
}

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// Forgets the shapes of all results, but those of the operations in `keep`,
/// which cannot tell, and those that were asked for.
static void forgetResults(Graph &graph, const Snapshot &old, const Overrides &o,
                          const std::set<uint64_t> &keep) {
  for (const Op &op : graph.ops)
    for (uint64_t id : op.outputs) {
      LogicalTensor &t = graph.tensor(id);
      t.shape.reset();
      t.strides.clear();
      if (keep.count(op.id))
        t.shape = old.at(id).shape;
    }
  for (const Overrides::Tensor &wanted : o.tensors)
    if (wanted.shape && !isPort(graph.inputPorts, wanted.id))
      graph.tensor(wanted.id).shape = wanted.shape;
}

void reinfer(Graph &graph, const Snapshot &old, const Overrides &o,
             Errors &errors) {
  auto fit = [&](Op &op, std::span<const LogicalTensor> inputs) {
    if (inputs.empty())
      return;
    const graph::OpInfo &info = graph::factsOf(op.kind);
    std::string_view rule = info.shapeRule;
    if (rule == "quantize")
      fitQuantisation(graph, op, inputs[0]);
    if (info.attr("group_shape") && inputs.size() > 1)
      fitGroups(op, inputs[0], inputs[1]);
    if (rule == "static_reshape" && o.mb > 0)
      fitReshape(op, inputs[0], old.at(op.inputs[0]));
  };
  std::vector<Op> ops = graph.ops; // inference resolves padding in place
  std::set<uint64_t> keep;         // ids of operations
  forgetResults(graph, old, o, keep);
  Errors found = graph::inferGraph(graph, fit);
  for (const Error &e : found)
    if (e.code == ErrorCode::UnknownShape && e.opId)
      keep.insert(*e.opId);
  if (!keep.empty()) {
    graph.ops = std::move(ops);
    forgetResults(graph, old, o, keep);
    found = graph::inferGraph(graph, fit);
  }
  errors.insert(errors.end(), found.begin(), found.end());
  if (!errors.empty())
    return;
  layOutResults(graph, old, errors);
  applyOutputLayouts(graph, o, errors);
}

} // namespace tenon::overrides
