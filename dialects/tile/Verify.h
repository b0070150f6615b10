//===- Verify.h - checks that verifiers of the dialect share ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace tenon::tile {

/// Reports when `op`, of a region on scalars called `region`, is not what can
/// be done to vectors: elementwise, on scalars, without effects.
void verifyScalarOp(mlir::Operation &op, const llvm::Twine &region,
                    llvm::function_ref<mlir::InFlightDiagnostic()> report);

} // namespace tenon::tile
