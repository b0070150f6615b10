// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/OpFacts.h"

namespace tenon::graph {

const OpInfo &factsOf(mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  if (!name.consume_front("graph."))
    name = "";
  return factsOf(std::string_view(name.data(), name.size()));
}

mlir::Value skipViews(mlir::Value v) {
  while (mlir::Operation *op = v.getDefiningOp()) {
    if (!isView(op))
      break;
    v = op->getOperand(0);
  }
  return v;
}

} // namespace tenon::graph
