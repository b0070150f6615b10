//===- TileRecurrentOps.cpp - recurrent cells before buffers --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/Rounding.h"
#include "dialects/tile/TileDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tenon::tile;

RankedTensorType PackGatesOp::packedType(RankedTensorType weights, int64_t unit,
                                         int64_t panel) {
  int64_t hidden = weights.getDimSize(4), gates = weights.getDimSize(3);
  int64_t columns = ShapedType::isDynamic(hidden)
                        ? hidden
                        : tenon::ceilDiv(hidden, unit) * gates * unit;
  return RankedTensorType::get(
      {ShapedType::isDynamic(columns) ? columns : columns / panel,
       weights.getDimSize(2), panel},
      weights.getElementType());
}

void PackGatesOp::build(OpBuilder &b, OperationState &state, Value weights,
                        int64_t layer, int64_t unit, int64_t panel) {
  state.addOperands(weights);
  state.addAttribute("layer", b.getI64IntegerAttr(layer));
  state.addAttribute("unit", b.getI64IntegerAttr(unit));
  state.addAttribute("panel", b.getI64IntegerAttr(panel));
  state.addTypes(
      packedType(cast<RankedTensorType>(weights.getType()), unit, panel));
}

LogicalResult PackGatesOp::verify() {
  auto weights = cast<RankedTensorType>(getWeights().getType());
  if (weights.getRank() != 5)
    return emitOpError("weights have rank ")
           << weights.getRank() << ", needed is 5: [L, D, K, G, H]";
  int64_t layers = weights.getDimSize(0), gates = weights.getDimSize(3);
  if (ShapedType::isDynamic(gates) || getUnit() < 1 || getPanel() < 1 ||
      gates * getUnit() % getPanel() != 0 || getPanel() % getUnit() != 0)
    return emitOpError("a block of ")
           << getUnit() << " units and " << gates
           << " gates is no whole number of panels of " << getPanel();
  if (static_cast<int64_t>(getLayer()) < 0 ||
      (!ShapedType::isDynamic(layers) &&
       static_cast<int64_t>(getLayer()) >= layers))
    return emitOpError("layer ") << getLayer() << " of " << layers;
  Type expected = packedType(weights, getUnit(), getPanel());
  if (getPacked().getType() != expected)
    return emitOpError("result is ")
           << getPacked().getType() << ", expected " << expected;
  return success();
}

/// Whether `type` has this shape, as far as sizes are known.
static bool fits(Type type, ArrayRef<int64_t> shape) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() == static_cast<int64_t>(shape.size()) &&
         llvm::all_of(llvm::zip(tensor.getShape(), shape), [](auto pair) {
           auto [a, b] = pair;
           return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) ||
                  a == b;
         });
}

LogicalResult RnnOp::verify() {
  auto gates = cast<RankedTensorType>(getGates().getType());
  auto recurrent = cast<RankedTensorType>(getRecurrent().getType());
  auto dst = cast<RankedTensorType>(getDst().getType());
  constexpr int64_t any = ShapedType::kDynamic;
  if (gates.getRank() != 3 || recurrent.getRank() != 3 || dst.getRank() != 3)
    return emitOpError("gates, recurrent and dst have rank 3");
  int64_t batch = gates.getDimSize(1), hidden = dst.getDimSize(2);
  int64_t k = recurrent.getDimSize(1), panel = recurrent.getDimSize(2);
  int64_t unit = getUnit(), block = kGates * unit;
  if (unit < 1 || ShapedType::isDynamic(panel) || panel < 1 || block % panel ||
      panel % unit)
    return emitOpError("a block of ") << unit << " units and 4 gates is no "
                                      << "whole number of panels of " << panel;
  if (ShapedType::isDynamic(hidden))
    return emitOpError("the number of hidden units must be static");
  int64_t columns = tenon::ceilDiv(hidden, unit) * block;
  if (!fits(gates, {dst.getDimSize(0), dst.getDimSize(1), columns}))
    return emitOpError("gates are ")
           << gates << ", needed are the steps and batch of " << dst << " and "
           << columns << " columns";
  if (!fits(recurrent, {columns / panel, k, panel}))
    return emitOpError("recurrent has ")
           << recurrent.getDimSize(0) << " panels, needed are "
           << columns / panel;
  for (Value state : {getH(), getC()})
    if (!fits(state.getType(), {1, 1, batch, hidden}))
      return emitOpError("h and c are 1x1x(batch)x") << hidden;
  if (getSrcIter() && !fits(getSrcIter().getType(), {any, any, batch, k}))
    return emitOpError("src_iter is ")
           << getSrcIter().getType() << ", its last dims are batch and K";
  if (getSrcIterC() &&
      !fits(getSrcIterC().getType(), {any, any, batch, hidden}))
    return emitOpError("src_iter_c is ")
           << getSrcIterC().getType() << ", its last dims are batch and hidden";
  return success();
}
