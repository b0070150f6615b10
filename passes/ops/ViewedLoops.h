//===- ViewedLoops.h - one nest of loops for values under views -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Scales of groups are multiplied with a tensor whose dimension is cut into
// groups and the elements of one, and what that gives is read with both as one
// dimension again, perhaps transposed:
//
//   %0 = Multiply %q, %s     : [T, 4, 32], [T, 4, 1]     loops t, g, e
//   %1 = StaticReshape %0    : [T, 128]                  dims t; g and e
//   %2 = StaticTranspose %1  : [128, T]                  dims g and e; t
//
// One nest of loops computes all of it, if every dimension of every tensor is
// made of some of these loops, one inside the other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace tenon::passes {

struct ViewedLoops {
  /// The loops of each dimension of a value, the outermost first; none for a
  /// dimension of size 1.
  using Dims = llvm::SmallVector<llvm::SmallVector<unsigned, 2>>;

  llvm::SmallVector<int64_t> sizes; // of the loops, or dynamic
  llvm::DenseMap<mlir::Value, Dims> dims;
};

/// The loops that compute `v` by those of `ops` that make it, which are
/// elementwise operations and views in order. None where a view moves elements
/// in another way, or its sizes do not tell how.
std::optional<ViewedLoops>
findViewedLoops(mlir::Value v, llvm::ArrayRef<mlir::Operation *> ops);

} // namespace tenon::passes
