//===- ExpandQuantize.cpp - quantisation as arithmetic --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every Quantize and Dequantize becomes arithmetic: ops/ExpandQuantize.cpp.
//
//===----------------------------------------------------------------------===//
#include "passes/ops/ExpandQuantize.h"
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"

#include "passes/Passes.h"
#include "passes/ops/Quantised.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_EXPANDQUANTIZE
#include "passes/Passes.h.inc"

namespace {

/// Makes the greatest level of Quantize(MaxPool(Dequantize(q))) of one scale.
/// Whether `quantize` was one, and is gone.
bool takeGreatestLevel(Operation *quantize) {
  auto pool = quantize->getOperand(0).getDefiningOp<graph::MaxPoolOp>();
  if (!isa<graph::QuantizeOp>(quantize) || !pool || !pool->hasOneUse())
    return false;
  Operation *dequantize = pool->getOperand(0).getDefiningOp();
  if (!dequantize || !commutesWithPooling(dequantize, pool))
    return false;
  for (StringRef name : {"scales", "zps", "axis", "qtype"})
    if (quantize->getAttr(name) != dequantize->getAttr(name))
      return false;
  Value q = dequantize->getOperand(0), result = quantize->getResult(0);
  Type element = rankedType(q).getElementType();
  if (rankedType(result).getElementType() != element ||
      quantize->hasAttr(kBitsAttr))
    return false;
  OpBuilder b(pool);
  pool->setOperand(0, buildCast(b, dequantize->getLoc(), q, b.getF32Type()));
  b.setInsertionPoint(quantize);
  result.replaceAllUsesWith(
      buildCast(b, quantize->getLoc(), pool->getResult(0), element));
  quantize->erase();
  return true;
}

struct ExpandQuantizePass : impl::ExpandQuantizeBase<ExpandQuantizePass> {
  using ExpandQuantizeBase::ExpandQuantizeBase;
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (graph::isQuantization(op))
        ops.push_back(op);
    });
    expanded += ops.size();
    llvm::erase_if(ops, takeGreatestLevel);
    for (Operation *op : ops)
      expandQuantize(op);
    eraseDeadOps(getOperation()); // dequantised for nobody now
  }
};

} // namespace
} // namespace tenon::passes
