// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/ScalarOps.h"

#include "codegen/math/MathFunctions.h"
#include "dialects/graph/OpFacts.h"
#include "passes/ops/IntegerOps.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;

namespace tenon::passes {

Value emitGreater(OpBuilder &b, Location loc, Value x, Value y) {
  Value first = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(b, loc, first, x, y);
}

Value emitExpOrZero(OpBuilder &b, Location loc, Value x, bool isFinite) {
  auto flags = arith::FastMathFlags::afn;
  if (isFinite)
    flags = flags | arith::FastMathFlags::ninf;
  return math::ExpOp::create(b, loc, x, flags);
}

Value emitExpOfDifference(OpBuilder &b, Location loc, Value x, Value y) {
  using Flags = arith::FastMathFlags;
  Value d = arith::SubFOp::create(b, loc, x, y);
  return math::ExpOp::create(b, loc, d,
                             Flags::afn | Flags::ninf | Flags::reassoc);
}

Value emitLogistic(OpBuilder &b, Location loc, Value x) {
  auto c = [&](double v) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(x.getType(), v));
  };
  auto limited = [&](Value v, arith::CmpFPredicate beyond, double limit) {
    Value isBeyond = arith::CmpFOp::create(b, loc, beyond, v, c(limit));
    return std::pair(isBeyond, Value(arith::SelectOp::create(b, loc, isBeyond,
                                                             c(limit), v)));
  };
  // What would be denormal is 0, so that exp(-x) is finite; below exp(-40) it
  // adds nothing to 1. NaN stays.
  constexpr double kLargest = 87.336; // 2^126 = exp(87.3365)
  Value y = arith::SubFOp::create(b, loc, c(0), x);
  auto [tiny, z] = limited(y, arith::CmpFPredicate::OGT, kLargest);
  z = limited(z, arith::CmpFPredicate::OLT, -40).second;
  Value e = emitExpOrZero(b, loc, z, /*isFinite=*/true);
  y = arith::DivFOp::create(b, loc, c(1),
                            arith::AddFOp::create(b, loc, c(1), e));
  return arith::SelectOp::create(b, loc, tiny, c(0), y);
}

namespace {

/// Writes arithmetic on values of one float type without ceremony.
struct Calc {
  OpBuilder &b;
  Location loc;
  Operation *op;
  SmallVector<Value> in;

  Value x() { return in[0]; }
  Type type() { return in[0].getType(); }
  Value c(double v) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type(), v));
  }
  Value a(StringRef name) { return c(floatAttr(op, name)); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, loc, x, y, z);
  }
  Value neg(Value x) { return arith::NegFOp::create(b, loc, x); }
  /// The greater one, or NaN; of -0 and 0 any. Three instructions, where the
  /// maximum of IEEE 754 takes five.
  Value max(Value x, Value y) { return orNaN(x, select(gt(x, y), x, y)); }
  Value min(Value x, Value y) { return orNaN(x, select(lt(x, y), x, y)); }
  Value orNaN(Value x, Value other) {
    return select(cmp(arith::CmpFPredicate::UNO, x, x), x, other);
  }
  Value exp(Value x) { return math::ExpOp::create(b, loc, x); }
  Value expm1(Value x) { return math::ExpM1Op::create(b, loc, x); }
  Value log(Value x) { return math::LogOp::create(b, loc, x); }
  Value tanh(Value x) { return math::TanhOp::create(b, loc, x); }
  Value sqrt(Value x) { return math::SqrtOp::create(b, loc, x); }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value cmp(arith::CmpFPredicate p, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, p, x, y);
  }
  Value gt(Value x, Value y) { return cmp(arith::CmpFPredicate::OGT, x, y); }
  Value ge(Value x, Value y) { return cmp(arith::CmpFPredicate::OGE, x, y); }
  Value lt(Value x, Value y) { return cmp(arith::CmpFPredicate::OLT, x, y); }
  Value select(Value c, Value x, Value y) {
    return arith::SelectOp::create(b, loc, c, x, y);
  }
  Value logistic(Value x) { return emitLogistic(b, loc, x); }
  /// ln(1 + exp(x)) without overflow: max(x, 0) + log1p(exp(-|x|)).
  Value softplus(Value x) {
    Value e = emitExpOrZero(b, loc, sub(c(0), abs(x)), /*isFinite=*/true);
    // Its operand is from 0 to 1.
    Value log = math::Log1pOp::create(b, loc, e, arith::FastMathFlags::ninf);
    return add(atLeast(x, c(0)), log);
  }
  /// A limit, which is a number, instead of what is beyond it; NaN and -0 stay.
  /// One instruction, where the maximum of IEEE 754 takes three.
  Value atLeast(Value x, Value limit) { return select(lt(x, limit), limit, x); }
  Value atMost(Value x, Value limit) { return select(gt(x, limit), limit, x); }
  Value clamp(Value x, Value lo, Value hi) {
    return atMost(atLeast(x, lo), hi);
  }
  /// d of a *Backward operation whose input 0 is src or dst.
  bool usesDst() { return boolAttr(op, "use_dst", true); }
};

