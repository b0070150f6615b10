//===- GraphDialect.cpp - the graph dialect -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/GraphDialect.h"

#include "dialects/graph/Diagnose.h"
#include "dialects/graph/PlainOp.h"
#include "dialects/graph/infer/Infer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/graph/GraphDialect.cpp.inc"
#include "dialects/graph/GraphEnums.cpp.inc"
#include "dialects/graph/GraphInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/graph/GraphTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/graph/GraphOps.cpp.inc"

namespace tenon::graph {

void GraphDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/graph/GraphTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/graph/GraphAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/GraphOps.cpp.inc"
      >();
}

LogicalResult LayoutAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    llvm::function_ref<InFlightDiagnostic()> emitError) const {
  if (!getStrides().empty() && getStrides().size() != shape.size())
    return emitError() << "layout has " << getStrides().size()
                       << " strides for a tensor of rank " << shape.size();
  return success();
}

const OpInfo &infoOf(Operation *op) {
  // Every operation of the dialect is generated from a row of the table.
  return *lookupOp(op->getName().stripDialect());
}

LogicalResult verifyGraphOp(Operation *op) {
  if (llvm::any_of(op->getResultTypes(), isWord) ||
      llvm::any_of(op->getOperandTypes(), isWord))
    return success(); // of a pass, with a type that the table has not
  PlainOp plain = plainOf(op);
  std::vector<Error> errors = verifyOp(plain.op, plain.inputs, plain.outputs);
  for (Error &error : errors) {
    if (!op->hasAttr(kIdAttr)) // written by hand: no id for a message to give
      error.opId.reset();
    report(op, error);
  }
  return success(errors.empty());
}

} // namespace tenon::graph
