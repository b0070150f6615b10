//===- IntegerProduct.h - products of integers, exactly --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums of products of s32 have more bits than a double. They are made of sums
// of products of 16 bits, which have not. Internal.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/reference/Numeric.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tenon::reference {

/// `multiply(a, b)`, which sums up products of elements of integers `a` and
/// `b`, modulo 2^32, as s32.  Exact for sums of up to 2^21 products.
template <typename Multiply>
std::vector<double> integerProduct(const std::vector<double> &a,
                                   const std::vector<double> &b,
                                   Multiply multiply) {
  constexpr double kHalf = 0x1p16;
  auto fits = [](const std::vector<double> &v) {
    return std::all_of(v.begin(), v.end(),
                       [](double x) { return std::fabs(x) <= kHalf; });
  };
  auto wrapped = [](std::vector<double> v) {
    for (double &x : v)
      x = wrapTo(graph::DType::s32, x);
    return v;
  };
  if (fits(a) && fits(b))
    return wrapped(multiply(a, b));
  // x = high * 2^16 + low; products of two high halves are multiples of 2^32.
  auto high = [](std::vector<double> v) {
    for (double &x : v)
      x = std::floor(x / kHalf);
    return v;
  };
  auto low = [](std::vector<double> v) {
    for (double &x : v)
      x -= std::floor(x / kHalf) * kHalf;
    return v;
  };
  auto aLow = low(a), bLow = low(b);
  std::vector<double> sum = wrapped(multiply(aLow, bLow));
  for (const std::vector<double> &more :
       {wrapped(multiply(high(a), bLow)), wrapped(multiply(aLow, high(b)))})
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] = wrapTo(graph::DType::s32, sum[i] + more[i] * kHalf);
  return sum;
}

} // namespace tenon::reference
