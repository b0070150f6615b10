// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/SizeTrials.h"

#include "dialects/graph/SizeExpr.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

namespace tenon::onnx {

using graph::SizeExpr;

/// The numbers of the n-th name. Images are halved up to five times: four
/// trials have multiples of 32, of which one has large ones, so that the
/// smaller of a size and a limit is not taken for the size. The others are
/// primes, large ones in two of them for windows that need that many: one is a
/// multiple of 64 and 1 more, one 1 less, so that rounded up, or down, to a
/// multiple of a power of 2 they tell it from all others. Four have small ones,
/// since nothing else tells where tables of positions end early.
static std::array<int64_t, SizeTrials::kCount> numbersFor(size_t n) {
  static constexpr int64_t primes[] = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29,
                                       31, 37, 41, 43, 47, 53, 59, 61, 67, 71};
  static constexpr int64_t others[] = {13, 11, 3,  19, 7,  17, 5,
                                       2,  29, 23, 37, 31, 43, 41};
  static constexpr int64_t few[] = {3,  2,  11, 5,  13, 7,  19,
                                    17, 23, 31, 29, 41, 37, 43};
  static constexpr int64_t fewer[] = {7,  5,  2,  3,  11, 13, 17,
                                      19, 31, 29, 41, 23, 43, 37};
  static constexpr int64_t above[] = {769, 641, 577,  1153, 1217, 449,
                                      257, 193, 1409, 1601, 2113, 2689};
  static constexpr int64_t below[] = {1087, 1151, 1279, 383,  1471, 1663,
                                      191,  127,  2111, 2239, 2687, 2879};
  constexpr size_t count = std::size(primes);
  return {32 * primes[(n + 1) % count],     32 * primes[(3 * n + 2) % count],
          64 * primes[(7 * n + 3) % count], primes[(n + 2) % count],
          others[n % std::size(others)],    32 * (1021 + 2 * primes[n % count]),
          above[n % std::size(above)],      below[n % std::size(below)],
          few[n % std::size(few)],          fewer[n % std::size(fewer)]};
}

const std::array<int64_t, SizeTrials::kCount> &
SizeTrials::numbersOfName(const std::string &name) {
  auto known = std::ranges::find(names, name, &Name::text);
  if (known != names.end())
    return known->numbers;
  names.push_back({name, numbersFor(names.size())});
  found.clear();
  return names.back().numbers;
}

/// Fewer numbers fit too many expressions.
static constexpr size_t kLeast = 4;

std::optional<SizeTrials::Numbers>
SizeTrials::numbersOf(std::string_view expression) {
  auto parsed = SizeExpr::parse(expression);
  if (!parsed)
    return std::nullopt;
  Numbers numbers;
  for (size_t k = 0; k < kCount; ++k)
    numbers[k] = parsed->evaluate([&](std::string_view name) {
      return std::optional(numbersOfName(std::string(name))[k]);
    });
  return numbers;
}

/// Looks for an expression of one or several names.
struct SizeTrials::Search {
  const Numbers &numbers;
  size_t tells; // how many there are

