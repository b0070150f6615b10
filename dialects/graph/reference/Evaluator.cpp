//===- Evaluator.cpp - the reference evaluator ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Walks the operations in topological order and dispatches by kind.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Evaluator.h"
#include "dialects/graph/OpTable.h"
#include "dialects/graph/reference/OpContext.h"

#include <map>
#include <set>

namespace tenon::reference {

namespace {

const OpEntry *findEntry(std::string_view kind) {
  using Family = std::span<const OpEntry> (*)();
  constexpr Family families[] = {
      elementwiseOps, binaryOps,       contractionOps,  convolutionOps,
      windowOps,      normOps,         interpolateOps,  reduceOps,
      quantOps,       normBackwardOps, dataMovementOps, backwardOps,
      lrnOps,         recurrentOps,    indexingOps,     searchOps,
      detectionOps};
  for (Family family : families)
    for (const OpEntry &entry : family())
      if (entry.kind == kind)
        return &entry;
  return nullptr;
}

/// The state of one evaluation.
class Evaluation {
public:
  Evaluation(const graph::Graph &graph, const EvalOptions &options)
      : graph(graph), options(options) {}

  std::vector<Error> takeInputs(std::map<uint64_t, Tensor> inputs);
  std::vector<Error> checkKinds() const;
  void countUses();
  std::vector<Error> run(const graph::Op &op);
  Expected<std::map<uint64_t, Tensor>> results();

private:
  Error tensorError(ErrorCode code, uint64_t id, const std::string &text) const;
  std::vector<Error> checkOperands(const graph::Op &op,
                                   const OpEntry &entry) const;
  /// Whether tensors of s64 stand only where `entry` takes them.
  bool takesS64(const graph::Op &op, const OpEntry &entry) const;
  /// Whether the table allows each s64, and each type variable is s64 in all
  /// values or in none.
  bool followsTable(const graph::Op &op) const;
  void release(const graph::Op &op);

