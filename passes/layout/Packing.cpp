#include "passes/layout/Packing.h"

#include "passes/support/GraphAttrs.h"

using namespace mlir;

namespace tenon {

WindowAttrs WindowAttrs::of(Operation *op, OpBuilder &b, int64_t spatial) {
  SmallVector<int64_t> begin = intsAttr(op, "pads_begin");
  SmallVector<int64_t> end = intsAttr(op, "pads_end");
  begin.resize(spatial, 0);
  end.resize(spatial, 0);
  return {b.getDenseI64ArrayAttr(intsAttr(op, "strides")),
          b.getDenseI64ArrayAttr(begin), b.getDenseI64ArrayAttr(end),
          b.getDenseI64ArrayAttr(intsAttr(op, "dilations")),
          b.getI64IntegerAttr(intAttr(op, "groups", 1))};
}

int64_t Packing::panelFor(int64_t m, int64_t n, int64_t interleave) const {
  auto known = [](int64_t d) {
    return ShapedType::isDynamic(d) ? std::nullopt : std::optional(d);
  };
  constexpr int64_t elementBits = 32; // of sums
  int64_t lanes = isa.lanes(elementBits);
  constexpr int64_t vectorsOfTiles = 2;
  int64_t vectors = matrixUnit && interleave > 1
                        ? vectorsOfTiles
                        : microkernel::chooseRegisterTile(isa, elementBits,
                                                          known(m), known(n))
                              .vectors;
  int64_t panel = vectors * lanes;
  return ShapedType::isDynamic(n)
             ? panel
             : std::min(panel,
                        std::max<int64_t>(1, (n + lanes - 1) / lanes) * lanes);
}

int64_t Packing::interleaveFor(Type element, int64_t k) const {
  int64_t group = element.isBF16()       ? bf16Group
                  : element.isInteger(8) ? int8Group
                                         : 1;
  // A few of K, the colours of an image: most of a group would be padding, and
  // what does not fill one is put together byte by byte.
  constexpr int64_t groupsThatPay = 4;
  return ShapedType::isDynamic(k) || k < group * groupsThatPay ? 1 : group;
}

tile::MatMulOp Packing::buildMatMul(OpBuilder &b, Location loc,
                                    RankedTensorType dst, Value src,
                                    Value weights) const {
  auto type = rankedType(weights);
  int64_t rank = type.getRank();
  int64_t v = interleaveFor(type.getElementType(), type.getDimSize(rank - 2));
  int64_t panel =
      panelFor(dst.getDimSize(dst.getRank() - 2), type.getDimSize(rank - 1), v);
  Value packed = tile::PackOp::create(b, loc, weights, panel, std::nullopt, v);
  return tile::MatMulOp::create(b, loc, dst, src, packed, v);
}

tile::ConvOp Packing::buildConv(OpBuilder &b, Location loc,
                                RankedTensorType dst, Value src, Value weights,
                                const WindowAttrs &w) const {
  auto type = rankedType(weights);
  int64_t rank = type.getRank(), groups = w.groups.getInt();
  int64_t n = type.getDimSize(rank - 1);
  // Rows of a product are those of the last spatial dimension.
  int64_t v = interleaveFor(type.getElementType(), type.getDimSize(rank - 2));
  int64_t panel = panelFor(dst.getDimSize(dst.getRank() - 2),
                           ShapedType::isDynamic(n) ? n : n / groups, v);
  Value packed = tile::PackOp::create(b, loc, weights, panel, groups, v);
  return tile::ConvOp::create(b, loc, dst, src, packed, w.strides, w.padsBegin,
                              w.padsEnd, w.dilations, w.groups, UnitAttr(),
                              b.getI64IntegerAttr(v));
}

bool isDepthwise(RankedTensorType weights, int64_t groups) {
  int64_t rank = weights.getRank();
  return weights.getDimSize(rank - 2) == 1 && groups > 1 &&
         weights.getDimSize(rank - 1) == groups;
}

} // namespace tenon
