//===- SizeTrials.h - numbers tried for unknown sizes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Models compute shapes: they take sizes, multiply and join them, and reshape
// by the result. What such a size is made of follows from trials. Each name
// stands for a few numbers, shapes are computed for each of them, and an
// expression is looked for that gives the numbers which come out. A trial that
// a model refuses, as one with too many tokens for its table of positions, says
// nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::onnx {

/// Not thread-safe.
class SizeTrials {
public:
  static constexpr size_t kCount = 10;
  /// Those whose sizes have no common divisor.
  static constexpr std::array<size_t, 6> kPrimes{3, 4, 6, 7, 8, 9};
  /// A size in each trial; absent where the trial does not get that far.
  using Numbers = std::array<std::optional<int64_t>, kCount>;

  /// The numbers of an expression (SizeExpr.h), whose names get some where they
  /// have none; absent if it is no expression.
  std::optional<Numbers> numbersOf(std::string_view expression);
  /// An expression with these numbers; absent if none is found, or if less than
  /// two trials tell.
  std::optional<std::string> expressionOf(const Numbers &numbers) const;

  /// The positions of a window along a dim of that size, an expression:
  /// (size + more) // stride. That is a size like those of names from here on,
  /// since no search finds what is rounded down several times.
  void addPositions(const std::string &size, int64_t more, int64_t stride);

  /// A size that a model computes is one like those of names from here on, if
  /// no search finds it: what is made of it is a product or a multiple of it.
  void note(const std::string &expression);
  /// The same if it has these numbers in the trials.
  void note(const std::string &expression, const Numbers &numbers);

  bool empty() const { return names.empty(); }

private:
  struct Name {
    std::string text;
    std::array<int64_t, kCount> numbers;
  };
  const std::array<int64_t, kCount> &numbersOfName(const std::string &name);
  struct Search;
  /// With `mayGuess` also what fits the trials, but might fit others as well.
  std::optional<std::string> searched(const Numbers &numbers,
                                      bool mayGuess) const;
  std::optional<std::string> simple(const Search &search) const;
  static std::optional<Numbers> quotient(const Numbers &numbers,
                                         const Numbers &base);

  /// (base + more) // divisor, and its numbers.
  struct Positions {
    std::string base;
    int64_t more, divisor;
    std::string text;
    Numbers numbers;
  };

  void addPositions(Positions made);
  std::span<const Name> namesOfProducts() const;
  std::vector<Positions> factors() const;
  std::optional<std::string> productOfPositions(const Numbers &numbers) const;
  std::optional<std::string> multipleOf(const Numbers &numbers) const;
  static std::optional<std::string>
  multipleOf(const Numbers &numbers, const Positions &base, int64_t window);
  static std::optional<int64_t> aboveMultiples(const Numbers &numbers,
                                               const Numbers &base,
                                               int64_t more, int64_t window);

  std::vector<Name> names;
  std::vector<Positions> positions;
  /// What was found, or not, since the last name and the last positions.
  mutable std::map<Numbers, std::optional<std::string>> found;
};

} // namespace tenon::onnx