  /// What is like `base`, a text with these numbers, but for a factor, a
  /// divisor and a summand.
  /// Two numbers are what many fractions round to: only multiples count then.
  std::optional<std::string>
  scaled(const std::string &base, const std::array<int64_t, kCount> &of) const {
    for (int64_t divisor : {1, 2, 4, 8, 16, 32, 64, 256, 1024}) {
      if (divisor > 1 && tells < 3)
        return std::nullopt;
      for (int64_t factor : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 25, 49, 64})
        for (bool roundsUp : {false, true})
          if (auto text = scaledBy(base, of, factor, divisor, roundsUp))
            return text;
    }
    return anyFactor(base, of);
  }

  std::optional<std::string> scaledBy(const std::string &base,
                                      const std::array<int64_t, kCount> &of,
                                      int64_t factor, int64_t divisor,
                                      bool roundsUp) const {
    if (divisor == 1 ? roundsUp : factor % divisor == 0)
      return std::nullopt;
    int64_t more = roundsUp ? divisor - 1 : 0;
    std::optional<int64_t> summand;
    for (size_t k = 0; k < kCount; ++k) {
      if (!numbers[k])
        continue;
      int64_t scaled = 0;
      if (__builtin_mul_overflow(of[k], factor, &scaled))
        return std::nullopt;
      int64_t left = *numbers[k] - (scaled + more) / divisor;
      if (summand.value_or(left) != left)
        return std::nullopt;
      summand = left;
    }
    // Two numbers fit any line, and larger summands are no padding.
    constexpr int64_t kMost = 1024;
    if (!summand || *summand < -kMost || *summand > kMost ||
        (*summand && tells < 3))
      return std::nullopt;
    std::string text = base;
    if (factor != 1)
      text = std::to_string(factor) + " * " + text;
    if (more)
      text = "(" + text + " + " + std::to_string(more) + ")";
    if (divisor != 1)
      text = (more || factor == 1 ? text : "(" + text + ")") + " // " +
             std::to_string(divisor);
    if (*summand)
      text +=
          (*summand > 0 ? " + " : " - ") + std::to_string(std::abs(*summand));
    return text;
  }

  /// A multiple of `base`, or of a part of it, and a summand: an image has
  /// 21 / 1024 as many cells of 8, 16 and 32 pixels as it has pixels.
  std::optional<std::string>
  anyFactor(const std::string &base,
            const std::array<int64_t, kCount> &of) const {
    std::vector<size_t> known;
    for (size_t k = 0; k < kCount; ++k)
      if (numbers[k])
        known.push_back(k);
    int64_t step = of[known[1]] - of[known[0]];
    int64_t rise = *numbers[known[1]] - *numbers[known[0]];
    if (step == 0)
      return std::nullopt;
    for (int64_t divisor = 1; divisor <= 4096; divisor *= 2) {
      int64_t part = 0;
      if (__builtin_mul_overflow(rise, divisor, &part))
        return std::nullopt;
      if (part % step || part / step < 1)
        continue;
      if (auto text = scaledBy(base, of, part / step, divisor, false))
        return text;
    }
    return std::nullopt;
  }
};

/// Whether both are the same wherever `numbers` tells.
static bool isSame(const SizeTrials::Numbers &other,
                   const SizeTrials::Numbers &numbers) {
  for (size_t k = 0; k < SizeTrials::kCount; ++k)
    if (numbers[k] && numbers[k] != other[k])
      return false;
  return true;
}

/// The number that all are; nothing if they differ.
static std::optional<int64_t> constantOf(const SizeTrials::Numbers &numbers) {
  std::optional<int64_t> same;
  for (const auto &number : numbers)
    if (number && same.value_or(*number) != *number)
      return std::nullopt;
    else if (number)
      same = number;
  return same;
}

static SizeTrials::Numbers
known(const std::array<int64_t, SizeTrials::kCount> &all) {
  SizeTrials::Numbers numbers;
  std::ranges::copy(all, numbers.begin());
  return numbers;
}

std::optional<std::string>
SizeTrials::expressionOf(const Numbers &numbers) const {
  auto known = found.find(numbers);
  if (known == found.end())
    known = found.emplace(numbers, searched(numbers, true)).first;
  return known->second;
}

