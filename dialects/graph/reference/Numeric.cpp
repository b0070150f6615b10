//===- Numeric.cpp - element types, exactly -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Numeric.h.  Rounding scales the value so that one unit in the last place
// becomes 1, rounds that to an integer and scales back: both scalings are by
// powers of two and exact.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Numeric.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tenon::reference {

using graph::DType;

namespace {

constexpr FloatFormat f64Format{52, 11, true};
constexpr FloatFormat f32Format{23, 8, true};
constexpr FloatFormat bf16Format{7, 8, true};
constexpr FloatFormat f16Format{10, 5, true};
constexpr FloatFormat e5m2Format{2, 5, true};
constexpr FloatFormat e4m3Format{3, 4, false};
constexpr FloatFormat e8m0Format{0, 8, false};

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

int integerBits(DType dtype) {
  switch (dtype) {
  case DType::s64:
    return 64;
  case DType::s32:
    return 32;
  case DType::s4:
  case DType::u4:
    return 4;
  default:
    return 8;
  }
}

bool isSigned(DType dtype) {
  return dtype == DType::s64 || dtype == DType::s32 || dtype == DType::s8 ||
         dtype == DType::s4;
}

/// Exponent of the last place of numbers around `value` (finite).
int lastPlace(const FloatFormat &format, double value) {
  int exponent = format.minExponent();
  if (value != 0)
    exponent = std::max(exponent, exponentOf(value));
  return exponent - format.mantissaBits;
}

double roundFloat(const FloatFormat &format, double value) {
  if (std::isnan(value) || value == 0)
    return value;
  double overflow = format.hasInf ? std::copysign(inf, value) : nan;
  if (std::isinf(value))
    return overflow;
  int place = lastPlace(format, value);
  double rounded =
      roundHalfEven(value * powerOfTwo(-place)) * powerOfTwo(place);
  if (std::fabs(rounded) > format.maxFinite())
    return overflow;
  return std::copysign(rounded, value);
}

/// f8_e8m0, which has no sign, no zero and no mantissa.
constexpr int e8m0Bias = 127;
constexpr uint64_t e8m0NaN = 255;

uint64_t encodePowerOfTwo(double value) {
  if (std::isnan(value) || value < 0 || value >= 0x1.8p127)
    return e8m0NaN;
  if (value < 0x1.8p-127)
    return 0;
  int exponent = exponentOf(value);
  bool up = value >= 1.5 * powerOfTwo(exponent);
  return static_cast<uint64_t>(exponent + up + e8m0Bias);
}

double decodePowerOfTwo(uint64_t bits) {
  return bits == e8m0NaN ? nan : powerOfTwo(static_cast<int>(bits) - e8m0Bias);
}

double roundInteger(DType dtype, double value) {
  if (std::isnan(value))
    return 0;
  if (dtype == DType::boolean)
    return value != 0;
  Range range = rangeOf(dtype);
  // Adding 0 turns -0 into 0: integers have one zero.
  return std::clamp(roundHalfEven(value), range.min, range.max) + 0.0;
}

uint64_t encodeFloat(const FloatFormat &format, double value) {
  uint64_t exponentMask = (uint64_t{1} << format.exponentBits) - 1;
  uint64_t mantissaMask = (uint64_t{1} << format.mantissaBits) - 1;
  if (std::isnan(value)) {
    uint64_t mantissa =
        format.hasInf ? uint64_t{1} << (format.mantissaBits - 1) : mantissaMask;
    return exponentMask << format.mantissaBits | mantissa;
  }
  uint64_t sign = uint64_t{std::signbit(value)} << (format.bits() - 1);
  if (std::isinf(value))
    return sign | exponentMask << format.mantissaBits;
  int place = lastPlace(format, value);
  auto units = static_cast<uint64_t>(std::fabs(value) * powerOfTwo(-place));
  if (units <= mantissaMask) // zero and subnormals
    return sign | units;
  auto exponent =
      static_cast<uint64_t>(place + format.mantissaBits + format.bias());
  return sign | exponent << format.mantissaBits | (units & mantissaMask);
}

double decodeFloat(const FloatFormat &format, uint64_t bits) {
  uint64_t exponentMask = (uint64_t{1} << format.exponentBits) - 1;
  uint64_t mantissaMask = (uint64_t{1} << format.mantissaBits) - 1;
  uint64_t mantissa = bits & mantissaMask;
  uint64_t exponent = bits >> format.mantissaBits & exponentMask;
  double sign = bits >> (format.bits() - 1) & 1 ? -1.0 : 1.0;
  if (exponent == exponentMask) {
    if (format.hasInf)
      return mantissa ? nan : sign * inf;
    if (mantissa == mantissaMask)
      return nan;
  }
  if (exponent == 0)
    return sign * static_cast<double>(mantissa) *
           powerOfTwo(format.minExponent() - format.mantissaBits);
  return sign * static_cast<double>(mantissa | (mantissaMask + 1)) *
         powerOfTwo(static_cast<int>(exponent) - format.bias() -
                    format.mantissaBits);
}

} // namespace

double FloatFormat::maxFinite() const {
  // All mantissa bits set; without infinities the last pattern is NaN.
  double top = 2 - powerOfTwo((hasInf ? 0 : 1) - mantissaBits);
  return top * powerOfTwo(maxExponent());
}

const FloatFormat &formatOf(DType dtype) {
  switch (dtype) {
  case DType::f64:
    return f64Format;
  case DType::bf16:
    return bf16Format;
  case DType::f16:
    return f16Format;
  case DType::f8_e5m2:
    return e5m2Format;
  case DType::f8_e4m3:
    return e4m3Format;
  case DType::f8_e8m0:
    return e8m0Format;
  default:
    return f32Format;
  }
}

