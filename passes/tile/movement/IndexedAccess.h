//===- IndexedAccess.h - elements at places that indices say ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A gather or a scatter goes over a space of loops. Each position of it meets
// one element of a tensor, whose place is the sum of loop indices times strides
// and of indices, which are elements of other tensors, times strides.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/GroupLowering.h"

namespace tenon::passes {

/// Elements of a tensor of indices that count elements of one dim.
struct IndexTensor {
  Strided memory; // over the loops
  Index limit;    // the size of the dim
  Index stride;   // of the dim in the tensor that is indexed

  /// `raw`, an element, counted from the front; written by `m`.
  static Index wrapped(IndexMath &m, mlir::Value raw, Index limit);
};

struct IndexedAccess {
  llvm::SmallVector<Index> sizes; // of the loops
  llvm::SmallVector<IndexTensor> indices;
  Strided tensor;                   // that is indexed
  llvm::SmallVector<Index> strides; // of each loop in it, beside the indices

  int64_t rank() const { return sizes.size(); }
  /// The number of loops, from the last one, along which no index varies.
  int64_t innerLoops() const;

  /// The execution fails unless all indices are from -limit to limit - 1.
  void requireInside(GroupContext &ctx) const;

  /// The place in `tensor`, in elements, at position `at` of the first loops.
  Index placeAt(IndexMath &m, llvm::ArrayRef<Index> at) const;
  /// Index `i` at this position, counted from the front.
  Index indexAt(IndexMath &m, int64_t i, llvm::ArrayRef<Index> at) const;
};

/// What Gather, GatherElements and GatherND read, over the dims of the result.
IndexedAccess gatherOf(GroupContext &ctx, mlir::Operation *op);
/// What ScatterElements and ScatterND write, over the dims of the updates.
IndexedAccess scatterOf(GroupContext &ctx, mlir::Operation *op);

void emitGather(GroupContext &ctx, const IndexedAccess &access,
                const Strided &dst);
/// `reduction` as in ScatterND; `element` is the type of the graph's tensors.
void emitScatter(GroupContext &ctx, const IndexedAccess &access,
                 const Strided &updates, llvm::StringRef reduction,
                 mlir::Type element);
void lowerPad(GroupContext &ctx, mlir::Operation *op);

} // namespace tenon::passes
