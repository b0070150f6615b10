//===- Random.h - random choices that repeat on every machine ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <random>

namespace tenon::forms {

/// The distributions of the standard library differ from one to the other;
/// the engine does not.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  /// In [low, high].
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() %
                                      static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return in(1, 100) <= percent; }
  /// An element of `list`, which is not empty.
  template <typename List> auto pick(const List &list) {
    return std::begin(list)[in(0, static_cast<int64_t>(std::size(list)) - 1)];
  }
  template <typename T> T pick(std::initializer_list<T> list) {
    return std::begin(list)[in(0, static_cast<int64_t>(list.size()) - 1)];
  }

private:
  std::mt19937_64 engine;
};

} // namespace tenon::forms
