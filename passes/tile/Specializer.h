//===- Specializer.h - groups lowered for the layouts they meet -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/support/IndexFacts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace tenon::passes {

/// Specialisations of group functions for the layouts they meet.
class Specializer {
public:
  explicit Specializer(mlir::ModuleOp module) : module(module) {}

  /// What is known of the sizes of one buffer.
  using SizesFacts = llvm::SmallVector<IndexFacts>;

  /// `group` lowered for these buffers, or null after an error. After them it
  /// takes its temporaries. `facts`: of the sizes of all buffers. `inPlace` as
  /// in GroupContext.
  mlir::func::FuncOp get(mlir::func::FuncOp group, mlir::TypeRange inputs,
                         mlir::TypeRange outputs,
                         llvm::ArrayRef<SizesFacts> facts,
                         llvm::ArrayRef<int64_t> inPlace);
  int64_t count() const { return known.size(); }
  /// Sizes that the types of the temporaries of `lowered` do not have, of each
  /// temporary: values in the body of `lowered`.
  llvm::ArrayRef<llvm::SmallVector<mlir::Value>>
  sizesOfTemporaries(mlir::func::FuncOp lowered) const {
    return temporaries.find(lowered)->second;
  }

private:
  void passTemporaries(mlir::func::FuncOp fn);

  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Operation *,
                 llvm::SmallVector<llvm::SmallVector<mlir::Value>>>
      temporaries;
  llvm::StringMap<mlir::func::FuncOp> known;
  llvm::StringMap<int> names;
};

} // namespace tenon::passes
