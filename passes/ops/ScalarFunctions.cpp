//===- ScalarFunctions.cpp - erf, sin, cos, atan2 and fmod ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/ScalarCalc.h"

#include "codegen/math/MathFunctions.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace tenon::passes {

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
static constexpr double kInversePi[][3] = {
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
static std::pair<Value, Value> reduceByPi(Calc &k) {
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

/// sin(pi * turns), -0.5 <= turns <= 0.5 in f64; beyond a quarter the cosine of
/// what is left to a half, which is 1 where nothing is.
static Value sineOfHalfTurns(Calc &k, Value turns) {
  // Minimax up to pi / 4: (sin(z) - z) / z^3 in z^2, 2^-28 of sin(z); and
  // (cos(z) - 1 + z^2 / 2) / z^4, 2^-33.
  constexpr double kSine[] = {-0.16666654940198333, 0.008332177916325229,
                              -0.0001951726683900755},
                   kCosine[] = {0.041666646860525, -0.0013887367212978999,
                                2.4438415546421836e-05};
  Calc w{k.b, k.loc, k.op, {turns}};
  auto angle = [&](Value v) -> Value {
    return arith::TruncFOp::create(k.b, k.loc, k.type(), w.mul(v, w.c(M_PI)));
  };
  auto polynomial = [&](ArrayRef<double> terms, Value square) {
    Value sum = k.c(terms.back());
    for (double term : llvm::reverse(terms.drop_back()))
      sum = k.fma(sum, square, k.c(term));
    return sum;
  };
  Value z = angle(turns), square = k.mul(z, z);
  Value sine = k.fma(k.mul(z, square), polynomial(kSine, square), z);
  Value rest = angle(w.sub(w.c(0.5), w.abs(turns)));
  square = k.mul(rest, rest);
  Value cosine = k.fma(polynomial(kCosine, square), square, k.c(-0.5));
  cosine = k.fma(cosine, square, k.c(1));
  cosine = k.select(k.lt(z, k.c(0)), k.neg(cosine), cosine);
  return k.select(k.lt(k.c(M_PI / 4), k.abs(z)), cosine, sine);
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

} // namespace tenon::passes
