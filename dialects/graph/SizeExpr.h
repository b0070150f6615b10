//===- SizeExpr.h - sizes computed from named ones -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A size that is not known when a graph is compiled may have a name, and others
// may be computed from it: "batch", "batch * 12", "(height + 1) // 2".
//
//   sum     ::= ["-"] product (("+" | "-") product)*
//   product ::= factor (("*" | "//" | "%") factor)*
//   factor  ::= number | name | "(" sum ")"
//
// A name is a letter or "_", then letters, digits, "_" and ".". "//" rounds
// down and, like "%", is for numbers from 0 on. No MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/support/Error.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::graph {

class SizeExpr {
public:
  /// Errors: AttrValue, with the place where the text is wrong. A text may have
  /// 256 characters.
  static Expected<SizeExpr> parse(std::string_view text);

  /// The name, if the expression is one name alone.
  std::optional<std::string_view> name() const;

  /// The value where `sizeOf` knows the sizes of names. Absent if it does not
  /// know one, or where the value, or one on the way, is below 0 after all,
  /// does not fit 64 bits or is divided by 0.
  std::optional<int64_t> evaluate(
      const std::function<std::optional<int64_t>(std::string_view)> &sizeOf)
      const;

  /// What is computed, operands before operators, each operator for the last
  /// two values that are left.
  enum class Kind : uint8_t { number, name, add, sub, mul, div, rem };
  struct Token {
    Kind kind;
    int64_t number = 0;
    std::string name;
  };
  const std::vector<Token> &postfix() const { return tokens; }

private:
  friend class SizeParser;
  std::vector<Token> tokens;
};

} // namespace tenon::graph
