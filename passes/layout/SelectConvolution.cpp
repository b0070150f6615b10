//===- SelectConvolution.cpp - convolutions and transposed ones -----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   Convolution(%x, %w)             %p = tile.pack %w panel 16 groups 1
//                       ->          tile.conv %x, %p
//   ConvTranspose(%x, %w)           %t = StaticTranspose %w (channels swapped)
//                       ->          %p = tile.pack %t panel 16 groups 1
//                                   tile.conv_transpose %x, %p
//
// Depthwise convolutions, and some in groups, have channels as lanes and read
// the weights as they are. Convolutions of 3x3 taps: ops/Winograd.cpp.
//
//===----------------------------------------------------------------------===//
#include "passes/layout/SelectConvolution.h"

#include "passes/layout/StridedChannels.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// One convolution, which select() or selectTransposed() replaces.
class Convolution {
public:
  Convolution(Operation *op, OpBuilder &b, Selection &selection)
      : op(op), b(b), loc(op->getLoc()), selection(selection) {}

  void select() {
    Value src = op->getOperand(0), weights = op->getOperand(1);
    auto type = rankedType(weights);
    auto w = WindowAttrs::of(op, b, type.getRank() - 2);
    if (!isDepthwise(type, w.groups.getInt()) &&
        !lanesAreGroups(src, type, w)) {
      if (int64_t outputs = winogradOutputs(w))
        return filter(weights, w, outputs);
      if (multiplyPlanes(b, op, weights, w, selection.packing))
        return;
      return multiply(weights, w);
    }
    packLanes(weights, w);
  }

  void selectTransposed() {
    if (flipTransposed())
      return;
    Value src = op->getOperand(0), weights = op->getOperand(1);
    auto type = rankedType(weights);
    int64_t rank = type.getRank();
    auto w = WindowAttrs::of(op, b, rank - 2);
    int64_t groups = w.groups.getInt();
    bool depthwise = isDepthwise(type, groups);
    Type dst = op->getResult(0).getType();
    SmallVector<int64_t> ends;
    for (int64_t i = 0; i < rank - 2; ++i)
      ends.push_back(padsAtEnd(w, i));
    w.padsEnd = b.getDenseI64ArrayAttr(ends);
    bool isKnown = !ShapedType::isDynamicShape(
        rankedType(op->getResult(0)).getShape().drop_front());
    // One tap at every position: both directions are the same.
    bool pointwise = isPointwise(type.getShape().drop_back(2), w.strides,
                                 w.padsBegin, w.padsBegin, /*groups=*/1) &&
                     llvm::all_of(ends, [](int64_t end) { return end == 0; });
    if (pointwise && groups == 1 &&
        multiplyPlanes(b, op, transposeWeights(weights, groups), w,
                       selection.packing))
      return;
    weights = depthwise
                  ? channelsLast(b, weights)
                  : packGrouped(transposeWeights(weights, groups), groups);
    UnitAttr flag = depthwise ? b.getUnitAttr() : UnitAttr();
    Value product;
    if (pointwise)
      product = tile::ConvOp::create(
          b, loc, dst, src, weights, w.strides, w.padsBegin, w.padsBegin,
          w.dilations, w.groups, flag, /*interleave=*/b.getI64IntegerAttr(1),
          /*joined=*/b.getI64IntegerAttr(1), /*auto_pad=*/StringAttr());
    else
      product = tile::ConvTransposeOp::create(
          b, loc, dst, channelsLast(b, src), weights, w.strides, w.padsBegin,
          w.dilations, w.groups, flag,
          isKnown ? DenseI64ArrayAttr() : w.padsEnd);
    selection.replace(op, product);
  }

private:
  /// Outputs per dim of a tile of Winograd, by which the convolution is
  /// computed, or 0; says why.
  int64_t winogradOutputs(const WindowAttrs &w) const {
    Value weights = op->getOperand(1);
    if (!isWinogradKernel(rankedType(weights)))
      return 0;
    WinogradChoice choice =
        chooseWinograd(op->getOperand(0), weights, rankedType(op->getResult(0)),
                       w, selection.winograd);
    std::string first = winogradName(2) + ": " + choice.reason;
    if (!choice.outputs)
      op->emitRemark("computed directly, not by Winograd's " + first);
    else if (!choice.reason.empty())
      op->emitRemark("computed by Winograd's " + winogradName(choice.outputs) +
                     "; " + first);
    return choice.outputs;
  }

  /// Whether a convolution in groups is computed like a depthwise one.
  bool lanesAreGroups(Value src, RankedTensorType weights,
                      const WindowAttrs &w) const {
    return rankedType(src).getElementType().isF32() &&
           weights.getElementType().isF32() &&
           hasNarrowGroups(weights, w.groups.getInt(),
                           selection.packing.isa().lanes(32));
  }

  /// By Winograd with tiles of `outputs`.
  void filter(Value weights, const WindowAttrs &w, int64_t outputs) {
    ++selection.filtered;
    selection.replace(op, buildWinograd(selection.packing, b, op->getLoc(),
                                        rankedType(op->getResult(0)),
                                        channelsLast(b, op->getOperand(0)),
                                        weights, w, outputs));
  }

  /// Depthwise, or in groups that are computed like that.
  void packLanes(Value weights, const WindowAttrs &w) {
    if (!isDepthwise(rankedType(weights), w.groups.getInt()))
      op->emitRemark(
          "narrow groups: channels are lanes, as in a depthwise one");
    Value product = tile::ConvOp::create(
        b, op->getLoc(), op->getResult(0).getType(),
        channelsLast(b, op->getOperand(0)), channelsLast(b, weights), w.strides,
        w.padsBegin, w.padsEnd, w.dilations, w.groups, b.getUnitAttr(),
        /*interleave=*/b.getI64IntegerAttr(1),
        /*joined=*/b.getI64IntegerAttr(1), w.autoPad);
    selection.replace(op, product);
  }

