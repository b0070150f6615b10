// SPDX-License-Identifier: Apache-2.0
#include "passes/support/Build.h"

#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tenon::passes {

Value buildGraphOp(OpBuilder &b, Location loc, StringRef kind,
                   ValueRange operands, RankedTensorType type,
                   ArrayRef<NamedAttribute> attrs) {
  OperationState state(loc, ("graph." + kind).str());
  state.addOperands(operands);
  state.addTypes(type);
  state.addAttributes(attrs);
  return b.create(state)->getResult(0);
}

Value buildTranspose(OpBuilder &b, Location loc, Value src,
                     ArrayRef<int64_t> order) {
  return buildGraphOp(b, loc, "StaticTranspose", src,
                      permuted(cast<RankedTensorType>(src.getType()), order),
                      b.getNamedAttr("order", b.getDenseI64ArrayAttr(order)));
}

Value swapLastTwo(OpBuilder &b, Value src) {
  int64_t rank = cast<RankedTensorType>(src.getType()).getRank();
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq(rank));
  std::swap(order[rank - 1], order[rank - 2]);
  return buildTranspose(b, src.getLoc(), src, order);
}

Value buildReshape(OpBuilder &b, Location loc, Value src,
                   ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(src.getType());
  SmallVector<int64_t> target;
  int64_t unknown = llvm::count_if(shape, ShapedType::isDynamic);
  // One unknown size follows from the others, unless there are no elements;
  // more are those of src.
  auto isOfSrc = [&](int64_t i) {
    return i < type.getRank() && type.getDimSize(i) == shape[i];
  };
  bool copies = unknown > 1;
  if (unknown == 1 && llvm::is_contained(shape, 0)) {
    copies = true;
    for (auto [i, d] : llvm::enumerate(shape))
      copies &= (d != 0 && !ShapedType::isDynamic(d)) || isOfSrc(i);
  }
  for (int64_t d : shape)
    target.push_back(!ShapedType::isDynamic(d) ? d : copies ? 0 : -1);
  return buildGraphOp(b, loc, "StaticReshape", src,
                      RankedTensorType::get(shape, type.getElementType()),
                      {b.getNamedAttr("shape", b.getDenseI64ArrayAttr(target)),
                       b.getNamedAttr("special_zero", b.getBoolAttr(copies))});
}

Value buildCast(OpBuilder &b, Location loc, Value src, Type element) {
  auto type = cast<RankedTensorType>(src.getType());
  if (type.getElementType() == element)
    return src;
  return buildGraphOp(b, loc, "TypeCast", src,
                      RankedTensorType::get(type.getShape(), element));
}

Value buildImplicitCast(OpBuilder &b, Location loc, Value src, Type element) {
  Value edge = buildCast(b, loc, src, element);
  if (edge != src)
    edge.getDefiningOp()->setAttr(kImplicitCastAttr, b.getUnitAttr());
  return edge;
}

bool isNarrowFloat(Value v) {
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(v.getType()));
  return type && type.getWidth() == 16;
}

void computeInF32(Operation *op, MutableArrayRef<OpOperand> operands) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  Type f32 = b.getF32Type();
  for (OpOperand &operand : operands)
    if (Value v = operand.get(); isNarrowFloat(v))
      operand.set(buildCast(b, loc, v, f32));
  b.setInsertionPointAfter(op);
  for (Value result : op->getResults()) {
    if (!isNarrowFloat(result))
      continue;
    auto type = cast<RankedTensorType>(result.getType());
    op->setAttr(kWidenedAttr, TypeAttr::get(type.getElementType()));
    result.setType(type.clone(f32));
    Value edge = buildImplicitCast(b, loc, result, type.getElementType());
    result.replaceAllUsesExcept(edge, edge.getDefiningOp());
  }
}

Value buildBinary(OpBuilder &b, Location loc, StringRef kind, Value x,
                  Value y) {
  auto xt = cast<RankedTensorType>(x.getType());
  auto yt = cast<RankedTensorType>(y.getType());
  SmallVector<int64_t> shape(std::max(xt.getRank(), yt.getRank()));
  for (int64_t i = 0, r = shape.size(); i < r; ++i) {
    int64_t xi = i - (r - xt.getRank()), yi = i - (r - yt.getRank());
    int64_t dx = xi < 0 ? 1 : xt.getDimSize(xi);
    int64_t dy = yi < 0 ? 1 : yt.getDimSize(yi);
    shape[i] = dx == 1 ? dy : dx;
  }
  return buildGraphOp(b, loc, kind, {x, y},
                      RankedTensorType::get(shape, xt.getElementType()));
}

Value buildScalar(OpBuilder &b, Location loc, double value) {
  auto type = RankedTensorType::get({}, b.getF32Type());
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, static_cast<float>(value)));
}

void eraseDeadOps(Operation *root) {
  root->walk<WalkOrder::PostOrder, ReverseIterator>([root](Operation *op) {
    if (op != root && isOpTriviallyDead(op))
      op->erase();
  });
}

} // namespace tenon::passes
