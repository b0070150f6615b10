//===- LoopEmitter.h - the loops around the blocks -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/vector/VectorPlan.h"

#include "mlir/IR/Builders.h"

namespace tenon::codegen {

/// Emits the loops that compute `op` as `plan` says, before `op`.
void emitLoops(mlir::OpBuilder &builder, mlir::linalg::LinalgOp op,
               const LoopAccess &access, const VectorPlan &plan);

} // namespace tenon::codegen
