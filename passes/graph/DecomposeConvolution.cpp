//===- DecomposeConvolution.cpp - six convolutions as three ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A window relates a big and a small tensor; forward and backward operations
// of Convolution and ConvTranspose differ in which of the two they are given:
//
//   Convolution, ConvTransposeBackwardData           Convolution
//   ConvTranspose, ConvolutionBackwardData           ConvTranspose
//   ConvolutionBackwardWeights(big, small),
//   ConvTransposeBackwardWeights(small, big)         ConvolutionBackwardWeights
//
// The forms on the right have NXC data, weights (taps, channels of big per
// group, channels of small), neither bias nor a shape as operand:
//
//   ConvTranspose(x, w, b)             t = StaticTranspose(x), (w)
//     {NCX, IOX}                 ->    c = ConvTranspose(t, w)
//                                      y = Add(StaticTranspose(c), b)
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "passes/graph/Decompose.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::passes {

/// [2, .., r-1, 1, 0]: OIX to XIO, IOX to XOI.
static Order tapsFirst(int64_t rank) {
  Order order;
  for (int64_t i = 2; i < rank; ++i)
    order.push_back(i);
  order.append({1, 0});
  return order;
}

/// [r-1, r-2, 0, ..]: XIO to OIX, XOI to IOX.
static Order tapsLast(int64_t rank) {
  Order order{rank - 1, rank - 2};
  for (int64_t i = 0; i < rank - 2; ++i)
    order.push_back(i);
  return order;
}

Value perChannel(OpBuilder &b, Location loc, Value v, bool ncx, int64_t rank) {
  auto type = rankedType(v);
  if (!ncx || type.getRank() != 1)
    return v;
  SmallVector<int64_t> shape(rank - 1, 1);
  shape[0] = type.getDimSize(0);
  return buildReshape(b, loc, v, shape);
}

/// The kind of the normal form of the convolution `op`.
static StringRef normalKind(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<graph::ConvolutionOp, graph::ConvTransposeBackwardDataOp>(
          [](auto) { return "Convolution"; })
      .Case<graph::ConvTransposeOp, graph::ConvolutionBackwardDataOp>(
          [](auto) { return "ConvTranspose"; })
      .Default(StringRef("ConvolutionBackwardWeights"));
}

/// What a transposed convolution from `small` to `big` appends to a dimension.
static int64_t outputPadding(Operation *op, int64_t dim, int64_t small,
                             int64_t big, int64_t kernel) {
  if (ShapedType::isDynamic(small) || ShapedType::isDynamic(big)) {
    SmallVector<int64_t> given = intsAttr(op, "output_padding");
    return given.empty() ? 0 : given[dim];
  }
  SmallVector<int64_t> begin = intsAttr(op, "pads_begin");
  SmallVector<int64_t> end = intsAttr(op, "pads_end");
  begin.resize(dim + 1, 0);
  end.resize(dim + 1, 0);
  int64_t reached = intsAttr(op, "strides")[dim] * (small - 1) +
                    intsAttr(op, "dilations")[dim] * (kernel - 1) + 1;
  // Of nothing comes nothing, where one element would come from the kernel.
  return std::max<int64_t>(0, big - (reached - begin[dim] - end[dim]));
}

/// Attributes of the normal form: those of `op` without formats and shapes, and
/// without an auto_pad that does not wait for sizes.
static SmallVector<NamedAttribute> normalAttrs(Operation *op, OpBuilder &b) {
  SmallVector<NamedAttribute> attrs;
  for (NamedAttribute a : op->getAttrs()) {
    StringRef name = a.getName();
    if (name != "data_format" && name != "weights_format" &&
        (name != "auto_pad" || hasSamePads(op)) && name != "dst_shape" &&
        name != "weights_shape" && name != "output_padding")
      attrs.push_back(a);
  }
  return attrs;
}

bool decomposeConvolution(Operation *op, OpBuilder &b) {
  Location loc = op->getLoc();
  StringRef normal = normalKind(op);
  bool toWeights = graph::isWeightsGradient(op);
  bool transposes = normal == "ConvTranspose";
  auto dstType = rankedType(op->getResult(0));
  int64_t rank = dstType.getRank();
  auto isEmpty = [](RankedTensorType type) {
    return llvm::is_contained(type.getShape(), 0);
  };
  if (transposes && isEmpty(dstType) &&
      !isEmpty(rankedType(op->getOperand(0)))) {
    // The gradient of an empty tensor, of which padding made something.
    auto nothing = DenseElementsAttr::get(dstType, ArrayRef<Attribute>());
    op->replaceAllUsesWith(arith::ConstantOp::create(b, loc, nothing));
    op->erase();
    return true;
  }
  bool ncx = isNcx(op, rank);
  bool tapsBehind = StringRef(stringAttr(op, "weights_format")).ends_with("X");
  if (kindOf(op) == normal && !ncx && !tapsBehind && op->getNumOperands() == 2)
    return false;

  auto data = [&](Value v) {
    return ncx ? buildTranspose(b, loc, v, orderInto(Channels::last, rank)) : v;
  };
  Value first = data(op->getOperand(0)), second = op->getOperand(1);
  Order back;
  if (toWeights) {
    second = data(second);
    if (isa<graph::ConvTransposeBackwardWeightsOp>(op))
      std::swap(first, second);
    if (tapsBehind) {
      dstType = permuted(dstType, tapsFirst(rank));
      back = tapsLast(rank);
    }
  } else {
    if (tapsBehind)
      second = buildTranspose(b, loc, second, tapsFirst(rank));
    if (ncx) {
      dstType = permuted(dstType, orderInto(Channels::last, rank));
      back = orderInto(Channels::first, rank);
    }
  }
  SmallVector<NamedAttribute> attrs = normalAttrs(op, b);
  if (transposes) {
    SmallVector<int64_t> padding;
    for (int64_t i = 0; i < rank - 2; ++i)
      padding.push_back(outputPadding(
          op, i, rankedType(first).getDimSize(i + 1), dstType.getDimSize(i + 1),
          rankedType(second).getDimSize(i)));
    attrs.push_back(
        b.getNamedAttr("output_padding", b.getDenseI64ArrayAttr(padding)));
  }
  Value y = buildGraphOp(b, loc, normal, {first, second}, dstType, attrs);
  if (!back.empty())
    y = buildTranspose(b, loc, y, back);
  if (!graph::isBackward(op) && op->getNumOperands() == 3)
    y = addBias(b, loc, y, perChannel(b, loc, op->getOperand(2), ncx, rank));
  op->getResult(0).replaceAllUsesWith(y);
  op->erase();
  return true;
}

} // namespace tenon::passes
