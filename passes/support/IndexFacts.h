//===- IndexFacts.h - bounds and divisors of sizes -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What is known of a number that is not known when code is written. It begins
// with what is declared of named sizes (dialects/graph/SizeFacts.h) and follows
// index arithmetic (IndexMath.h). The ranges that MLIR infers of integers have
// no divisors, and are of values in the IR: arithmetic here folds before there
// are any.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace tenon::passes {

/// The number is from `min` to `max` and a multiple of `multipleOf`.
struct IndexFacts {
  static constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

  int64_t min = kLeast, max = kMost;
  int64_t multipleOf = 1; // 0, which all numbers divide, for the number 0

  /// Those of a number that is known.
  static IndexFacts of(int64_t number);
  /// Whether they say nothing.
  bool empty() const {
    return min == kLeast && max == kMost && multipleOf == 1;
  }
  bool hasMax() const { return max != kMost; }
  /// What is true of a number of which both are.
  IndexFacts meet(const IndexFacts &other) const;
  /// "1..64*8", for keys.
  std::string str() const;

  // Bounds that do not fit 64 bits are none. Divisors are positive, what is
  // divided is not negative; otherwise nothing is known.
  IndexFacts operator+(const IndexFacts &y) const;
  IndexFacts operator-(const IndexFacts &y) const;
  IndexFacts operator*(const IndexFacts &y) const;
  IndexFacts floorDiv(const IndexFacts &y) const;
  IndexFacts ceilDiv(const IndexFacts &y) const;
  IndexFacts rem(const IndexFacts &y) const;
  IndexFacts least(const IndexFacts &y) const;
  IndexFacts greatest(const IndexFacts &y) const;
};

} // namespace tenon::passes