using Rule = Value (*)(Calc &);

constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kInvSqrt2Pi = 0.39894228040143267794;
constexpr double kGeluCubic = 0.044715;

/// The distance of the normal distribution from its limit on the side of x,
/// Phi(-|x|) = density * ratio: not by 1 + erf, which has no digits left there.
struct NormalTail {
  Value density; // exp(-x^2 / 2)
  Value ratio;
};

/// From there the density is less than any normal number, or than any number.
constexpr double kNormalEnd = 13.25, kDenormalEnd = 14.5;

/// `isNormal`: a density less than any normal number is 0.
NormalTail normalTail(Calc &k, bool isNormal) {
  Value t = k.atMost(k.abs(k.x()), k.c(isNormal ? kNormalEnd : kDenormalEnd));
  Value half = k.mul(k.c(-0.5), t), exponent = k.mul(half, t);
  // Of the exact product: an exponent of -87 is rounded by 87 units.
  using Flags = arith::FastMathFlags;
  auto flags =
      isNormal ? Flags::afn | Flags::ninf | Flags::reassoc : Flags::none;
  Value density =
      math::ExpOp::create(k.b, k.loc, exponent, flags | Flags::contract);
  return {density, codegen::emitNormalTailRatio(k.b, k.loc, t)};
}

/// x Phi(x) is what the tail, times |x|, leaves of x, or of 0 where x is
/// negative.
Value geluErf(Calc &k) {
  auto [density, ratio] = normalTail(k, /*isNormal=*/true);
  // Infinity by the ratio only where 0 times it is to be NaN.
  Value away = k.atLeast(k.neg(k.x()), k.atMost(k.abs(k.x()), k.c(kNormalEnd)));
  return k.fma(k.neg(k.mul(away, ratio)), density, k.atLeast(k.x(), k.c(0)));
}

/// 2 u, u = sqrt(2 / pi) (x + 0.044715 x^3): (1 + tanh u) / 2 is logistic(2 u),
/// which costs less.
Value geluTanhArgument(Calc &k) {
  Value x2 = k.mul(k.x(), k.x());
  Value inner = k.mul(k.x(), k.add(k.c(1), k.mul(k.c(kGeluCubic), x2)));
  return k.mul(k.c(2 * kSqrt2OverPi), inner);
}

Value gelu(Calc &k) {
  if (stringAttr(k.op, "mode") != "gelu_tanh")
    return geluErf(k);
  return k.mul(k.x(), k.logistic(geluTanhArgument(k)));
}

