// SPDX-License-Identifier: Apache-2.0
#include "passes/support/Diagnose.h"

#include "dialects/graph/Diagnose.h"
#include "passes/support/GraphAttrs.h"

using namespace mlir;

namespace tenon::passes {

InFlightDiagnostic emitError(Operation *op, ErrorCode code,
                             const Twine &message, StringRef hint) {
  Error error;
  error.code = code;
  error.message = message.str();
  error.hint = hint.str();
  StringRef kind = kindOf(op);
  error.opKind = (kind.empty() ? op->getName().getStringRef() : kind).str();
  error.opName = nameOf(op->getLoc());
  return graph::report(op, error);
}

} // namespace tenon::passes
