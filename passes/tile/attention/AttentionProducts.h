//===- AttentionProducts.h - q . k and weights . v of a block ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/tile/attention/AttentionBlock.h"

namespace tenon::passes {

/// The two products of a block.
class AttentionProducts : AttentionEmitter {
public:
  explicit AttentionProducts(const AttentionEmitter &base)
      : AttentionEmitter(base) {}

  void emitScores(const Block &block, const Keys &part) const;
  void emitProduct(const Block &block, const Keys &part, bool accumulate) const;

  /// The same of keys and values that are read in place; `result` gets the
  /// weighted values.
  void emitDots(const Block &block, const Keys &part) const;
  void emitWeightedInPlace(const Block &block, const Keys &part,
                           mlir::Value result) const;

private:
  void emitWeightedSum(const Block &block, mlir::Value a, mlir::Value values,
                       mlir::Value c, bool accumulate, bool packed) const;
  void emitPanels(const Block &block, const Keys &part) const;
  mlir::Value valuesOf(const Block &block, const Keys &part) const;
};

} // namespace tenon::passes