Value geluBackward(Calc &k) {
  Value x = k.x(), dd = k.in[1];
  if (stringAttr(k.op, "mode") != "gelu_tanh") {
    // Phi(x) + x phi(x), where x is negative; that of x and -x is 1.
    auto [density, ratio] = normalTail(k, /*isNormal=*/false);
    Value slope = k.mul(k.c(-kInvSqrt2Pi), k.abs(x));
    Value tail = k.mul(density, k.add(ratio, slope));
    return k.mul(dd, k.select(k.lt(x, k.c(0)), tail, k.sub(k.c(1), tail)));
  }
  // The factor and what it lacks of 1, from the smaller: no cancellation.
  Value argument = geluTanhArgument(k);
  Value e = k.exp(k.neg(k.abs(argument)));
  Value large = k.div(k.c(1), k.add(k.c(1), e)), small = k.mul(e, large);
  Value half = k.select(k.lt(argument, k.c(0)), small, large);
  Value x2 = k.atMost(k.mul(x, x), k.c(1e30)); // times 0, where it is large
  Value dArg = k.mul(k.c(2 * kSqrt2OverPi),
                     k.add(k.c(1), k.mul(k.c(3 * kGeluCubic), x2)));
  Value slope = k.mul(k.mul(small, large), dArg);
  return k.mul(dd, k.add(half, k.mul(x, slope)));
}

/// x tanh(ln(1 + e)) with e = exp(x) is x t / (t + 2), t = e (e + 2): one exp,
/// no cancellation. Beyond x = 20 the factor is 1 in f32, and t stays finite.
Value mish(Calc &k) {
  Value e = k.exp(k.atMost(k.x(), k.c(20)));
  Value t = k.mul(e, k.add(e, k.c(2)));
  return k.mul(k.x(), k.div(t, k.add(t, k.c(2))));
}

/// tanh(sp) + x sigmoid(x) (1 - tanh(sp)^2), sp = ln(1 + e), is
/// (t (t + 2) + 4 x e (e + 1)) / (t + 2)^2 with e and t as above: no
/// cancellation where tanh is almost 1. Below x = -104 e is 0.
Value mishBackward(Calc &k) {
  Value x = k.clamp(k.x(), k.c(-110), k.c(20));
  Value e = k.exp(x);
  Value t = k.mul(e, k.add(e, k.c(2)));
  Value below = k.add(t, k.c(2));
  Value slope = k.mul(k.mul(k.c(4), x), k.mul(e, k.add(e, k.c(1))));
  Value sum = k.add(k.mul(t, below), slope);
  return k.mul(k.in[1], k.div(sum, k.mul(below, below)));
}

/// Near 0 a polynomial; from 1 on what the tail of the normal distribution
/// leaves of 1: erfc(x) = 2 Phi(-x sqrt 2), which is less than 0.16 there. From
/// 4 on the result is 1.
Value erf(Calc &k) {
  constexpr double kTerms[] = {
      1.1283791659137647,    -0.37612627136077775, 0.11283600177582803,
      -0.026854444648810108, 0.005189535449505569, -0.0008020842261706128,
      7.889122811550016e-05}; // minimax of erf(x) / x in x^2; 2^-29.5
  Value x = k.x(), size = k.abs(x), square = k.mul(x, x);
  Value sum = k.c(kTerms[6]);
  for (int i = 5; i >= 0; --i)
    sum = k.fma(sum, square, k.c(kTerms[i]));
  Value a = k.atMost(size, k.c(4));
  Value density =
      emitExpOrZero(k.b, k.loc, k.neg(k.mul(a, a)), /*isFinite=*/true);
  Value ratio =
      codegen::emitNormalTailRatio(k.b, k.loc, k.mul(a, k.c(std::sqrt(2.0))));
  Value far = k.fma(k.mul(k.c(-2), density), ratio, k.c(1));
  far = k.select(k.lt(x, k.c(0)), k.neg(far), far);
  return k.select(k.lt(size, k.c(1)), k.mul(x, sum), far);
}

