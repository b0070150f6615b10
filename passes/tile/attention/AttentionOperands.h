//===- AttentionOperands.h - queries, keys and values -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/tile/attention/AttentionBlock.h"

namespace tenon::passes {

/// Writes queries, keys and values that the group makes to scratch memory.
class AttentionOperands : AttentionEmitter {
public:
  explicit AttentionOperands(const AttentionEmitter &base)
      : AttentionEmitter(base) {}

  /// Those of a head, in the first of its blocks; `item` is the block's.
  void emitOperands(const Block &block, Index item) const;
  void emitQueries(const Block &block) const;
};

} // namespace tenon::passes
