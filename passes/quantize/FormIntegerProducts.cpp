//===- FormIntegerProducts.cpp - products of dequantised bytes ------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   MatMul(Dequantize(a) {sa, za}, Dequantize(w) {sw[n]})
//       ->  Multiply(Subtract(tile.matmul(a, pack(w)), za * sum_k w), sa * sw)
//
// since sum_k sa (a - za) sw w = sa sw (sum_k a w - za sum_k w). The difference
// is one of s32: both may be so large that f32 keeps nothing of it. A
// convolution may be a tile.winograd of a, which sums in f32. What the padding
// of a convolution leaves out has no part in either sum: there sum w is a
// convolution of ones, computed once.
//
// Where the weights of a MatMul have a zero point zw, zw sum_k (a - za) is
// taken off as well. Weights of u8 become s8, less 128, and so does their zero
// point.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "passes/Passes.h"
#include "passes/ops/Quantised.h"
#include "passes/ops/Winograd.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_FORMINTEGERPRODUCTS
#include "passes/Passes.h.inc"

namespace {

/// Of a tensor of zero points, those of bytes.
constexpr double kMostZeroPoint = 255;

class Int8Product {
public:
  Int8Product(Operation *op, const Packing &packing,
              const WinogradOptions &filtering)
      : op(op), packing(packing), filtering(filtering), b(op),
        loc(op->getLoc()) {}

  /// Whether both operands are dequantised.
  bool find() {
    src = traceQuantised(op->getOperand(0));
    weights = traceQuantised(op->getOperand(1));
    return src.dequantize && weights.dequantize;
  }

  /// Why the bytes cannot be multiplied as they are; empty: they can.
  std::string explainRefusal() {
    if (std::string reason = whyNoInt8Product(op, src, weights,
                                              packing.target.getInt8DotWidth());
        !reason.empty())
      return reason;
    int64_t rank = rankedType(op->getOperand(1)).getRank();
    if (int64_t scales = weights.scaleCount(); scales != 1) {
      int64_t inner = rankedType(weights.bytes()).getRank();
      std::optional<int64_t> axis = weights.axisBehind(
          normalizedAxis(intAttr(weights.dequantize, "axis", 1), inner));
      if (stringAttr(weights.dequantize, "qtype") != "per_channel" ||
          axis != rank - 1)
        return "there is not one scale per column of the weights";
      weights.axis = rank - 1;
    }
    ArrayRef<int64_t> shape = rankedType(op->getOperand(1)).getShape();
    if (llvm::any_of(shape, ShapedType::isDynamic))
      return "the shape of the weights is not known";
    if (!sumsFit(shape.drop_back()))
      return "the largest possible sum of products does not fit 32 bits";
    if (!scalesFit())
      return "the product of two scales is 0 or infinite in f32";
    // What pads leave out, a literal of ones tells by position.
    ArrayRef<int64_t> data = rankedType(op->getOperand(0)).getShape();
    if (isConvolution() &&
        llvm::any_of(data.drop_front(), ShapedType::isDynamic))
      return "the spatial dimensions are not known";
    if (isConvolution() &&
        hasChannelsAsLanes(op, packing.isa().lanes(/*elementBits=*/32)))
      return "a convolution of so few channels per group has no int8 kernel";
    return "";
  }

  void form() {
    Value a = src.viewed(b), w = signedWeights();
    auto dst = rankedType(op->getResult(0));
    Value sum, wideA = a, wideW = w;
    int64_t outputs = isConvolution() ? winogradOutputs() : 0;
    int64_t weightZero = *weights.zeroPoint() - weightShift();
    bool isExact = (src.hasZeroPoint() || weightZero) && !outputs;
    auto sumType =
        RankedTensorType::get(dst.getShape(), isExact ? s32() : b.getF32Type());
    if (!outputs && multipliesInt16()) {
      Type word = IntegerType::get(b.getContext(), 16, IntegerType::Signed);
      wideA = buildCast(b, loc, a, word);
      wideW = buildCast(b, loc, w, word);
    }
    if (isConvolution()) {
      auto window = WindowAttrs::of(op, b, dst.getRank() - 2);
      sum = outputs ? buildWinograd(packing, b, loc, sumType, a, toF32(w),
                                    window, outputs)
                    : packing.buildConvOfRows(b, loc, sumType, wideA, wideW,
                                              window);
    } else {
      sum = packing.buildMatMul(b, loc, sumType, wideA, wideW);
    }
    if (weightZero)
      sum = takeOffWeightZero(sum, a, weightZero);
    if (src.hasZeroPoint())
      sum = takeOffZeroPoint(sum, signedSums());
    else if (isExact)
      sum = toF32(sum);
    for (Value scale : scales())
      sum = buildBinary(b, loc, "Multiply", sum, scale);
    op->getResult(0).replaceAllUsesWith(
        buildImplicitCast(b, loc, sum, dst.getElementType()));
    op->erase();
  }

private:
  bool isConvolution() const { return isa<graph::ConvolutionOp>(op); }

