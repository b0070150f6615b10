//===- RecurrenceProblem.cpp - what a recurrence computes, in memory ------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/recurrence/RecurrenceProblem.h"

#include "passes/support/GraphAttrs.h"

using namespace mlir;

namespace tenon::passes {

Strided at(Strided s, Index index) {
  s.offset = s.offset.value_or(0) + index * s.strides[0];
  s.sizes.erase(s.sizes.begin());
  s.strides.erase(s.strides.begin());
  s.dense = false;
  return s;
}

Strided columnsFrom(Strided s, Index first, Index count) {
  s.offset = s.offset.value_or(0) + first * s.strides.back();
  s.sizes.back() = count;
  s.dense = false;
  return s;
}

/// Steps x batch x columns of an operand of this form.
static Strided shaped(Strided s, tile::StepOperandAttr form) {
  for (int64_t index : form.getLead())
    s = at(std::move(s), index);
  auto insert = [&](unsigned where) {
    s.sizes.insert(s.sizes.begin() + where, 1);
    s.strides.insert(s.strides.begin() + where, 0);
  };
  if (!form.getSteps())
    insert(0);
  if (!form.getBatch())
    insert(1);
  return s;
}

RecurrenceProblem::RecurrenceProblem(GroupContext &ctx, tile::RecurrenceOp op)
    : ctx(ctx), op(op) {
  auto isWeights = [&](int64_t operand) {
    return llvm::any_of(op.getStages(), [&](Attribute stage) {
      return cast<tile::StageAttr>(stage).getWeights() == operand;
    });
  };
  for (auto [i, v] : llvm::enumerate(op.getInputs())) {
    Strided s = ctx.memoryOf(v);
    operands.push_back(isWeights(i) ? s : shaped(s, op.getForm(i)));
  }
  for (int64_t i = 0, e = op.getRings().size(); i < e; ++i) {
    Strided s = ctx.outputs.find(op.getOutputs()[i])->second.front();
    while (s.rank() > 3)
      s = at(std::move(s), 0);
    results.push_back(std::move(s));
  }
  steps = operands[op.operandWithSteps()].sizes[0];
  batch = operands[op.operandWithBatch()].sizes[1];
}

bool RecurrenceProblem::looksAhead() const {
  return llvm::any_of(op.getStages(), [](Attribute stage) {
    return llvm::any_of(cast<tile::StageAttr>(stage).getReads(),
                        [](tile::ReadAttr r) {
                          return r.getKind() == tile::ReadKind::following;
                        });
  });
}

Index RecurrenceProblem::timeOf(const Step &step, int64_t ahead) const {
  Index number = step.number + ahead;
  return op.getReverse() ? steps - 1 - number : number;
}

Strided RecurrenceProblem::operandAt(int64_t operand, Index t) const {
  return at(operands[operand], t);
}

Strided RecurrenceProblem::resultAt(int64_t result, const Step &step,
                                    bool previous) const {
  int64_t ring = op.getRings()[result];
  if (ring == 0)
    return at(results[result], timeOf(step, previous ? -1 : 0));
  Index slot = ring == 1 ? Index(0) : (step.number + int64_t(previous)) % ring;
  return at(results[result], slot);
}

Strided RecurrenceProblem::written(int64_t result, const Step &step) const {
  return resultAt(result, step, false);
}
Strided RecurrenceProblem::before(int64_t result, const Step &step) const {
  return resultAt(result, step, true);
}

std::optional<Strided> RecurrenceProblem::initialState(int64_t state) const {
  tile::StateAttr s = op.getState(state);
  if (s.getInitial() < 0)
    return std::nullopt;
  return columnsFrom(operandAt(s.getInitial(), 0), 0, s.getWidth());
}

std::optional<Strided> RecurrenceProblem::stateBefore(int64_t state,
                                                      const Step &step) const {
  if (step.first)
    return initialState(state);
  tile::StateAttr s = op.getState(state);
  return columnsFrom(before(s.getResult(), step), s.getOffset(), s.getWidth());
}

Strided RecurrenceProblem::stateAfterAll(int64_t state) const {
  tile::StateAttr s = op.getState(state);
  Step last{steps - 1, false, true};
  return columnsFrom(written(s.getResult(), last), s.getOffset(), s.getWidth());
}

} // namespace tenon::passes
