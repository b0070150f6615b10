//===- AttentionFused.h - products of computed keys and values -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/tile/attention/AttentionBlock.h"

namespace tenon::passes {

/// The two products of few queries with keys and values that the group
/// computes: dequantises, in most cases. Each is read from memory once, and no
/// more than a box of them exists at a time.
class AttentionFused : AttentionEmitter {
public:
  explicit AttentionFused(const AttentionEmitter &base)
      : AttentionEmitter(base) {}

  /// scores = q . k of the keys of `part`.
  void emitDots(const Block &block, const Keys &part) const;
  /// result = scores . values of `part`.
  void emitWeighted(const Block &block, const Keys &part,
                    const RowsAt &result) const;

private:
  FusedOperand::Loops loopsOver(const FusedInput &input, const Block &block,
                                Index first, int64_t dim, Index count) const;
  void emitBoxes(const FusedInput &input, int64_t dim, const Block &block,
                 const Keys &part, int64_t most, int64_t width,
                 llvm::function_ref<void(Index, Index, mlir::Value)> use) const;
  void emitDotsInRegisters(const Block &block, const Keys &part) const;
  void emitWeightedInRegisters(const Block &block, const Keys &part,
                               const RowsAt &result) const;
};

} // namespace tenon::passes
