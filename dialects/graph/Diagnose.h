//===- Diagnose.h - errors with codes in MLIR's diagnostics ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/support/Error.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace tenon::graph {

/// Reports `error` at `op`. The diagnostic reads as error.str() and carries the
/// error itself, for errorIn.
mlir::InFlightDiagnostic report(mlir::Operation *op, const Error &error);

/// The error that `diagnostic` carries; none where somebody else reported it.
std::optional<Error> errorIn(mlir::Diagnostic &diagnostic);

} // namespace tenon::graph
