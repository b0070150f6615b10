//===- AttentionLowering.h - blocks of attention ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by LowerAttention.cpp, which cuts attention into blocks and writes
// their products, AttentionSplits.cpp, which does so for few queries,
// AttentionOperands.cpp, which says where queries, keys and values are, and
// AttentionRows.cpp, which writes what happens to a row of scores between the
// products.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/attention/AttentionSchedule.h"
#include "passes/tile/core/WorkItems.h"

namespace tenon::tiling {

class AttentionLowering {
public:
  AttentionLowering(GroupContext &ctx, tile::AttentionOp op)
      : ctx(ctx), m(ctx.m), problem(readProblem(ctx, op)),
        schedule(makeSchedule(problem, ctx.target)) {}

  void run();

  /// Rows of a block of scores.
  struct Rows {
    Index first, count;
  };
  /// A number that scores are divided by, an argument of their region, and its
  /// reciprocal.
  struct Divisor {
    mlir::Value argument, reciprocal;
  };

private:
  /// Where a block of queries is: its leading indices and first row.
  struct Block {
    llvm::SmallVector<Index> at;
    Index rows;
    AttentionScratch scratch;
    Index visiblePanels = {}; // with a causal mask: of keys that its rows see
    mlir::Value masked = {};  // and the score of the others
  };
  /// Keys whose scores exist at one time: all, or those of one step.
  struct Keys {
    Index panel; // the first
    Index from;  // the first key
    Index count;
  };
  /// Epilogue operands that a region reads, along rows of scores.
  struct RowSides {
    llvm::SmallVector<mlir::Value> boxes;
    llvm::SmallVector<mlir::AffineMap> maps;
    llvm::SmallVector<unsigned> arguments; // of the region
  };

  // LowerAttention.cpp
  AttentionScratch scratchOf(mlir::Value memory) const;
  Grid gridOf(Index blocks) const;
  Block blockOf(const Grid::Item &item, mlir::Value memory) const;
  void placeRows(Block &block, Index number);
  mlir::Value output(Block &block);
  void emitWhole(Block &block);
  void emitSteps(Block &block);
  void emitStep(Block &block, const Keys &part);
  void emitFromLeft(Block &block);
  void placeMask(Block &block);
  Keys emitVisible(Block &block, const Keys &part,
                   llvm::function_ref<void(Block &, const Keys &)> emit);
  mlir::Value vanishes(Block &block);
  mlir::Value hiddenAreFinite(Block &block, const Keys &part, const Keys &seen);
  void emitScores(Block &block, const Keys &part);
  void emitProduct(Block &block, const Keys &part, bool accumulate);
  void emitWeightedSum(Block &block, mlir::Value a, mlir::Value values,
                       mlir::Value c, bool accumulate, bool packed);
  void emitPanels(Block &block, const Keys &part);
  mlir::Value valuesOf(Block &block, const Keys &part);
  mlir::Value sumsOf(Block &block);
  mlir::Value result(Block &block, mlir::Value scratch);

  // AttentionOperands.cpp
  void emitOperands(Block &block, Index item);
  void emitQueries(Block &block);
  mlir::Value queriesOf(Block &block);
  mlir::Value baseOf(Block &block, const Strided &s,
                     mlir::Value AttentionScratch::*place) const;

  // AttentionSplits.cpp
  void runInPlace();
  void emitSplits(int64_t first, int64_t number, int64_t count);
  void emitSplit(Block &block, Index split, const Keys &part);
  void emitDots(Block &block, const Keys &part);
  void emitWeighted(Block &block, const Keys &part, mlir::Value result);
  Index partialOffset(Block &block);
  void emitFactorsOfSplits(Block &block);
  void emitSumOfSplits(Block &block);
  void emitMerge();

  // AttentionRows.cpp
  bool isShared(mlir::BlockArgument argument, unsigned first) const;
  mlir::Value scoresOf(Block &block, const Rows &rows, const Keys &part);
  mlir::Value weightsOf(Block &block, const Rows &rows, const Keys &part);
  mlir::Value numbers(Block &block, mlir::Value scratch);
  RowSides epilogueOperandsOf(Block &block, const Rows &rows, const Keys &part,
                              mlir::Block &region, unsigned first);
  void emitRows(Block &block, const Keys &part);
  mlir::BlockArgument divisorOfMatrix(mlir::Block &region) const;
  void emitScoreRegion(Block &block, const Rows &rows, const Keys &part);
  void emitScoreRegion(Block &block, const Rows &rows, const Keys &part,
                       Divisor exact);
  void emitExponentials(Block &block, const Rows &rows, const Keys &part);
  void emitNormalized(Block &block, const Keys &part);
  void emitFactors(Block &block);
  void emitSums(Block &block);
  void scaleRows(mlir::Value rows, mlir::Value factors);
  void addStep(Block &block);
  void storeSums(Block &block);
  void finishRows(Block &block);
  mlir::Value guarded(mlir::OpBuilder &b, mlir::Location loc, mlir::Value max);

  GroupContext &ctx;
  IndexMath &m;
  const AttentionProblem problem;
  const AttentionSchedule schedule;
  struct {
    mlir::Value max, sum, result; // over rows and splits
  } partial;
};

} // namespace tenon::tiling
