//===- MathFunctions.cpp - functions as arithmetic ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Polynomials are weighted minimax fits (Lawson iteration on 1500 Chebyshev
// points in double, coefficients rounded to f32 one after the other, the rest
// refitted each time).  The error given beside each is relative to the function
// it serves, after rounding.
//
//===----------------------------------------------------------------------===//
#include "codegen/math/MathFunctions.h"
#include "codegen/math/MathBuilder.h"

#include <bit>
#include <limits>

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kLog2E = 0x1.715476p+0f;
/// log2(e) - kLog2E.
constexpr float kLog2ELow = 0x1.4ae0cp-26f;
/// ln 2 in two parts; products of the first with |n| < 256 are exact.
constexpr float kLn2High = 0x1.62e4p-1f;
constexpr float kLn2Low = 0x1.7f7d1cp-20f;
constexpr float kLn2 = 0x1.62e43p-1f;
/// Adding 1.5 * 2^23 leaves the nearest integer in the low bits.
constexpr float kRoundingShift = 0x1.8p+23f;
constexpr int32_t kExponentBias = 127;
constexpr int kMantissaBits = 23;

/// What is added to numbers of 2^n, so that a shift makes them the bits of one
/// or of two factors.
constexpr int kOneFactor = kExponentBias, kTwoFactors = 2 * kExponentBias;

/// x rounded to an integer n.
struct Rounded {
  Value n;    // as f32
  Value bits; // n + bias in the lowest 9 bits, those above are even
};

/// Rounds x * factor; |n| below 2^21.  By adding the shift and not by fptosi,
/// which is poison for NaN.
Rounded roundWithBias(MathBuilder &m, Value x, Value factor, int bias) {
  Value shift = m.number(kRoundingShift + static_cast<float>(bias));
  Value shifted = factor ? m.fma(x, factor, shift) : m.add(x, shift);
  return {m.sub(shifted, shift), m.asInt(shifted)};
}

/// 2^n for -127 <= n <= 127, where 2^-127 is 0; the bias is kOneFactor, or one
/// more or less for twice or half of it.
Value powerOfTwo(MathBuilder &m, Value bits) {
  return m.asFloat(m.shl(bits, kMantissaBits));
}

/// x * 2^n for |n| <= 252: two exact factors, so that results in the denormal
/// range are rounded once and overflow happens only where it must. The bias is
/// kTwoFactors.
Value scale(MathBuilder &m, Value x, Rounded power) {
  if (m.hasScalef())
    return m.scalef(x, power.n);
  Value half = m.shrU(power.bits, 1);
  x = m.mul(x, powerOfTwo(m, half));
  return m.mul(x, powerOfTwo(m, m.subI(power.bits, half)));
}

/// x = n ln 2 + r, |r| <= 0.3466.
struct Reduced {
  Rounded power; // n
  Value r;
};

/// `x` times log2(e) must be below 2^21.
Reduced reduceExp(MathBuilder &m, Value x, int bias) {
  Rounded power = roundWithBias(m, x, m.number(kLog2E), bias);
  Value r = m.fma(power.n, m.number(-kLn2High), x);
  return {power, m.fma(power.n, m.number(-kLn2Low), r)};
}

/// exp(r) - 1 for |r| <= 0.3476: r + r^2 q(r), error 1.4e-8.
Value expM1Kernel(MathBuilder &m, Value r) {
  Value square = m.mul(r, r);
  Value q = m.polynomial(
      r, square,
      {0.49999997f, 0.16666545f, 0.041667439f, 0.00836645346f, 0.0013870555f});
  return m.fma(square, q, r);
}

/// 2^(k/8) s for s = 1.00272536..., which makes all of them floats but for a
/// ninth of what they could be off.
constexpr MathBuilder::Table kEighthPowers = {
    0x1.00b29cp+0f, 0x1.17ee4ap+0f, 0x1.314448p+0f, 0x1.4ce54ep+0f,
    0x1.6b067ep+0f, 0x1.8be1c8p+0f, 0x1.afb65cp+0f, 0x1.d6c92p+0f};

