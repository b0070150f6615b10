//===- Quantised.cpp - operands of products that are dequantised ----------===//
#include "passes/graph/Quantised.h"

#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Orders.h"

using namespace mlir;

namespace tenon {

unsigned bitsOf(Value bytes) {
  Operation *def = bytes.getDefiningOp();
  auto attr = def ? def->getAttrOfType<IntegerAttr>(kBitsAttr) : IntegerAttr();
  return attr ? attr.getInt() : 8;
}

bool Quantised::isDynamic() const {
  return kindOf(dequantize).starts_with("Dynamic");
}

bool Quantised::hasZeroPoint() const {
  if (isDynamic())
    return dequantize->getNumOperands() > 2;
  return llvm::any_of(intsAttr(dequantize, "zps"),
                      [](int64_t z) { return z != 0; });
}

ArrayRef<float> Quantised::scales() const {
  return dequantize->getAttrOfType<DenseF32ArrayAttr>("scales").asArrayRef();
}

int64_t Quantised::scaleCount() const {
  if (!isDynamic())
    return scales().size();
  auto type = rankedType(dequantize->getOperand(1));
  return type.hasStaticShape() ? type.getNumElements() : ShapedType::kDynamic;
}

Value Quantised::viewed(OpBuilder &b, Value v) const {
  for (Operation *view : llvm::reverse(views)) {
    auto shape = rankedType(view->getResult(0)).getShape();
    v = isKind(view, "StaticTranspose")
            ? buildTranspose(b, view->getLoc(), v, orderOf(view->getResult(0)))
            : buildReshape(b, view->getLoc(), v, shape);
  }
  return v;
}

std::optional<int64_t> Quantised::axisBehind(int64_t axis) const {
  for (Operation *view : llvm::reverse(views)) {
    if (!isKind(view, "StaticTranspose"))
      return std::nullopt;
    Order order = orderOf(view->getResult(0));
    axis = llvm::find(order, axis) - order.begin();
  }
  return axis;
}

Quantised traceQuantised(Value v) {
  Quantised q;
  Operation *def = v.getDefiningOp();
  for (; def; def = def->getOperand(0).getDefiningOp()) {
    StringRef kind = kindOf(def);
    if (kind == "StaticTranspose" || kind == "StaticReshape") {
      q.views.push_back(def);
      continue;
    }
    bool casts =
        kind == "TypeCast" &&
        isa<FloatType>(rankedType(def->getOperand(0)).getElementType());
    if (!casts)
      break;
  }
  if (!def || !kindOf(def).ends_with("Dequantize"))
    return q;
  q.dequantize = def;
  return q;
}

} // namespace tenon
