//===- SizeFacts.h - what is declared of named sizes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Beside its name (SizeExpr.h), a size that is not known may have bounds, a
// number that it is a multiple of, and values that are likely. What is declared
// holds for every execution: other sizes are errors, so that the compiler may
// rely on it. No MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/support/Error.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::graph {

struct SizeFacts {
  /// Any size.
  static constexpr int64_t kNoMax = std::numeric_limits<int64_t>::max();

  int64_t min = 0, max = kNoMax;
  int64_t multipleOf = 1;
  /// Values that get code of their own, the likeliest first.
  std::vector<int64_t> likely;

  bool operator==(const SizeFacts &) const = default;

  bool allows(int64_t size) const {
    return size >= min && size <= max && size % multipleOf == 0;
  }
  /// The one size that is allowed, if there is no other.
  std::optional<int64_t> onlySize() const;
  /// "from 1 to 4096 and a multiple of 8", without the likely values.
  std::string str() const;
};

/// What is declared, by name.
using NamedSizeFacts = std::map<std::string, SizeFacts, std::less<>>;

/// Most values of one name that may be declared likely.
inline constexpr size_t kMostLikelyValues = 16;

/// What is wrong with a declaration on its own. Errors: AttrValue (`name` is no
/// name), BadSize (bounds that contradict, no multiple between them, likely
/// values that are not allowed or are there twice), TooLarge (likely values).
std::vector<Error> checkSizeFacts(std::string_view name,
                                  const SizeFacts &facts);

} // namespace tenon::graph
