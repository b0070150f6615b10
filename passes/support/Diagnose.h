//===- Diagnose.h - errors of passes ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/support/Error.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace tenon::passes {

/// Reports what a user may meet: an error with its code about `op`, which it
/// names by kind and name. Faults of the compiler itself have no code of their
/// own: op->emitError.
mlir::InFlightDiagnostic emitError(mlir::Operation *op, ErrorCode code,
                                   const llvm::Twine &message,
                                   llvm::StringRef hint = {});

} // namespace tenon::passes