/// 1 / pi without the bits that add whole periods of sin to the product with a
/// number of 24 bits from 2^(24 k) on: 28 bits, 28 more, and 53 beyond.
constexpr double kInversePi[][3] = {
    {0x1.4p-2, 0x1.7cc1b7p-8, 0x1.391054a7f09d6p-35},
    {0x1.45f306cp-2, 0x1.c9c8828p-30, 0x1.29fc2757d1f53p-57},
    {0x1.6e4e44p-25, 0x1.529fc26p-53, 0x1.57d1f534ddc0ep-81},
    {0x1.529fc2p-53, 0x1.d5f47dp-79, 0x1.34ddc0db6295ap-105},
    {0x1.3abe8fp-76, 0x1.534ddcp-101, 0x1.b6c52b3278872p-130},
    {0x1.f534ddcp-97, 0x1.b6c528p-130, 0x1.993c439041fe5p-153}};

/// What x / pi leaves when the nearest integer is subtracted, in f64, and
/// whether that is odd. Cody and Waite's reduction by three parts of pi, for
/// all numbers: the parts follow the exponent, as in Payne and Hanek's. In f64
/// the products with the first two are exact, and so are their fractions. They
/// may cancel down to 2^-31; the third part goes on to 2^-61.
std::pair<Value, Value> reduceByPi(Calc &k) {
  OpBuilder &b = k.b;
  Value x = arith::ExtFOp::create(b, k.loc, b.getF64Type(), k.x());
  Calc w{b, k.loc, k.op, {x}};
  Value size = w.abs(x), products[3];
  Value parts[] = {w.c(kInversePi[0][0]), w.c(kInversePi[0][1]),
                   w.c(kInversePi[0][2])};
  for (int i = 1; i < 6; ++i) {
    Value isLarger = w.ge(size, w.c(std::ldexp(1.0, 24 * i)));
    for (int j = 0; j < 3; ++j)
      parts[j] = w.select(isLarger, w.c(kInversePi[i][j]), parts[j]);
  }
  for (int j = 0; j < 3; ++j)
    products[j] = w.mul(x, parts[j]);
  auto whole = [&](Value v) -> Value {
    return math::RoundEvenOp::create(b, k.loc, v);
  };
  Value n0 = whole(products[0]), n1 = whole(products[1]);
  Value r0 = w.sub(products[0], n0), r1 = w.sub(products[1], n1);
  // Both may be nearly a half.
  Value n2 = whole(w.add(r0, r1));
  Value fraction = w.add(w.add(w.sub(r0, n2), r1), products[2]);
  Value half = w.mul(w.add(w.add(n0, n1), n2), w.c(0.5));
  Value isOdd = w.cmp(arith::CmpFPredicate::ONE, half, whole(half));
  return {fraction, isOdd};
}

/// sin(pi * turns), -0.5 <= turns <= 0.5 in f64.
Value sineOfHalfTurns(Calc &k, Value turns) {
  constexpr double kTerms[] = {-0.16666666624819965, 0.008333331011347495,
                               -0.000198408511851883, 2.7524330225154118e-06,
                               -2.3867702812183993e-08}; // 2^-35 up to 1.6
  Calc w{k.b, k.loc, k.op, {turns}};
  Value z =
      arith::TruncFOp::create(k.b, k.loc, k.type(), w.mul(turns, w.c(M_PI)));
  Value square = k.mul(z, z), sum = k.c(kTerms[4]);
  for (int i = 3; i >= 0; --i)
    sum = k.fma(sum, square, k.c(kTerms[i]));
  return k.fma(k.mul(z, square), sum, z);
}

Value sine(Calc &k) {
  auto [fraction, isOdd] = reduceByPi(k);
  Value y = sineOfHalfTurns(k, fraction);
  y = k.select(isOdd, k.neg(y), y);
  // x itself, with the sign of 0; NaN is not below.
  return k.select(k.lt(k.abs(k.x()), k.c(0x1p-13)), k.x(), y);
}

/// sin(pi / 2 - |z|): near its zeros it has as many digits as sin.
Value cosine(Calc &k) {
  auto [fraction, isOdd] = reduceByPi(k);
  Calc w{k.b, k.loc, k.op, {fraction}};
  Value y = sineOfHalfTurns(k, w.sub(w.c(0.5), w.abs(fraction)));
  return k.select(isOdd, k.neg(y), y);
}

