//===- MathFunctions.cpp - functions as arithmetic ------------------------===//
//
// Polynomials are weighted minimax fits (Lawson iteration on 1500 Chebyshev
// points in double, coefficients rounded to f32 one after the other, the rest
// refitted each time).  The error given beside each is relative to the function
// it serves, after rounding.
//
//===----------------------------------------------------------------------===//
#include "codegen/math/MathFunctions.h"
#include "codegen/math/MathBuilder.h"

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

/// `x` times log2(e) must be below 2^21. `half`: of 2 x, with r / 2 for r.
Reduced reduceExp(MathBuilder &m, Value x, int bias, bool half = false) {
  float part = half ? 0.5f : 1;
  Rounded power = roundWithBias(m, x, m.number(kLog2E / part), bias);
  Value r = m.fma(power.n, m.number(-kLn2High * part), x);
  return {power, m.fma(power.n, m.number(-kLn2Low * part), r)};
}

/// exp(r) - 1 for |r| <= 0.3476: r + r^2 q(r), error 1.4e-8.
Value expM1Kernel(MathBuilder &m, Value r) {
  Value square = m.mul(r, r);
  Value q = m.polynomial(
      r, square,
      {0.49999997f, 0.16666545f, 0.041667439f, 0.00836645346f, 0.0013870555f});
  return m.fma(square, q, r);
}

/// Half of that for 2 r.
Value halfExpM1Kernel(MathBuilder &m, Value r) {
  Value square = m.mul(r, r);
  Value q = m.polynomial(r, square,
                         {2 * 0.49999997f, 4 * 0.16666545f, 8 * 0.041667439f,
                          16 * 0.00836645346f, 32 * 0.0013870555f});
  return m.fma(square, q, r);
}

