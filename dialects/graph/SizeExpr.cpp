// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/SizeExpr.h"

#include <cctype>

namespace tenon::graph {

namespace {

constexpr size_t kMaxText = 256;

Error makeError(std::string message, std::string hint) {
  Error error;
  error.code = ErrorCode::AttrValue;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

bool isLetter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

/// Absent where the result does not fit or is of no meaning.
std::optional<int64_t> compute(SizeExpr::Kind kind, int64_t x, int64_t y) {
  int64_t result = 0;
  switch (kind) {
  case SizeExpr::Kind::add:
    return __builtin_add_overflow(x, y, &result) ? std::nullopt
                                                 : std::optional(result);
  case SizeExpr::Kind::sub:
    return __builtin_sub_overflow(x, y, &result) ? std::nullopt
                                                 : std::optional(result);
  case SizeExpr::Kind::mul:
    return __builtin_mul_overflow(x, y, &result) ? std::nullopt
                                                 : std::optional(result);
  case SizeExpr::Kind::div:
    return x < 0 || y <= 0 ? std::nullopt : std::optional(x / y);
  case SizeExpr::Kind::rem:
    return x < 0 || y <= 0 ? std::nullopt : std::optional(x % y);
  case SizeExpr::Kind::number:
  case SizeExpr::Kind::name:
    break;
  }
  return std::nullopt;
}

} // namespace

class SizeParser {
public:
  explicit SizeParser(std::string_view text) : text(text) {}

  Expected<SizeExpr> run() {
    if (text.size() > kMaxText)
      return makeError("a size is an expression of " +
                           std::to_string(text.size()) + " characters",
                       "at most 256 are possible");
    bool ok = sum();
    skipSpace();
    if (!ok || at != text.size())
      return makeError("the size \"" + std::string(text) +
                           "\" is no expression from character " +
                           std::to_string(at + 1) + " on",
                       "sizes are numbers and names with + - * // % and "
                       "brackets");
    return std::move(expr);
  }

private:
  using Kind = SizeExpr::Kind;

  void skipSpace() {
    while (at < text.size() && text[at] == ' ')
      ++at;
  }
  bool take(std::string_view word) {
    skipSpace();
    if (text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }
  void push(Kind kind, int64_t number = 0, std::string name = {}) {
    expr.tokens.push_back({kind, number, std::move(name)});
  }

  bool sum() {
    bool negative = take("-");
    if (negative)
      push(Kind::number, 0);
    if (!product())
      return false;
    if (negative)
      push(Kind::sub);
    for (;;) {
      Kind kind = take("+") ? Kind::add : take("-") ? Kind::sub : Kind::name;
      if (kind == Kind::name)
        return true;
      if (!product())
        return false;
      push(kind);
    }
  }

  bool product() {
    if (!factor())
      return false;
    for (;;) {
      Kind kind = take("*")    ? Kind::mul
                  : take("//") ? Kind::div
                  : take("%")  ? Kind::rem
                               : Kind::name;
      if (kind == Kind::name)
        return true;
      if (!factor())
        return false;
      push(kind);
    }
  }

  bool factor() {
    if (take("("))
      return sum() && take(")");
    skipSpace();
    size_t begin = at;
    if (at < text.size() && isDigit(text[at])) {
      int64_t number = 0;
      for (; at < text.size() && isDigit(text[at]); ++at)
        if (__builtin_mul_overflow(number, int64_t(10), &number) ||
            __builtin_add_overflow(number, int64_t(text[at] - '0'), &number))
          return false;
      push(Kind::number, number);
      return true;
    }
    if (at == text.size() || !isLetter(text[at]))
      return false;
    while (at < text.size() &&
           (isLetter(text[at]) || isDigit(text[at]) || text[at] == '.'))
      ++at;
    push(Kind::name, 0, std::string(text.substr(begin, at - begin)));
    return true;
  }

  std::string_view text; // kMaxText bounds the depth of brackets
  size_t at = 0;
  SizeExpr expr;
};

Expected<SizeExpr> SizeExpr::parse(std::string_view text) {
  return SizeParser(text).run();
}

std::optional<std::string_view> SizeExpr::name() const {
  if (tokens.size() != 1 || tokens.front().kind != Kind::name)
    return std::nullopt;
  return tokens.front().name;
}

std::optional<int64_t> SizeExpr::evaluate(
    const std::function<std::optional<int64_t>(std::string_view)> &sizeOf)
    const {
  std::vector<int64_t> values;
  for (const Token &token : tokens) {
    std::optional<int64_t> value;
    if (token.kind == Kind::number) {
      value = token.number;
    } else if (token.kind == Kind::name) {
      value = sizeOf(token.name);
    } else {
      int64_t y = values.back();
      values.pop_back();
      value = compute(token.kind, values.back(), y);
      values.pop_back();
    }
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  return values.back() < 0 ? std::nullopt : std::optional(values.back());
}

} // namespace tenon::graph
