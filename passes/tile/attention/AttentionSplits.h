//===- AttentionSplits.h - attention of few queries -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/tile/attention/AttentionOperands.h"
#include "passes/tile/attention/AttentionProducts.h"
#include "passes/tile/attention/AttentionRows.h"

namespace tenon::passes {

/// Sections over splits of keys that are read in place, and what joins them.
class AttentionSplits : AttentionEmitter {
public:
  explicit AttentionSplits(const AttentionEmitter &base)
      : AttentionEmitter(base), operands(base), products(base), rows(base) {}

  /// Allocates what splits leave for each other, at the builder's place: before
  /// `run`, and not within a branch.
  void allocate();
  void run() const;

private:
  /// Results of the splits, over rows and splits, where there are several.
  struct Partial {
    mlir::Value max, sum, result;
  };

  void emitSplits(Index first, Index number, Index count) const;
  void emitSplit(const Block &block, Index split, const Keys &part) const;
  Index partialOffset(const Block &block) const;
  void emitMerge() const;
  void emitFactorsOfSplits(const Block &block) const;
  void emitSumOfSplits(const Block &block) const;

  AttentionOperands operands;
  AttentionProducts products;
  AttentionRows rows;
  Partial partial;
};

} // namespace tenon::passes
