//===- MultiplyIntegers.cpp - products of integers ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   MatMul(%a : u8, %w : s8) : s32      ->  tile.matmul(%a, pack(%w)) : s32
//   MatMul(Subtract(TypeCast(%a), %za), Subtract(TypeCast(%w), %zw)) : s32
//       ->  tile.matmul(%a, pack(%w)) - za * sum_k w - zw * sum_k (a - za)
//
// All of this is modulo 2^32, whatever the order of sums: nothing is rounded.
// The second form is for targets that add up four int8 products in one
// instruction, and for one zero point of each operand. Otherwise operands with
// zero points, and weights of u8, are multiplied as int16: differences of bytes
// fit. The padding of a convolution is 0 then, as it must be. Operands of s32
// that nobody knows to be small stay as they are.
//
// Convolutions that have channels as lanes are computed in f32, where that is
// exact.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/support/Error.h"
#include "passes/Passes.h"
#include "passes/ops/Packing.h"
#include "passes/ops/Quantised.h"
#include "passes/support/Build.h"
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#include <cmath>

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_MULTIPLYINTEGERS
#include "passes/Passes.h.inc"

namespace {

/// Zero points up to this size leave differences of bytes that fit 16 bits.
constexpr int64_t kMostZeroPoint = 255;

Type elementOf(Value v) { return rankedType(v).getElementType(); }

IntegerType byteType(Value v) {
  auto type = dyn_cast<IntegerType>(elementOf(v));
  return type && type.getWidth() == 8 ? type : IntegerType();
}

bool isS32(Value v) { return elementOf(v).isSignedInteger(32); }

/// What `v` was before it became s32, if that was a byte; else null.
Value castByte(Value v) {
  auto cast = v.getDefiningOp<graph::TypeCastOp>();
  return cast && isS32(v) && byteType(cast.getSrc()) ? cast.getSrc() : Value();
}

/// Whether all elements of `v`, of s32, are as small as bytes.
bool isSmall(Value v) {
  Operation *def = v.getDefiningOp();
  for (; def && graph::isView(def); def = v.getDefiningOp())
    v = def->getOperand(0);
  DenseElementsAttr literal;
  if (auto constant = v.getDefiningOp<arith::ConstantOp>())
    literal = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!literal)
    return bool(castByte(v));
  return llvm::all_of(literal.getValues<APInt>(), [](const APInt &x) {
    return x.abs().ule(kMostZeroPoint);
  });
}

/// An operand of a product.
struct Factor {
  Value value; // as the product reads it
  Value bytes; // of the same shape; null: there are none
  Value zero;  // what is taken off all bytes, of s32 and rank 0; null: nothing
  bool fitsInt16 = false;
  double largest = 0x1p31;

  Factor(OpBuilder &b, Value v) : value(v) {
    constexpr double kMostByte = 255;
    if (byteType(v)) {
      setBytes(v, kMostByte);
      return;
    }
    Quantised under; // for its views
    Operation *def = v.getDefiningOp();
    for (; def && graph::isView(def); def = v.getDefiningOp()) {
      under.views.push_back(def);
      v = def->getOperand(0);
    }
    if (Value byte = castByte(v)) {
      setBytes(under.viewed(b, byte), kMostByte);
      return;
    }
    auto less = v.getDefiningOp<graph::SubtractOp>();
    Value byte = less ? castByte(less->getOperand(0)) : Value();
    if (!byte || !isSmall(less->getOperand(1)) ||
        rankedType(byte).getShape() != rankedType(v).getShape())
      return;
    fitsInt16 = true;
    largest = kMostByte + kMostZeroPoint;
    Value zp = less->getOperand(1);
    auto type = rankedType(zp);
    if (!type.hasStaticShape() || type.getNumElements() != 1)
      return;
    bytes = under.viewed(b, byte);
    zero = type.getRank() ? buildReshape(b, v.getLoc(), zp, {}) : zp;
  }

  bool isSigned() const { return byteType(bytes).isSigned(); }

private:
  void setBytes(Value v, double most) {
    bytes = v;
    fitsInt16 = true;
    largest = most;
  }
};

class IntegerProduct {
public:
  IntegerProduct(Operation *op, const Packing &packing)
      : op(op), packing(packing), b(op), loc(op->getLoc()),
        src(b, op->getOperand(0)), weights(b, op->getOperand(1)) {}

  /// Why it does not compile; empty: it does.
  std::string explainRefusal() const {
    if (hasLanes() && !sumsFitF32())
      return "sums of a convolution of so few channels per group may exceed "
             "2^24";
    return "";
  }