/// The same with exponents lowered by k/8: so adding n << 20 to the bits makes
/// 2^(n/8) s of entry n mod 8.
constexpr MathBuilder::Table kExpTable = [] {
  MathBuilder::Table table = kEighthPowers;
  for (int k = 0; k < MathBuilder::kTableSize; ++k)
    table[k] = std::bit_cast<float>(std::bit_cast<int32_t>(table[k]) -
                                    (k << (kMantissaBits - 3)));
  return table;
}();

/// exp(r) / s - 1 for |r| <= 0.0434, error 1.9e-8.
Value expOfRest(MathBuilder &m, Value r) {
  return m.polynomial(r, {-0.0027179716f, 0.9972821f, 0.4987191f, 0.1661975f});
}

/// The same, error 3.4e-6.
Value expOfRestNarrowed(MathBuilder &m, Value r) {
  return m.polynomial(r, {-0.00271784f, 0.99751606f, 0.49858252f});
}

/// x = n ln 2 / 8 + r, |r| <= 0.0434; n in the lowest bits, others above the
/// 22nd. `x` times 8 log2(e) must be below 2^21. `isRough`: r is off by 2.8e-9
/// of x, what ln 2 lacks as one f32.
Reduced reduceExp8(MathBuilder &m, Value x, bool isRough = false) {
  Rounded n = roundWithBias(m, x, m.number(8 * kLog2E), 0);
  if (isRough)
    return {n, m.fma(n.n, m.number(-kLn2 / 8), x)};
  Value r = m.fma(n.n, m.number(-kLn2High / 8), x);
  return {n, m.fma(n.n, m.number(-kLn2Low / 8), r)};
}

/// exp of what `reduced` is the reduction of, times 2^`exponent` in an
/// exponent's place (may be null).
Value expByTable(MathBuilder &m, Reduced reduced, Value exponent,
                 bool isNarrowed = false) {
  Value p =
      isNarrowed ? expOfRestNarrowed(m, reduced.r) : expOfRest(m, reduced.r);
  Value power = m.shl(reduced.power.bits, kMantissaBits - 3);
  if (exponent)
    power = m.addI(power, exponent);
  Value entry = m.lookup(kExpTable, reduced.power.bits);
  Value t = m.asFloat(m.addI(m.asInt(entry), power));
  return m.fma(t, p, t);
}

/// exp(x) with the instruction that multiplies by 2^floor(n): the same bits as
/// by factors. x log2(e) is rounded to eighths, whose last three bits say which
/// entry it is.
Value expByScalef(MathBuilder &m, Value x, Value lost) {
  Value shift = m.number(kRoundingShift / MathBuilder::kTableSize);
  Value shifted = m.fma(x, m.number(kLog2E), shift);
  Value n = m.sub(shifted, shift);
  Value r = m.fma(n, m.number(-kLn2High), x);
  r = m.plus(m.fma(n, m.number(-kLn2Low), r), lost);
  Value entry = m.lookup(kEighthPowers, m.asInt(shifted));
  return m.scalef(m.fma(entry, expOfRest(m, r), entry), n);
}

/// exp(x), in the lowest and the highest octaves of exponents by two factors.
Value expOfAny(MathBuilder &m, Value x, Value lost) {
  x = m.clamp(x, -104, 89); // beyond, the result is 0 or infinite
  if (m.hasScalef())
    return expByScalef(m, x, lost);
  constexpr int32_t kFar = 64;
  constexpr auto inPlace = [](int32_t n) {
    return static_cast<int32_t>(static_cast<uint32_t>(n) << kMantissaBits);
  };
  // exp(x) 2^64 times 2^-64 where x is negative, the reverse where it is not.
  Value up = m.andI(m.shrS(m.asInt(x), 31), m.integer(inPlace(2 * kFar)));
  Reduced reduced = reduceExp8(m, x);
  reduced.r = m.plus(reduced.r, lost);
  Value result = expByTable(m, reduced, m.addI(up, m.integer(inPlace(-kFar))));
  Value factor =
      m.asFloat(m.subI(m.integer(inPlace(kExponentBias + kFar)), up));
  return m.mul(result, factor);
}

