//===- ScalarRegion.h - regions on scalars, on boxes of scores -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// tile.attention and its gradient say by regions what happens to one score.
// Here they become the bodies of loops over a box of scores.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/Strided.h"

#include "mlir/IR/IRMapping.h"

namespace tenon::passes {

/// A number that scores are divided by, an argument of their region, and its
/// reciprocal.
struct Divisor {
  mlir::Value argument, reciprocal;
};

/// Clones `region` for one element; returns what it yields. `shared` tells the
/// arguments that are the same for a whole row, `narrow` that what is yielded
/// becomes weights in a narrower type. Where scores are divided by a number
/// that has an exact reciprocal, that is `exact`.
llvm::SmallVector<mlir::Value>
cloneScalars(mlir::OpBuilder &b, mlir::Block &region, mlir::IRMapping &map,
             llvm::function_ref<bool(mlir::BlockArgument)> shared, bool narrow,
             Divisor exact = {});

/// Epilogue operands that a region reads, over rows and columns of scores.
struct RegionOperands {
  llvm::SmallVector<mlir::Value> boxes;
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<unsigned> arguments; // of the region
};

/// Those of `operands` [.., M, N] that `region` reads, whose argument of
/// operand 0 is `first`: the box of `counts` rows and columns from `at` on.
RegionOperands readOperands(IndexMath &m, llvm::ArrayRef<Strided> operands,
                            llvm::ArrayRef<Index> at,
                            std::array<Index, 2> counts, mlir::Block &region,
                            unsigned first);

} // namespace tenon::passes
