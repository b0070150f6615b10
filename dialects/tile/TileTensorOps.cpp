#include "dialects/tile/TileDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tenon::tile;

static int64_t panels(int64_t n, int64_t panel) {
  return ShapedType::isDynamic(n) ? n : (n + panel - 1) / panel;
}

RankedTensorType PackOp::packedType(RankedTensorType weights, int64_t panel,
                                    std::optional<int64_t> groups) {
  ArrayRef<int64_t> shape = weights.getShape();
  int64_t n = shape.back();
  SmallVector<int64_t> packed;
  if (!groups) {
    packed.assign(shape.begin(), shape.end() - 2);
    packed.push_back(panels(n, panel));
    packed.push_back(shape[shape.size() - 2]);
  } else {
    packed.push_back(*groups);
    packed.push_back(panels(ShapedType::isDynamic(n) ? n : n / *groups, panel));
    packed.append(shape.begin(), shape.end() - 1);
  }
  packed.push_back(panel);
  return RankedTensorType::get(packed, weights.getElementType());
}

void PackOp::build(OpBuilder &b, OperationState &state, Value weights,
                   int64_t panel, std::optional<int64_t> groups) {
  state.addOperands(weights);
  state.addAttribute("panel", b.getI64IntegerAttr(panel));
  if (groups)
    state.addAttribute("groups", b.getI64IntegerAttr(*groups));
  state.addTypes(
      packedType(cast<RankedTensorType>(weights.getType()), panel, groups));
}

LogicalResult PackOp::verify() {
  auto weights = cast<RankedTensorType>(getWeights().getType());
  if (weights.getRank() < 2)
    return emitOpError("weights have rank ")
           << weights.getRank() << ", at least 2 is needed";
  if (getPanel() < 1 || (getGroups() && *getGroups() < 1))
    return emitOpError("panel and groups are at least 1");
  if (getGroups() && !weights.isDynamicDim(weights.getRank() - 1) &&
      weights.getShape().back() % *getGroups())
    return emitOpError() << weights.getShape().back()
                         << " columns do not divide into " << *getGroups()
                         << " groups";
  Type expected = packedType(weights, getPanel(), getGroups());
  if (getPacked().getType() != expected)
    return emitOpError("result is ")
           << getPacked().getType() << ", expected " << expected;
  return success();
}