Range rangeOf(DType dtype) {
  if (dtype == DType::f8_e8m0)
    return {0x1p-127, 0x1p127};
  if (graph::isFloat(dtype)) {
    double max = formatOf(dtype).maxFinite();
    return {-max, max};
  }
  if (dtype == DType::boolean)
    return {0, 1};
  int bits = integerBits(dtype);
  if (!isSigned(dtype))
    return {0, std::ldexp(1.0, bits) - 1};
  // 2^63 - 1 is no double: it is read as 2^63, and encode() knows.
  double half = std::ldexp(1.0, bits - 1);
  return {-half, bits == 64 ? half : half - 1};
}

double roundHalfEven(double value) {
  if (!(std::fabs(value) < 0x1p52)) // already integral, infinite or NaN
    return value;
  // Adding 2^52 leaves no place for a fraction: the addition itself rounds, to
  // even where two integers are as near.
  double magnitude = (std::fabs(value) + 0x1p52) - 0x1p52;
  return std::copysign(magnitude, value);
}

double roundTo(DType dtype, double value) {
  if (dtype == DType::undef || dtype == DType::f64)
    return value;
  if (dtype == DType::f8_e8m0)
    return decodePowerOfTwo(encodePowerOfTwo(value));
  return graph::isFloat(dtype) ? roundFloat(formatOf(dtype), value)
                               : roundInteger(dtype, value);
}

double wrapTo(DType dtype, double value) {
  Range range = rangeOf(dtype);
  if (value >= range.min && value <= range.max)
    return value;
  if (!std::isfinite(value))
    return roundTo(dtype, value);
  double modulus = std::ldexp(1.0, integerBits(dtype));
  double wrapped = std::fmod(value, modulus);
  if (wrapped > range.max)
    wrapped -= modulus;
  if (wrapped < range.min)
    wrapped += modulus;
  return wrapped;
}

double castTo(DType from, DType to, double value) {
  if (to == DType::boolean)
    return value != 0; // also for NaN
  if (graph::isFloat(to) || to == DType::undef)
    return roundTo(to, value);
  return graph::isFloat(from) ? roundTo(to, std::trunc(value))
                              : wrapTo(to, value);
}

int64_t nearestS64(double value) {
  if (std::isnan(value))
    return 0;
  if (value >= 0x1p63)
    return std::numeric_limits<int64_t>::max();
  if (value < -0x1p63)
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(roundHalfEven(value));
}

double nearestTo(DType dtype, int64_t value) {
  if (dtype == DType::boolean)
    return value != 0;
  if (dtype == DType::undef || dtype == DType::f64)
    return static_cast<double>(value);
  if (!graph::isFloat(dtype)) {
    Range range = rangeOf(dtype);
    return static_cast<double>(
        std::clamp(value, nearestS64(range.min), nearestS64(range.max)));
  }
  // Of what has more bits than a double, the lowest bit kept says whether any
  // of those dropped was set ("rounding to odd"): then the rounding to the
  // narrower type after it comes out as if it were the only one.
  uint64_t magnitude = value < 0 ? uint64_t{0} - static_cast<uint64_t>(value)
                                 : static_cast<uint64_t>(value);
  constexpr uint64_t kDropped = (uint64_t{1} << 11) - 1;
  if (magnitude >> 53)
    magnitude = (magnitude & ~kDropped) |
                ((magnitude & kDropped) != 0 ? kDropped + 1 : 0);
  auto exact = static_cast<double>(magnitude);
  return roundTo(dtype, value < 0 ? -exact : exact);
}

int64_t castToS64(double value) { return nearestS64(std::trunc(value)); }

double castFromS64(DType to, int64_t value) {
  if (graph::isFloat(to) || to == DType::boolean || to == DType::undef)
    return nearestTo(to, value);
  return decode(to, static_cast<uint64_t>(value));
}

double epsilonOf(DType dtype) {
  if (!graph::isFloat(dtype))
    return 1;
  return powerOfTwo(-formatOf(dtype).mantissaBits);
}

double ulpOf(DType dtype, double value) {
  if (!graph::isFloat(dtype))
    return 1;
  double magnitude = std::min(std::fabs(value), rangeOf(dtype).max);
  if (dtype == DType::f64) // the places of denormal numbers, too
    return std::nextafter(magnitude, inf) - magnitude;
  const FloatFormat &format = formatOf(dtype);
  return powerOfTwo(lastPlace(format, magnitude));
}

uint64_t encode(DType dtype, double value) {
  value = roundTo(dtype, value);
  if (dtype == DType::f64)
    return std::bit_cast<uint64_t>(value);
  if (dtype == DType::f8_e8m0)
    return encodePowerOfTwo(value);
  if (graph::isFloat(dtype))
    return encodeFloat(formatOf(dtype), value);
  int bits = integerBits(dtype);
  if (value >= 0x1p63)
    return std::numeric_limits<int64_t>::max();
  auto pattern = static_cast<uint64_t>(static_cast<int64_t>(value));
  return bits == 64 ? pattern : pattern & ((uint64_t{1} << bits) - 1);
}

double decode(DType dtype, uint64_t bits) {
  if (dtype == DType::f64)
    return std::bit_cast<double>(bits);
  if (dtype == DType::f8_e8m0)
    return decodePowerOfTwo(bits & 0xff);
  if (graph::isFloat(dtype))
    return decodeFloat(formatOf(dtype), bits);
  int width = integerBits(dtype);
  if (dtype == DType::boolean)
    return (bits & 0xff) != 0;
  if (!isSigned(dtype))
    return static_cast<double>(bits & ((uint64_t{1} << width) - 1));
  // Shift the sign bit to the top and back.
  auto value = static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
  return static_cast<double>(value);
}

} // namespace tenon::reference
