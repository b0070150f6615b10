//===- AttentionVisibleKeys.h - keys that a causal mask leaves --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/tile/attention/AttentionBlock.h"

namespace tenon::passes {

/// With a causal mask, the keys that the rows of a block see.
class AttentionVisibleKeys : AttentionEmitter {
public:
  explicit AttentionVisibleKeys(const AttentionEmitter &base)
      : AttentionEmitter(base) {}

  /// Sets what the mask means for `block`, whose rows are placed.
  void place(Block &block) const;
  /// Calls `emit` with the keys of `part` that count; returns them.
  Keys
  emitVisible(const Block &block, const Keys &part,
              llvm::function_ref<void(const Block &, const Keys &)> emit) const;

private:
  mlir::Value vanishes(const Block &block) const;
  mlir::Value hiddenAreFinite(const Block &block, const Keys &part,
                              const Keys &seen) const;
};

} // namespace tenon::passes
