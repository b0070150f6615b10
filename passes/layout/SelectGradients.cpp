//===- SelectGradients.cpp - gradients of the weights of convolutions -----===//
// SPDX-License-Identifier: Apache-2.0
//
//   ConvolutionBackwardWeights      %p = tile.pack %d panel 16 groups 1
//     (%x, %d)          ->          tile.conv_weights %x, %p {packed}
//
//===----------------------------------------------------------------------===//
#include "passes/layout/SelectGradients.h"

#include "dialects/graph/GraphDialect.h"
#include "passes/ops/PlaneShape.h"
#include "passes/ops/WindowGeometry.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Whether the gradient of dst is worth a copy in panels: each element of it
/// meets `uses` elements of src, and a transposed one is copied anyway.
bool packsDiff(Value diff, int64_t uses) {
  constexpr int64_t kUsesThatPay = 192;
  return uses >= kUsesThatPay || diff.getDefiningOp<graph::StaticTransposeOp>();
}

/// Whether `v` has its channels apart in memory, and rows together.
bool hasRows(Value v) {
  Transposed seen = skipTransposes(v);
  int64_t rank = rankedType(v).getRank();
  auto strides = callerStrides(seen);
  return seen.order == orderInto(Channels::last, rank) &&
         (strides.empty() || strides[rank - 2] == 1);
}

/// Whether the gradient by weights of a depthwise convolution takes one
/// channel at a time, as src and diff have them apart.
bool readsPlanes(Operation *op) {
  Value src = op->getOperand(0), diff = op->getOperand(1);
  auto weights = rankedType(op->getResult(0));
  auto s = rankedType(src), d = rankedType(diff);
  if (!s.hasStaticShape() || !d.hasStaticShape() || !weights.hasStaticShape())
    return false;
  PlaneShape planes(
      windowDims(op, s, d, /*ncx=*/false, weights.getShape().drop_back(2)));
  return hasRows(src) && hasRows(diff) && planes.fit();
}

/// The gradient of a product of each position with one matrix: both operands
/// are what the other is, and with channels apart one is packed, the other
/// read where it is. True, and done, where diff is the larger one.
bool swapConvWeights(Operation *op, OpBuilder &b, Selection &selection,
                     const WindowAttrs &w) {
  Value src = op->getOperand(0), diff = op->getOperand(1);
  auto type = rankedType(op->getResult(0));
  ArrayRef<int64_t> shape = type.getShape();
  int64_t rank = type.getRank();
  if (!isPointwise(shape.drop_back(2), w.strides, w.padsBegin, w.padsEnd,
                   w.groups.getInt()) ||
      op->hasAttr(kOrderAttr) || !hasRows(src) || !hasRows(diff) ||
      rankedType(src).getShape().drop_back() !=
          rankedType(diff).getShape().drop_back() ||
      shape[rank - 1] <= shape[rank - 2])
    return false;
  SmallVector<int64_t> swapped(shape);
  std::swap(swapped[rank - 1], swapped[rank - 2]);
  Value product = buildGraphOp(
      b, op->getLoc(), "ConvolutionBackwardWeights", {diff, src},
      RankedTensorType::get(swapped, type.getElementType()), op->getAttrs());
  product.getDefiningOp()->removeAttr("weights_shape");
  op->getResult(0).replaceAllUsesWith(swapLastTwo(b, product));
  op->erase();
  b.setInsertionPoint(product.getDefiningOp());
  selectConvWeights(product.getDefiningOp(), b, selection);
  return true;
}

/// Parts of the images whose gradients of few rows are summed on their own;
/// 1: too few images.
int64_t partsOfImages(int64_t images) {
  constexpr int64_t kMost = 8, kLeast = 4;
  if (!ShapedType::isDynamic(images))
    for (int64_t parts = kMost; parts >= kLeast; --parts)
      if (images % parts == 0)
        return parts;
  return 1;
}

} // namespace

void selectConvWeights(Operation *op, OpBuilder &b, Selection &selection) {
  Value src = op->getOperand(0), diff = op->getOperand(1);
  auto type = rankedType(op->getResult(0));
  int64_t rank = type.getRank();
  auto w = WindowAttrs::of(op, b, rank - 2);
  if (swapConvWeights(op, b, selection, w))
    return;
  int64_t groups = w.groups.getInt();
  bool depthwise = isDepthwise(type, groups);
  int64_t uses = 1; // of an element of diff
  for (int64_t d : type.getShape().drop_back())
    uses *= d;
  bool packs = !depthwise && packsDiff(diff, uses);
  bool joins = !depthwise && joinsTaps(type, w);
  if (depthwise) {
    if (!readsPlanes(op)) {
      src = channelsLast(b, src);
      diff = channelsLast(b, diff);
    }
  } else if (joins) {
    src = channelsLast(b, src);
  }
  if (packs) {
    int64_t rows = type.getDimSize(rank - 3) * type.getDimSize(rank - 2);
    int64_t panel =
        selection.packing.panelFor(rows, type.getDimSize(rank - 1) / groups);
    diff = tile::PackOp::create(b, op->getLoc(), diff, panel, groups);
  }
  auto flag = [&](bool set) { return set ? b.getUnitAttr() : UnitAttr(); };
  int64_t parts = joins ? partsOfImages(rankedType(src).getDimSize(0)) : 1;
  RankedTensorType result = type;
  if (parts > 1) {
    SmallVector<int64_t> shape{parts};
    llvm::append_range(shape, type.getShape());
    result = RankedTensorType::get(shape, type.getElementType());
  }
  Value product = tile::ConvWeightsOp::create(
      b, op->getLoc(), result, src, diff, w.strides, w.padsBegin, w.dilations,
      w.groups, flag(depthwise), flag(packs),
      parts > 1 ? b.getI64IntegerAttr(parts) : IntegerAttr());
  if (parts > 1)
    product = sumOfParts(b, product);
  selection.replace(op, product);
}

} // namespace tenon::passes
