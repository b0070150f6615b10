// SPDX-License-Identifier: Apache-2.0
#include "passes/layout/Selection.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tenon-pack-weights"

using namespace mlir;

namespace tenon::passes {

void Selection::replace(Operation *op, Value product) {
  assert(product.getType() == op->getResult(0).getType());
  LDBG() << nameOf(op->getLoc()) << ", " << op->getName() << ", becomes "
         << product.getDefiningOp()->getName();
  for (StringRef name : {kOrderAttr, kEmptyLikeSrcAttr})
    if (Attribute attr = op->getAttr(name))
      product.getDefiningOp()->setAttr(name, attr);
  op->getResult(0).replaceAllUsesWith(product);
  op->erase();
  ++packed;
}

Value channelsLast(OpBuilder &b, Value data) {
  auto transpose = data.getDefiningOp<graph::StaticTransposeOp>();
  if (!transpose)
    return data;
  // Transposed twice, it may lie channels last in memory.
  if (transpose.getSrc().getDefiningOp<graph::StaticTransposeOp>())
    return data;
  auto strides = callerStrides(skipTransposes(data));
  if (!strides.empty() && strides.back() == 1)
    return data;
  Value copy =
      buildGraphOp(b, data.getLoc(), "Reorder", data, rankedType(data));
  // There is one now: others need not read across rows.
  data.replaceUsesWithIf(copy, [&](OpOperand &use) {
    Operation *reader = use.getOwner();
    return reader != copy.getDefiningOp() && !graph::isView(reader) &&
           !isa<func::ReturnOp>(reader) &&
           copy.getDefiningOp()->isBeforeInBlock(reader);
  });
  return copy;
}

Value sumOfParts(OpBuilder &b, Value parts) {
  auto type = rankedType(parts);
  return buildGraphOp(b, parts.getLoc(), "ReduceSum", parts,
                      RankedTensorType::get(type.getShape().drop_front(),
                                            type.getElementType()),
                      {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({0})),
                       b.getNamedAttr("keep_dims", b.getBoolAttr(false))});
}

} // namespace tenon::passes
