// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/ScalarOps.h"

#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;

namespace tenon::passes {

using Overflow = arith::IntegerOverflowFlags;

/// What a narrow integer was cut from without loss, or `v`.
static Value beforeCut(Value v, bool isSigned) {
  auto cut = v.getDefiningOp<arith::TruncIOp>();
  Overflow lossless = isSigned ? Overflow::nsw : Overflow::nuw;
  return cut && arith::bitEnumContainsAll(cut.getOverflowFlags(), lossless)
             ? cut.getIn()
             : v;
}

Value convertScalar(OpBuilder &b, Location loc, Value v, Type to,
                    bool fromSigned) {
  Type from = v.getType();
  if (from == to)
    return v;
  auto ff = dyn_cast<FloatType>(from), tf = dyn_cast<FloatType>(to);
  if (ff && tf) {
    if (ff.getWidth() < tf.getWidth())
      return arith::ExtFOp::create(b, loc, to, v);
    if (ff.getWidth() > tf.getWidth()) {
      // What was only moved is moved as it is.
      auto widened = v.getDefiningOp<arith::ExtFOp>();
      return widened && widened.getIn().getType() == to
                 ? widened.getIn()
                 : arith::TruncFOp::create(b, loc, to, v).getResult();
    }
    // f16 <-> bf16 meet in f32.
    Value wide = arith::ExtFOp::create(b, loc, b.getF32Type(), v);
    return arith::TruncFOp::create(b, loc, to, wide);
  }
  if (ff)
    return arith::FPToSIOp::create(b, loc, to, v);
  if (tf) {
    // Conversions of signed 32-bit integers are one instruction.
    if (from.getIntOrFloatBitWidth() < 32)
      v = convertScalar(b, loc, beforeCut(v, fromSigned), b.getI32Type(),
                        fromSigned);
    return arith::SIToFPOp::create(b, loc, to, v);
  }
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(b, loc, to, v);
  return fromSigned ? arith::ExtSIOp::create(b, loc, to, v).getResult()
                    : arith::ExtUIOp::create(b, loc, to, v).getResult();
}

/// One byte: 1 where `v` is not 0, NaN included.
static Value isNotZero(OpBuilder &b, Location loc, Value v) {
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(v.getType()));
  Value bit =
      isa<FloatType>(v.getType())
          ? arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, v, zero)
                .getResult()
          : arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v, zero)
                .getResult();
  return arith::ExtUIOp::create(b, loc, b.getI8Type(), bit);
}

/// Lets a sum of a product and something be one instruction, if `op` is one,
/// rounded once. What is rounded to an integer after it is never taken for
/// more precise than it is.
static void contract(Operation *op) {
  auto sum = dyn_cast_or_null<arith::AddFOp>(op);
  if (!sum)
    return;
  for (Value x : sum->getOperands()) {
    auto product = x.getDefiningOp<arith::MulFOp>();
    if (!product)
      continue;
    product.setFastmath(product.getFastmath() | arith::FastMathFlags::contract);
    sum.setFastmath(sum.getFastmath() | arith::FastMathFlags::contract);
  }
}

/// An f32 or f64 without its fraction, saturated to `to`; NaN gives 0. The
/// conversion itself is only defined in range: what is outside is replaced
/// before, or, where the float has no number at the bound, after it. What is
/// rounded before is rounded after the bounds instead, next to the conversion:
/// the two are one instruction (ExpandMath.cpp).
static Value floatToInteger(OpBuilder &b, Location loc, Value x,
                            IntegerType to) {
  auto rounded = x.getDefiningOp<math::RoundEvenOp>();
  if (rounded) {
    x = rounded.getOperand();
    contract(x.getDefiningOp());
  }
  unsigned width = to.getWidth();
  bool isSigned = !to.isUnsigned();
  auto type = cast<FloatType>(x.getType());
  auto number = [&](double v) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, v));
  };
  auto pick = [&](arith::CmpFPredicate p, Value l, Value r, Value yes,
                  Value no) -> Value {
    Value bit = arith::CmpFOp::create(b, loc, p, l, r);
    return arith::SelectOp::create(b, loc, bit, yes, no);
  };
  using P = arith::CmpFPredicate;
  if (isSigned)
    x = pick(P::ORD, x, x, x, number(0));
  double above = std::ldexp(1.0, isSigned ? width - 1 : width);
  Value low = number(isSigned ? -above : 0);
  int digits = type.getFPMantissaWidth();
  Value high = number(static_cast<int>(width) < digits
                          ? above - 1
                          : above * (1 - std::ldexp(1.0, -digits)));
  // NaN is not above 0 either.
  Value inside =
      isSigned ? pick(P::OLT, x, low, low, x) : pick(P::OGT, x, low, x, low);
  inside = pick(P::OGT, inside, high, high, inside);
  if (rounded)
    inside = math::RoundEvenOp::create(b, loc, inside);
  Type wide = b.getIntegerType(std::max(width, 32u));
  Value i = arith::FPToSIOp::create(b, loc, wide, inside);
  if (width < 32)
    return arith::TruncIOp::create(b, loc, b.getIntegerType(width), i,
                                   isSigned ? Overflow::nsw : Overflow::nuw);
  Value most = arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(wide, APInt::getSignedMaxValue(width)));
  return pick(P::OGE, x, number(above), most, i);
}

