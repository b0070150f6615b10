//===- RecurrenceProblem.h - what a recurrence computes, in memory -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A tile.recurrence with the buffers of its operands and results, each as
// steps x batch x columns; where one has no such dimension, its stride is 0.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/GroupLowering.h"

namespace tenon::passes {

/// Which step of a recurrence code is for. The first one reads initial states,
/// the last one has no step that follows.
struct Step {
  Index number; // counted in the order of execution
  bool first = false, last = false;
};

struct RecurrenceProblem {
  RecurrenceProblem(GroupContext &ctx, tile::RecurrenceOp op);

  GroupContext &ctx;
  mutable tile::RecurrenceOp op;       // its accessors are not const
  llvm::SmallVector<Strided> operands; // those of stages; weights as they are
  llvm::SmallVector<Strided> results;  // sequences
  Index steps, batch;

  IndexMath &m() const { return ctx.m; }
  /// Whether some stage reads what the step that follows has in an operand.
  bool looksAhead() const;

  /// The number in operands and results of the step `ahead` steps later.
  Index timeOf(const Step &step, int64_t ahead = 0) const;
  /// [batch, columns] of an operand at time `t`.
  Strided operandAt(int64_t operand, Index t) const;
  /// [batch, columns] of a result, as `step` writes it, or as the step before
  /// has written it.
  Strided written(int64_t result, const Step &step) const;
  Strided before(int64_t result, const Step &step) const;
  /// The columns of a state before `step`, or none where they are zero.
  std::optional<Strided> stateBefore(int64_t state, const Step &step) const;
  /// The columns of a state after all steps, of which there is at least one.
  Strided stateAfterAll(int64_t state) const;
  /// The initial columns of a state, or none where they are zero.
  std::optional<Strided> initialState(int64_t state) const;

private:
  Strided resultAt(int64_t result, const Step &step, bool previous) const;
};

/// `s` at `index` of its first dimension.
Strided at(Strided s, Index index);
/// Columns of the matrix `s` from `first` on.
Strided columnsFrom(Strided s, Index first, Index count);

} // namespace tenon::passes
