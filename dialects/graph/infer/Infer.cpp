//===- Infer.cpp - verification and shape inference -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Infer.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/infer/Infer.h"
#include "dialects/graph/infer/Rules.h"
#include "dialects/graph/infer/ScaleGroups.h"
#include "dialects/support/Text.h"

#include <iterator>

namespace tenon::graph {

using infer::RuleContext;

namespace {

const OpInfo *lookupOrReport(const Op &op, std::vector<Error> &errors) {
  if (const OpInfo *info = lookupOp(op.kind))
    return info;
  errors.push_back(errorAbout(op, ErrorCode::UnknownOp,
                              "\"" + op.kind + "\" is no operation kind"));
  errors.back().hint = hintForKind(op.kind);
  return nullptr;
}

/// Generic checks, then the rule.
void runRule(RuleContext &ctx) {
  if (!infer::verifyAgainstTable(ctx))
    return;
  if (infer::Rule rule = infer::lookupRule(ctx.info.shapeRule))
    return rule(ctx);
  ctx.error(ErrorCode::Internal, "the operation has no shape rule");
}

/// The tensors with these ids, in order; reports ids that do not exist.
std::optional<std::vector<LogicalTensor>>
gather(const Graph &graph, const Op &op, const std::vector<uint64_t> &ids,
       std::vector<Error> &errors) {
  std::vector<LogicalTensor> tensors;
  for (uint64_t id : ids) {
    auto it = graph.tensors.find(id);
    if (it != graph.tensors.end()) {
      tensors.push_back(it->second);
      continue;
    }
    errors.push_back(
        errorAbout(op, ErrorCode::UnknownTensor,
                   "tensor " + std::to_string(id) + " is not in the graph"));
  }
  if (tensors.size() != ids.size())
    return std::nullopt;
  return tensors;
}

void moveTo(std::vector<Error> &to, std::vector<Error> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

} // namespace

std::string hintForKind(std::string_view kind) {
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> all;
    for (const OpInfo &info : allOps())
      all.emplace_back(info.kind);
    return all;
  }();
  std::string similar = closest(kind, kinds);
  return similar.empty() ? "`tenon ops` lists them" : "did you mean " + similar;
}

std::vector<Error> verifyOp(const Op &op, std::span<const LogicalTensor> inputs,
                            std::span<const LogicalTensor> outputs) {
  std::vector<Error> errors;
  if (const OpInfo *info = lookupOrReport(op, errors)) {
    RuleContext ctx(op, *info, inputs, outputs, /*inferring=*/false, errors);
    runRule(ctx);
  }
  return errors;
}

std::vector<Error> inferOp(Op &op, std::span<const LogicalTensor> inputs,
                           std::span<LogicalTensor> outputs) {
  std::vector<Error> errors;
  const OpInfo *info = lookupOrReport(op, errors);
  if (!info)
    return errors;
  RuleContext ctx(op, *info, inputs, outputs, /*inferring=*/true, errors);
  runRule(ctx);
  // Strides were given before the shape was known: they must fit it.
  for (size_t i = 0; errors.empty() && i < outputs.size(); ++i) {
    LogicalTensor completed = outputs[i];
    size_t slot = op.outputSlot(i);
    completed.shape = ctx.results[slot];
    infer::verifyTensor(ctx, ctx.outName(slot), completed, /*isResult=*/true);
  }
  if (!errors.empty())
    return errors;
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i].shape = std::move(ctx.results[op.outputSlot(i)]);
  for (auto &[name, value] : ctx.changedAttrs)
    op.attrs.insert_or_assign(name, std::move(value));
  return errors;
}

std::vector<Error> inferGraph(Graph &graph, const BeforeInfer &before) {
  std::vector<Error> errors = topologicalSort(graph);
  if (errors.empty())
    errors = applyNamedSizes(graph);
  if (!errors.empty())
    return errors;
  for (Op &op : graph.ops) {
    auto inputs = gather(graph, op, op.inputs, errors);
    auto outputs = gather(graph, op, op.outputs, errors);
    if (!inputs || !outputs)
      continue;
    if (before)
      before(op, *inputs);
    std::vector<Error> found = inferOp(op, *inputs, *outputs);
    if (found.empty())
      for (size_t i = 0; i < outputs->size(); ++i)
        graph.tensor(op.outputs[i]).shape = std::move((*outputs)[i].shape);
    moveTo(errors, std::move(found));
  }
  if (errors.empty())
    errors = checkReaders(graph);
  return errors;
}

std::vector<Error> checkReaders(const Graph &graph) {
  return infer::ScaleGroups(graph).check();
}

int64_t scaleGroups(const Graph &graph, const Op &op) {
  return infer::ScaleGroups(graph).of(op);
}

std::vector<Error> verifyGraph(const Graph &graph) {
  Graph sorted;
  sorted.ops = graph.ops;
  std::vector<Error> errors = topologicalSort(sorted);
  for (const Op &op : graph.ops) {
    auto inputs = gather(graph, op, op.inputs, errors);
    auto outputs = gather(graph, op, op.outputs, errors);
    if (inputs && outputs)
      moveTo(errors, verifyOp(op, *inputs, *outputs));
  }
  if (errors.empty())
    errors = checkReaders(graph);
  return errors;
}

void fillDefaults(Op &op) {
  const OpInfo *info = lookupOp(op.kind);
  if (!info)
    return;
  for (const AttrInfo &attr : info->attrs) {
    if (!attr.defaultText || op.attr(attr.name))
      continue;
    AttrValue value = attr.defaultValue();
    // A list whose length depends on the rank stays absent: absent means it.
    const Dims *list = std::get_if<Dims>(&value);
    if (!list || !infer::isPlaceholder(attr.name, *list))
      op.attrs.emplace(attr.name, std::move(value));
  }
}

} // namespace tenon::graph