namespace {

/// Bytes of a float of 8 bits, with integers of 32 and f32: no instruction
/// knows them. Both kinds have the bits of an f32, but fewer of them and
/// another bias, so that a shift and a product with a power of two convert
/// them, denormal numbers included.
class ByteFloats {
public:
  ByteFloats(OpBuilder &b, Location loc, FloatType type)
      : b(b), loc(loc), hasInf(isa<Float8E5M2Type>(type)),
        shift(24 - type.getFPMantissaWidth()), bias(hasInf ? 15 : 7) {}

  Value decode(Value byte) {
    Value bits = arith::ExtUIOp::create(b, loc, b.getI32Type(), byte);
    Value code = arith::AndIOp::create(b, loc, bits, number(0x7f));
    Value sign =
        shiftLeft(arith::AndIOp::create(b, loc, bits, number(0x80)), 24);
    Value finite = asBits(arith::MulFOp::create(
        b, loc, asFloat(shiftLeft(code, shift)), powerOfTwo(127 - bias)));
    // The bits of a mantissa after the exponent of infinity and NaN.
    Value special = arith::OrIOp::create(b, loc, shiftLeft(code, shift),
                                         number(0x7f800000));
    Value isSpecial =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, code,
                              number(hasInf ? kInfinity : kNaN));
    Value result = arith::SelectOp::create(b, loc, isSpecial, special, finite);
    return asFloat(arith::OrIOp::create(b, loc, result, sign));
  }

  Value encode(Value x) {
    using P = arith::CmpFPredicate;
    Value bits = asBits(x);
    Value magnitude = arith::AndIOp::create(b, loc, bits, number(0x7fffffff));
    Value rounded = roundToPlace(magnitude);
    Value code = arith::ShRUIOp::create(
        b, loc,
        asBits(arith::MulFOp::create(b, loc, rounded, powerOfTwo(bias - 127))),
        number(shift));
    Value most = arith::ConstantOp::create(
        b, loc, b.getF32FloatAttr(hasInf ? 57344 : 448));
    code = pick(P::OGT, rounded, most, hasInf ? kInfinity : kNaN, code);
    code = pick(P::UNO, rounded, rounded, hasInf ? kNaN - 1 : kNaN, code);
    Value sign = arith::AndIOp::create(
        b, loc, arith::ShRUIOp::create(b, loc, bits, number(24)), number(0x80));
    return arith::TruncIOp::create(b, loc, b.getI8Type(),
                                   arith::OrIOp::create(b, loc, code, sign));
  }

private:
  static constexpr int64_t kInfinity = 0x7c, kNaN = 0x7f;

  /// What is added to a number and taken off again leaves it rounded to even
  /// at the place that the sum ends with: the last one of the number's
  /// exponent, or of denormal numbers. Beyond 2^17, which is too large in any
  /// case, exponents might overflow.
  Value roundToPlace(Value magnitude) {
    Value exponent =
        arith::AndIOp::create(b, loc, magnitude, number(0x7f800000));
    exponent = arith::MaxUIOp::create(b, loc, exponent,
                                      number(int64_t(128 - bias) << 23));
    exponent = arith::MinUIOp::create(b, loc, exponent,
                                      number(int64_t(127 + 17) << 23));
    Value above = asFloat(
        arith::AddIOp::create(b, loc, exponent, number(int64_t(shift) << 23)));
    Value sum = arith::AddFOp::create(b, loc, asFloat(magnitude), above);
    return arith::SubFOp::create(b, loc, sum, above);
  }

