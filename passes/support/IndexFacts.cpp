// SPDX-License-Identifier: Apache-2.0
#include "passes/support/IndexFacts.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tenon::passes {

namespace {

constexpr int64_t kLeast = IndexFacts::kLeast, kMost = IndexFacts::kMost;

/// What both divide; of numbers of which one does not fit, 1.
int64_t commonDivisor(int64_t x, int64_t y) {
  return x == kLeast || y == kLeast ? 1 : std::gcd(x, y);
}

/// A bound below: none if one of them is none or the sum does not fit.
int64_t addMin(int64_t x, int64_t y) {
  int64_t sum = 0;
  bool fits = x != kLeast && y != kLeast && !__builtin_add_overflow(x, y, &sum);
  return fits ? sum : kLeast;
}

int64_t addMax(int64_t x, int64_t y) {
  int64_t sum = 0;
  bool fits = x != kMost && y != kMost && !__builtin_add_overflow(x, y, &sum);
  return fits ? sum : kMost;
}

/// Of numbers that are not negative.
int64_t multiplyMax(int64_t x, int64_t y) {
  int64_t times = 0;
  if (x == 0 || y == 0)
    return 0;
  bool fits = x != kMost && y != kMost && !__builtin_mul_overflow(x, y, &times);
  return fits ? times : kMost;
}

} // namespace

IndexFacts IndexFacts::of(int64_t number) {
  return {number, number, number == kLeast ? 1 : std::abs(number)};
}

IndexFacts IndexFacts::meet(const IndexFacts &other) const {
  int64_t common =
      std::max<int64_t>(commonDivisor(multipleOf, other.multipleOf), 1);
  int64_t multiple = 0;
  if (__builtin_mul_overflow(multipleOf / common, other.multipleOf, &multiple))
    multiple = std::max(multipleOf, other.multipleOf);
  return {std::max(min, other.min), std::min(max, other.max), multiple};
}

std::string IndexFacts::str() const {
  return std::to_string(min) + ".." + std::to_string(max) + "*" +
         std::to_string(multipleOf);
}

IndexFacts IndexFacts::operator+(const IndexFacts &y) const {
  return {addMin(min, y.min), addMax(max, y.max),
          commonDivisor(multipleOf, y.multipleOf)};
}

IndexFacts IndexFacts::operator-(const IndexFacts &y) const {
  auto negate = [](int64_t x) {
    return x == kMost ? kLeast : x == kLeast ? kMost : -x;
  };
  return *this + IndexFacts{negate(y.max), negate(y.min), y.multipleOf};
}

IndexFacts IndexFacts::operator*(const IndexFacts &y) const {
  IndexFacts result;
  if (__builtin_mul_overflow(multipleOf, y.multipleOf, &result.multipleOf))
    result.multipleOf = std::max(multipleOf, y.multipleOf);
  if (min < 0 || y.min < 0)
    return result;
  int64_t least = multiplyMax(min, y.min);
  result.min = least == kMost ? 0 : least;
  result.max = multiplyMax(max, y.max);
  return result;
}

/// What is known of `x` divided by `y` as `divide` rounds. The smallest is
/// `least` if y has no bound.
static IndexFacts quotient(const IndexFacts &x, const IndexFacts &y,
                           int64_t least, int64_t (*divide)(int64_t, int64_t)) {
  if (x.min < 0 || y.min < 1)
    return {};
  IndexFacts result{y.hasMax() ? divide(x.min, y.max) : least,
                    x.hasMax() ? divide(x.max, y.min) : kMost, 1};
  if (y.min == y.max && x.multipleOf % y.min == 0)
    result.multipleOf = x.multipleOf / y.min;
  return result;
}

IndexFacts IndexFacts::floorDiv(const IndexFacts &y) const {
  return quotient(*this, y, 0, [](int64_t a, int64_t b) { return a / b; });
}

IndexFacts IndexFacts::ceilDiv(const IndexFacts &y) const {
  return quotient(*this, y, std::min<int64_t>(min, 1),
                  [](int64_t a, int64_t b) { return a / b + (a % b != 0); });
}

IndexFacts IndexFacts::rem(const IndexFacts &y) const {
  if (min < 0 || y.min < 1)
    return {};
  if (max < y.min)
    return *this;
  if (y.min == y.max && multipleOf % y.min == 0)
    return of(0);
  return {0, y.max == kMost ? max : std::min(max, y.max - 1),
          commonDivisor(multipleOf, y.multipleOf)};
}

IndexFacts IndexFacts::least(const IndexFacts &y) const {
  return {std::min(min, y.min), std::min(max, y.max),
          commonDivisor(multipleOf, y.multipleOf)};
}

IndexFacts IndexFacts::greatest(const IndexFacts &y) const {
  return {std::max(min, y.min), std::max(max, y.max),
          commonDivisor(multipleOf, y.multipleOf)};
}

} // namespace tenon::passes
