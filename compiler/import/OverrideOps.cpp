//===- OverrideOps.cpp - attributes and kinds of operations ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/OverridesImpl.h"

#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Infer.h"

#include <algorithm>

namespace tenon::overrides {

using graph::AttrInfo;
using graph::AttrType;
using graph::AttrValue;
using graph::Dims;
using graph::Graph;
using graph::Op;
using graph::OpInfo;

Op *findOp(Graph &graph, uint64_t id) {
  auto it = std::find_if(graph.ops.begin(), graph.ops.end(),
                         [&](const Op &op) { return op.id == id; });
  return it == graph.ops.end() ? nullptr : &*it;
}

Error badOverride(const Op &op, std::string message, std::string hint) {
  Error e = badOverride(std::move(message), std::move(hint));
  e.opKind = op.kind;
  e.opName = op.name;
  e.opId = op.id;
  return e;
}

static Error noSuchOp(std::string_view override, uint64_t id) {
  return badOverride("--" + std::string(override) +
                         ": the graph has no operation " + std::to_string(id),
                     "ids are those of operations, not of tensors");
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// The type of an attribute; names mean the same in every operation.
static std::optional<AttrType> typeOfAttr(const Op &op, std::string_view name) {
  if (const OpInfo *info = graph::lookupOp(op.kind))
    if (const AttrInfo *a = info->attr(name))
      return a->type;
  for (const OpInfo &info : graph::allOps())
    if (const AttrInfo *a = info.attr(name))
      return a->type;
  return std::nullopt;
}

static std::optional<AttrValue> parseAttr(AttrType type,
                                          std::string_view text) {
  switch (type) {
  case AttrType::string:
    return AttrValue(std::string(text));
  case AttrType::boolean:
    if (text == "1" || text == "true")
      return AttrValue(true);
    if (text == "0" || text == "false")
      return AttrValue(false);
    return std::nullopt;
  case AttrType::s64:
    if (std::optional<int64_t> i = parseInt(text))
      return AttrValue(*i);
    return std::nullopt;
  case AttrType::f32:
    if (std::optional<float> f = parseFloat(text))
      return AttrValue(*f);
    return std::nullopt;
  case AttrType::s64s:
    if (text.empty())
      return AttrValue(Dims());
    if (std::optional<Dims> list = parseDims(text))
      return AttrValue(std::move(*list));
    return std::nullopt;
  case AttrType::f32s: {
    std::vector<float> list;
    if (text.empty())
      return AttrValue(std::move(list));
    for (std::string_view piece : split(text, 'x')) {
      std::optional<float> f = parseFloat(piece);
      if (!f)
        return std::nullopt;
      list.push_back(*f);
    }
    return AttrValue(std::move(list));
  }
  }
  return std::nullopt;
}

void applyAttrs(Graph &graph, const Overrides &o, Errors &errors) {
  for (const Overrides::Attr &a : o.attrs) {
    Op *op = findOp(graph, a.opId);
    if (!op) {
      errors.push_back(noSuchOp("op-attrs", a.opId));
      continue;
    }
    std::optional<AttrType> type = typeOfAttr(*op, a.name);
    if (!type) {
      errors.push_back(
          badOverride(*op, "no operation has an attribute \"" + a.name + "\""));
      errors.back().code = ErrorCode::UnknownAttr;
      continue;
    }
    std::optional<AttrValue> value = parseAttr(*type, a.value);
    if (!value) {
      errors.push_back(badOverride(
          *op, "\"" + a.value + "\" is no value for attribute \"" + a.name +
                   "\" of type " + std::string(name(*type))));
      errors.back().code = ErrorCode::AttrValue;
      continue;
    }
    op->attrs.insert_or_assign(a.name, std::move(*value));
  }
}

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

namespace {
enum class Family { none, unary, unaryBackward, binary };
} // namespace

/// Operations of one family can replace each other: same operands, same shape
/// rule, same data types.
static Family familyOf(const OpInfo &info) {
  if (info.category == "elementwise_unary")
    return Family::unary;
  if (info.operands.size() == 2 && info.operands[0].name == "src_0" &&
      info.operands[1].name == "src_1" && info.grid != "boolean")
    return Family::binary;
  if (!info.backwardOf.empty() && info.operands.size() == 2)
    if (const OpInfo *forward = graph::lookupOp(info.backwardOf);
        forward && forward->category == "elementwise_unary")
      return Family::unaryBackward;
  return Family::none;
}

static void swapKind(Op &op, const OpInfo &from, const OpInfo &to) {
  op.kind = to.kind;
  std::erase_if(op.attrs, [&](const auto &a) {
    return from.attr(a.first) && !to.attr(a.first);
  });
}

/// Removes `op`; its readers read one of its operands instead.
static void removeOp(Graph &graph, uint64_t opId, Family family,
                     Errors &errors) {
  Op &op = *findOp(graph, opId);
  if (op.inputs.empty() || op.outputs.size() != 1 ||
      (family != Family::unary && family != Family::binary)) {
    errors.push_back(badOverride(op, "cannot be removed",
                                 "only unary and binary elementwise "
                                 "operations can"));
    return;
  }
  uint64_t kept = op.inputs[0], gone = op.outputs[0];
  auto producers = graph.producers();
  if (family == Family::binary) {
    size_t produced =
        std::count_if(op.inputs.begin(), op.inputs.end(),
                      [&](uint64_t id) { return producers.count(id) != 0; });
    if (produced != 1) {
      errors.push_back(badOverride(
          op,
          "cannot be removed: " + std::to_string(produced) +
              " of its operands have a producer",
          "exactly one operand of a binary operation must have one"));
      return;
    }
    kept = *std::find_if(op.inputs.begin(), op.inputs.end(),
                         [&](uint64_t id) { return producers.count(id); });
  }
  bool isPort =
      std::count(graph.outputPorts.begin(), graph.outputPorts.end(), gone) != 0;
  if (isPort && !producers.count(kept)) {
    errors.push_back(badOverride(op, "cannot be removed: it connects an input "
                                     "of the graph with an output"));
    return;
  }
  if (std::count(graph.outputPorts.begin(), graph.outputPorts.end(), kept))
    std::erase(graph.outputPorts, gone);
  else
    std::replace(graph.outputPorts.begin(), graph.outputPorts.end(), gone,
                 kept);
  std::erase_if(graph.ops, [&](const Op &o) { return o.id == opId; });
  for (Op &o : graph.ops)
    std::replace(o.inputs.begin(), o.inputs.end(), gone, kept);
  graph.tensors.erase(gone);
}

/// Tensors and inputs nobody mentions any more.
static void dropUnused(Graph &graph) {
  std::map<uint64_t, graph::LogicalTensor> used;
  auto keep = [&](const std::vector<uint64_t> &ids) {
    for (uint64_t id : ids)
      if (auto it = graph.tensors.find(id); it != graph.tensors.end())
        used.insert(*it);
  };
  for (const Op &op : graph.ops) {
    keep(op.inputs);
    keep(op.outputs);
  }
  graph.tensors = std::move(used);
  std::erase_if(graph.inputPorts,
                [&](uint64_t id) { return !graph.tensors.count(id); });
}

void applyKinds(Graph &graph, const Overrides &o, Errors &errors) {
  bool isSmaller = false;
  for (const auto &[id, kind] : o.kinds) {
    Op *op = findOp(graph, id);
    if (!op) {
      errors.push_back(noSuchOp("op-kind", id));
      continue;
    }
    const OpInfo *from = graph::lookupOp(op->kind);
    if (kind == "undef") {
      removeOp(graph, id, from ? familyOf(*from) : Family::none, errors);
      isSmaller = true;
      continue;
    }
    const OpInfo *to = graph::lookupOp(kind);
    if (!to) {
      errors.push_back(badOverride(*op, "\"" + kind + "\" is no operation kind",
                                   graph::hintForKind(kind)));
      errors.back().code = ErrorCode::UnknownOp;
    } else if (!from || (from != to && (familyOf(*from) == Family::none ||
                                        familyOf(*from) != familyOf(*to)))) {
      errors.push_back(badOverride(
          *op, "cannot become " + kind,
          "a unary operation can become another one, so can a binary one and "
          "the backward of a unary one"));
    } else {
      swapKind(*op, *from, *to);
    }
  }
  if (isSmaller)
    dropUnused(graph);
}

} // namespace tenon::overrides