/// The same by a polynomial, for machines that have no instruction to look
/// something up.
Value expByPolynomial(MathBuilder &m, Value x, ExpUse use) {
  auto [isNormal, isFinite] = std::pair(use.isNormal, use.isFinite);
  // Beyond these limits the result is 0 or infinite.
  x = m.atLeast(x, isNormal ? -88 : -104);
  if (!isNormal || !isFinite)
    x = m.atMost(x, 89);
  bool one = isNormal && isFinite;
  Reduced reduced = reduceExp(m, x, one ? kOneFactor : kTwoFactors);
  Value r = m.plus(reduced.r, use.lost);
  Value p = m.add(expM1Kernel(m, r), m.number(1));
  if (one)
    return m.mul(p, powerOfTwo(m, reduced.power.bits)); // 0 for -127
  Value result = scale(m, p, reduced.power);
  if (!isNormal)
    return result;
  Value tiny = m.equal(reduced.power.n, m.number(-127));
  return m.select(tiny, m.number(0), result);
}

/// x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for x > 0, e as f32.
struct Split {
  Value e;
  Value f;
};

Split splitLog(MathBuilder &m, Value x) {
  constexpr int32_t kSqrtHalf = 0x3f3504f3;
  constexpr int32_t kMantissaMask = 0x7fffff;
  // Denormals: exact multiplication by 2^24 first.
  Value tiny = m.less(x, m.number(std::numeric_limits<float>::min()));
  x = m.select(tiny, m.mul(x, m.number(0x1p24f)), x);
  Value correction = m.select(tiny, m.number(-24), m.number(0));
  Value i = m.subI(m.asInt(x), m.integer(kSqrtHalf));
  Value mantissa =
      m.addI(m.andI(i, m.integer(kMantissaMask)), m.integer(kSqrtHalf));
  return {m.add(m.toFloat(m.shrS(i, kMantissaBits)), correction),
          m.sub(m.asFloat(mantissa), m.number(1))};
}

/// log of a positive number plus a small `correction` (may be null).
Value logKernel(MathBuilder &m, Value x, Value correction) {
  auto [e, f] = splitLog(m, x);
  // (log1p(f) - f + f^2/2) / f^3, error 5.8e-9.
  Value p = m.polynomial(f, {0.333333313f, -0.250008196f, 0.200012416f,
                             -0.166234091f, 0.1420158f, -0.131596103f,
                             0.127622172f, -0.0763643906f});
  Value square = m.mul(f, f);
  Value sum = m.mul(m.mul(square, f), p);
  if (correction)
    sum = m.add(sum, correction);
  sum = m.fma(e, m.number(kLn2Low), sum);
  sum = m.fma(square, m.number(-0.5f), sum);
  sum = m.add(f, sum);
  return m.fma(e, m.number(kLn2High), sum);
}

/// The logarithm's values where the kernel has none.
Value logSpecials(MathBuilder &m, Value x, Value result) {
  Value zero = m.number(0);
  result = m.select(m.equal(x, m.number(kInfinity)), x, result);
  result = m.select(m.equal(x, zero), m.number(-kInfinity), result);
  result = m.select(m.less(x, zero), m.number(kNaN), result);
  return m.select(m.unordered(x, x), x, result);
}

/// A sum high + low of two floats, |low| <= ulp(high) / 2 or so.
struct Pair {
  Value high;
  Value low;
};

/// log2(x) for finite x > 0, relative error about 2^-30.
Pair log2Pair(MathBuilder &m, Value x) {
  auto [e, f] = splitLog(m, x);
  // log(1 + f) = 2 atanh(q), q = f / (2 + f), in two parts.
  Value reciprocal = m.div(m.number(1), m.add(f, m.number(2)));
  Value q = m.mul(f, reciprocal);
  Value rest = m.fma(q, m.number(-2), f);
  rest = m.fma(q, m.sub(m.number(0), f), rest);
  Value qLow = m.mul(rest, reciprocal);
  // (2 atanh(q) - 2 q) / q^3 as a polynomial in q^2, error 5e-11.
  Value square = m.mul(q, q);
  Value p = m.polynomial(
      square, {0.666666627f, 0.400009722f, 0.284987926f, 0.242788315f});
  qLow = m.fma(qLow, m.number(2), m.mul(m.mul(square, q), p));
  Value qHigh = m.add(q, q);
  // Times log2(e).
  Value high = m.mul(qHigh, m.number(kLog2E));
  Value low = m.fma(qHigh, m.number(kLog2E), m.sub(m.number(0), high));
  low = m.fma(qHigh, m.number(kLog2ELow), low);
  low = m.fma(qLow, m.number(kLog2E), low);
  // |e| >= 1 > |high| or e = 0: the subtraction recovers what was rounded off.
  Value sum = m.add(e, high);
  Value lost = m.sub(high, m.sub(sum, e));
  low = m.add(lost, low);
  // exp2Pair() rounds the high part only: make it the nearest float.
  high = m.add(sum, low);
  return {high, m.sub(low, m.sub(high, sum))};
}

