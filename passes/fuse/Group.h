//===- Group.h - which operations may share a group ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/ops/OpKinds.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>
#include <vector>

namespace tenon::passes {

/// The Concat of a group of that kind.
mlir::Operation *concatOf(mlir::func::FuncOp group);
/// What the call of such a group has in place (kInPlaceAttr), as values of the
/// caller that the Concat joins; null for the others.
llvm::SmallVector<mlir::Value> elidedOperands(mlir::func::CallOp call,
                                              mlir::func::FuncOp group);

struct Group {
  GroupKind kind;
  std::vector<mlir::Operation *> ops; // in order
  /// The iteration space: the shape of elementwise results, of the operand of
  /// row operations, of the product.
  llvm::SmallVector<int64_t> space;
  ReductionSpace rows; // of its row operations
};

/// Whether the row operation `op` has the rows of `group`.
bool sharesRows(mlir::Operation *op, const Group &group);

/// Values of the first `n` operations of `group` that others read.
llvm::SmallVector<mlir::Value> escaping(const Group &group, size_t n);

/// Why `op` does not join `group`; empty: it may.
std::string
explainRefusal(mlir::Operation *op, const Group &group,
               const llvm::DenseMap<mlir::Operation *, int> &groupOf,
               int groupIndex, int64_t maxOps);

} // namespace tenon::passes