  Value number(int64_t v) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(v));
  }
  Value powerOfTwo(int exponent) {
    return arith::ConstantOp::create(
        b, loc, b.getF32FloatAttr(std::ldexp(1.0f, exponent)));
  }
  Value shiftLeft(Value v, int64_t by) {
    return arith::ShLIOp::create(b, loc, v, number(by));
  }
  Value asFloat(Value v) {
    return arith::BitcastOp::create(b, loc, b.getF32Type(), v);
  }
  Value asBits(Value v) {
    return arith::BitcastOp::create(b, loc, b.getI32Type(), v);
  }
  Value pick(arith::CmpFPredicate p, Value l, Value r, int64_t yes, Value no) {
    Value bit = arith::CmpFOp::create(b, loc, p, l, r);
    return arith::SelectOp::create(b, loc, bit, number(yes), no);
  }

  OpBuilder &b;
  Location loc;
  bool hasInf;
  int64_t shift; // from the place of the mantissa to that of an f32
  int bias;
};

/// Bytes of powers of two (f8_e8m0): the exponent of an f32.
class PowerBytes {
public:
  PowerBytes(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  Value decode(Value byte) {
    Value code = arith::ExtUIOp::create(b, loc, b.getI32Type(), byte);
    Value bits = arith::ShLIOp::create(b, loc, code, number(23));
    bits = pick(P::eq, code, number(0), number(kHalf), bits); // denormal
    bits = pick(P::eq, code, number(kNaN), number(0x7fc00000), bits);
    return arith::BitcastOp::create(b, loc, b.getF32Type(), bits);
  }

  /// The nearest power, of two as near the greater one: half of a place more
  /// carries into the exponent. NaN for negative numbers and for too large
  /// ones.
  Value encode(Value x) {
    Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), x);
    Value sum = arith::AddIOp::create(b, loc, bits, number(kHalf));
    Value code = arith::ShRUIOp::create(b, loc, sum, number(23));
    // 2^-127 has the exponent of denormal numbers.
    code = pick(P::ult, bits, number(kHalf + kHalf / 2), number(0), code);
    code = arith::MinUIOp::create(b, loc, code, number(kNaN));
    Value magnitude = arith::AndIOp::create(b, loc, bits, number(0x7fffffff));
    code = pick(P::eq, magnitude, number(0), number(0), code); // -0, too
    return arith::TruncIOp::create(b, loc, b.getI8Type(), code);
  }

private:
  using P = arith::CmpIPredicate;
  static constexpr int64_t kHalf = 1 << 22, kNaN = 255;

  Value number(int64_t n) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(n));
  }
  Value pick(P p, Value x, Value y, Value yes, Value no) {
    Value bit = arith::CmpIOp::create(b, loc, p, x, y);
    return arith::SelectOp::create(b, loc, bit, yes, no);
  }

  OpBuilder &b;
  Location loc;
};

/// `type` if its elements are floats of 8 bits.
FloatType byteFloat(Type type) {
  auto f = dyn_cast<FloatType>(type);
  return f && f.getWidth() == 8 ? f : FloatType();
}

Value decodeByte(OpBuilder &b, Location loc, FloatType type, Value byte) {
  return isa<Float8E8M0FNUType>(type) ? PowerBytes(b, loc).decode(byte)
                                      : ByteFloats(b, loc, type).decode(byte);
}

Value encodeByte(OpBuilder &b, Location loc, FloatType type, Value x) {
  return isa<Float8E8M0FNUType>(type) ? PowerBytes(b, loc).encode(x)
                                      : ByteFloats(b, loc, type).encode(x);
}

} // namespace