/// The angle of the smaller to the larger coordinate, from 0 to 1, by a
/// polynomial; then that of the octant.
Value arcTangent(Calc &k) {
  constexpr double kTerms[] = {
      -0.33333152532577515,  0.19993773102760315,  -0.14211055636405945,
      0.10666003078222275,   -0.07552210241556168, 0.043211814016103745,
      -0.016367899253964424, 0.002920684637501836}; // minimax of (atan(t) - t)
                                                    // / t^3 in t^2; 2^-25.8
  OpBuilder &b = k.b;
  Value y = k.abs(k.in[0]), x = k.abs(k.in[1]);
  Value isSteep = k.lt(x, y);
  Value large = k.select(isSteep, y, x), small = k.select(isSteep, x, y);
  Value t = k.div(small, large);
  // Both 0, or both infinite.
  t = k.select(k.cmp(arith::CmpFPredicate::OEQ, large, k.c(0)), k.c(0), t);
  Value infinity = k.c(std::numeric_limits<double>::infinity());
  t = k.select(k.cmp(arith::CmpFPredicate::OEQ, small, infinity), k.c(1), t);
  Value square = k.mul(t, t), sum = k.c(kTerms[7]);
  for (int i = 6; i >= 0; --i)
    sum = k.fma(sum, square, k.c(kTerms[i]));
  Value angle = k.fma(k.mul(t, square), sum, t);
  // pi / 2 and pi with what f32 leaves of them.
  constexpr double kHalfPi = 1.5707963705062866, kRest = -4.371139000186241e-08;
  Value steep = k.add(k.sub(k.c(kHalfPi), angle), k.c(kRest));
  angle = k.select(isSteep, steep, angle);
  auto signOf = [&](Value v) -> Value {
    Value bits = arith::BitcastOp::create(b, k.loc, b.getI32Type(), v);
    Value zero = arith::ConstantOp::create(b, k.loc, b.getI32IntegerAttr(0));
    return arith::CmpIOp::create(b, k.loc, arith::CmpIPredicate::slt, bits,
                                 zero);
  };
  Value behind = k.add(k.sub(k.c(2 * kHalfPi), angle), k.c(2 * kRest));
  angle = k.select(signOf(k.in[1]), behind, angle);
  angle = k.select(signOf(k.in[0]), k.neg(angle), angle);
  // Neither comparison knows NaN.
  Value isNaN = k.cmp(arith::CmpFPredicate::UNO, k.in[0], k.in[1]);
  return k.select(isNaN, k.add(k.in[0], k.in[1]), angle);
}

/// fmod, exactly: in f64 quotients of up to 2^48 have all their digits, and
/// what fma leaves of them is a number of f32. Six such steps reach the largest
/// quotient of two numbers of f32, 2^277.
Value remainder(Calc &k) {
  OpBuilder &b = k.b;
  auto wide = [&](Value v) -> Value {
    return arith::ExtFOp::create(b, k.loc, b.getF64Type(), v);
  };
  Value x = k.in[0], y = k.in[1];
  Calc w{b, k.loc, k.op, {wide(k.abs(x)), wide(k.abs(y))}};
  Value rest = w.in[0];
  for (int i = 5; i >= 0; --i) {
    Value divisor = w.mul(w.in[1], w.c(std::ldexp(1.0, 48 * i)));
    Value whole = math::FloorOp::create(b, k.loc, w.div(rest, divisor));
    rest = w.fma(w.neg(whole), divisor, rest);
    // The quotient was rounded: it may be one too large.
    rest = w.select(w.lt(rest, w.c(0)), w.add(rest, divisor), rest);
  }
  Value size = arith::TruncFOp::create(b, k.loc, k.type(), rest);
  Value infinity = k.c(std::numeric_limits<double>::infinity());
  Value isWhole = k.lt(k.abs(x), infinity);
  isWhole = arith::AndIOp::create(
      b, k.loc, isWhole, k.cmp(arith::CmpFPredicate::OEQ, k.abs(y), infinity));
  size = k.select(isWhole, k.abs(x), size);
  Value result = math::CopySignOp::create(b, k.loc, size, x);
  if (stringAttr(k.op, "mode") == "trunc")
    return result;
  // In mode floor it has the sign of y.
  Value differ =
      arith::XOrIOp::create(b, k.loc, k.lt(result, k.c(0)), k.lt(y, k.c(0)));
  Value isRest = k.cmp(arith::CmpFPredicate::ONE, result, k.c(0));
  Value adjust = arith::AndIOp::create(b, k.loc, differ, isRest);
  return k.select(adjust, k.add(result, y), result);
}

