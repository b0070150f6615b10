//===- AttentionBlock.h - a block of queries and its boxes ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Every emitter reads the same problem and schedule, which are complete before
// the first of them, and changes neither. What differs from block to block is
// in the block itself.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/attention/AttentionSchedule.h"
#include "passes/tile/core/WorkItems.h"

namespace tenon::passes {

/// Base of the emitters: where parts of a block are.
class AttentionEmitter {
public:
  /// The arguments outlive the emitter and all copies of it.
  AttentionEmitter(IndexMath &m, llvm::StringRef label,
                   const AttentionProblem &problem,
                   const AttentionSchedule &schedule)
      : m(m), label(label), problem(problem), schedule(schedule) {}

  /// Where a block of queries is: its leading indices and first row.
  struct Block {
    llvm::SmallVector<Index> at;
    Index rows;
    AttentionScratch scratch;
    Index visiblePanels = {}; // with a causal mask: of keys that its rows see
    mlir::Value masked = {};  // and the score of the others
  };
  /// Rows of a block of scores.
  struct Rows {
    Index first, count;
  };
  /// Keys whose scores exist at one time: all, or those of one step.
  struct Keys {
    Index panel; // the first
    Index from;  // the first key
    Index count;
  };

  /// Rows of a block in memory: where they begin, and the strides from row to
  /// row and within one.
  struct RowsAt {
    mlir::Value base;
    Index offset, across, along;
  };

protected:
  Grid gridOf(Index blocks) const;
  Block blockOf(const Grid::Item &item, mlir::Value memory) const;
  void placeRows(Block &block, Index number) const;

  mlir::Value output(const Block &block) const;
  mlir::Value result(const Block &block, mlir::Value scratch) const;
  mlir::Value sumsOf(const Block &block) const;
  mlir::Value scoresOf(const Block &block, const Rows &rows,
                       const Keys &part) const;
  mlir::Value weightsOf(const Block &block, const Rows &rows,
                        const Keys &part) const;
  mlir::Value numbers(const Block &block, mlir::Value scratch) const;
  RowsAt sumsAt(const Block &block) const;
  RowsAt queriesAt(const Block &block) const;
  mlir::Value queriesOf(const Block &block) const;
  mlir::Value baseOf(const Block &block, const Strided &s,
                     mlir::Value AttentionScratch::*place) const;

  IndexMath &m;
  llvm::StringRef label; // of sections
  const AttentionProblem &problem;
  const AttentionSchedule &schedule;
};

} // namespace tenon::passes
