//===- OutlineGroups.h - groups become functions ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/fuse/Group.h"
#include "passes/support/UniqueNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace tenon::passes {

/// Makes functions of the groups of one module; equal ones are one function.
class GroupOutliner {
public:
  explicit GroupOutliner(mlir::ModuleOp module) : module(module) {}

  /// Rebuilds `f` as calls of functions of `groups`, which hold all of its
  /// operations but views and literals, in order.
  void outline(mlir::func::FuncOp f, llvm::ArrayRef<Group> groups);

  /// How many groups have the function of another one.
  int64_t shared() const { return sharedGroups; }

private:
  friend struct Outlining;

  mlir::func::FuncOp functionOf(const Group &group,
                                llvm::ArrayRef<mlir::Value> inputs,
                                llvm::ArrayRef<mlir::Value> outputs,
                                llvm::StringRef label);

  mlir::ModuleOp module;
  llvm::StringMap<mlir::func::FuncOp> known; // by text of type and body
  UniqueNames names;
  int64_t sharedGroups = 0;
};

} // namespace tenon::passes
