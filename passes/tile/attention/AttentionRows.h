//===- AttentionRows.h - rows of scores become weights ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/tile/attention/AttentionBlock.h"
#include "passes/tile/attention/ScalarRegion.h"

namespace tenon::passes {

/// What happens to rows of scores between the products (softmax), and to rows
/// of sums after them.
class AttentionRows : AttentionEmitter {
public:
  explicit AttentionRows(const AttentionEmitter &base)
      : AttentionEmitter(base) {}

  /// Makes weights of all scores of a block, whose rows are complete.
  void emitRows(const Block &block, const Keys &part) const;
  /// Applies the score region; max grows to the largest score of each row.
  void emitScoreRegion(const Block &block, const Rows &rows,
                       const Keys &part) const;
  /// Makes weights of scores, or exponentials with `normalized`; sum grows.
  void emitExponentials(const Block &block, const Rows &rows,
                        const Keys &part) const;
  /// Adapts sum to a maximum that grew; factor was the one before.
  void emitFactors(const Block &block) const;
  /// Makes reciprocals of sums, which the methods below read, and writes the
  /// statistics.
  void emitSums(const Block &block) const;
  /// Makes weights of exponentials.
  void emitNormalized(const Block &block, const Keys &part) const;

  /// Multiplies each row by its number of `factors`.
  void scaleRows(mlir::Value rows, mlir::Value factors) const;
  /// Adds the weighted values of a step to those before, times factor.
  void addStep(const Block &block) const;
  /// Divides the sums of weighted values, and applies the epilogue to them if
  /// they are not in dst.
  void finishRows(const Block &block) const;
  /// A maximum to subtract, 0 for a row of -inf where that may occur.
  mlir::Value guarded(mlir::OpBuilder &b, mlir::Location loc,
                      mlir::Value max) const;

private:
  bool isShared(mlir::BlockArgument argument, unsigned first) const;
  RegionOperands epilogueOperandsOf(const Block &block, const Rows &rows,
                                    const Keys &part, mlir::Block &region,
                                    unsigned first) const;
  mlir::BlockArgument divisorOfMatrix(mlir::Block &region) const;
  void emitScoreRegion(const Block &block, const Rows &rows, const Keys &part,
                       Divisor exact) const;
  void storeSums(const Block &block) const;
};

} // namespace tenon::passes