/// exp(r) for |r| <= 0.3476, before rounding as exact as expM1Kernel: with wide
/// vectors 1 + r (1 + r q(r)), one product less.
Value expKernel(MathBuilder &m, Value r) {
  if (m.isWide())
    return m.polynomial(r, {1.0f, 1.0f, 0.49999997f, 0.16666545f, 0.041667439f,
                            0.00836645346f, 0.0013870555f});
  return m.add(expM1Kernel(m, r), m.number(1));
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

/// Error below 1.1 ulp.
Value emitExp(OpBuilder &b, Location loc, Value x, MathIsa extra, bool isNormal,
              bool isFinite) {
  MathBuilder m(b, loc, x.getType(), extra);
  // Beyond these limits the result is 0 or infinite.
  x = m.atLeast(x, isNormal ? -88 : -104);
  if (!isNormal || !isFinite)
    x = m.atMost(x, 89);
  bool one = isNormal && isFinite && !m.hasScalef();
  Reduced reduced = reduceExp(m, x, one ? kOneFactor : kTwoFactors);
  Value p = expKernel(m, reduced.r);
  if (one)
    return m.mul(p, powerOfTwo(m, reduced.power.bits)); // 0 for -127
  Value result = scale(m, p, reduced.power);
  if (!isNormal)
    return result;
  Value tiny = m.equal(reduced.power.n, m.number(-127));
  return m.select(tiny, m.number(0), result);
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

/// Error below 1 ulp.
Value emitLog1p(OpBuilder &b, Location loc, Value x) {
  MathBuilder m(b, loc, x.getType());
  Value one = m.number(1);
  Value u = m.add(x, one);
  // What u lost: log(1 + x) = log(u) + (1 + x - u) / u.
  Value big = m.greater(x, one);
  Value lost = m.select(big, m.sub(one, m.sub(u, x)), m.sub(x, m.sub(u, one)));
  Value result = logSpecials(m, u, logKernel(m, u, m.div(lost, u)));
  // Tiny arguments, with the sign of zero.
  return m.select(m.equal(u, one), x, result);
}

/// tanh |x| = H / (H + 1), H = (exp(2 |x|) - 1) / 2.  Error below 3 ulp.
Value emitTanh(OpBuilder &b, Location loc, Value x) {
  MathBuilder m(b, loc, x.getType());
  // tanh(10) rounds to 1.
  Value a = m.atMost(m.abs(x), 10);
  Reduced reduced = reduceExp(m, a, kOneFactor, /*half=*/true);
  Value power = powerOfTwo(m, reduced.power.bits);
  Value rest = m.fma(power, m.number(0.5f), m.number(-0.5f));
  Value h = m.fma(halfExpM1Kernel(m, reduced.r), power, rest);
  return m.copySign(m.div(h, m.add(h, m.number(1))), x);
}

namespace {

/// erf(t) / t for 0 <= t <= 4 as polynomials in t - centre, one for each of 16
/// pieces 0.2625 wide, error 4e-9 before rounding (1.5e-8 in the last). Centres
/// lie where the function is all but a f32, the last where erf(t) becomes 1.
constexpr float kErfPiecesPerUnit = 1 / 0.2625f;
constexpr float kErfCentres[MathBuilder::kTableSize] = {
    0.0004013f, 0.263633f,  0.5252648f, 0.7888642f, 1.0476942f, 1.3095362f,
    1.5719765f, 1.8366677f, 2.1018069f, 2.361827f,  2.6289861f, 2.8897247f,
    3.151152f,  3.4136589f, 3.6739767f, 4.0f};
constexpr float kErfCoefficients[6][MathBuilder::kTableSize] = {
    {1.1283791f, 1.1027737f, 1.0326589f, 0.9322469f, 0.82234883f, 0.7147332f,
     0.6194696f, 0.5393506f, 0.47437528f, 0.4230465f, 0.38029838f, 0.34603858f,
     0.31734163f, 0.2929404f, 0.27218458f, 0.25f},
    {-0.00030190358f, -0.19025013f, -0.33573022f, -0.41406393f, -0.42556813f,
     -0.39070514f, -0.3334221f, -0.2726001f, -0.2192225f, -0.17731276f,
     -0.14422834f, -0.119655676f, -0.100689106f, -0.085811324f, -0.074084036f,
     -0.062498976f},
    {-0.3761236f, -0.33096763f, -0.2171481f, -0.08072247f, 0.029709404f,
     0.095262185f, 0.11676586f, 0.1097466f, 0.090690486f, 0.07081021f,
     0.0537368f, 0.041140687f, 0.031898145f, 0.025127826f, 0.020162985f,
     0.015665881f},
    {8.660818e-05f, 0.109505765f, 0.1698494f, 0.16492191f, 0.11481547f,
     0.052860424f, 0.005419045f, -0.019413719f, -0.026234986f, -0.02386884f,
     -0.018612135f, -0.013754314f, -0.010013237f, -0.0073402636f,
     -0.0054850173f, -0.0033126099f},
    {0.114297375f, 0.0861191f, 0.026081666f, -0.03150875f, -0.05871493f,
     -0.054725185f, -0.03431403f, -0.013670143f, -0.0008460329f, 0.004260076f,
     0.0050366507f, 0.0041495124f, 0.003025764f, 0.0021192161f, 0.0014881233f,
     0.004474463f},
    {-0.010309216f, -0.037027232f, -0.049640637f, -0.034248207f, -0.0075130165f,
     0.011883783f, 0.017159563f, 0.012901979f, 0.006469752f, 0.0018512632f,
     -0.00033024396f, -0.0008615632f, -0.0007905061f, -0.00055538665f,
     -0.00037127183f, 0.0069607906f},
};

/// Error below 1.6 ulp.
Value erfByTable(MathBuilder &m, Value x) {
  Value a = m.abs(x);
  Value t = m.atMost(a, 4);
  Value index =
      m.asInt(m.fma(t, m.number(kErfPiecesPerUnit), m.number(kRoundingShift)));
  Value d = m.sub(t, m.lookup(kErfCentres, index));
  Value p = m.lookup(kErfCoefficients[5], index);
  for (int i = 4; i >= 0; --i)
    p = m.fma(p, d, m.lookup(kErfCoefficients[i], index));
  return m.copySign(m.mul(p, t), x);
}

} // namespace

/// |x| <= 1.125: x + x p(x^2); beyond: 1 - q(|x| - 2.5).  Error below 1.6 ulp.
Value emitErf(OpBuilder &b, Location loc, Value x, MathIsa extra) {
  MathBuilder m(b, loc, x.getType(), extra);
  if (m.hasLookup())
    return erfByTable(m, x);
  Value square = m.mul(x, x);
  // erf(x)/x - 1, error 6.3e-9.
  Value p =
      m.polynomial(square, m.mul(square, square),
                   {0.128379166f, -0.376126021f, 0.112832561f, -0.0268392228f,
                    0.00516025908f, -0.00077657972f, 7.06350693e-05f});
  Value small = m.fma(p, x, x);
  // erfc(t), error 4.7e-8; at 3.97 below half of what 1 can lose.
  Value a = m.abs(x);
  Value d = m.sub(m.atMost(a, 3.97f), m.number(2.5f));
  Value q = m.polynomial(d, m.mul(d, d),
                         {0.000406911597f, -0.00217806967f, 0.00544745196f,
                          -0.00835323893f, 0.00861025415f, -0.0061036027f,
                          0.00282974378f, -0.000569473719f, -0.000298341768f,
                          0.000278176711f, -5.63411413e-05f, -2.0854508e-05f,
                          8.15340991e-06f});
  Value large = m.copySign(m.sub(m.number(1), q), x);
  return m.select(m.greater(a, m.number(1.125f)), large, small);
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
  Value chosen = m.shrU(m.select(m.unordered(x, x), quiet, rounded), 16);
  Value narrow =
      arith::TruncIOp::create(b, loc, m.typeOf(b.getI16Type()), chosen);
  return m.bits(narrow, b.getBF16Type());
}

Value emitExtendBF16(OpBuilder &b, Location loc, Value x) {
  MathBuilder m(b, loc, x.getType());
  Value wide = arith::ExtUIOp::create(b, loc, m.typeOf(b.getI32Type()),
                                      m.bits(x, b.getI16Type()));
  return m.asFloat(m.shl(wide, 16));
}

} // namespace tenon::codegen