/// 2^(high + low), saturating; NaN stays.
Value exp2Pair(MathBuilder &m, Value high, Value low) {
  // Beyond, the result is 0 or infinite, and low may be inf - inf.
  Value inside = m.less(m.abs(high), m.number(160));
  low = m.select(inside, low, m.number(0));
  high = m.clamp(high, -160, 160);
  Rounded power = roundWithBias(m, high, Value(), kTwoFactors);
  Value r = m.add(m.sub(high, power.n), low);
  // 2^r, |r| <= 0.501, error 3e-9.
  Value p = m.polynomial(r, {1.0f, 0.693147182f, 0.240226477f, 0.0555035956f,
                             0.00961850584f, 0.00133910251f, 0.0001532678f});
  return scale(m, p, power);
}

/// Exact cases of x^y (C11 F.10.4.4) over the general `result`, computed from
/// |x|.
Value powSpecials(MathBuilder &m, Value x, Value y, Value result) {
  Value zero = m.number(0), one = m.number(1), inf = m.number(kInfinity);
  Value magnitude = m.abs(x);
  Value isInteger = m.equal(m.roundEven(y), y);
  Value half = m.mul(y, m.number(0.5f));
  Value halfIsInteger = m.equal(m.roundEven(half), half);
  Value odd = m.select(halfIsInteger, m.integer(0), m.integer(1));
  odd = m.select(isInteger, odd, m.integer(0));

  // 0 and infinity.
  Value isZero = m.equal(magnitude, zero), isInf = m.equal(magnitude, inf);
  Value yNegative = m.less(y, zero);
  result = m.select(isZero, m.select(yNegative, inf, zero), result);
  result = m.select(isInf, m.select(yNegative, zero, inf), result);
  // |x| = 1 to an infinite power.
  result = m.select(m.equal(magnitude, one), one, result);
  // The sign, or no real value.
  Value sign = m.andI(m.asInt(x), m.shl(odd, 31));
  result = m.asFloat(m.xorI(m.asInt(result), sign));
  Value undefined = m.select(isInteger, m.integer(0), m.asInt(one));
  undefined = m.select(m.less(x, zero), undefined, m.integer(0));
  undefined = m.select(isInf, m.integer(0), undefined);
  result = m.select(m.equalI(undefined, m.integer(0)), result, m.number(kNaN));
  result = m.select(m.unordered(x, y), m.number(kNaN), result);
  result = m.select(m.equal(x, one), one, result);
  return m.select(m.equal(y, zero), one, result);
}

} // namespace

/// Error below 1 ulp by the table, 1.1 by the polynomial, and what `use`
/// allows.
Value emitExp(OpBuilder &b, Location loc, Value x, MathIsa extra, ExpUse use) {
  MathBuilder m(b, loc, x.getType(), extra);
  if (!m.hasLookup())
    return expByPolynomial(m, x, use);
  // What the table gives for large x, positive or negative, means nothing.
  Value result;
  if (use.isNormal && use.isFinite) {
    Reduced reduced = reduceExp8(m, x, use.isOfDifference);
    reduced.r = m.plus(reduced.r, use.lost);
    result = expByTable(m, reduced, Value(), use.isNarrowed);
  } else {
    result = expOfAny(m, x, use.lost);
  }
  if (!use.isNormal || use.isLarge)
    return result;
  return m.select(m.notLess(x, m.number(kLeastOfNormal)), result, m.number(0));
}

/// Error below 1 ulp.
Value emitExp2(OpBuilder &b, Location loc, Value x, MathIsa extra) {
  MathBuilder m(b, loc, x.getType(), extra);
  return exp2Pair(m, x, m.number(0));
}