Value round(Calc &k) { return math::RoundEvenOp::create(k.b, k.loc, k.x()); }

Value power(Calc &k) {
  if (k.in.size() > 1)
    return math::PowFOp::create(k.b, k.loc, k.x(), k.in[1]);
  double beta = floatAttr(k.op, "beta");
  // The common exponents are exact; the rest goes through powf.
  if (beta == 2)
    return k.mul(k.x(), k.x());
  if (beta == 1)
    return k.x();
  if (beta == 0)
    return k.c(1);
  if (beta == -1)
    return k.div(k.c(1), k.x());
  return math::PowFOp::create(k.b, k.loc, k.x(), k.c(beta));
}

Value softPlus(Calc &k) {
  double beta = floatAttr(k.op, "beta", 1);
  if (beta == 1)
    return k.softplus(k.x());
  // Where e^-v is nothing beside v the result is x, though v may overflow.
  Value v = k.mul(k.c(beta), k.x());
  Value y = k.div(k.softplus(v), k.c(beta));
  return k.select(k.gt(v, k.c(30)), k.x(), y);
}

/// One byte: 0 or 1.
template <arith::CmpFPredicate predicate> Value comparison(Calc &k) {
  Value bit = k.cmp(predicate, k.in[0], k.in[1]);
  return arith::ExtUIOp::create(k.b, k.loc, k.b.getI8Type(), bit);
}

/// Of integers alone (IntegerOps.h).
Value noFloats(Calc &) { llvm_unreachable("an operation on integers"); }

Value selectByte(Calc &k) {
  // Any byte but 0 is true.
  Value zero = arith::ConstantOp::create(k.b, k.loc, k.b.getI8IntegerAttr(0));
  Value bit = arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::ne,
                                    k.in[0], zero);
  return k.select(bit, k.in[1], k.in[2]);
}

Value identity(Calc &k) { return k.x(); }

struct Entry {
  const char *kind;
  Rule rule;
};

