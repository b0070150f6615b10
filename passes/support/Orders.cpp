//===- Orders.cpp - tensors with their dimensions in another order --------===//
#include "passes/support/Orders.h"

#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace tenon {

Order orderOf(Value v) {
  Operation *def = v.getDefiningOp();
  if (!def || !isKind(def, "StaticTranspose"))
    return {};
  int64_t rank = rankedType(v).getRank();
  Order order = intsAttr(def, "order");
  for (int64_t &o : order)
    o = normalizedAxis(o, rank);
  if (order.empty()) // all dimensions from the back
    for (int64_t d = rank; d > 0; --d)
      order.push_back(d - 1);
  return order;
}

Order orderInto(Channels channels, int64_t rank) {
  Order order{0};
  if (channels == Channels::first)
    order.push_back(rank - 1);
  for (int64_t i = 1; i < rank - 1; ++i)
    order.push_back(channels == Channels::first ? i : i + 1);
  if (channels == Channels::last)
    order.push_back(1);
  return order;
}

SmallVector<int64_t> permuted(ArrayRef<int64_t> shape,
                              ArrayRef<int64_t> order) {
  SmallVector<int64_t> result;
  for (int64_t o : order)
    result.push_back(shape[o]);
  return result;
}

RankedTensorType permuted(RankedTensorType type, ArrayRef<int64_t> order) {
  return RankedTensorType::get(permuted(type.getShape(), order),
                               type.getElementType());
}

bool keepsMemory(ArrayRef<int64_t> shape, ArrayRef<int64_t> order) {
  int64_t last = -1;
  for (int64_t d : order) {
    if (shape[d] == 1)
      continue;
    if (d < last)
      return false;
    last = d;
  }
  return true;
}

bool Transposed::isSame() const {
  return keepsMemory(rankedType(source).getShape(), order);
}

Transposed behindTransposes(Value v) {
  Transposed seen;
  seen.order = llvm::to_vector(llvm::seq<int64_t>(rankedType(v).getRank()));
  for (Order order = orderOf(v); !order.empty(); order = orderOf(v)) {
    for (int64_t &d : seen.order)
      d = order[d];
    v = v.getDefiningOp()->getOperand(0);
  }
  seen.source = v;
  return seen;
}

SmallVector<int64_t> sourceStrides(const Transposed &value,
                                   DenseI64ArrayAttr attr) {
  if (!attr)
    return {};
  SmallVector<int64_t> strides(value.order.size());
  for (auto [d, stride] : llvm::zip(value.order, attr.asArrayRef()))
    strides[d] = stride;
  return strides;
}

SmallVector<int64_t> callerStrides(const Transposed &value) {
  auto arg = dyn_cast<BlockArgument>(value.source);
  auto entry =
      arg ? dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp()) : nullptr;
  if (!entry)
    return {};
  auto attr = entry.getArgAttrOfType<DenseI64ArrayAttr>(arg.getArgNumber(),
                                                        kStridesAttr);
  SmallVector<int64_t> strides;
  if (attr)
    for (int64_t d : value.order)
      strides.push_back(attr[d]);
  return strides;
}

bool isWrittenAsComputed(func::FuncOp entry, unsigned i) {
  Value v = entry.getBody().front().getTerminator()->getOperand(i);
  Transposed seen = behindTransposes(v);
  Operation *def = seen.source.getDefiningOp();
  if (seen.source == v || !def || isKind(def, "StaticReshape") ||
      isa<arith::ConstantOp>(def))
    return false;
  auto strides = sourceStrides(
      seen, entry.getResultAttrOfType<DenseI64ArrayAttr>(i, kStridesAttr));
  return !strides.empty() && strides.back() == 1;
}

} // namespace tenon
