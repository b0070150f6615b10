//===- BackwardProblem.h - gradients of attention: what and how -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Operands and sizes of tile.attention_backward, and all decisions, which
// follow from these and the target.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/core/ScratchPlan.h"

namespace tenon::passes {

/// Arguments of the region before the epilogue operands.
inline constexpr unsigned kFirstBackwardOperand = 5;

/// Operands and results over the leading dimensions of q.
struct BackwardProblem {
  llvm::SmallVector<Index> lead;
  Index rows, keys;
  int64_t depth = 0, columns = 0; // elements of a query, of a value
  Strided q, k, v, diff, dq, dk, dv;
  llvm::SmallVector<Strided> epilogueOperands; // [lead.., rows, keys]
  mlir::Block *gradient = nullptr;
  llvm::SmallVector<int64_t> own,
      shared; // dims of `lead` that keys have or not

  mlir::Type element() const { return q.elementType(); }
  bool isNarrow() const { return !element().isF32(); }
};

BackwardProblem readBackwardProblem(GroupContext &ctx,
                                    tile::AttentionBackwardOp op);

/// Where the memory of an item has what. Panels have neighbours of K together
/// where products want that.
struct BackwardScratch {
  mlir::Value keyColumns, valueColumns; // panels: keys are columns
  mlir::Value scores, ofWeights;        // f32; weights and gradients after it
  mlir::Value weights, gradients;       // these two in a narrow type ...
  mlir::Value weightsAcross, gradientsAcross; // ... and transposed
  mlir::Value q, diff;                        // copies that are left operands
  mlir::Value qRows, diffRows, keyRows;       // right operands, if not in place
  mlir::Value dk, dv; // sums in f32 of what has another type
};

struct BackwardSchedule {
  mlir::Type element;     // of operands of products: f32, or one with dots
  int64_t interleave = 1; // neighbours of K together in right operands
  int64_t queries = 0, keys = 0;            // of a block
  int64_t panel = 0;                        // columns of a panel of keys
  int64_t depthPanel = 0, valuePanel = 0;   // of q and k, and of values
  int64_t pitch = 0;                        // between rows of scores
  int64_t narrowPitch = 0, acrossPitch = 0; // of weights, also transposed
  Index keyBlocks, partBlocks, parts;       // blocks of all keys, and of a part
  bool sumsParts = false; // dq is the sum of what a second section adds up

  /// Whether products take dots of neighbours.
  bool isInterleaved() const { return interleave > 1; }
  /// Whether rows of `operand` are copied before products read them.
  bool copies(const Strided &operand) const {
    return operand.elementType() != element ||
           !operand.strides.back().isConstant(1);
  }
  /// Whether sums are made in scratch memory and then rounded.
  bool sumsApart(const Strided &result) const {
    return !result.elementType().isF32();
  }

  ScratchPlan<BackwardScratch> scratch;
};

BackwardSchedule makeBackwardSchedule(const BackwardProblem &problem,
                                      tile::TargetAttr target);

} // namespace tenon::passes
