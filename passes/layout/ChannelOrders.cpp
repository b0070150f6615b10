// SPDX-License-Identifier: Apache-2.0
#include "passes/layout/ChannelOrders.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/graph/OpTable.h"
#include "dialects/tile/TileDialect.h"
#include "passes/layout/GroupNorms.h"
#include "passes/ops/OpKinds.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// By what an operation knows where its channels are.
enum class Means { none, shape, format, axis, axes, reshape, product };

int64_t rankOf(Value v) { return rankedType(v) ? rankedType(v).getRank() : 0; }

bool isLiteral(Value v) { return v.getDefiningOp<arith::ConstantOp>(); }

/// Whether operations of this kind have an attribute `name`.
bool knows(Operation *op, std::string_view name) {
  return graph::factsOf(op).attr(name);
}

int64_t channelsAt(Channels channels, int64_t rank) {
  return channels == Channels::first ? 1 : rank - 1;
}

/// Whether spatial sizes of an image are not known.
bool hasUnknownPositions(RankedTensorType image, Channels at) {
  for (int64_t d = 1; d < image.getRank(); ++d)
    if (d != channelsAt(at, image.getRank()) && image.isDynamicDim(d))
      return true;
  return false;
}

/// A convolution of single positions, so many that a product with channels
/// first, weights times positions, takes no longer than one with them last.
/// Unknown numbers count as many.
bool isProduct(Operation *op) {
  constexpr int64_t kMinPositions = 512; // docs/cost-model.md, "Layouts"
  if (!isa<graph::ConvolutionOp>(op) || rankOf(op->getOperand(0)) < 3)
    return false;
  auto src = rankedType(op->getOperand(0)), dst = rankedType(op->getResult(0)),
       weights = rankedType(op->getOperand(1));
  return src.getElementType().isF32() && dst.getElementType().isF32() &&
         weights.getElementType().isF32() && weights.hasStaticShape() &&
         isPointwise(weights.getShape().drop_back(2), intsAttr(op, "strides"),
                     intsAttr(op, "pads_begin"), intsAttr(op, "pads_end"),
                     intAttr(op, "groups", 1)) &&
         (hasUnknownPositions(src, Channels::last) ||
          (src.hasStaticShape() &&
           ShapedType::getNumElements(
               src.getShape().drop_front().drop_back()) >= kMinPositions));
}

Means meansOf(Operation *op) {
  if (op->getNumResults() == 0 || op->getNumOperands() == 0 ||
      rankOf(op->getOperand(0)) < 3)
    return Means::none;
  if (isScalarOp(op))
    return op->getNumResults() == 1 && !isa<graph::ReorderOp>(op) ? Means::shape
                                                                  : Means::none;
  if (graph::isConvolution(op))
    return isProduct(op) ? Means::product : Means::none;
  if (isa<graph::GroupNormOp>(op))
    return op->getNumResults() == 1 && isCheaperByChannels(op) ? Means::format
                                                               : Means::none;
  if (knows(op, "data_format"))
    return findsMaxima(op) ? Means::none : Means::format;
  if ((graph::isMovement(op) || graph::isReductionLike(op)) &&
      knows(op, "axis"))
    return op->getNumResults() == 1 ? Means::axis : Means::none;
  if (knows(op, "axes"))
    return op->getNumOperands() == 1 ? Means::axes : Means::none;
  return isa<graph::StaticReshapeOp>(op) && rankOf(op->getResult(0)) >= 3
             ? Means::reshape
             : Means::none;
}

/// The shape with which `v` broadcasts to a tensor of `rank` dimensions.
SmallVector<int64_t> broadcastShape(Value v, int64_t rank) {
  ArrayRef<int64_t> shape = rankedType(v).getShape();
  SmallVector<int64_t> result(rank - shape.size(), 1);
  llvm::append_range(result, shape);
  return result;
}

bool hasOneElement(Value v) {
  return llvm::all_of(rankedType(v).getShape(),
                      [](int64_t d) { return d == 1; });
}

/// Operands of elementwise operations that only broadcast to the images.
SmallVector<Value> sidesOf(Operation *op) {
  SmallVector<Value> sides;
  if (meansOf(op) == Means::shape)
    for (Value v : op->getOperands())
      if (rankOf(v) < rankOf(op->getResult(0)) || isLiteral(v))
        sides.push_back(v);
  return sides;
}

