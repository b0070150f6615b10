//===- AttentionProblem.h - the operands and sizes of attention -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a group with tile.attention asks for: where its operands are, how large
// they are, and what the operation does to scores. Nothing here is a choice.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/Epilogue.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/products/PackPanels.h"

namespace tenon::passes {

/// Arguments of the regions of scores and of weights that are epilogue operand
/// 0.
inline constexpr unsigned kFirstEpilogueOperand = 3, kFirstWeightOperand = 2;

/// Dimensions of keys and of values, counted from the last.
inline constexpr int64_t kDimOfDepth = 1, kDimOfKeys = 0, kDimOfColumns = 0,
                         kDimOfValues = 1;

/// Whether `operand`, over rows and columns, has one element for a whole
/// matrix.
bool hasOnePerMatrix(const Strided &operand);

/// Keys or values that the group packs: the tensors that are read, over the
/// leading dimensions.
struct PackedInput {
  PanelPacking packing;
  llvm::SmallVector<Strided, 2> sources;
};

/// Queries, keys or values that the group computes: the tensors that are read,
/// over the leading dimensions and the two of the operand.
struct FusedInput {
  FusedOperand value;
  llvm::SmallVector<Strided, 2> sources;
};

/// dst = epilogue(weights(softmax(score(q k))) v) for each index of `lead`.
/// With `fromLeft` it is dst = v weights(..): sums are over the queries.
struct AttentionProblem {
  explicit AttentionProblem(Epilogue epilogue)
      : epilogue(std::move(epilogue)) {}

  bool isNarrow() const { return !element.isF32(); }
  /// Whether the group packs keys that also can be read as they lie, with the
  /// values.
  bool hasKeysInPlace() const {
    bool isRead = element.isF32() && packedKeys && packedKeys->packing.isRead();
    return packedKeys && (interleave == 1 || packedValues) && !fromLeft &&
           !normalized && (isRead || depth.constant());
  }

  llvm::SmallVector<Index> lead; // dimensions before the rows of dst
  Index rows, depth;             // of q: queries, and elements of each
  Index keys;
  int64_t columns = 0; // elements of a value
  /// Of products: of q, k, v, and of weights between them.
  mlir::Type element;

  /// [lead.., rows, depth], [lead.., depth, keys], [lead.., keys, columns] and
  /// [lead.., rows, columns]. k and v have only leading dimensions where they
  /// are packed, and no base where the group makes them. Keys and values that
  /// the group computes are in scratch memory or, `inPlace`, a few at a time.
  Strided q, k, v, dst;
  std::optional<Strided> stats;                // [lead.., rows, 1]
  llvm::SmallVector<Strided> epilogueOperands; // [lead.., rows, keys]

  bool inPlace = false;   // keys are read as they lie
  int64_t panel = 0;      // columns of a panel of packed k
  int64_t interleave = 1; // of packed k and v
  int64_t valuePanel = 0; // columns of a panel of v, with interleave
  std::optional<PackedInput> packedValues, packedKeys;
  std::optional<FusedInput> fusedQueries, fusedKeys, fusedValues;

  mlir::Block *score = nullptr;   // (score, row, column, epilogue operands..)
  mlir::Block *weights = nullptr; // (weight, number, ..), if there is one
  bool normalized = false;        // weights are divided before that region
  bool infAsZero = false;         // rows whose scores are all -inf weigh 0
  bool fromLeft = false;
  Epilogue epilogue; // reads constants only
};

/// The problem that `op`, the only attention of the group, is. Heads that share
/// keys and values become rows of one product.
AttentionProblem readProblem(GroupContext &ctx, tile::AttentionOp op);

/// The same with keys and values that are read in place, for one that
/// hasKeysInPlace.
AttentionProblem readInPlace(GroupContext &ctx, tile::AttentionOp op);

} // namespace tenon::passes
