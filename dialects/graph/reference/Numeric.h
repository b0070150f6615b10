//===- Numeric.h - element types, exactly ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Conversions between double and every element type, written from the formats'
// definitions so that nothing depends on the host's arithmetic.  All functions
// are pure and safe to call from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <bit>
#include <cstdint>

namespace tenon::reference {

// These stand in the loop over every element of every check, where the
// library's functions take most of the time.

/// Exponent of a finite value other than 0 as a number 1.x * 2^exponent; that
/// below every normal double for denormal ones.
inline int exponentOf(double value) {
  return static_cast<int>(std::bit_cast<uint64_t>(value) >> 52 & 0x7ff) - 1023;
}

/// 2^exponent, for -1022 <= exponent <= 1023.
inline double powerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

/// A binary floating format.  e4m3 has no infinity: its largest exponent holds
/// numbers, and only the all-ones mantissa there is NaN.  Of e8m0, which has no
/// sign and no denormal numbers, it says how far numbers are apart.
struct FloatFormat {
  int mantissaBits; // stored ones, without the hidden one
  int exponentBits;
  bool hasInf;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  int minExponent() const { return 1 - bias(); } // of the smallest normal
  int maxExponent() const {
    return (1 << exponentBits) - 1 - bias() - (hasInf ? 1 : 0);
  }
  int bits() const { return 1 + exponentBits + mantissaBits; }
  double maxFinite() const;
};

/// The format of a floating dtype; requires graph::isFloat(dtype).
const FloatFormat &formatOf(graph::DType dtype);

/// Smallest and largest value of an integer dtype (boolean: 0 and 1; the
/// largest s64 as a double, 2^63) or the finite range of a floating one.
struct Range {
  double min, max;
};
Range rangeOf(graph::DType dtype);

/// Nearest value of `dtype`, ties to even, one rounding only.
/// Floating: beyond the range gives infinity (NaN for e4m3), nothing saturates.
/// Integers saturate, NaN gives 0; boolean: any value but 0 gives 1.
double roundTo(graph::DType dtype, double value);

/// Nearest integer, ties to even, independent of the rounding mode in force.
double roundHalfEven(double value);

/// Arithmetic of s32, s8, ...: `value` (an integer) modulo 2^bits as the
/// integer dtype represents it.  Exact for |value| < 2^53.
double wrapTo(graph::DType dtype, double value);

/// `value` of dtype `from` as TypeCast converts it.  Floats round; float to
/// integer drops the fraction and saturates, NaN gives 0; integer to integer
/// wraps; boolean is value != 0.  Neither dtype is s64.
double castTo(graph::DType from, graph::DType to, double value);

// The same to and from s64, whose values a double does not hold.

/// The nearest s64, ties to even; saturates, NaN gives 0.
int64_t nearestS64(double value);
/// The nearest value of `dtype`, rounded once; integers saturate, boolean is
/// value != 0.  `undef` stands for double.
double nearestTo(graph::DType dtype, int64_t value);
/// As castTo, to s64.
int64_t castToS64(double value);
/// As castTo, from s64: floats round once, integers keep the low bits.
double castFromS64(graph::DType to, int64_t value);

/// Distance between 1 and the next larger number of a floating dtype;
/// 1 for integers.
double epsilonOf(graph::DType dtype);

/// Distance of neighbouring numbers of `dtype` around `value` (the subnormal
/// spacing near 0); 1 for integers.
double ulpOf(graph::DType dtype, double value);

/// The bit pattern of roundTo(dtype, value), in the low bits; s4 and u4 use 4.
/// NaN encodes as the quiet NaN with a clear sign.
uint64_t encode(graph::DType dtype, double value);
/// The value of a bit pattern; of s64 rounded to a double.
double decode(graph::DType dtype, uint64_t bits);

} // namespace tenon::reference