  static bool isSigned(const Quantised &q) {
    return rankedType(q.bytes()).getElementType().isSignedInteger();
  }

  /// What is taken off weights of u8 so that they fit s8; words hold them as
  /// they are.
  int64_t weightShift() const {
    constexpr int64_t kHalf = 128;
    return isSigned(weights) || multipliesInt16() ? 0 : kHalf;
  }

  Value signedWeights() {
    Value w = weights.viewed(b);
    int64_t shift = weightShift();
    if (!shift)
      return w;
    Value less = buildBinary(b, loc, "Subtract", toF32(w),
                             buildScalar(b, loc, static_cast<double>(shift)));
    return buildCast(b, loc, less,
                     IntegerType::get(b.getContext(), 8, IntegerType::Signed));
  }

  /// Sums of signedWeights(), from those of the bytes as they are: nobody else
  /// then needs weights that are made s8 where they are packed.
  Value signedSums() {
    Value sums = weightSums(weights.viewed(b));
    int64_t less = weightShift() * depth();
    return less ? buildBinary(b, loc, "Subtract", sums,
                              buildScalar(b, loc, static_cast<double>(less)))
                : sums;
  }

  /// Products of a sum of a MatMul.
  int64_t depth() const {
    auto type = rankedType(op->getOperand(1));
    return type.getDimSize(type.getRank() - 2);
  }

  /// Whether all sums over `dims` of int8 products fit 32 bits, with and
  /// without the zero point.
  bool sumsFit(ArrayRef<int64_t> dims) const {
    // Of bytes with either sign, and less a zero point.
    double mostWeight = 128;
    auto zp = static_cast<double>(weights.zeroPoint().value_or(0));
    if (zp != 0 || !isSigned(weights)) {
      double least = isSigned(weights) ? -128 : 0;
      for (double end : {least, least + 255})
        mostWeight = std::max({mostWeight, std::abs(end), std::abs(end - zp)});
    }
    double least = isSigned(src) ? -128 : 0, most = least + 255;
    double largest = std::max(-least, most);
    auto takeOff = [&](double zp) {
      largest = std::max({largest, std::abs(least - zp), std::abs(most - zp)});
    };
    if (src.isDynamic() && src.hasZeroPoint()) {
      takeOff(-kMostZeroPoint);
      takeOff(kMostZeroPoint);
    } else if (src.hasZeroPoint()) {
      takeOff(static_cast<double>(knownZeroPoint()));
    }
    // Dims before those of a matrix are a batch.
    auto count = static_cast<double>(
        isConvolution() ? ShapedType::getNumElements(dims) : dims.back());
    return count * mostWeight * largest <= std::numeric_limits<int32_t>::max();
  }

  /// Whether scales() says what the two do; with tensors it keeps them apart.
  bool scalesFit() const {
    if (src.isDynamic() || weights.isDynamic())
      return true;
    auto all = weights.scales();
    return llvm::all_of(
        all, [&](float s) { return std::isnormal(s * src.scales()[0]); });
  }

  /// Outputs per dim of a Winograd tile in f32, or 0. It saves more
  /// than bytes do where no instruction multiplies these: int16 products are
  /// hardly faster than those of floats (docs/cost-model.md).
  int64_t winogradOutputs() {
    Value w = op->getOperand(1);
    // Of weights that change, sums would have to be computed, too.
    if (packing.target.getInt8DotWidth() == kFullInt8DotWidth ||
        !isWinogradKernel(rankedType(w)) || !isKnownOnce(w))
      return 0;
    return chooseWinograd(op->getOperand(0), w, rankedType(op->getResult(0)),
                          WindowAttrs::of(op, b, 2), filtering)
        .outputs;
  }

  bool multipliesInt16() const {
    return widensToInt16(op, packing.target.getInt8DotWidth());
  }

  Type s32() const {
    return IntegerType::get(op->getContext(), 32, IntegerType::Signed);
  }

  Value toF32(Value v) { return buildCast(b, loc, v, b.getF32Type()); }
  Value toS32(Value v) { return buildCast(b, loc, v, s32()); }

  Value literalS32(int64_t value) {
    return arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(RankedTensorType::get({}, s32()),
                               APInt(32, value, /*isSigned=*/true)));
  }

  /// sum - zp * sum_k (a - za), in s32.
  Value takeOffWeightZero(Value sum, Value a, int64_t zp) {
    Value rows = toS32(reduceSum(toF32(a), rankedType(a).getRank() - 1));
    if (int64_t za = *src.zeroPoint())
      rows = buildBinary(b, loc, "Subtract", rows, literalS32(depth() * za));
    return buildBinary(b, loc, "Subtract", sum,
                       buildBinary(b, loc, "Multiply", rows, literalS32(zp)));
  }

