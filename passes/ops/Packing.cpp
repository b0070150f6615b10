// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/Packing.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/support/Rounding.h"
#include "passes/ops/OpKinds.h"
#include "passes/ops/WindowGeometry.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "llvm/Support/DebugLog.h"

#include <utility>

#define DEBUG_TYPE "tenon-packing"

using namespace mlir;

namespace tenon::passes {

WindowAttrs WindowAttrs::of(Operation *op, OpBuilder &b, int64_t spatial) {
  SmallVector<int64_t> begin = intsAttr(op, "pads_begin");
  SmallVector<int64_t> end = intsAttr(op, "pads_end");
  if (hasSamePads(op)) {
    begin.clear();
    end.clear();
  }
  begin.resize(spatial, 0);
  end.resize(spatial, 0);
  return {b.getDenseI64ArrayAttr(intsAttr(op, "strides")),
          b.getDenseI64ArrayAttr(begin),
          b.getDenseI64ArrayAttr(end),
          b.getDenseI64ArrayAttr(intsAttr(op, "dilations")),
          b.getI64IntegerAttr(intAttr(op, "groups", 1)),
          hasSamePads(op) ? b.getStringAttr(stringAttr(op, "auto_pad"))
                          : StringAttr()};
}

namespace {

/// With less one group is better; the src of a convolution may be copied by the
/// group itself.
constexpr int64_t kMinProducts = 1 << 22, kMinConvProducts = 1 << 23;
/// What counts for an unknown number.
constexpr int64_t kUnknownRows = 256;

/// Whether the elements of `v` lie side by side in its order, as far as views
/// tell.
bool isRowMajor(Value v) {
  Transposed view = skipTransposes(v);
  Operation *def = view.source.getDefiningOp();
  auto reshape = dyn_cast_or_null<graph::StaticReshapeOp>(def);
  if (!view.order.empty() || !callerStrides(view).empty() ||
      (def && (def->hasAttr(kOrderAttr) || isStridedResult(view.source))))
    return false;
  return !reshape || isRowMajor(reshape.getSrc());
}

} // namespace

std::optional<int64_t> strideAlong(Value v, int64_t dim) {
  Transposed view = skipTransposes(v);
  Operation *def = view.source.getDefiningOp();
  auto reshape = dyn_cast_or_null<graph::StaticReshapeOp>(def);
  if (def && (def->hasAttr(kOrderAttr) || isStridedResult(view.source) ||
              (reshape && !isRowMajor(reshape.getSrc()))))
    return std::nullopt;
  SmallVector<int64_t> strides = callerStrides(view);
  if (!strides.empty())
    return strides[dim];
  ArrayRef<int64_t> inside =
      rankedType(view.source)
          .getShape()
          .drop_front((view.order.empty() ? dim : view.order[dim]) + 1);
  if (ShapedType::isDynamicShape(inside))
    return std::nullopt;
  return llvm::product_of(inside);
}

bool readsInPlace(RankedTensorType dst, Value src, Value weights) {
  // docs/cost-model.md
  constexpr int64_t kFewRows = 16, kFewDots = 4;
  auto w = rankedType(weights);
  if (!dst.getElementType().isF32() || !w.getElementType().isF32() ||
      !rankedType(src).getElementType().isF32() ||
      llvm::is_contained(w.getShape(), 0))
    return false;
  auto rows = rowsOfMatrix(dst, w);
  int64_t rank = w.getRank();
  if (w.isDynamicDim(rank - 2)) // the sum is cut into parts of known length
    return false;
  return rows && !isKnownOnce(weights) &&
         ((*rows <= kFewRows && strideAlong(weights, rank - 1) == 1) ||
          (*rows <= kFewDots && strideAlong(weights, rank - 2) == 1));
}

bool widensOften(Operation *op, int64_t minRows) {
  auto src = rankedType(op->getOperand(0)), dst = rankedType(op->getResult(0)),
       weights = rankedType(op->getOperand(1));
  if (!isKnownOnce(op->getOperand(1)) || !weights.hasStaticShape() ||
      dst.getRank() < 2)
    return false;
  bool isMatMul = isa<graph::MatMulOp>(op);
  int64_t columns =
      isMatMul ? dst.getRank() - 1 : channelDim(op, dst.getRank());
  int64_t rows = 1;
  for (int64_t i = 0; i < dst.getRank(); ++i)
    if (i != columns)
      rows *= dst.isDynamicDim(i) ? kUnknownRows : dst.getDimSize(i);
  int64_t k = isMatMul ? src.getDimSize(src.getRank() -
                                        (boolAttr(op, "transpose_a") ? 2 : 1))
                       : src.getDimSize(channelDim(op, src.getRank()));
  int64_t elements = weights.getNumElements();
  return rows >= minRows && k > 0 && elements / k >= kUsesToWiden &&
         rows * elements >= (isMatMul ? kMinProducts : kMinConvProducts);
}

int64_t Packing::panelFor(int64_t m, int64_t n, int64_t interleave,
                          bool whole) const {
  auto known = [](int64_t d) {
    return ShapedType::isDynamic(d) ? std::nullopt : std::optional(d);
  };
  constexpr int64_t elementBits = 32; // of sums
  bool inTiles = target.multipliesInTiles(interleave);
  microkernel::VectorIsa forSums =
      inTiles ? isa() : isa().forColumns(known(n), elementBits);
  int64_t lanes = forSums.lanes(elementBits);
  constexpr int64_t vectorsOfTiles = 2;
  forSums.numRegisters -= microkernel::registersForProducts(interleave);
  int64_t vectors =
      inTiles ? vectorsOfTiles
              : microkernel::chooseRegisterTile(forSums, elementBits, known(m),
                                                known(n), whole)
                    .vectors;
  int64_t panel = vectors * lanes;
  assert(interleave >= 1 && panel > 0 && "a panel has columns");
  LDBG() << "panel of " << vectors << " vectors of " << lanes << " for m " << m
         << ", n " << n << ", interleave " << interleave;
  return ShapedType::isDynamic(n)
             ? panel
             : std::min(panel, std::max<int64_t>(1, ceilDiv(n, lanes)) * lanes);
}

int64_t Packing::interleaveFor(Type element, int64_t k, int64_t groups) const {
  constexpr int64_t kPair = 2; // of int16, where int8 is multiplied at all
  int64_t group = element.isBF16()       ? target.getBf16DotWidth()
                  : element.isInteger(8) ? target.getInt8DotWidth()
                  : element.isInteger(16)
                      ? std::min(target.getInt8DotWidth(), kPair)
                      : 1;
  // A few of K: most of a group would be padding, and what does not fill one is
  // put together byte by byte.
  return ShapedType::isDynamic(k) || k < group * groups ? 1 : group;
}

tile::MatMulOp Packing::buildMatMul(OpBuilder &b, Location loc,
                                    RankedTensorType dst, Value src,
                                    Value weights) const {
  if (readsInPlace(dst, src, weights))
    return tile::MatMulOp::create(b, loc, dst, src, weights, /*interleave=*/1,
                                  /*inPlace=*/true);
  auto type = rankedType(weights);
  int64_t rank = type.getRank();
  int64_t v = interleaveFor(type.getElementType(), type.getDimSize(rank - 2));
  int64_t panel =
      panelFor(rowsOfMatrix(dst, type).value_or(ShapedType::kDynamic),
               type.getDimSize(rank - 1), v);
  Value packed = tile::PackOp::create(b, loc, weights, panel, std::nullopt, v);
  return tile::MatMulOp::create(b, loc, dst, src, packed, v);
}

bool joinsTaps(RankedTensorType weights, const WindowAttrs &w) {
  constexpr int64_t kFewChannels = 4;
  int64_t rank = weights.getRank();
  return weights.hasStaticShape() && w.groups.getInt() == 1 &&
         w.dilations.asArrayRef().back() == 1 &&
         weights.getDimSize(rank - 2) <= kFewChannels &&
         weights.getDimSize(rank - 3) > 1;
}

/// How many taps of the last dimension are joined with the channels.
static int64_t joinedTaps(RankedTensorType src, RankedTensorType weights,
                          const WindowAttrs &w) {
  bool joins = src.hasStaticShape() && joinsTaps(weights, w);
  return joins ? weights.getDimSize(weights.getRank() - 3) : 1;
}

/// Rows of one product of a convolution: all positions, or those of the last
/// spatial dimension.
static int64_t rowsOfProduct(RankedTensorType dst, RankedTensorType weights,
                             const WindowAttrs &w) {
  if (isPointwise(weights.getShape().drop_back(2), w.strides, w.padsBegin,
                  w.padsEnd, w.groups.getInt()))
    return rowsOfMatrix(dst, weights).value_or(ShapedType::kDynamic);
  return dst.getDimSize(dst.getRank() - 2);
}

tile::ConvOp Packing::buildConv(OpBuilder &b, Location loc,
                                RankedTensorType dst, Value src, Value weights,
                                const WindowAttrs &w) const {
  int64_t joined = joinedTaps(rankedType(src), rankedType(weights), w);
  if (joined > 1) {
    SmallVector<int64_t> shape(rankedType(weights).getShape());
    int64_t &taps = shape[shape.size() - 3];
    shape[shape.size() - 2] *= std::exchange(taps, 1);
    weights = buildReshape(b, loc, weights, shape);
  }
  auto type = rankedType(weights);
  int64_t rank = type.getRank(), groups = w.groups.getInt();
  int64_t n = type.getDimSize(rank - 1);
  // Joined bytes fill their groups, see DirectConv.cpp.
  Type element = type.getElementType();
  int64_t k = type.getDimSize(rank - 2);
  int64_t v = joined > 1 && element.isInteger(8) ? interleaveFor(element, k, 2)
                                                 : interleaveFor(element, k);
  int64_t panel = panelFor(rowsOfProduct(dst, type, w),
                           ShapedType::isDynamic(n) ? n : n / groups, v);
  auto flip = weights.getDefiningOp<tile::FlipOp>();
  auto packed = tile::PackOp::create(b, loc, flip ? flip.getWeights() : weights,
                                     panel, groups, v);
  packed.setFlipped(flip != nullptr);
  if (flip && flip->use_empty())
    flip->erase();
  return tile::ConvOp::create(b, loc, dst, src, packed, w.strides, w.padsBegin,
                              w.padsEnd, w.dilations, w.groups, UnitAttr(),
                              b.getI64IntegerAttr(v),
                              b.getI64IntegerAttr(joined), w.autoPad);
}

/// How many of the last spatial dims hold one position, of one tap, and leave
/// another. With one tap in all, all positions are rows anyway.
static int64_t lastUnitDims(RankedTensorType dst, RankedTensorType src,
                            RankedTensorType weights, const WindowAttrs &w) {
  int64_t spatial = weights.getRank() - 2, count = 0;
  if (isPointwise(weights.getShape().drop_back(2), w.strides, w.padsBegin,
                  w.padsEnd, w.groups.getInt()))
    return 0;
  for (int64_t i = spatial - 1; i > 0 && !w.autoPad; --i, ++count)
    if (dst.getDimSize(i + 1) != 1 || src.getDimSize(i + 1) != 1 ||
        weights.getDimSize(i) != 1 || w.padsBegin[i] || w.padsEnd[i])
      break;
  return count;
}

Value Packing::buildConvOfRows(OpBuilder &b, Location loc, RankedTensorType dst,
                               Value src, Value weights, WindowAttrs w) const {
  auto weightsType = rankedType(weights);
  int64_t count = lastUnitDims(dst, rankedType(src), weightsType, w);
  if (count == 0 || weights.getDefiningOp<tile::FlipOp>())
    return buildConv(b, loc, dst, src, weights, w);
  // Spatial dims are before the channels of data, before both of weights.
  auto without = [count](ArrayRef<int64_t> sizes, int64_t behind) {
    SmallVector<int64_t> kept(sizes.drop_back(count + behind));
    llvm::append_range(kept, sizes.take_back(behind));
    return kept;
  };
  auto attr = [&](DenseI64ArrayAttr sizes) {
    return b.getDenseI64ArrayAttr(without(sizes.asArrayRef(), 0));
  };
  w = {attr(w.strides),   attr(w.padsBegin), attr(w.padsEnd),
       attr(w.dilations), w.groups,          w.autoPad};
  auto rows =
      RankedTensorType::get(without(dst.getShape(), 1), dst.getElementType());
  Value product = buildConv(
      b, loc, rows,
      buildReshape(b, loc, src, without(rankedType(src).getShape(), 1)),
      buildReshape(b, loc, weights, without(weightsType.getShape(), 2)), w);
  return buildReshape(b, loc, product, dst.getShape());
}

bool isDepthwise(RankedTensorType weights, int64_t groups) {
  int64_t rank = weights.getRank();
  return weights.getDimSize(rank - 2) == 1 && groups > 1 &&
         weights.getDimSize(rank - 1) == groups;
}

bool hasNarrowGroups(RankedTensorType weights, int64_t groups, int64_t lanes) {
  // Products of a row of taps are written out, for a dozen columns at once.
  constexpr int64_t kMostTerms = 28;
  int64_t rank = weights.getRank(), perGroup = weights.getDimSize(rank - 2);
  return weights.hasStaticShape() &&
         perGroup * weights.getDimSize(rank - 3) <= kMostTerms &&
         (perGroup == 2 || perGroup == 4 || perGroup == 8) &&
         2 * perGroup <= lanes &&
         weights.getDimSize(rank - 1) == groups * perGroup && groups > 1;
}

bool hasChannelsAsLanes(Operation *convolution, int64_t lanes) {
  auto weights = rankedType(convolution->getOperand(1));
  int64_t groups = intAttr(convolution, "groups", 1);
  return isDepthwise(weights, groups) ||
         hasNarrowGroups(weights, groups, lanes);
}

} // namespace tenon::passes