  const graph::Graph &graph;
  const EvalOptions &options;
  std::map<uint64_t, Tensor> values;
  std::map<uint64_t, int64_t> uses; // reads still to come
  std::set<uint64_t> wanted;
};

Error Evaluation::tensorError(ErrorCode code, uint64_t id,
                              const std::string &text) const {
  Error error;
  error.code = code;
  error.message = "tensor " + std::to_string(id) + ": " + text;
  return error;
}

std::vector<Error> Evaluation::takeInputs(std::map<uint64_t, Tensor> inputs) {
  std::vector<Error> errors;
  std::set<uint64_t> needed(graph.inputPorts.begin(), graph.inputPorts.end());
  for (uint64_t id : needed) {
    auto found = inputs.find(id);
    if (found == inputs.end()) {
      errors.push_back(tensorError(ErrorCode::UnknownTensor, id,
                                   "no value is given for this input"));
      continue;
    }
    const graph::LogicalTensor &edge = graph.tensor(id);
    Tensor &value = found->second;
    setDType(value, edge.dtype);
    if (edge.hasStaticShape() && *edge.shape != value.shape)
      errors.push_back(
          tensorError(ErrorCode::BadTensorData, id,
                      "the value has shape " + shapeText(value.shape) +
                          ", the graph says " + shapeText(*edge.shape)));
    else if (!withinLimit(value.shape, options.maxElements))
      errors.push_back(tensorError(
          ErrorCode::TooLarge, id,
          "shape " + shapeText(value.shape) + " exceeds the limit of " +
              std::to_string(options.maxElements) + " elements"));
    else if (elementCount(value.shape) != value.numElements())
      errors.push_back(tensorError(ErrorCode::BadTensorData, id,
                                   std::to_string(value.numElements()) +
                                       " elements are given for shape " +
                                       shapeText(value.shape)));
    else {
      if (!graph::isFloat(value.dtype))
        roundToDType(value); // integers are integers, in range
      values.emplace(id, std::move(value));
    }
  }
  return errors;
}

std::vector<Error> Evaluation::checkKinds() const {
  std::vector<Error> errors;
  for (const graph::Op &op : graph.ops) {
    if (const OpEntry *entry = findEntry(op.kind)) {
      auto more = checkOperands(op, *entry);
      errors.insert(errors.end(), more.begin(), more.end());
      continue;
    }
    OpContext context(graph, op, 1, options.maxElements);
    context.fail(ErrorCode::UnsupportedOp,
                 "the reference evaluator does not know this operation");
    errors.push_back(context.errors.front());
  }
  return errors;
}

std::vector<Error> Evaluation::checkOperands(const graph::Op &op,
                                             const OpEntry &entry) const {
  OpContext context(graph, op, 1, options.maxElements);
  auto check = [&](const char *what, size_t count,
                   std::span<const int> allowed) {
    // No counts: any number of them.
    if (!allowed.empty() &&
        std::ranges::find(allowed, static_cast<int>(count)) == allowed.end())
      context.fail(ErrorCode::OperandCount,
                   std::to_string(count) + " " + what + ", allowed are " +
                       std::to_string(allowed.front()) + " to " +
                       std::to_string(allowed.back()));
  };
  const graph::OpInfo &info = graph::factsOf(op.kind);
  check("operands", graph::slotCount(op.absentInputs, op.inputs.size()),
        info.operandCounts);
  check("results", graph::slotCount(op.absentOutputs, op.outputs.size()),
        info.resultCounts);
  if (!takesS64(op, entry))
    context.fail(ErrorCode::BadDType,
                 "the reference evaluator takes s64 only where it is moved, "
                 "cast or a seed, or the table allows it");
  return context.errors;
}

bool Evaluation::takesS64(const graph::Op &op, const OpEntry &entry) const {
  size_t wide = 0, wideSeeds = 0;
  for (const std::vector<uint64_t> *ids : {&op.inputs, &op.outputs})
    for (uint64_t id : *ids)
      wide += graph.tensor(id).dtype == graph::DType::s64;
  for (size_t i = 1; i < op.inputs.size() && i <= 2; ++i)
    wideSeeds += graph.tensor(op.inputs[i]).dtype == graph::DType::s64;
  switch (entry.s64) {
  case S64Use::none:
    return wide == 0;
  case S64Use::moved:
    return wide == 0 || wide == op.inputs.size() + op.outputs.size();
  case S64Use::any:
    return followsTable(op);
  case S64Use::seed:
    return wide == wideSeeds;
  }
  return false;
}

bool Evaluation::followsTable(const graph::Op &op) const {
  const graph::OpInfo &info = graph::factsOf(op.kind);
  std::map<std::string_view, bool> isWide;
  auto fits = [&](uint64_t id, std::span<const graph::ValueInfo> values,
                  size_t slot) {
    if (slot >= values.size())
      return false;
    const graph::ValueInfo &value = values[slot];
    bool wide = graph.tensor(id).dtype == graph::DType::s64;
    const graph::TypeVarInfo *var = info.typeVar(value.typeVar);
    bool allowed = var && std::ranges::find(var->allowed, graph::DType::s64) !=
                              var->allowed.end();
    return (!wide || allowed) &&
           isWide.try_emplace(value.typeVar, wide).first->second == wide;
  };
  for (size_t i = 0; i < op.inputs.size(); ++i)
    if (!fits(op.inputs[i], info.operands, op.inputSlot(i)))
      return false;
  for (size_t i = 0; i < op.outputs.size(); ++i)
    if (!fits(op.outputs[i], info.results, op.outputSlot(i)))
      return false;
  return true;
}

void Evaluation::countUses() {
  wanted.insert(graph.outputPorts.begin(), graph.outputPorts.end());
  wanted.insert(options.keep.begin(), options.keep.end());
  for (const graph::Op &op : graph.ops)
    for (uint64_t id : op.inputs)
      ++uses[id];
}

void Evaluation::release(const graph::Op &op) {
  for (uint64_t id : op.inputs)
    if (--uses[id] == 0 && !wanted.count(id))
      values.erase(id);
  for (uint64_t id : op.outputs)
    if (!uses.count(id) && !wanted.count(id))
      values.erase(id);
}

std::vector<Error> Evaluation::run(const graph::Op &op) {
  OpContext context(graph, op, options.threads, options.maxElements);
  context.roundsEdges = options.roundEdges;
  std::vector<Tensor> disturbed;
  disturbed.reserve(op.inputs.size());
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    auto found = values.find(op.inputs[i]);
    if (found == values.end())
      return {tensorError(ErrorCode::Internal, op.inputs[i], "has no value")};
    context.inputs.resize(op.inputSlot(i));
    context.inputs.push_back(&found->second);
    if (!options.disturber)
      continue;
    if (auto other = options.disturber->operand(op, found->second)) {
      disturbed.push_back(std::move(*other));
      context.inputs.back() = &disturbed.back();
    }
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    context.outputs.resize(op.outputSlot(i) + 1);
    context.outputs.back().dtype = graph.tensor(op.outputs[i]).dtype;
  }
  if (!findEntry(op.kind)->evaluate(context))
    return context.errors;
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    Tensor &result = context.outputs[op.outputSlot(i)];
    if (options.disturber)
      options.disturber->result(op, i, context.inputs, result);
    if (options.roundEdges || !graph::isFloat(result.dtype))
      roundToDType(result);
    values.insert_or_assign(op.outputs[i], std::move(result));
  }
  release(op);
  return {};
}

Expected<std::map<uint64_t, Tensor>> Evaluation::results() {
  std::map<uint64_t, Tensor> results;
  std::vector<Error> errors;
  for (uint64_t id : wanted) {
    auto found = values.find(id);
    if (found == values.end()) {
      errors.push_back(tensorError(ErrorCode::UnknownTensor, id,
                                   "is wanted but not part of the graph"));
      continue;
    }
    if (options.roundOutputs)
      roundToDType(found->second);
    results.emplace(id, std::move(found->second));
  }
  if (!errors.empty())
    return errors;
  return results;
}

} // namespace

bool canEvaluate(std::string_view kind) { return findEntry(kind) != nullptr; }

Expected<std::map<uint64_t, Tensor>> evaluate(const graph::Graph &graph,
                                              std::map<uint64_t, Tensor> inputs,
                                              const EvalOptions &options) {
  graph::Graph sorted = graph;
  if (auto errors = topologicalSort(sorted); !errors.empty())
    return errors;
  if (auto errors = completePorts(sorted); !errors.empty())
    return errors;
  Evaluation evaluation(sorted, options);
  if (auto errors = evaluation.checkKinds(); !errors.empty())
    return errors;
  if (auto errors = evaluation.takeInputs(std::move(inputs)); !errors.empty())
    return errors;
  evaluation.countUses();
  for (const graph::Op &op : sorted.ops)
    if (auto errors = evaluation.run(op); !errors.empty())
      return errors;
  return evaluation.results();
}

} // namespace tenon::reference
