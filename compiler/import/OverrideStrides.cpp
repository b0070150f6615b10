//===- OverrideStrides.cpp - strides of a rewritten graph -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/OverridesImpl.h"
#include "dialects/graph/OpTable.h"

#include <algorithm>
#include <numeric>

namespace tenon::overrides {

using graph::Dims;
using graph::Graph;
using graph::kUnknownDim;
using graph::LayoutType;
using graph::LogicalTensor;
using graph::Op;

static Dims rowMajor(size_t rank) {
  Dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Dims axisOrder(const LogicalTensor &t) {
  Dims order = rowMajor(t.shape ? t.shape->size() : 0);
  if (t.strides.size() == order.size())
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return t.strides[a] != t.strides[b] ? t.strides[a] > t.strides[b] : a < b;
    });
  return order;
}

Dims stridesOf(const Dims &shape, const Dims &order) {
  Dims ordered(shape.size()), strides(shape.size());
  for (size_t i = 0; i < shape.size(); ++i)
    ordered[i] = shape[order[i]];
  Dims dense = graph::denseStrides(ordered);
  for (size_t i = 0; i < shape.size(); ++i)
    strides[order[i]] = dense[i];
  return strides;
}

void setOrder(LogicalTensor &t, const Dims &order) {
  t.strides.clear();
  if (t.layout != LayoutType::strided || !t.shape ||
      order.size() != t.shape->size() || order == rowMajor(order.size()))
    return;
  t.strides = stridesOf(*t.shape, order);
  // Strides across an unknown dim are unknown: nothing can be promised.
  if (std::count(t.strides.begin(), t.strides.end(), kUnknownDim))
    t.strides.clear();
}

/// Whether the tensor fills its memory without gaps.
static bool isContiguous(const LogicalTensor &t) {
  if (t.strides.empty() || !t.hasStaticShape())
    return true;
  Dims dense = stridesOf(*t.shape, axisOrder(t));
  for (size_t i = 0; i < dense.size(); ++i)
    if ((*t.shape)[i] > 1 && dense[i] != t.strides[i])
      return false;
  return true;
}

/// Axis order, without the axes of size 1, whose place means nothing.
static Dims visibleOrder(const LogicalTensor &t, const Dims &sizes) {
  Dims order = axisOrder(t);
  std::erase_if(order, [&](int64_t i) { return sizes[i] == 1; });
  return order;
}

static bool keepsOrder(const LogicalTensor &before, const LogicalTensor &now) {
  if (!before.shape || !now.shape || before.shape->size() != now.shape->size())
    return before.strides.empty() && now.strides.empty();
  Dims sizes = *now.shape;
  for (size_t i = 0; i < sizes.size(); ++i)
    if ((*before.shape)[i] == 1)
      sizes[i] = 1;
  return visibleOrder(before, sizes) == visibleOrder(now, sizes);
}

static bool isRowMajorProducer(const Op &op) {
  return op.kind == "Reorder" || graph::isView(graph::factsOf(op.kind));
}

void layOutResults(Graph &graph, const Snapshot &old, Errors &errors) {
  bool isOrderKept = true;
  for (uint64_t id : graph.inputPorts)
    if (auto it = old.find(id); it != old.end())
      isOrderKept &= keepsOrder(it->second, graph.tensor(id));

  for (const Op &op : graph.ops)
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      LogicalTensor &t = graph.tensor(op.outputs[i]);
      const LogicalTensor &was = old.at(t.id);
      bool isStatistic = i > 0;
      if (isOrderKept || isStatistic) {
        if (t.shape == was.shape) {
          t.strides = was.strides;
          continue;
        }
        if (!isContiguous(was))
          errors.push_back(badOverride(
              op, "result " + std::to_string(t.id) +
                      " has gaps between its elements: its strides cannot "
                      "follow a new shape"));
        setOrder(t, axisOrder(was));
        continue;
      }
      Dims order;
      if (!isRowMajorProducer(op) && !op.inputs.empty())
        order = axisOrder(graph.tensor(op.inputs[0]));
      setOrder(t, order);
    }
}

} // namespace tenon::overrides
