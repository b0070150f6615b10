//===- LocalFunction.h - functions that are not inlined --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::codegen {

/// Creates a function without a body at the builder's place. It is private to
/// the object file and never inlined: kernels are called from many places.
mlir::func::FuncOp createLocalFunction(mlir::OpBuilder &builder,
                                       mlir::Location loc, llvm::StringRef name,
                                       mlir::FunctionType type);

} // namespace tenon::codegen