/// One row per operation; formulas are those of docs/ops.md.
const Entry kTable[] = {
    {"Abs", [](Calc &k) { return k.abs(k.x()); }},
    {"AbsBackward",
     [](Calc &k) {
       Value zero = k.c(0), dd = k.in[1];
       Value neg = k.select(k.lt(k.x(), zero), k.sub(zero, dd), zero);
       return k.select(k.gt(k.x(), zero), dd, neg);
     }},
    {"Add", [](Calc &k) { return k.add(k.in[0], k.in[1]); }},
    {"And", noFloats},
    {"Atan2", arcTangent},
    {"Clamp", [](Calc &k) { return k.clamp(k.x(), k.a("min"), k.a("max")); }},
    {"ClampBackward",
     [](Calc &k) {
       Value in = arith::AndIOp::create(k.b, k.loc, k.gt(k.x(), k.a("min")),
                                        k.lt(k.x(), k.a("max")));
       return k.select(in, k.in[1], k.c(0));
     }},
    {"Cos", cosine},
    {"Divide", [](Calc &k) { return k.div(k.in[0], k.in[1]); }},
    {"Elu",
     [](Calc &k) {
       Value neg = k.mul(k.a("alpha"), k.expm1(k.x()));
       return k.select(k.gt(k.x(), k.c(0)), k.x(), neg);
     }},
    {"EluBackward",
     [](Calc &k) {
       Value alpha = k.a("alpha"), dd = k.in[1];
       Value slope =
           k.usesDst() ? k.add(k.x(), alpha) : k.mul(alpha, k.exp(k.x()));
       return k.select(k.gt(k.x(), k.c(0)), dd, k.mul(dd, slope));
     }},
    {"Equal", comparison<arith::CmpFPredicate::OEQ>},
    {"Erf", erf},
    {"Exp", [](Calc &k) { return k.exp(k.x()); }},
    {"Expm1", [](Calc &k) { return k.expm1(k.x()); }},
    {"Floor",
     [](Calc &k) -> Value { return math::FloorOp::create(k.b, k.loc, k.x()); }},
    {"GELU", gelu},
    {"GELUBackward", geluBackward},
    {"Greater", comparison<arith::CmpFPredicate::OGT>},
    {"GreaterEqual", comparison<arith::CmpFPredicate::OGE>},
    {"HardSigmoid",
     [](Calc &k) {
       Value v = k.add(k.mul(k.a("alpha"), k.x()), k.a("beta"));
       return k.clamp(v, k.c(0), k.c(1));
     }},
    {"HardSigmoidBackward",
     [](Calc &k) {
       Value v = k.add(k.mul(k.a("alpha"), k.x()), k.a("beta"));
       Value in =
           arith::AndIOp::create(k.b, k.loc, k.gt(v, k.c(0)), k.lt(v, k.c(1)));
       return k.select(in, k.mul(k.in[1], k.a("alpha")), k.c(0));
     }},
    {"HardSwish",
     [](Calc &k) {
       Value v = k.clamp(k.add(k.x(), k.c(3)), k.c(0), k.c(6));
       return k.mul(k.x(), k.div(v, k.c(6))); // x * v may overflow
     }},
    {"HardSwishBackward",
     [](Calc &k) {
       Value x = k.x();
       Value mid = k.div(k.add(k.mul(k.c(2), x), k.c(3)), k.c(6));
       Value v = k.select(k.ge(x, k.c(3)), k.c(1), mid);
       return k.select(k.ge(k.c(-3), x), k.c(0), k.mul(k.in[1], v));
     }},
    {"LeakyReLU",
     [](Calc &k) {
       return k.select(k.ge(k.x(), k.c(0)), k.x(), k.mul(k.a("alpha"), k.x()));
     }},
    {"Log", [](Calc &k) { return k.log(k.x()); }},
    {"Log1p",
     [](Calc &k) -> Value { return math::Log1pOp::create(k.b, k.loc, k.x()); }},
    {"Maximum", [](Calc &k) { return k.max(k.in[0], k.in[1]); }},
    {"Minimum", [](Calc &k) { return k.min(k.in[0], k.in[1]); }},
    {"Mish", mish},
    {"MishBackward", mishBackward},
    {"Multiply", [](Calc &k) { return k.mul(k.in[0], k.in[1]); }},
    {"Not", noFloats},
    {"Or", noFloats},
    {"PReLU",
     [](Calc &k) {
       return k.select(k.ge(k.x(), k.c(0)), k.x(), k.mul(k.in[1], k.x()));
     }},
    {"Pow", power},
    {"ReLU", [](Calc &k) { return k.atLeast(k.x(), k.c(0)); }},
    {"ReLUBackward",
     [](Calc &k) {
       using enum arith::CmpFPredicate;
       Value passes =
           k.cmp(boolAttr(k.op, "propagate_nan") ? UGT : OGT, k.x(), k.c(0));
       return k.select(passes, k.in[1], k.c(0));
     }},
    {"Reciprocal", [](Calc &k) { return k.div(k.c(1), k.x()); }},
    {"Remainder", remainder},
    {"Reorder", identity},
    {"Round", round},
    {"Select", selectByte},
    {"Sigmoid", [](Calc &k) { return k.logistic(k.x()); }},
    {"SigmoidBackward",
     [](Calc &k) {
       if (k.usesDst())
         return k.mul(k.in[1], k.mul(k.x(), k.sub(k.c(1), k.x())));
       // Even in x, and with e = exp(-|x|) e / (1 + e)^2: where d is nearly 1,
       // 1 - d would keep few digits.
       Value e = k.exp(k.sub(k.c(0), k.abs(k.x())));
       Value t = k.add(k.c(1), e);
       return k.mul(k.in[1], k.div(e, k.mul(t, t)));
     }},
    {"Sin", sine},
    {"SoftPlus", softPlus},
    {"SoftPlusBackward",
     [](Calc &k) {
       return k.mul(k.in[1], k.logistic(k.mul(k.a("beta"), k.x())));
     }},
    {"Sqrt", [](Calc &k) { return k.sqrt(k.x()); }},
    {"SqrtBackward",
     [](Calc &k) {
       Value d = k.usesDst() ? k.x() : k.sqrt(k.x());
       return k.div(k.in[1], k.mul(k.c(2), d));
     }},
    {"Square", [](Calc &k) { return k.mul(k.x(), k.x()); }},
    {"SquaredDifference",
     [](Calc &k) {
       Value d = k.sub(k.in[0], k.in[1]);
       return k.mul(d, d);
     }},
    {"Subtract", [](Calc &k) { return k.sub(k.in[0], k.in[1]); }},
    {"Tanh", [](Calc &k) { return k.tanh(k.x()); }},
    {"TanhBackward",
     [](Calc &k) {
       if (k.usesDst())
         return k.mul(k.in[1],
                      k.mul(k.sub(k.c(1), k.x()), k.add(k.c(1), k.x())));
       // 1 / cosh^2: 1 - tanh^2 has no digits left where tanh is nearly 1.
       Value e = k.exp(k.mul(k.c(-2), k.abs(k.x()))), sum = k.add(e, k.c(1));
       Value slope = k.div(k.mul(k.c(4), e), k.mul(sum, sum));
       return k.mul(k.in[1], slope);
     }},
    {"TypeCast", identity}, // castScalar
};

