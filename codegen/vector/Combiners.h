//===- Combiners.h - how reductions combine --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/vector/VectorPlan.h"

namespace tenon::codegen {

/// How output `number` of `op` accumulates: yield = combine(old value, new
/// element); nothing if it does otherwise.
std::optional<Combiner> matchCombiner(mlir::linalg::LinalgOp op,
                                      unsigned number);

/// One partial result of two; of all `values`, in a tree.
mlir::Value combine(mlir::OpBuilder &b, mlir::Location loc,
                    const Combiner &combiner, mlir::Value x, mlir::Value y);
mlir::Value combineAll(mlir::OpBuilder &b, mlir::Location loc,
                       const Combiner &combiner,
                       llvm::SmallVector<mlir::Value> values);

/// The lanes of each of `vectors`, which are of one type, as one scalar: halves
/// combined with halves, the same tree on every machine of this width. Halves
/// of two vectors lie side by side in one, so that several are folded with
/// little more than one alone.
llvm::SmallVector<mlir::Value>
foldLanes(mlir::OpBuilder &b, mlir::Location loc, const Combiner &combiner,
          llvm::SmallVector<mlir::Value> vectors);

} // namespace tenon::codegen
