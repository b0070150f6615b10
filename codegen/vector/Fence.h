//===- Fence.h - the end of stores past the caches -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::codegen {

/// Others see stores past the caches in any order: whoever is told that `f` has
/// returned must find them done.
void fenceStores(mlir::func::FuncOp f);

} // namespace tenon::codegen
