//===- Reduce.cpp - the smallest graph that still fails -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Reduce.h.  Steps are tried in turn, the coarse ones first, until none of
// them helps.
//
//===----------------------------------------------------------------------===//
#include "tests/differential/Reduce.h"

#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Infer.h"

#include <algorithm>
#include <set>

namespace tenon::test {

using namespace graph;

namespace {

template <typename T, typename Fn> void eraseIf(std::vector<T> &list, Fn fn) {
  list.erase(std::remove_if(list.begin(), list.end(), fn), list.end());
}

/// Operations nothing depends on go, then tensors nobody names.
void dropUnused(Graph &graph) {
  std::set<uint64_t> needed(graph.outputPorts.begin(), graph.outputPorts.end());
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op &op = graph.ops[i];
    bool used = std::any_of(op.outputs.begin(), op.outputs.end(),
                            [&](uint64_t id) { return needed.count(id); });
    if (used)
      needed.insert(op.inputs.begin(), op.inputs.end());
    else
      graph.ops.erase(graph.ops.begin() + static_cast<ptrdiff_t>(i));
  }
  for (const Op &op : graph.ops)
    needed.insert(op.outputs.begin(), op.outputs.end());
  std::erase_if(graph.tensors,
                [&](const auto &entry) { return !needed.count(entry.first); });
  eraseIf(graph.inputPorts, [&](uint64_t id) { return !needed.count(id); });
}

/// Infers the shapes of results anew; where an operation cannot tell, as the
/// results have them.
bool complete(Graph &graph) {
  Graph fresh = graph;
  for (Op &op : fresh.ops)
    for (uint64_t id : op.outputs) {
      LogicalTensor &tensor = fresh.tensor(id);
      // Strides only fit the shape they were made for.
      tensor.shape.reset();
      tensor.strides.clear();
    }
  if (!inferGraph(fresh).empty()) {
    fresh = graph;
    if (!inferGraph(fresh).empty())
      return false;
  } else {
    for (Op &op : fresh.ops)
      for (uint64_t id : op.outputs)
        if (fresh.tensor(id).shape == graph.tensor(id).shape)
          fresh.tensor(id).strides = graph.tensor(id).strides;
  }
  // As before inference: auto_pad stays what it was.
  std::map<uint64_t, AttrMap> attrs;
  for (const Op &op : graph.ops)
    attrs[op.id] = op.attrs;
  for (Op &op : fresh.ops)
    op.attrs = attrs[op.id];
  graph = std::move(fresh);
  return completePorts(graph).empty() && verifyGraph(graph).empty();
}

class Reducer {
public:
  Reducer(Graph graph, const StillFails &stillFails, int budget)
      : best(std::move(graph)), stillFails(stillFails), budget(budget) {}

  Graph run() {
    bool progress = true;
    while (progress && budget > 0) {
      progress = keepOneOutput();
      progress |= removeOps();
      progress |= shrinkDims();
      progress |= simplifyTensors();
      progress |= simplifyAttrs();
    }
    return std::move(best);
  }

private:
  bool tryGraph(Graph candidate) {
    dropUnused(candidate);
    if (budget <= 0 || candidate.ops.empty() || !complete(candidate))
      return false;
    --budget;
    if (!stillFails(candidate))
      return false;
    best = std::move(candidate);
    return true;
  }

  bool keepOneOutput() {
    if (best.outputPorts.size() < 2)
      return false;
    for (uint64_t id : best.outputPorts) {
      Graph candidate = best;
      candidate.outputPorts = {id};
      if (tryGraph(std::move(candidate)))
        return true;
    }
    return false;
  }

  /// Without operation `i`: what it made becomes an input.
  static void cut(Graph &graph, size_t i) {
    for (uint64_t id : graph.ops[i].outputs) {
      graph.tensor(id).property = PropertyType::variable;
      graph.inputPorts.push_back(id);
      eraseIf(graph.outputPorts, [&](uint64_t port) { return port == id; });
    }
    graph.ops.erase(graph.ops.begin() + static_cast<ptrdiff_t>(i));
  }

  /// Outputs that remain: those whose operations remain, or all final results.
  static void reportFinal(Graph &graph) {
    if (!graph.outputPorts.empty())
      return;
    std::set<uint64_t> read;
    for (const Op &op : graph.ops)
      read.insert(op.inputs.begin(), op.inputs.end());
    for (const Op &op : graph.ops)
      for (uint64_t id : op.outputs)
        if (!read.count(id))
          graph.outputPorts.push_back(id);
  }

