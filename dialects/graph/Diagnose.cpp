//===- Diagnose.cpp - errors with codes in MLIR's diagnostics -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A diagnostic has a list of values that are not printed. The error is a
// dictionary there: arguments of diagnostics own no text, attributes do.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Diagnose.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace tenon::graph {

namespace {

constexpr llvm::StringLiteral kCode = "tenon.code", kMessage = "message",
                              kKind = "op_kind", kName = "op_name",
                              kId = "op_id", kHint = "hint";

std::string textOf(DictionaryAttr fields, StringRef name) {
  return fields.getAs<StringAttr>(name).str();
}

} // namespace

InFlightDiagnostic report(Operation *op, const Error &error) {
  Builder b(op->getContext());
  NamedAttrList fields;
  fields.set(kCode, b.getI64IntegerAttr(static_cast<int64_t>(error.code)));
  fields.set(kMessage, b.getStringAttr(error.message));
  fields.set(kKind, b.getStringAttr(error.opKind));
  fields.set(kName, b.getStringAttr(error.opName));
  fields.set(kHint, b.getStringAttr(error.hint));
  if (error.opId)
    fields.set(kId, b.getI64IntegerAttr(static_cast<int64_t>(*error.opId)));
  InFlightDiagnostic diagnostic = op->emitError(error.str());
  diagnostic.getUnderlyingDiagnostic()->getMetadata().push_back(
      DiagnosticArgument(fields.getDictionary(op->getContext())));
  return diagnostic;
}

std::optional<Error> errorIn(Diagnostic &diagnostic) {
  for (DiagnosticArgument &argument : diagnostic.getMetadata()) {
    if (argument.getKind() !=
        DiagnosticArgument::DiagnosticArgumentKind::Attribute)
      continue;
    auto fields = dyn_cast<DictionaryAttr>(argument.getAsAttribute());
    auto code = fields ? fields.getAs<IntegerAttr>(kCode) : IntegerAttr();
    if (!code)
      continue;
    Error error;
    error.code = static_cast<ErrorCode>(code.getInt());
    error.message = textOf(fields, kMessage);
    error.opKind = textOf(fields, kKind);
    error.opName = textOf(fields, kName);
    error.hint = textOf(fields, kHint);
    if (auto id = fields.getAs<IntegerAttr>(kId))
      error.opId = id.getValue().getZExtValue();
    return error;
  }
  return std::nullopt;
}

} // namespace tenon::graph