/// f64 as f32 that a narrower float rounds as it would round the f64: of the
/// two neighbours the one whose last bit is set (rounding to odd).
static Value asOddF32OfF64(OpBuilder &b, Location loc, Value v) {
  auto magnitude = [&](Value x) -> Value {
    return math::AbsFOp::create(b, loc, x);
  };
  Value near = arith::TruncFOp::create(b, loc, b.getF32Type(), v);
  Value back = arith::ExtFOp::create(b, loc, v.getType(), near);
  using P = arith::CmpFPredicate;
  Value isRounded = arith::CmpFOp::create(b, loc, P::ONE, back, v);
  Value isUp =
      arith::CmpFOp::create(b, loc, P::OGT, magnitude(back), magnitude(v));
  Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), near);
  Value one = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1));
  Value less = arith::SubIOp::create(b, loc, bits, one);
  Value cut = arith::SelectOp::create(b, loc, isUp, less, bits);
  Value odd = arith::OrIOp::create(b, loc, cut, one);
  Value kept = arith::SelectOp::create(b, loc, isRounded, odd, bits);
  return arith::BitcastOp::create(b, loc, b.getF32Type(), kept);
}

/// An integer of 32 or 64 bits as f32 that a narrower float rounds as it would
/// round the integer: what f32 cannot hold is cut off, and the last bit that is
/// left is set instead (rounding to odd).
static Value asOddF32(OpBuilder &b, Location loc, Value v) {
  auto number = [&](int64_t n) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(v.getType(), n));
  };
  auto cut = [&](Value bits, int64_t count) -> Value {
    int64_t odd = int64_t(1) << count;
    Value lost = arith::AndIOp::create(b, loc, bits, number(odd - 1));
    Value isLost = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, lost,
                                         number(0));
    Value kept = arith::AndIOp::create(b, loc, bits, number(-odd));
    Value marked = arith::OrIOp::create(b, loc, kept, number(odd));
    return arith::SelectOp::create(b, loc, isLost, marked, kept);
  };
  bool isWide = v.getType().isInteger(64);
  int64_t digits = isWide ? 53 : 24, width = isWide ? 64 : 32;
  Value size = math::AbsIOp::create(b, loc, v);
  Value isLong = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, size,
                                       number(int64_t(1) << digits));
  v = arith::SelectOp::create(b, loc, isLong, cut(v, width - 1 - digits), v);
  if (!isWide)
    return arith::SIToFPOp::create(b, loc, b.getF32Type(), v);
  constexpr int64_t kMoreDigits = 53 - 24;
  Value wide = arith::SIToFPOp::create(b, loc, b.getF64Type(), v);
  Value bits = arith::BitcastOp::create(b, loc, b.getI64Type(), wide);
  wide =
      arith::BitcastOp::create(b, loc, b.getF64Type(), cut(bits, kMoreDigits));
  return arith::TruncFOp::create(b, loc, b.getF32Type(), wide);
}

Value castScalar(OpBuilder &b, Location loc, Value v, Type from, Type to) {
  if (from == to)
    return v;
  if (FloatType bytes = byteFloat(from)) {
    v = decodeByte(b, loc, bytes, v);
    from = v.getType();
    if (from == to)
      return v;
  }
  // What is computed in f32 for a narrower float.
  if (isa<FloatType>(from))
    from = v.getType();
  auto narrow = dyn_cast<FloatType>(to);
  if (from.isF64() && narrow && narrow.getWidth() < 32) {
    v = asOddF32OfF64(b, loc, v);
    from = v.getType();
  }
  if (isa<FloatType>(from) && !from.isF32() && !from.isF64()) {
    v = convertScalar(b, loc, v, b.getF32Type());
    from = v.getType();
  }
  if (from.isInteger(1))
    v = isNotZero(b, loc, v);
  if (to.isInteger(1))
    return isNotZero(b, loc, v);
  if (FloatType bytes = byteFloat(to))
    return encodeByte(
        b, loc, bytes,
        convertScalar(b, loc, v, b.getF32Type(), from.isSignedInteger()));
  if (isa<FloatType>(to) && to.getIntOrFloatBitWidth() == 16 &&
      isa<IntegerType>(from))
    v = from.getIntOrFloatBitWidth() >= 32
            ? asOddF32(b, loc, v)
            : convertScalar(b, loc, v, b.getF32Type(), from.isSignedInteger());
  auto integer = dyn_cast<IntegerType>(to);
  if (integer && isa<FloatType>(from))
    return floatToInteger(b, loc, v, integer);
  return convertScalar(b, loc, v, storageType(to), from.isSignedInteger());
}

} // namespace tenon::passes
