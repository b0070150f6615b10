//===- Permutations.cpp - tensors in another order ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/support/Permutations.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace tenon::passes {

Order orderOf(Value v) {
  auto def = v.getDefiningOp<graph::StaticTransposeOp>();
  if (!def)
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

std::optional<Order> orderInMemory(ArrayRef<int64_t> shape,
                                   ArrayRef<int64_t> strides) {
  Order order = llvm::to_vector(llvm::seq<int64_t>(shape.size()));
  llvm::stable_sort(order, [&](int64_t a, int64_t b) {
    // Those of one element may have any stride.
    return std::pair(strides[a], shape[a]) > std::pair(strides[b], shape[b]);
  });
  int64_t stride = 1;
  for (int64_t d : llvm::reverse(order)) {
    if (shape[d] != 1 && strides[d] != stride)
      return std::nullopt;
    stride *= shape[d];
  }
  return order;
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

Transposed skipTransposes(Value v) {
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

bool isStridedResult(Value v) {
  return llvm::any_of(v.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (graph::isView(user))
      return isStridedResult(user->getResult(0));
    auto entry = dyn_cast<func::FuncOp>(user->getParentOp());
    return entry && isa<func::ReturnOp>(user) &&
           entry.getResultAttr(use.getOperandNumber(), kStridesAttr);
  });
}

std::optional<SmallVector<int64_t>> reshapedStrides(ArrayRef<int64_t> shape,
                                                    ArrayRef<int64_t> strides,
                                                    ArrayRef<int64_t> to) {
  auto isSize = [](int64_t d) { return d > 0; };
  if (!llvm::all_of(shape, isSize) || !llvm::all_of(to, isSize))
    return std::nullopt;
  // Neighbours that are one dimension, as size and stride.
  SmallVector<std::pair<int64_t, int64_t>> merged;
  for (auto [size, stride] : llvm::zip(shape, strides)) {
    if (size == 1)
      continue;
    if (ShapedType::isDynamic(stride))
      return std::nullopt;
    if (!merged.empty() && merged.back().second == size * stride)
      merged.back() = {merged.back().first * size, stride};
    else
      merged.push_back({size, stride});
  }
  // Each is cut into dimensions of the result, back to front.
  SmallVector<int64_t> result(to.size(), 1);
  int64_t d = static_cast<int64_t>(to.size()) - 1;
  for (auto [size, stride] : llvm::reverse(merged)) {
    int64_t covered = 1;
    for (; covered < size && d >= 0; --d) {
      result[d] = stride * covered;
      covered *= to[d];
    }
    if (covered != size)
      return std::nullopt;
  }
  return llvm::all_of(to.take_front(d + 1), [](int64_t n) { return n == 1; })
             ? std::optional(result)
             : std::nullopt;
}

std::optional<SmallVector<int64_t>>
stridesBeforeView(Value v, ArrayRef<int64_t> strides) {
  Order order = orderOf(v);
  if (order.empty())
    return reshapedStrides(
        rankedType(v).getShape(), strides,
        rankedType(v.getDefiningOp()->getOperand(0)).getShape());
  SmallVector<int64_t> before(strides.size());
  for (auto [d, stride] : llvm::zip(order, strides))
    before[d] = stride;
  return before;
}

std::optional<SmallVector<int64_t>>
stridesBehindView(Value v, ArrayRef<int64_t> strides) {
  Order order = orderOf(v);
  return order.empty()
             ? reshapedStrides(
                   rankedType(v.getDefiningOp()->getOperand(0)).getShape(),
                   strides, rankedType(v).getShape())
             : std::optional(permuted(strides, order));
}

SmallVector<int64_t> resultStrides(func::FuncOp entry, unsigned i) {
  auto attr = entry.getResultAttrOfType<DenseI64ArrayAttr>(i, kStridesAttr);
  if (attr)
    return SmallVector<int64_t>(attr.asArrayRef());
  auto type = cast<RankedTensorType>(entry.getResultTypes()[i]);
  return MemRefType::get(type.getShape(), type.getElementType())
      .getStridesAndOffset()
      .first;
}

Value writtenAsComputed(func::FuncOp entry, unsigned i) {
  Value v = entry.getBody().front().getTerminator()->getOperand(i), source = v;
  SmallVector<int64_t> strides = resultStrides(entry, i);
  for (Operation *view = v.getDefiningOp(); view && graph::isView(view);
       view = source.getDefiningOp()) {
    auto before = stridesBeforeView(source, strides);
    if (!before)
      return {};
    source = view->getOperand(0);
    strides = std::move(*before);
  }
  Operation *def = source.getDefiningOp();
  bool computed = source != v && def && !isa<arith::ConstantOp>(def);
  return computed && (strides.empty() || strides.back() == 1) ? source
                                                              : Value();
}

} // namespace tenon::passes