std::optional<std::string> SizeTrials::searched(const Numbers &given,
                                                bool mayGuess) const {
  auto tells = static_cast<size_t>(std::ranges::count_if(
      given, [](const auto &number) { return number.has_value(); }));
  if (tells < 2)
    return std::nullopt;
  if (auto number = constantOf(given))
    return std::to_string(*number);
  for (const Positions &each : positions)
    if (isSame(each.numbers, given))
      return each.text;
  // A window that does not fit has a number of positions below 0. What is so
  // elsewhere, and 0, is the same of too many expressions.
  Numbers numbers = given;
  size_t above = 0;
  for (auto &number : numbers)
    if (number && *number < 0) {
      number.reset();
      --tells;
    } else {
      above += number.value_or(0) > 0;
    }
  if (tells < 2 || (numbers != given && above < kLeast))
    return std::nullopt;
  Search search{numbers, tells};
  for (const Positions &each : positions)
    if (isSame(each.numbers, numbers))
      return each.text;
  if (auto text = simple(search))
    return text;
  for (const Name &a : names)
    if (auto text = search.scaled(a.text, a.numbers))
      return text;
  // Sums, and products of two and of three names.
  auto joined = [](const Name &a, const Name &b, bool product) {
    Name both{a.text + (product ? " * " : " + ") + b.text, a.numbers};
    for (size_t k = 0; k < kCount; ++k)
      both.numbers[k] =
          product ? a.numbers[k] * b.numbers[k] : a.numbers[k] + b.numbers[k];
    return both;
  };
  const std::span<const Name> joinable = namesOfProducts();
  for (bool product : {false, true})
    for (const Name &a : joinable)
      for (const Name &b : joinable) {
        if (&b < &a || (&a == &b && !product))
          continue;
        Name both = joined(a, b, product);
        if (!product)
          both.text = "(" + both.text + ")";
        if (auto text = search.scaled(both.text, both.numbers))
          return text;
        for (const Name &c : joinable)
          if (product && &c >= &b)
            if (Name all = joined(both, c, true);
                auto text = search.scaled(all.text, all.numbers))
              return text;
      }
  // Two numbers have too many of these.
  if (tells < 3 || above < std::min(tells, kLeast))
    return std::nullopt;
  if (auto text = productOfPositions(numbers))
    return text;
  return mayGuess ? multipleOf(numbers) : std::nullopt;
}

/// A name, or the sum of two, and a summand. These come first: what is a part
/// of a name, rounded, may be the same by chance.
std::optional<std::string> SizeTrials::simple(const Search &search) const {
  for (const Name &a : names)
    if (auto text = search.scaledBy(a.text, a.numbers, 1, 1, false))
      return text;
  const std::span<const Name> joinable = namesOfProducts();
  for (const Name &a : joinable)
    for (const Name &b : joinable) {
      if (&b <= &a)
        continue;
      std::array<int64_t, kCount> sum = a.numbers;
      for (size_t k = 0; k < kCount; ++k)
        sum[k] += b.numbers[k];
      if (auto text = search.scaledBy("(" + a.text + " + " + b.text + ")", sum,
                                      1, 1, false))
        return text;
    }
  return std::nullopt;
}

/// What (base + more) // window * window + summand is for some window: images,
/// and what is left of them, are padded to the next multiple of one.
std::optional<std::string>
SizeTrials::multipleOf(const Numbers &numbers) const {
  int64_t common = 0;
  size_t tells = 0;
  std::optional<int64_t> first;
  for (const auto &number : numbers)
    if (number) {
      first = first.value_or(*number);
      common = std::gcd(common, *number - *first);
      ++tells;
    }
  // Few numbers are multiples of anything, and larger windows are none.
  constexpr int64_t kMost = 1024;
  if (tells < 4 || common == 0)
    return std::nullopt;
  std::vector<Positions> bases = positions;
  for (const Name &name : names)
    bases.push_back({name.text, 0, 1, name.text, known(name.numbers)});
  for (int64_t window = std::min(common, kMost); window > 1; --window)
    for (const Positions &base : bases)
      if (common % window == 0)
        if (auto text = multipleOf(numbers, base, window))
          return text;
  return std::nullopt;
}

/// The same for one base and one window. Trials are few, and another summand
/// that fits them as well gives other sizes than those which are tried: then it
/// is none, unless something may be padded to the next multiple.
std::optional<std::string> SizeTrials::multipleOf(const Numbers &numbers,
                                                  const Positions &base,
                                                  int64_t window) {
  std::optional<std::string> text;
  for (int64_t more = window; more-- > 0;) {
    auto summand = aboveMultiples(numbers, base.numbers, more, window);
    if (!summand)
      continue;
    if (text)
      return std::nullopt;
    std::string by = std::to_string(window);
    text = "(" + base.text + " + " + std::to_string(more) + ") // " + by +
           " * " + by;
    if (*summand)
      *text +=
          (*summand > 0 ? " + " : " - ") + std::to_string(std::abs(*summand));
    if (more == window - 1)
      return text;
  }
  return text;
}