  void form() {
    Value result;
    if (hasLanes())
      result = inF32();
    else if (multipliesBytes())
      result = ofBytes();
    else if (src.fitsInt16 && weights.fitsInt16)
      result = product(toInt16(src.value), toInt16(weights.value));
    else
      result = product(toS32(src.value), toS32(weights.value));
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

private:
  bool isConvolution() const { return isa<graph::ConvolutionOp>(op); }
  bool hasLanes() const {
    return isConvolution() &&
           hasChannelsAsLanes(op, packing.isa().lanes(/*elementBits=*/32));
  }
  /// Products of one sum.
  int64_t depth() const {
    ArrayRef<int64_t> shape = rankedType(op->getOperand(1)).getShape();
    return isConvolution() ? ShapedType::getNumElements(shape.drop_back())
                           : shape[shape.size() - 2];
  }
  bool sumsFitF32() const {
    return static_cast<double>(depth()) * src.largest * weights.largest <=
           0x1p24;
  }

  bool multipliesBytes() const {
    if (!src.bytes || !weights.bytes)
      return false;
    // The product of zero points is added up as often as the sum is long.
    if (ShapedType::isDynamic(depth()) && !hasOneZero())
      return false;
    bool isPlain = !src.zero && !weights.zero && weights.isSigned();
    int64_t width = packing.target.getInt8DotWidth();
    return isConvolution() || width != kFullInt8DotWidth
               ? isPlain && !widensToInt16(op, width)
               : true;
  }

  /// Whether only one of the bytes that are multiplied has a zero point.
  bool hasOneZero() const {
    return !src.zero || (!weights.zero && weights.isSigned());
  }

  Type s32() { return IntegerType::get(b.getContext(), 32, Signed); }
  Value toS32(Value v) { return buildCast(b, loc, v, s32()); }
  Value toInt16(Value v) {
    return buildCast(b, loc, v, IntegerType::get(b.getContext(), 16, Signed));
  }
  Value toF32(Value v) { return buildCast(b, loc, v, b.getF32Type()); }
  Value literal(int64_t value) {
    return arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(RankedTensorType::get({}, s32()),
                               APInt(32, value, /*isSigned=*/true)));
  }
  Value binary(StringRef kind, Value x, Value y) {
    return buildBinary(b, loc, kind, x, y);
  }

  Value product(Value x, Value w) {
    auto dst = rankedType(op->getResult(0));
    if (isConvolution())
      return packing.buildConvOfRows(b, loc, dst, x, w,
                                     WindowAttrs::of(op, b, dst.getRank() - 2));
    return packing.buildMatMul(b, loc, dst, x, w);
  }

  Value inF32() {
    auto dst = rankedType(op->getResult(0));
    Value sum = buildGraphOp(
        b, loc, "Convolution", {toF32(src.value), toF32(weights.value)},
        RankedTensorType::get(dst.getShape(), b.getF32Type()), op->getAttrs());
    return toS32(sum);
  }

  Value sumOf(Value bytes, int64_t axis) {
    auto type = rankedType(bytes);
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = 1;
    return buildGraphOp(b, loc, "ReduceSum", toS32(bytes),
                        RankedTensorType::get(shape, s32()),
                        {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({axis})),
                         b.getNamedAttr("keep_dims", b.getBoolAttr(true))});
  }

  /// A MatMul: sum_k a w - za sum_k w - zw sum_k (a - za). Weights of u8 are
  /// s8, less 128, and so is their zero point.
  Value ofBytes() {
    constexpr int64_t kHalf = 128;
    Value w = weights.bytes, zero = weights.zero;
    if (!weights.isSigned()) {
      Value less = binary("Subtract", toS32(w), literal(kHalf));
      w = buildCast(b, loc, less, IntegerType::get(b.getContext(), 8, Signed));
      zero = zero ? binary("Subtract", zero, literal(kHalf)) : literal(-kHalf);
    }
    Value sum = product(src.bytes, w);
    if (zero) {
      int64_t rank = rankedType(src.bytes).getRank();
      Value rows = sumOf(src.bytes, rank - 1);
      if (src.zero)
        rows = binary("Subtract", rows,
                      binary("Multiply", src.zero, literal(depth())));
      sum = binary("Subtract", sum, binary("Multiply", rows, zero));
    }
    if (src.zero) {
      Value columns = sumOf(w, rankedType(w).getRank() - 2);
      sum = binary("Subtract", sum, binary("Multiply", columns, src.zero));
    }
    return sum;
  }

  static constexpr auto Signed = IntegerType::Signed;

  Operation *op;
  const Packing &packing;
  OpBuilder b;
  Location loc;
  Factor src, weights;
};

struct MultiplyIntegersPass : impl::MultiplyIntegersBase<MultiplyIntegersPass> {
  void runOnOperation() override {
    Packing packing{tile::targetOf(getOperation())};
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<graph::MatMulOp, graph::ConvolutionOp>(op) &&
          isS32(op->getResult(0)))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      IntegerProduct product(op, packing);
      if (std::string reason = product.explainRefusal(); !reason.empty()) {
        emitError(op, ErrorCode::UnsupportedForm, reason);
        return signalPassFailure();
      }
      product.form();
      ++multiplied;
    }
    eraseDeadOps(getOperation()); // what made s32 of bytes for them alone
  }
};

} // namespace
} // namespace tenon::passes