/// `v` as it broadcasts to a tensor in `order`.
Value movedSide(OpBuilder &b, Value v, ArrayRef<int64_t> order) {
  if (hasOneElement(v))
    return v;
  SmallVector<int64_t> shape = broadcastShape(v, order.size());
  SmallVector<int64_t> old = permuted(ArrayRef<int64_t>(shape), order);
  Type element = rankedType(v).getElementType();
  if (auto literal = v.getDefiningOp<arith::ConstantOp>())
    return arith::ConstantOp::create(
        b, v.getLoc(),
        cast<DenseElementsAttr>(literal.getValue())
            .reshape(RankedTensorType::get(old, element)));
  if (keepsMemory(shape, order))
    return old == rankedType(v).getShape()
               ? v
               : buildReshape(b, v.getLoc(), v, old);
  return buildTranspose(b, v.getLoc(), buildReshape(b, v.getLoc(), v, shape),
                        order);
}

/// Reductions of single dims that leave others: whether those that are left
/// have the same order with channels first and last.
bool keepsOrderOfRest(Operation *op, Channels at) {
  int64_t rank = rankOf(op->getOperand(0));
  llvm::SmallBitVector reduced(rank);
  for (int64_t a : intsAttr(op, "axes"))
    reduced.set(normalizedAxis(a, rank));
  if (boolAttr(op, "keep_dims") || reduced[channelsAt(at, rank)])
    return true;
  reduced.set(0);
  reduced.set(channelsAt(at, rank));
  return reduced.all();
}

/// Batch and channels stay what they are.
bool reshapesSpaceOnly(Operation *op, Channels at) {
  auto from = rankedType(op->getOperand(0)), to = rankedType(op->getResult(0));
  auto space = [&](RankedTensorType type) {
    int64_t product = 1;
    for (int64_t i = 1; i < type.getRank(); ++i) {
      if (type.isDynamicDim(i))
        return int64_t(-1);
      if (i != channelsAt(at, type.getRank()))
        product *= type.getDimSize(i);
    }
    return product;
  };
  return from.getDimSize(0) == to.getDimSize(0) &&
         from.getDimSize(channelsAt(at, from.getRank())) ==
             to.getDimSize(channelsAt(at, to.getRank())) &&
         space(from) >= 0 && space(from) == space(to);
}

/// `weights` [O, I] times each row of `src` [N, I, .., W], as `dst`
/// [N, O, .., W]. Rows that follow each other in memory are one when the code
/// runs, see LowerContraction.cpp.
Operation *buildRowProducts(OpBuilder &b, Location loc, Value weights,
                            Value src, RankedTensorType dst) {
  // The channels move past all spatial dims but the last.
  int64_t rank = dst.getRank();
  Order order{0};
  for (int64_t d = 2; d < rank - 1; ++d)
    order.push_back(d);
  order.append({1, rank - 1});
  Value rows = buildTranspose(b, loc, src, order);
  Value product =
      buildGraphOp(b, loc, "MatMul", {weights, rows}, permuted(dst, order));
  return buildTranspose(b, loc, product, invertPermutationVector(order))
      .getDefiningOp();
}

/// Weights [O, I] times src [N, I, positions], for a convolution with channels
/// last, whose src with channels first is `src`. Where the number of positions
/// is not known, times rows [N, .., I, W] of them.
Operation *buildProduct(OpBuilder &b, Operation *op, Value src) {
  Location loc = op->getLoc();
  auto dst = rankedType(op->getResult(0)), image = rankedType(src);
  // Taps of one, I, O; as they were before they were brought into that order.
  Value weights = op->getOperand(1);
  int64_t rank = rankedType(weights).getRank();
  ArrayRef<int64_t> matrix = rankedType(weights).getShape().take_back(2);
  Order order = orderOf(weights);
  if (rank == static_cast<int64_t>(order.size()) && order[rank - 1] == 0 &&
      order[rank - 2] == 1)
    weights = buildReshape(b, loc, weights.getDefiningOp()->getOperand(0),
                           {matrix[1], matrix[0]});
  else
    weights = swapLastTwo(b, buildReshape(b, loc, weights, matrix));
  if (hasUnknownPositions(image, Channels::first))
    return buildRowProducts(b, loc, weights, src,
                            permuted(dst, orderInto(Channels::first, rank)));
  int64_t images = image.getDimSize(0);
  int64_t positions =
      ShapedType::getNumElements(image.getShape().drop_front(2));
  auto sums = RankedTensorType::get({images, matrix[1], positions},
                                    dst.getElementType());
  Value columns = buildReshape(b, loc, src, {images, matrix[0], positions});
  Value product = buildGraphOp(b, loc, "MatMul", {weights, columns}, sums);
  return buildReshape(b, loc, product,
                      permuted(dst.getShape(),
                               orderInto(Channels::first, dst.getRank())))
      .getDefiningOp();
}

} // namespace

bool movesChannels(Operation *op, Channels from) {
  if (!isa<graph::StaticTransposeOp>(op))
    return false;
  int64_t rank = rankOf(op->getResult(0));
  return rank >= 3 && orderOf(op->getResult(0)) == orderInto(other(from), rank);
}