  /// By products of each tap.
  void multiply(Value weights, const WindowAttrs &w) {
    Value src = op->getOperand(0);
    auto dst = rankedType(op->getResult(0));
    if (waitsForChannels(src, rankedType(weights), dst, w, selection.packing))
      src = channelsLast(b, src);
    selection.replace(
        op, selection.packing.buildConvOfRows(b, loc, dst, src, weights, w));
  }

  /// Weights (taps.., I, O) of `op` in panels. Rows of a product are those of
  /// the last spatial dimension.
  Value packGrouped(Value weights, int64_t groups) {
    auto dst = rankedType(op->getResult(0));
    int64_t n = rankedType(weights).getShape().back();
    int64_t panel =
        selection.packing.panelFor(dst.getDimSize(dst.getRank() - 2),
                                   ShapedType::isDynamic(n) ? n : n / groups);
    return tile::PackOp::create(b, op->getLoc(), weights, panel, groups);
  }

  /// (taps.., channels of dst per group, channels of src) to
  /// (taps.., channels of src per group, channels of dst).
  Value transposeWeights(Value weights, int64_t groups) {
    auto type = rankedType(weights);
    int64_t rank = type.getRank(), part = type.getDimSize(rank - 2);
    int64_t perGroup = type.getDimSize(rank - 1) / groups;
    SmallVector<int64_t> order, shape(type.getShape().drop_back(2));
    for (int64_t i = 0; i < rank - 2; ++i)
      order.push_back(i);
    if (groups == 1) {
      order.append({rank - 1, rank - 2});
      return buildTranspose(b, loc, weights, order);
    }
    SmallVector<int64_t> split = shape;
    split.append({part, groups, perGroup});
    order.append({rank, rank - 1, rank - 2});
    shape.append({perGroup, groups * part});
    weights = buildReshape(b, loc, weights, split);
    return buildReshape(b, loc, buildTranspose(b, loc, weights, order), shape);
  }

  /// The padding of dst after spatial dimension `i`, less what output_padding
  /// appends; from the sizes where they are known.
  int64_t padsAtEnd(const WindowAttrs &w, int64_t i) const {
    int64_t in = rankedType(op->getOperand(0)).getDimSize(i + 1),
            out = rankedType(op->getResult(0)).getDimSize(i + 1);
    if (ShapedType::isDynamic(in) || ShapedType::isDynamic(out)) {
      SmallVector<int64_t> more = intsAttr(op, "output_padding");
      return w.padsEnd[i] - (more.empty() ? 0 : more[i]);
    }
    int64_t kernel = rankedType(op->getOperand(1)).getDimSize(i);
    return (in - 1) * w.strides[i] + (kernel - 1) * w.dilations[i] + 1 -
           w.padsBegin[i] - out;
  }

  /// With stride 1 a transposed convolution is one with its taps flipped, for
  /// which there are Winograd, channels as lanes, and products of several
  /// rows. True, and done, if its padding is none of dst.
  ///
  ///   ConvTranspose(%x, %w)  ->  Convolution(%x, tile.flip %t)
  bool flipTransposed() {
    Value src = op->getOperand(0), weights = op->getOperand(1);
    auto type = rankedType(weights);
    int64_t spatial = type.getRank() - 2;
    auto w = WindowAttrs::of(op, b, spatial);
    SmallVector<int64_t> begin, end;
    for (int64_t i = 0; i < spatial; ++i) {
      if (type.isDynamicDim(i) || w.strides[i] != 1)
        return false;
      int64_t reach = (type.getDimSize(i) - 1) * w.dilations[i];
      begin.push_back(reach - w.padsBegin[i]);
      end.push_back(reach - padsAtEnd(w, i));
    }
    auto negative = [](int64_t pad) { return pad < 0; };
    if (llvm::any_of(begin, negative) || llvm::any_of(end, negative) ||
        !type.hasStaticShape())
      return false;
    w.padsBegin = b.getDenseI64ArrayAttr(begin);
    w.padsEnd = b.getDenseI64ArrayAttr(end);
    int64_t groups = w.groups.getInt(), outputs = 0;
    SmallVector<int64_t> shape(type.getShape());
    shape[spatial] = type.getDimSize(spatial + 1) / groups;
    shape[spatial + 1] = type.getDimSize(spatial) * groups;
    auto turnedType = RankedTensorType::get(shape, type.getElementType());
    bool lanes =
        isDepthwise(turnedType, groups) || lanesAreGroups(src, turnedType, w);
    if (!lanes)
      outputs = winogradOutputs(w);
    if (!lanes && !outputs &&
        llvm::product_of(shape) == shape.back() * shape[spatial])
      return false; // one tap
    // Of an empty src its window would find elements in the padding alone.
    if (!rankedType(src).hasStaticShape())
      op->setAttr(kEmptyLikeSrcAttr, b.getUnitAttr());
    Value turned = transposeWeights(weights, groups);
    turned = tile::FlipOp::create(b, loc, turnedType, turned);
    if (lanes)
      packLanes(turned, w);
    else if (outputs)
      filter(turned, w, outputs);
    else
      multiply(turned, w);
    return true;
  }

  Operation *op;
  OpBuilder &b;
  Location loc;
  Selection &selection;
};

} // namespace

void selectConvolution(Operation *op, OpBuilder &b, Selection &selection) {
  Convolution(op, b, selection).select();
}

void selectConvTranspose(Operation *op, OpBuilder &b, Selection &selection) {
  Convolution(op, b, selection).selectTransposed();
}

} // namespace tenon::passes
