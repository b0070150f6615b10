//===- AttentionSchedule.h - how attention is computed ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// All decisions: they follow from the problem and the target, and are made
// before any code is emitted. AttentionSchedule.cpp has the reasons.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/attention/AttentionProblem.h"
#include "passes/tile/attention/CausalMask.h"
#include "passes/tile/core/ScratchPlan.h"

namespace tenon::passes {

/// Memory of an item: a block of scores, numbers per row, a copy of values;
/// with narrow types weights apart from scores and, where keys come in steps,
/// the sums so far and those of one step.
struct AttentionScratch {
  mlir::Value scores, max, sum, factor, values, weights, result, step;
  mlir::Value packedKeys, packedValues;  // of a head, for all of its blocks
  mlir::Value fusedQueries, fusedValues; // of a block, of a head
  mlir::Value fusedBox; // a few keys or values that are read in place
  mlir::Value hidden;   // with a causal mask: a sum of what it hides
};

/// With fewer queries packing keys would cost more than it saves.
inline constexpr int64_t kMaxRowsInPlace = 8;

struct AttentionSchedule {
  int64_t queries = 0; // rows of a block at most
  Index blockRows;     // rows of each block but the last
  bool online = false; // keys in several parts: sums and maxima so far
  Index span;          // keys of one step, whole panels
  Index splits = 1;    // of keys that are read in place
  Index splitKeys;     // keys of one split
  Index partials;      // rows of all heads times splits, if several
  /// Keys or values that are computed before they are read, of those in place;
  /// 0: they are computed in registers.
  int64_t boxKeys = 0, boxValues = 0;
  int64_t pitch = 0; // elements between rows of scores
  int64_t weightPitch = 0;
  bool inTiles = false;           // products are those of a matrix unit
  bool sumsApart = false;         // dst holds no sums: its type, or an epilogue
  bool copiesValues = false;      // their rows lie badly: read a copy
  std::optional<CausalMask> mask; // keys that it hides are skipped
  ScratchPlan<AttentionScratch> scratch;
};

AttentionSchedule makeSchedule(const AttentionProblem &problem,
                               tile::TargetAttr target);

} // namespace tenon::passes
