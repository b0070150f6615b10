//===- Random.h - random numbers that are the same everywhere --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Internal to the checks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cmath>
#include <cstdint>

namespace tenon::check {

/// SplitMix64: small, well mixed, the same everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// In [low, high].
  int64_t integer(int64_t low, int64_t high) {
    return low +
           static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  /// In [low, high), with 20 random bits: exact in f32.
  double real(double low, double high) {
    return low +
           (high - low) * std::ldexp(static_cast<double>(next() >> 44), -20);
  }

private:
  uint64_t state;
};

} // namespace tenon::check
