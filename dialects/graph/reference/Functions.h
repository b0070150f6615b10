//===- Functions.h - scalar functions of the operation set -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the forward and backward evaluation of activations.  Internal.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cmath>
#include <numbers>

namespace tenon::reference {

inline double sigmoid(double x) {
  // Both branches avoid the overflow of exp.
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

/// ln(1 + exp(x)) without overflow.
inline double logOnePlusExp(double x) {
  return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
}

/// The standard normal distribution function; accurate in the left tail.
inline double normalCdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

inline constexpr double geluCubic = 0.044715;
inline constexpr double geluScale = 0.79788456080286535588; // sqrt(2 / pi)

/// The larger one; NaN if either is NaN; max(-0, +0) is +0.
inline double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return a + b;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

/// The smaller one; NaN if either is NaN; min(-0, +0) is -0.
inline double minimum(double a, double b) { return -maximum(-a, -b); }

/// A bound instead of what is beyond it; NaN and -0 stay.
inline double clamp(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

} // namespace tenon::reference