/// What `numbers` are all above (base + more) // window * window, if it is no
/// more than a few windows.
std::optional<int64_t> SizeTrials::aboveMultiples(const Numbers &numbers,
                                                  const Numbers &base,
                                                  int64_t more,
                                                  int64_t window) {
  std::optional<int64_t> summand;
  for (size_t k = 0; k < kCount; ++k) {
    if (!numbers[k])
      continue;
    if (!base[k] || *base[k] < 0)
      return std::nullopt;
    int64_t left = *numbers[k] - (*base[k] + more) / window * window;
    if (summand.value_or(left) != left || std::abs(left) > 8 * window)
      return std::nullopt;
    summand = left;
  }
  return summand;
}

/// What `base`, a factor of it, leaves of `numbers`; nothing if it is none.
std::optional<SizeTrials::Numbers> SizeTrials::quotient(const Numbers &numbers,
                                                        const Numbers &base) {
  Numbers rest;
  for (size_t k = 0; k < kCount; ++k) {
    if (!numbers[k])
      continue;
    if (*numbers[k] == 0 && base[k] == 0)
      continue; // tells nothing
    if (!base[k] || *base[k] < 1 || *numbers[k] % *base[k])
      return std::nullopt;
    rest[k] = *numbers[k] / *base[k];
  }
  return rest;
}

/// Batch, tokens, height and width have names early. Searches for products are
/// cubic, and a model may leave the dims of hundreds of inputs open.
std::span<const SizeTrials::Name> SizeTrials::namesOfProducts() const {
  return std::span(names).first(std::min<size_t>(names.size(), 12));
}

/// Those that windows have, and parts of names, rounded down and up, that
/// models compute without one.
std::vector<SizeTrials::Positions> SizeTrials::factors() const {
  std::vector<Positions> all = positions;
  for (const Name &name : namesOfProducts())
    for (int64_t divisor : {2, 4, 8, 16, 32, 64})
      for (bool roundsUp : {false, true}) {
        std::string divided = " // " + std::to_string(divisor);
        Positions part{name.text, 0, divisor, name.text + divided, {}};
        if (roundsUp)
          part.text = "(" + name.text + " + " + std::to_string(divisor - 1) +
                      ")" + divided;
        for (size_t k = 0; k < kCount; ++k)
          part.numbers[k] =
              (name.numbers[k] + (roundsUp ? divisor - 1 : 0)) / divisor;
        all.push_back(std::move(part));
      }
  return all;
}

/// Tokens of an image: the positions along both of its dims, and a number.
std::optional<std::string>
SizeTrials::productOfPositions(const Numbers &numbers) const {
  const std::vector<Positions> positions = factors();
  for (const Positions &a : positions) {
    auto rest = quotient(numbers, a.numbers);
    if (!rest)
      continue;
    std::string text = "(" + a.text + ")";
    if (auto factor = constantOf(*rest))
      return text + " * " + std::to_string(*factor);
    for (const Positions &b : positions) {
      auto left = quotient(*rest, b.numbers);
      if (auto factor = left ? constantOf(*left) : std::nullopt)
        return text + " * (" + b.text + ")" +
               (*factor == 1 ? "" : " * " + std::to_string(*factor));
    }
    for (const Name &name : namesOfProducts()) {
      auto left = quotient(*rest, known(name.numbers));
      if (!left)
        continue;
      if (auto factor = constantOf(*left))
        return text + " * " + name.text +
               (*factor == 1 ? "" : " * " + std::to_string(*factor));
      for (const Positions &b : positions) {
        auto last = quotient(*left, b.numbers);
        if (auto factor = last ? constantOf(*last) : std::nullopt)
          return text + " * (" + b.text + ") * " + name.text +
                 (*factor == 1 ? "" : " * " + std::to_string(*factor));
      }
    }
  }
  return std::nullopt;
}