  /// sum - zp * weights, in f32; where `sum` is of s32 the difference is, too.
  Value takeOffZeroPoint(Value sum, Value weights) {
    auto minus = [&](Value sum, Value zp, Value weights) {
      return buildBinary(b, loc, "Subtract", sum,
                         buildBinary(b, loc, "Multiply", weights, zp));
    };
    if (rankedType(sum).getElementType().isF32())
      return minus(sum, zeroPoint(), weights);
    // Sums of weights are below 2^24: f32 has them as they are.
    Value sums = toS32(weights);
    if (!src.isDynamic())
      return toF32(minus(sum, literalS32(knownZeroPoint()), sums));
    Value zp = zeroPoint();
    Type type = rankedType(src.dequantize->getOperand(2)).getElementType();
    if (!type.isInteger(32))
      return toF32(minus(sum, toS32(zp), sums));
    // What no byte has as zero point may be beyond s32 times the weights.
    Value inRange = buildGraphOp(
        b, loc, "Clamp", zp, rankedType(zp),
        {b.getNamedAttr("min", b.getF32FloatAttr(-kMostZeroPoint)),
         b.getNamedAttr("max", b.getF32FloatAttr(kMostZeroPoint))});
    Value near = toF32(minus(sum, toS32(inRange), sums));
    return minus(near, buildBinary(b, loc, "Subtract", zp, inRange), weights);
  }

  /// A tensor of one element, of rank 0.
  Value single(Value v) { return parameterInF32(b, loc, v, {}); }

  /// The zero point of src.
  Value zeroPoint() {
    if (src.isDynamic())
      return single(src.dequantize->getOperand(2));
    return buildScalar(b, loc, knownZeroPoint());
  }
  int64_t knownZeroPoint() const {
    return intsAttr(src.dequantize, "zps").front();
  }

  Value reduceSum(Value v, int64_t axis) {
    auto type = rankedType(v);
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = 1;
    return buildGraphOp(b, loc, "ReduceSum", v, type.clone(shape),
                        {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({axis})),
                         b.getNamedAttr("keep_dims", b.getBoolAttr(true))});
  }

  /// Sums of the weights that meet an element of dst, broadcast to it.
  Value weightSums(Value w) {
    int64_t rank = rankedType(w).getRank();
    Value sums = reduceSum(toF32(w), rank - 2);
    if (!isConvolution())
      return sums;
    auto pads = [&](StringRef name) { return intsAttr(op, name); };
    auto isZero = [](int64_t p) { return p == 0; };
    bool padded = !llvm::all_of(pads("pads_begin"), isZero) ||
                  !llvm::all_of(pads("pads_end"), isZero);
    if (!padded) {
      for (int64_t d = 0; d < rank - 2; ++d)
        sums = reduceSum(sums, d);
      return buildReshape(b, loc, sums, {rankedType(w).getShape().back()});
    }
    SmallVector<int64_t> shape(rankedType(op->getOperand(0)).getShape());
    shape.front() = shape.back() = 1;
    auto type = RankedTensorType::get(shape, b.getF32Type());
    Value ones =
        arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, 1.0f));
    SmallVector<int64_t> out(rankedType(op->getResult(0)).getShape());
    out.front() = 1;
    SmallVector<NamedAttribute> attrs;
    for (NamedAttribute attr : op->getAttrs())
      if (attr.getName() != "groups")
        attrs.push_back(attr);
    return buildGraphOp(b, loc, "Convolution", {ones, sums}, type.clone(out),
                        attrs);
  }

  /// What multiplies the sum: one literal where scales are known, else tensors.
  SmallVector<Value> scales() {
    if (!src.isDynamic() && !weights.isDynamic()) {
      SmallVector<float> values;
      for (float s : weights.scales())
        values.push_back(s * src.scales()[0]);
      return {literal(values)};
    }
    Value first = src.isDynamic() ? single(src.dequantize->getOperand(1))
                                  : literal(src.scales());
    if (!weights.isDynamic())
      return {first, literal(weights.scales())};
    Value second = weights.dequantize->getOperand(1);
    return {first, weights.axis < 0 ? single(second) : toF32(second)};
  }

  Value literal(ArrayRef<float> values) {
    if (values.size() == 1)
      return buildScalar(b, loc, values[0]);
    auto type = RankedTensorType::get({static_cast<int64_t>(values.size())},
                                      b.getF32Type());
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(type, values));
  }

  Operation *op;
  const Packing &packing;
  const WinogradOptions &filtering;
  OpBuilder b;
  Location loc;
  Quantised src, weights;
};

struct FormIntegerProductsPass
    : impl::FormIntegerProductsBase<FormIntegerProductsPass> {
  using FormIntegerProductsBase::FormIntegerProductsBase;
  void runOnOperation() override {
    Packing packing{tile::targetOf(getOperation())};
    auto filtering = winogradOptions(getOperation(), winograd, fastMath);
    if (failed(filtering))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<graph::MatMulOp, graph::ConvolutionOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      Int8Product product(op, packing, *filtering);
      if (!product.find())
        continue;
      if (std::string reason = product.explainRefusal(); !reason.empty()) {
        op->emitRemark("dequantised operands are multiplied in f32: " + reason);
        continue;
      }
      product.form();
      ++formed;
    }
    eraseDeadOps(getOperation()); // What dequantised for them alone.
  }
};

} // namespace
} // namespace tenon::passes
