//===- AttentionSplits.h - attention of few queries -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/tile/attention/AttentionProducts.h"
#include "passes/tile/attention/AttentionRows.h"

namespace tenon::passes {

/// Sections over splits of keys that are read in place, and what joins them.
class AttentionSplits : AttentionEmitter {
public:
  explicit AttentionSplits(const AttentionEmitter &base)
      : AttentionEmitter(base), products(base), rows(base) {}

  void run() const;

private:
  /// Results of the splits, over rows and splits, where there are several.
  struct Partial {
    mlir::Value max, sum, result;
  };

  void emitSplits(const Partial &partial, int64_t first, int64_t number,
                  int64_t count) const;
  void emitSplit(const Block &block, const Partial &partial, Index split,
                 const Keys &part) const;
  Index partialOffset(const Block &block) const;
  void emitMerge(const Partial &partial) const;
  void emitFactorsOfSplits(const Block &block, const Partial &partial) const;
  void emitSumOfSplits(const Block &block, const Partial &partial) const;

  AttentionProducts products;
  AttentionRows rows;
};

} // namespace tenon::passes
