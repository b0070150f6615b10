//===- Rounding.h - integer division that rounds up ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tenon {

/// x / y, rounded up, of x >= 0 and y > 0.
constexpr int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// The least multiple of `step` > 0 that is not below `n` >= 0.
constexpr int64_t roundUp(int64_t n, int64_t step) {
  return ceilDiv(n, step) * step;
}

} // namespace tenon