  /// Runs of operations are cut out, long ones first.
  bool removeOps() {
    bool progress = false;
    for (size_t length = std::max<size_t>(best.ops.size() / 2, 1); length > 0;
         length /= 2)
      for (size_t begin = 0; begin < best.ops.size();) {
        Graph candidate = best;
        size_t end = std::min(begin + length, best.ops.size());
        for (size_t i = end; i-- > begin;)
          cut(candidate, i);
        reportFinal(candidate);
        if (tryGraph(std::move(candidate)))
          progress = true; // others are at this place now
        else
          begin += length;
      }
    return progress;
  }

  /// All dims of a size, in inputs and in lists of shapes, become smaller.
  bool shrinkDims() {
    bool progress = false;
    std::set<int64_t> sizes;
    for (uint64_t id : best.inputPorts)
      for (int64_t size : best.tensor(id).shape.value_or(Dims()))
        sizes.insert(size);
    for (auto it = sizes.rbegin(); it != sizes.rend(); ++it)
      for (int64_t smaller : {int64_t(1), int64_t(2), *it / 2, *it - 1})
        if (smaller > 0 && smaller < *it && tryGraph(withSize(*it, smaller))) {
          progress = true;
          break;
        }
    // Single dims, where all of a size can not go together.
    for (size_t port = 0; port < best.inputPorts.size(); ++port)
      for (size_t d = 0; d < best.tensor(best.inputPorts[port]).shape->size();
           ++d) {
        Graph candidate = best;
        LogicalTensor &tensor = candidate.tensor(candidate.inputPorts[port]);
        if ((*tensor.shape)[d] < 2)
          continue;
        (*tensor.shape)[d] = 1;
        tensor.strides.clear();
        size_t ports = best.inputPorts.size();
        progress |= tryGraph(std::move(candidate));
        if (best.inputPorts.size() != ports)
          return true;
      }
    return progress;
  }

  Graph withSize(int64_t from, int64_t to) const {
    Graph candidate = best;
    for (auto &[id, tensor] : candidate.tensors) {
      if (!tensor.shape || std::find(tensor.shape->begin(), tensor.shape->end(),
                                     from) == tensor.shape->end())
        continue;
      std::replace(tensor.shape->begin(), tensor.shape->end(), from, to);
      tensor.strides.clear();
    }
    for (Op &op : candidate.ops)
      for (auto &[name, value] : op.attrs)
        if (auto *list = std::get_if<Dims>(&value);
            list && (name.ends_with("shape") || name == "sizes"))
          std::replace(list->begin(), list->end(), from, to);
    return candidate;
  }

  bool simplifyTensors() {
    bool progress = false;
    std::vector<uint64_t> ids;
    for (const auto &[id, tensor] : best.tensors)
      ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    for (uint64_t id : ids) {
      if (!best.tensors.count(id))
        continue;
      if (!best.tensor(id).strides.empty()) {
        Graph candidate = best;
        candidate.tensor(id).strides.clear();
        progress |= tryGraph(std::move(candidate));
      }
      if (best.tensors.count(id) &&
          best.tensor(id).property == PropertyType::constant) {
        Graph candidate = best;
        candidate.tensor(id).property = PropertyType::variable;
        progress |= tryGraph(std::move(candidate));
      }
    }
    return progress;
  }

  bool simplifyAttrs() {
    bool progress = false;
    for (size_t i = 0; i < best.ops.size(); ++i) {
      const OpInfo *info = lookupOp(best.ops[i].kind);
      if (!info)
        continue;
      for (const AttrInfo &attr : info->attrs) {
        if (i >= best.ops.size() || !best.ops[i].attr(attr.name))
          continue;
        if (!attr.required)
          progress |= tryAttr(i, attr.name, std::nullopt);
        else if (attr.type == AttrType::s64s)
          progress |= tryList(i, attr.name);
      }
    }
    return progress;
  }

  /// Strides, dilations and kernels towards 1, pads towards 0.
  bool tryList(size_t op, std::string_view name) {
    const Dims *list = std::get_if<Dims>(best.ops[op].attr(name));
    if (!list || name == "shape" || name == "order")
      return false;
    int64_t least = name.starts_with("pads") ? 0 : 1;
    Dims simple(list->size(), least);
    return *list != simple && tryAttr(op, name, AttrValue(simple));
  }

  bool tryAttr(size_t op, std::string_view name,
               std::optional<AttrValue> value) {
    Graph candidate = best;
    AttrMap &attrs = candidate.ops[op].attrs;
    if (value)
      attrs[std::string(name)] = std::move(*value);
    else
      attrs.erase(std::string(name));
    return tryGraph(std::move(candidate));
  }

  Graph best;
  const StillFails &stillFails;
  int budget;
};

} // namespace

Graph reduceGraph(Graph graph, const StillFails &stillFails,
                  int maxCandidates) {
  return Reducer(std::move(graph), stillFails, maxCandidates).run();
}

} // namespace tenon::test