Rule ruleOf(StringRef kind) {
  for (const Entry &e : kTable)
    if (kind == e.kind)
      return e.rule;
  return nullptr;
}

} // namespace

bool isScalarOp(Operation *op) {
  StringRef kind = kindOf(op);
  return !kind.empty() && ruleOf(kind);
}

Value emitScalar(OpBuilder &b, Location loc, Operation *op,
                 ValueRange operands) {
  Type result = rankedType(op->getResult(0)).getElementType();
  if (graph::isCast(op) && !op->hasAttr(kImplicitCastAttr)) {
    // A cast to a narrower float is there to round.
    Value cast =
        castScalar(b, loc, operands[0],
                   rankedType(op->getOperand(0)).getElementType(), result);
    return convertScalar(b, loc, cast, computedType(result));
  }
  Type element = rankedType(op->getOperand(0)).getElementType();
  if (isa<IntegerType>(element))
    if (Value v = emitIntegerScalar(b, loc, op, element, operands))
      return v;
  Rule rule = ruleOf(kindOf(op));
  Calc k{b, loc, op, SmallVector<Value>(operands)};
  // Narrow floats compute in f32.
  for (Value &v : k.in)
    if (auto f = dyn_cast<FloatType>(v.getType()); f && f.getWidth() < 32)
      v = arith::ExtFOp::create(b, loc, b.getF32Type(), v);
  return convertScalar(b, loc, rule(k), computedType(result));
}

Type computedType(Type elementType) {
  auto narrow = dyn_cast<FloatType>(elementType);
  return narrow && narrow.getWidth() == 16
             ? Type(Float32Type::get(elementType.getContext()))
             : storageType(elementType);
}

} // namespace tenon::passes
