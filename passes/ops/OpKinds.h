//===- OpKinds.h - how operations are lowered ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What every phase asks of an operation beyond the facts of the table
// (dialects/graph/OpFacts.h): how a group that it starts is lowered, which rows
// it reduces.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/tile/TileDialect.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace tenon::passes {

using tile::GroupKind;

/// A result that needs a buffer even if nobody reads it: the state that a
/// recurrence carries from step to step.
bool isState(mlir::Value v);
/// Whether the result of `op` shows memory of its operand, but not each element
/// once, as a view does (OpFacts.h): slices and repetitions.
bool isPartView(mlir::Operation *op);
/// What has no code: views, and those.
bool isAlias(mlir::Operation *op);

/// Whether `op` is a MaxPool whose indices are read.
bool findsMaxima(mlir::Operation *op);
/// What `v` shows memory of, or `v`.
mlir::Value skipAliases(mlir::Value v);
/// The group that `op` starts; none for aliases and literals.
std::optional<GroupKind> kindOfGroup(mlir::Operation *op);

/// Whether elementwise operations may follow `first`, the first operation of a
/// group, where it stores: products, pooling and depthwise convolutions.
bool takesEpilogue(mlir::Operation *first);
/// Whether the values of `op` fit into an epilogue: none has 64 bits.
bool fitsEpilogue(mlir::Operation *op);
/// Where the channels of a tensor of `rank` dimensions are (data_format).
int64_t channelDim(mlir::Operation *op, int64_t rank);
/// Dimensions of src along which the slope of a PReLU or its gradient goes, one
/// per dimension of the slope.
llvm::SmallVector<int64_t> slopeDims(mlir::Operation *op);

/// The rows of an operation that reduces (graph::isReductionLike).
struct ReductionSpace {
  /// Which dimensions of operand 0 are reduced.  With `groups`, dimension
  /// `channel` counts as two, groups x channels of one group.
  llvm::SmallVector<bool> reduced;
  int64_t groups = 0;
  int64_t channel = 0;

  bool operator==(const ReductionSpace &other) const = default;
};
ReductionSpace reductionSpace(mlir::Operation *op);

} // namespace tenon::passes
