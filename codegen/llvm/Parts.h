//===- Parts.h - a module as parts of about equal work ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The last lowering and LLVM look at one function at a time, so that a large
// module can go through them in parts, several at once. (llvm::splitCodeGen
// would take one LLVM module, after all but the emission of code.)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

namespace tenon::codegen {

/// In how many parts a module of functions and constants is to be compiled; 1
/// when it is small or holds anything else.  Depends on nothing but the module,
/// so that equal modules give equal code whatever compiles them.
int64_t countParts(mlir::ModuleOp module);

/// Moves everything in `module` to `parts` modules inside it, each with copies
/// of the constants and declarations of the functions it uses.  Functions that
/// nobody in the module uses, its entries, are in the first part.  A function
/// of the LLVM dialect that another part uses loses internal linkage.
void splitIntoParts(mlir::ModuleOp module, int64_t parts);

/// Undoes splitIntoParts(), in the order of before; what has been added since
/// comes first.  Fails when two parts have added different things of one name.
mlir::LogicalResult joinParts(mlir::ModuleOp module);

} // namespace tenon::codegen