SmallVector<Value> imagesOfConvolution(Operation *op) {
  if (graph::isWeightsGradient(op))
    return {op->getOperand(0), op->getOperand(1)};
  if (graph::isConvolution(op) || isa<tile::ConvOp, tile::WinogradOp>(op))
    return {op->getOperand(0), op->getResult(0)};
  return {};
}

SmallVector<Value> imagesOf(Operation *op) {
  SmallVector<Value> images;
  Means means = meansOf(op);
  if (means == Means::axes && !boolAttr(op, "keep_dims"))
    return {op->getOperand(0)};
  if (means == Means::product)
    return imagesOfConvolution(op);
  int64_t least = means == Means::shape ? rankOf(op->getResult(0)) : 3;
  for (ValueRange values :
       {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value v : values)
      if (rankOf(v) >= least && !isLiteral(v))
        images.push_back(v);
  return images;
}

bool isMovable(Operation *op, Channels at) {
  switch (meansOf(op)) {
  case Means::none:
    return false;
  case Means::shape:
    return llvm::all_of(sidesOf(op), [&](Value v) {
      int64_t rank = rankOf(op->getResult(0));
      // A literal is not transposed at run time.
      return hasOneElement(v) || !isLiteral(v) ||
             keepsMemory(broadcastShape(v, rank), orderInto(other(at), rank));
    });
  case Means::format: {
    int64_t rank = rankOf(op->getOperand(0));
    // Other operands are vectors of channels; integers would be a shape, and a
    // slope of fewer dimensions is not addressed by the format.
    return channelDim(op, rank) == channelsAt(at, rank) &&
           llvm::all_of(op->getOperands(), [&](Value v) {
             return rankOf(v) == rank ||
                    (rankOf(v) == 1 &&
                     isa<FloatType>(rankedType(v).getElementType()));
           });
  }
  case Means::axis:
    return llvm::all_of(op->getOperands(),
                        [](Value v) { return rankOf(v) >= 3; });
  case Means::axes:
    return keepsOrderOfRest(op, at);
  case Means::reshape:
    return reshapesSpaceOnly(op, at);
  case Means::product:
    return at == Channels::last;
  }
  return false;
}

SmallVector<Value> copiedBesides(Operation *op, Channels at) {
  int64_t rank = rankOf(op->getResult(0));
  SmallVector<Value> sides = sidesOf(op);
  llvm::erase_if(sides, [&](Value v) {
    return keepsMemory(broadcastShape(v, rank), orderInto(other(at), rank));
  });
  return sides;
}

Operation *buildMoved(OpBuilder &b, Operation *op, Channels at,
                      llvm::function_ref<Value(Value)> moved) {
  Means means = meansOf(op);
  SmallVector<Value> images = imagesOf(op);
  auto order = [&](Value v) { return orderInto(other(at), rankOf(v)); };
  SmallVector<Value> operands;
  for (Value v : op->getOperands())
    operands.push_back(llvm::is_contained(images, v) ? moved(v)
                       : means == Means::shape
                           ? movedSide(b, v, order(op->getResult(0)))
                           : v);
  if (means == Means::product)
    return buildProduct(b, op, operands[0]);
  if (means == Means::reshape) {
    Value y = op->getResult(0);
    Value reshaped = buildReshape(b, op->getLoc(), operands[0],
                                  permuted(rankedType(y).getShape(), order(y)));
    return reshaped.getDefiningOp();
  }
  Operation *clone = b.clone(*op);
  clone->setOperands(operands);
  for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults()))
    if (llvm::is_contained(images, from))
      to.setType(permuted(rankedType(from), order(from)));
  if (knows(op, "data_format"))
    clone->setAttr("data_format",
                   b.getStringAttr(at == Channels::first ? "NXC" : "NCX"));
  // Sizes of a whole tensor, as gradients have them.
  for (NamedAttribute a : op->getAttrs())
    if (auto sizes = dyn_cast<DenseI64ArrayAttr>(a.getValue());
        sizes && a.getName().strref().ends_with("_shape"))
      clone->setAttr(a.getName(),
                     b.getDenseI64ArrayAttr(permuted(sizes.asArrayRef(),
                                                     order(op->getResult(0)))));
  int64_t rank = rankOf(op->getOperand(0));
  Order back = invertPermutationVector(order(op->getOperand(0)));
  if (means == Means::axis)
    clone->setAttr(
        "axis",
        IntegerAttr::get(b.getIntegerType(64, true),
                         back[normalizedAxis(intAttr(op, "axis"), rank)]));
  if (means == Means::axes) {
    SmallVector<int64_t> axes;
    for (int64_t a : intsAttr(op, "axes"))
      axes.push_back(back[normalizedAxis(a, rank)]);
    llvm::sort(axes);
    clone->setAttr("axes", b.getDenseI64ArrayAttr(axes));
  }
  return clone;
}

} // namespace tenon::passes