void SizeTrials::addPositions(const std::string &size, int64_t more,
                              int64_t stride) {
  Positions made{size, more, stride, "", {}};
  // Rounded down once more: ((base + a) // m + b) // n is
  // (base + a + b m) // (m n).
  auto inner = std::ranges::find(positions, size, &Positions::text);
  if (inner != positions.end() &&
      (__builtin_mul_overflow(more, inner->divisor, &made.more) ||
       __builtin_add_overflow(made.more, inner->more, &made.more) ||
       __builtin_mul_overflow(stride, inner->divisor, &made.divisor)))
    return;
  if (inner != positions.end())
    made.base = inner->base;
  bool isName = std::ranges::find(names, made.base, &Name::text) != names.end();
  made.text = isName ? made.base : "(" + made.base + ")";
  if (made.more)
    made.text +=
        (made.more > 0 ? " + " : " - ") + std::to_string(std::abs(made.more));
  if (made.divisor != 1)
    made.text = (made.more ? "(" + made.text + ")" : made.text) + " // " +
                std::to_string(made.divisor);
  if (auto numbers = numbersOf(made.text)) {
    made.numbers = *numbers;
    addPositions(std::move(made));
  }
}

void SizeTrials::note(const std::string &expression) {
  if (auto numbers = numbersOf(expression))
    note(expression, *numbers);
}

/// The number of an expression, which may be below 0 itself; absent where
/// something that is divided is, which executions refuse.
static std::optional<int64_t>
numberOf(const SizeExpr &expression,
         const std::function<int64_t(std::string_view)> &sizeOf) {
  using Kind = SizeExpr::Kind;
  std::vector<int64_t> values;
  for (const SizeExpr::Token &token : expression.postfix()) {
    if (token.kind == Kind::number || token.kind == Kind::name) {
      values.push_back(token.kind == Kind::name ? sizeOf(token.name)
                                                : token.number);
      continue;
    }
    int64_t y = values.back();
    values.pop_back();
    int64_t &x = values.back();
    if (token.kind == Kind::div || token.kind == Kind::rem) {
      if (x < 0 || y < 1)
        return std::nullopt;
      x = token.kind == Kind::div ? x / y : x % y;
    } else if (token.kind == Kind::add   ? __builtin_add_overflow(x, y, &x)
               : token.kind == Kind::sub ? __builtin_sub_overflow(x, y, &x)
                                         : __builtin_mul_overflow(x, y, &x)) {
      return std::nullopt;
    }
  }
  return values.back();
}

void SizeTrials::note(const std::string &expression, const Numbers &numbers) {
  // What stays small while names grow, as remainders do, is the same for names
  // that differ: those of the height may be those of the width.
  constexpr size_t largest = 5;
  constexpr int64_t kFew = 256;
  if (std::abs(numbers[largest].value_or(kFew)) < kFew)
    return;
  auto parsed = SizeExpr::parse(expression);
  size_t tells = 0;
  for (size_t k = 0; parsed && k < kCount; ++k) {
    if (!numbers[k])
      continue;
    auto number = numberOf(*parsed, [&](std::string_view name) {
      return numbersOfName(std::string(name))[k];
    });
    if (!number)
      continue;
    // What is left of a size is nothing where that is below 0.
    if (number != numbers[k] && std::max<int64_t>(*number, 0) != numbers[k])
      return;
    ++tells;
  }
  if (tells >= kLeast && !searched(numbers, false))
    addPositions({expression, 0, 1, expression, numbers});
}

void SizeTrials::addPositions(Positions made) {
  constexpr size_t kMost = 64; // products are searched for pairs
  if (positions.size() >= kMost ||
      std::ranges::any_of(positions, [&](const Positions &other) {
        return other.text == made.text;
      }))
    return;
  positions.push_back(std::move(made));
  found.clear();
}

} // namespace tenon::onnx