/// Error below 2 ulp.
Value emitExpM1(OpBuilder &b, Location loc, Value x) {
  MathBuilder m(b, loc, x.getType());
  // Half the result: 2^128 is no f32.
  Reduced reduced = reduceExp(m, m.clamp(x, -18.0f, 89.0f), kOneFactor - 1);
  Value p = expM1Kernel(m, reduced.r);
  Value half = powerOfTwo(m, reduced.power.bits);
  Value sum = m.fma(p, half, m.sub(half, m.number(0.5f)));
  // n = 0 apart keeps denormals.
  sum = m.select(m.equal(reduced.power.n, m.number(0)), p, m.add(sum, sum));
  return m.select(m.equal(x, m.number(0)), x, sum);
}

/// Error below 1 ulp.
Value emitLog(OpBuilder &b, Location loc, Value x) {
  MathBuilder m(b, loc, x.getType());
  return logSpecials(m, x, logKernel(m, x, nullptr));
}

namespace {

/// A function f, f(0) = 0, on [0, 8 / scale]: f(t) / t as polynomials in
/// t - centre, one for each of 8 pieces of equal length.  Centres lie where
/// f(t) / t is all but a f32.
struct Pieces {
  float scale; // a little less: the last number belongs to the last piece
  MathBuilder::Table centres;
  ArrayRef<MathBuilder::Table> coefficients;
};

Value byPieces(MathBuilder &m, const Pieces &pieces, Value t) {
  // Below the exponent of numbers from 8 to 16.
  Value place = m.fma(t, m.number(pieces.scale), m.number(8));
  Value index = m.shrU(m.asInt(place), kMantissaBits - 3);
  Value d = m.sub(t, m.lookup(pieces.centres, index));
  SmallVector<Value> c;
  for (const MathBuilder::Table &table : pieces.coefficients)
    c.push_back(m.lookup(table, index));
  // c[0] t, all but exact, is rounded together with the rest, a tenth of it.
  Value q = m.polynomial(d, m.mul(d, d), ArrayRef(c).drop_front());
  return m.fma(c[0], t, m.mul(q, m.mul(d, t)));
}

/// log1p on [0, 1], error 7.6e-9 before rounding.
constexpr MathBuilder::Table kLog1pCoefficients[] = {
    {0.9699987f, 0.9165362f, 0.8701962f, 0.8294988f, 0.7933466f, 0.76111436f,
     0.7319689f, 0.70552737f},
    {-0.46108508f, -0.3969584f, -0.34651446f, -0.30593434f, -0.27266312f,
     -0.24510606f, -0.22182971f, -0.20201273f},
    {0.29077527f, 0.22606198f, 0.18002856f, 0.14621286f, 0.12069416f,
     0.1011079f, 0.085688576f, 0.073393986f},
    {-0.2064793f, -0.14435482f, -0.104507856f, -0.07783481f, -0.059339333f,
     -0.046211485f, -0.03659497f, -0.029422875f},
    {0.15580046f, 0.09786701f, 0.06425679f, 0.04385582f, 0.03087744f,
     0.022313211f, 0.016482837f, 0.012432399f}};
constexpr Pieces kLog1p = {0x1.fffep+2f,
                           {0.06248966f, 0.1874962f, 0.31247595f, 0.43749818f,
                            0.5626933f, 0.6873933f, 0.8124023f, 0.9373235f},
                           kLog1pCoefficients};

} // namespace

/// Error below 1 ulp, 1.2 by pieces.
Value emitLog1p(OpBuilder &b, Location loc, Value x, MathIsa extra,
                bool isFraction) {
  MathBuilder m(b, loc, x.getType(), extra);
  if (isFraction && m.hasLookup())
    return byPieces(m, kLog1p, x);
  Value one = m.number(1);
  Value u = m.add(x, one);
  // What u lost: log(1 + x) = log(u) + (1 + x - u) / u.
  Value big = m.greater(x, one);
  Value lost = m.select(big, m.sub(one, m.sub(u, x)), m.sub(x, m.sub(u, one)));
  Value result = logSpecials(m, u, logKernel(m, u, m.div(lost, u)));
  // Tiny arguments, with the sign of zero.
  return m.select(m.equal(u, one), x, result);
}

