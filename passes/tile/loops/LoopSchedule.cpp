//===- LoopSchedule.cpp - what of a loop program is stored, and where -----===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/loops/LoopSchedule.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace tenon::passes {

using Kind = LoopProgram::Kind;
using NodeInfo = LoopProgram::NodeInfo;

namespace {
/// Bytes of a row of which L1 would not hold a copy, too.
constexpr int64_t kLongRow = 8 << 10;
constexpr int64_t kAlign = 64;
} // namespace

LoopSchedule::LoopSchedule(const LoopProgram &program, bool mayDivide)
    : program(program), nodes(program.getNodes()), sizes(program.getSizes()),
      classes(program.getClasses()), plans(nodes.size()) {
  for (auto [n, plan] : llvm::zip(nodes, plans)) {
    plan.outputs = n.outputs;
    plan.stored = n.kind == Kind::reduce || !n.outputs.empty();
  }
  assignLevels();
  if (mayDivide)
    division = chooseDivision();
  kept = chooseKept(division ? 0 : kLongRow);
  if (division)
    return;
  if (kept) {
    plans[kept->node].outputs.push_back(kept->place);
    plans[kept->node].stored = true;
  }
  putAfterConditions();
  decideStores();
  chooseItems();
  planScratch();
}

void LoopSchedule::assignLevels() {
  for (auto [n, plan] : llvm::zip(nodes, plans)) {
    int level = plan.condition < 0 ? 0 : plans[plan.condition].level;
    for (Node o : n.operands)
      level = std::max(level, plans[o].level);
    plan.level = level + (n.kind == Kind::reduce);
  }
}

int LoopSchedule::lastLevel() const {
  int last = 0;
  for (const NodePlan &plan : plans)
    last = std::max(last, plan.level);
  return last;
}

/// Puts reductions for some rows only (LoopProgram::reduceIf) on a later level
/// than their conditions. If an item has several rows, such reductions are
/// computed for all of them like any others, and nothing is put off.
void LoopSchedule::putAfterConditions() {
  bool single = !classes.empty() && classes.back() == 1;
  if (!single)
    return;
  for (auto [n, plan] : llvm::zip(nodes, plans)) {
    plan.condition = n.condition;
    if (n.condition >= 0)
      plan.stored = plans[n.condition].stored = true;
  }
  assignLevels();
}

/// A computation is stored, and not repeated, when it is used after a later
/// reduction, or when many elements share it; and an index before a reduction,
/// since a linalg.generic takes the sizes of its loops from memory. What few
/// rows need is repeated for them.
void LoopSchedule::decideStores() {
  for (auto [n, plan] : llvm::zip(nodes, plans))
    for (Node o : n.operands) {
      const NodeInfo &operand = nodes[o];
      bool repeats = plan.condition >= 0 && !operand.indexed;
      if (operand.kind != Kind::compute || operand.isConstant() || repeats)
        continue;
      int useLevel = n.kind == Kind::reduce ? plan.level - 1 : plan.level;
      if (useLevel > plans[o].level || (n.full && !operand.full) ||
          (n.kind == Kind::reduce && operand.full &&
           (plans[o].stored || operand.indexed)))
        plans[o].stored = true;
    }
}

bool LoopSchedule::readsOnce() const {
  return llvm::none_of(llvm::zip(nodes, plans), [](const auto &node) {
    const auto &[n, plan] = node;
    return n.full && (plan.level > 0 || plan.stored);
  });
}

Strided LoopSchedule::outputAsBuffer(Node node) const {
  const NodeInfo &n = nodes[node];
  for (const Strided &s : plans[node].outputs)
    if (s.elementType() == n.type && program.variesAlong(s) == n.full)
      return s;
  return {};
}

/// The dimensions as they lie in the first input that varies along rows: what
/// is computed from it is written and read in the same vectors.
SmallVector<int64_t> LoopSchedule::orderOfInput() const {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  auto input = llvm::find_if(
      nodes, [](const NodeInfo &n) { return n.kind == Kind::input && n.full; });
  if (input == nodes.end() || !llvm::all_of(input->memory.strides, [](Index s) {
        return s.constant().has_value();
      }))
    return order;
  auto stride = [&](int64_t d) { return *input->memory.strides[d].constant(); };
  // Along those with stride 0 it does not vary: they stay outside.
  auto lies = [&](int64_t d) {
    return std::pair(stride(d) != 0, std::pair(-stride(d), d));
  };
  llvm::sort(order, [&](int64_t a, int64_t b) { return lies(a) < lies(b); });
  return order;
}

void LoopSchedule::planScratch() {
  scratchOrder = orderOfInput();
  scratchBytes = 0;
  for (auto [i, n] : llvm::enumerate(nodes)) {
    NodePlan &plan = plans[i];
    if (!plan.stored || n.kind == Kind::input || outputAsBuffer(i).base)
      continue;
    Index elements = 1;
    for (int64_t d = 0, e = sizes.size(); d < e; ++d) {
      if (auto chunk = chunkOf(d))
        elements *= *chunk;
      else if (isInside(d) && (n.full || classes[d] == 0))
        elements *= sizes[d];
    }
    int64_t width = std::max<int64_t>(1, n.type.getIntOrFloatBitWidth() / 8);
    plan.scratchOffset = scratchBytes;
    Index lines = ceilDiv(elements * width, kAlign);
    scratchBytes += lines * kAlign;
  }
}

} // namespace tenon::passes