/// tanh |x| = 2 t / (1 + t^2) for t = tanh |x/2| = A / B, error 6.3e-9: what t
/// is off by matters the less the larger it is.  As 2 A B / (2 A B + (B - A)^2)
/// it is never above 1.  Error below 4 ulp.
Value emitTanh(OpBuilder &b, Location loc, Value x) {
  MathBuilder m(b, loc, x.getType());
  Value a = m.abs(x);
  Value sign = m.xorI(m.asInt(x), m.asInt(a));
  a = m.atMost(a, 9.1f); // rounds to 1
  Value square = m.mul(a, a);
  // 2 A and B - 1, so that what is rounded is small beside |x| and 1.
  Value p = m.polynomial(square, {0.02980411f, 0.0001149163f});
  Value twice = m.fma(m.mul(a, square), p, a);
  Value q = m.polynomial(square, {0.11313742f, 0.0012097323f, 1.2431574e-06f});
  q = m.mul(square, q);
  Value apart = m.add(m.fma(twice, m.number(-0.5f), q), m.number(1));
  Value product = m.fma(twice, q, twice);
  Value result = m.div(product, m.fma(apart, apart, product));
  return m.asFloat(m.orI(m.asInt(result), sign));
}

/// A quotient of polynomials, all of whose terms are positive: nothing cancels.
/// Its own error is 3.6e-7 up to 13.3, where the exponential becomes denormal,
/// with roundings below 6e-7. Two more coefficients would make that 1.3e-8, at
/// a cost that epilogues of products see.
Value emitNormalTailRatio(OpBuilder &b, Location loc, Value t) {
  MathBuilder m(b, loc, t.getType());
  Value above =
      m.polynomial(t, {0.4999998f, 0.36061853f, 0.11875559f, 0.016863992f});
  Value below =
      m.polynomial(t, {1.0f, 1.519104f, 0.94972116f, 0.29746133f, 0.0422772f});
  return m.div(above, below);
}

/// 2^(y log2|x|) with the logarithm in two floats.  Error below 4 ulp.
Value emitPow(OpBuilder &b, Location loc, Value x, Value y, MathIsa extra) {
  MathBuilder m(b, loc, x.getType(), extra);
  Pair log = log2Pair(m, m.abs(x));
  Value high = m.mul(y, log.high);
  Value low = m.fma(y, log.high, m.sub(m.number(0), high));
  low = m.fma(y, log.low, low);
  return powSpecials(m, x, y, exp2Pair(m, high, low));
}

/// Correctly rounded square root, then division: error below 1.5 ulp.
Value emitRsqrt(OpBuilder &b, Location loc, Value x) {
  MathBuilder m(b, loc, x.getType());
  return m.div(m.number(1), m.sqrt(x));
}

Value emitTruncToBF16(OpBuilder &b, Location loc, Value x, MathIsa extra,
                      bool isNormal) {
  MathBuilder m(b, loc, x.getType(), extra);
  if (isNormal && m.hasNarrow())
    return m.narrow(x);
  Value i = m.asInt(x);
  Value odd = m.andI(m.shrU(i, 16), m.integer(1));
  Value rounded = m.addI(i, m.addI(odd, m.integer(0x7fff)));
  // Rounding must not carry a NaN's mantissa into infinity.
  Value quiet = m.orI(i, m.integer(0x400000));
  return emitCutToBF16(b, loc,
                       m.asFloat(m.select(m.unordered(x, x), quiet, rounded)));
}

Value emitCutToBF16(OpBuilder &b, Location loc, Value x) {
  MathBuilder m(b, loc, x.getType());
  Value narrow = arith::TruncIOp::create(b, loc, m.typeOf(b.getI16Type()),
                                         m.shrU(m.asInt(x), 16));
  return m.bits(narrow, b.getBF16Type());
}

Value emitExtendBF16(OpBuilder &b, Location loc, Value x) {
  MathBuilder m(b, loc, x.getType());
  Value wide = arith::ExtUIOp::create(b, loc, m.typeOf(b.getI32Type()),
                                      m.bits(x, b.getI16Type()));
  return m.asFloat(m.shl(wide, 16));
}

} // namespace tenon::codegen
