// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/json/JsonTape.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace tenon::json {

std::string_view describe(Kind kind) {
  switch (kind) {
  case Kind::null:
    return "null";
  case Kind::boolean:
    return "a boolean";
  case Kind::integer:
  case Kind::unsigned64:
    return "an integer";
  case Kind::real:
    return "a number";
  case Kind::string:
    return "a string";
  case Kind::array:
    return "an array";
  case Kind::object:
    return "an object";
  }
  return "a value";
}

//===----------------------------------------------------------------------===//
// Tape and Value
//===----------------------------------------------------------------------===//

void Tape::clear() {
  tokens.clear();
  pool.clear();
}

Value Tape::root() const { return Value(*this, 0); }

std::string_view Value::text() const {
  if (kind() != Kind::string && kind() != Kind::real)
    return {};
  return std::string_view(tape->pool).substr(token().value, token().length);
}

/// A real number that is integral and exact in double, as a double.
static std::optional<double> integralReal(std::string_view text) {
  double d = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), d);
  constexpr double kExact = 9007199254740992.0; // 2^53
  if (code != std::errc() || std::trunc(d) != d || std::fabs(d) > kExact)
    return std::nullopt;
  return d;
}

std::optional<int64_t> Value::asInt64() const {
  if (kind() == Kind::integer)
    return static_cast<int64_t>(token().value);
  if (kind() == Kind::real)
    if (std::optional<double> d = integralReal(text()))
      return static_cast<int64_t>(*d);
  return std::nullopt;
}

std::optional<uint64_t> Value::asUInt64() const {
  if (kind() == Kind::unsigned64)
    return token().value;
  std::optional<int64_t> i = asInt64();
  if (!i || *i < 0)
    return std::nullopt;
  return static_cast<uint64_t>(*i);
}

std::optional<float> Value::asFloat() const {
  if (kind() == Kind::integer)
    return static_cast<float>(static_cast<int64_t>(token().value));
  if (kind() == Kind::unsigned64)
    return static_cast<float>(token().value);
  if (kind() != Kind::real)
    return std::nullopt;
  float f = 0;
  std::string_view s = text();
  auto [end, code] = std::from_chars(s.data(), s.data() + s.size(), f);
  if (code == std::errc())
    return f;
  // from_chars does not tell overflow from underflow; double has the range to.
  double d = 0;
  auto [dEnd, dCode] = std::from_chars(s.data(), s.data() + s.size(), d);
  bool isTiny = dCode == std::errc() && std::fabs(d) < 1;
  if (isTiny)
    return static_cast<float>(d);
  float inf = std::numeric_limits<float>::infinity();
  return s.starts_with('-') ? -inf : inf;
}

std::string Value::spelling() const {
  constexpr size_t kLongest = 40;
  switch (kind()) {
  case Kind::null:
    return "null";
  case Kind::boolean:
    return token().value ? "true" : "false";
  case Kind::integer:
    return std::to_string(static_cast<int64_t>(token().value));
  case Kind::unsigned64:
    return std::to_string(token().value);
  case Kind::real:
    return std::string(text().substr(0, kLongest));
  case Kind::string: {
    std::string s(text().substr(0, kLongest));
    return "\"" + s + (text().size() > kLongest ? "...\"" : "\"");
  }
  case Kind::array:
    return "an array of " + std::to_string(size());
  case Kind::object:
    return "an object of " + std::to_string(size()) + " members";
  }
  return "";
}

std::string position(std::string_view text, std::string_view sourceName,
                     size_t offset) {
  offset = std::min(offset, text.size());
  size_t line = 1, lineStart = 0;
  for (size_t i = 0; i < offset; ++i)
    if (text[i] == '\n') {
      ++line;
      lineStart = i + 1;
    }
  return std::string(sourceName) + ":" + std::to_string(line) + ":" +
         std::to_string(offset - lineStart + 1);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {

/// An input iterator whose position can be observed from outside: the parser's
/// events carry no positions.
class Cursor {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  Cursor(const char *at, const char **seen) : at(at), seen(seen) {}
  reference operator*() const { return *at; }
  Cursor &operator++() {
    ++at;
    *seen = at;
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Cursor &o) const { return at == o.at; }
  bool operator!=(const Cursor &o) const { return at != o.at; }

private:
  const char *at;
  const char **seen;
};

/// Receives the parser's events and cuts the document into tapes.
class Cutter {
public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Cutter(std::string_view source, std::string_view name, const Limits &limits,
         const Sink &sink)
      : seen(source.data()), source(source), name(name), limits(limits),
        sink(sink) {}

  bool null() { return scalar(Kind::null, 0); }
  bool boolean(bool v) { return scalar(Kind::boolean, v); }
  bool number_integer(number_integer_t v) {
    return scalar(Kind::integer, static_cast<uint64_t>(v));
  }
  bool number_unsigned(number_unsigned_t v) {
    return scalar(v > uint64_t(INT64_MAX) ? Kind::unsigned64 : Kind::integer,
                  v);
  }
  bool number_float(number_float_t, const string_t &spelling) {
    // The parser has put the locale's decimal point there.
    string_t text = spelling;
    for (char &c : text)
      if (!std::strchr("+-0123456789eE", c))
        c = '.';
    return textual(Kind::real, text);
  }
  bool string(string_t &v) { return textual(Kind::string, v); }
  bool binary(binary_t &) { return false; }

  bool key(string_t &v) {
    if (open.empty()) { // of the root object
      rootKey = v;
      return true;
    }
    ++tape.tokens[open.back()].length;
    return push(Kind::string, intern(v), static_cast<uint32_t>(v.size()));
  }

  bool start_object(size_t) { return start(Kind::object); }
  bool end_object() { return end(); }
  bool start_array(size_t) { return start(Kind::array); }
  bool end_array() { return end(); }

  bool parse_error(size_t at, const std::string &lastToken,
                   const nlohmann::detail::exception &e);

  const char *seen; // one after the last character the parser looked at
  std::optional<Error> error;

private:
  size_t here() const {
    return std::max<ptrdiff_t>(seen - source.data() - 1, 0);
  }
  bool fail(ErrorCode code, size_t at, std::string message, std::string hint);
  size_t intern(std::string_view s);
  bool push(Kind kind, uint64_t value, uint32_t length);
  bool scalar(Kind kind, uint64_t value);
  bool textual(Kind kind, const std::string &text);
  bool start(Kind kind);
  bool end();
  bool complete();

  std::string_view source, name;
  const Limits &limits;
  const Sink &sink;
  Tape tape;
  std::vector<uint32_t> open; // containers of the tape that are not closed yet
  bool inRoot = false, inGraph = false, sawGraph = false;
  std::string rootKey;
};

bool Cutter::fail(ErrorCode code, size_t at, std::string message,
                  std::string hint) {
  Error e;
  e.code = code;
  e.message = position(source, name, at) + ": " + std::move(message);
  e.hint = std::move(hint);
  error = std::move(e);
  return false;
}

size_t Cutter::intern(std::string_view s) {
  size_t at = tape.pool.size();
  tape.pool.append(s);
  return at;
}

bool Cutter::push(Kind kind, uint64_t value, uint32_t length) {
  if (tape.tokens.size() >= limits.tokens)
    return fail(ErrorCode::TooLarge, here(),
                "one element holds more than " + std::to_string(limits.tokens) +
                    " values",
                "split the element");
  Token t;
  t.kind = kind;
  t.value = value;
  t.length = length;
  t.offset = here();
  t.end = static_cast<uint32_t>(tape.tokens.size() + 1);
  tape.tokens.push_back(t);
  return true;
}

/// A value of the tape is complete: counts it, and hands over the tape when it
/// was the outermost one.
bool Cutter::complete() {
  if (!open.empty()) {
    Token &parent = tape.tokens[open.back()];
    parent.length += parent.kind == Kind::array;
    return true;
  }
  if (inGraph)
    sink.element(tape.root());
  else
    sink.member(rootKey, tape.root());
  tape.clear();
  return true;
}

bool Cutter::scalar(Kind kind, uint64_t value) {
  if (!inRoot)
    return fail(ErrorCode::WrongType, here(),
                "the document is " + std::string(describe(kind)) +
                    ", not an object",
                "a graph file starts with {");
  return push(kind, value, 0) && complete();
}

bool Cutter::textual(Kind kind, const std::string &text) {
  // A file of 4 GiB in one string would not fit the token.
  if (text.size() > UINT32_MAX / 2)
    return fail(ErrorCode::TooLarge, here(),
                "string of " + std::to_string(text.size()) + " bytes", "");
  if (!inRoot)
    return scalar(kind, 0);
  return push(kind, intern(text), static_cast<uint32_t>(text.size())) &&
         complete();
}

bool Cutter::start(Kind kind) {
  if (!inRoot) {
    if (kind != Kind::object)
      return scalar(kind, 0);
    inRoot = true;
    return true;
  }
  if (!inGraph && open.empty() && kind == Kind::array && rootKey == "graph") {
    if (sawGraph)
      return fail(ErrorCode::Syntax, here(), "key \"graph\" appears twice", "");
    inGraph = sawGraph = true;
    sink.beginGraph();
    return true;
  }
  if (open.size() + 2 >= static_cast<size_t>(limits.depth))
    return fail(ErrorCode::TooLarge, here(),
                "nesting deeper than " + std::to_string(limits.depth), "");
  open.push_back(static_cast<uint32_t>(tape.tokens.size()));
  return push(kind, 0, 0);
}

bool Cutter::end() {
  if (open.empty()) { // "graph" or the root itself
    inGraph = false;
    return true;
  }
  tape.tokens[open.back()].end = static_cast<uint32_t>(tape.tokens.size());
  open.pop_back();
  return complete();
}

bool Cutter::parse_error(size_t at, const std::string &lastToken,
                         const nlohmann::detail::exception &e) {
  if (error)
    return false;
  // "[json.exception.parse_error.101] parse error at line 1, column 4: reason"
  std::string_view what = e.what();
  if (size_t colon = what.find(": "); what.starts_with("[json") &&
                                      colon != what.npos &&
                                      what.find("parse_error") != what.npos)
    what.remove_prefix(colon + 2);
  else if (size_t bracket = what.find("] "); bracket != what.npos)
    what.remove_prefix(bracket + 2);
  std::string hint;
  if (lastToken.find("inf") != std::string::npos ||
      lastToken.find("nan") != std::string::npos ||
      lastToken.find("-i") != std::string::npos)
    hint = "write infinities and NaN as the strings \"inf\", \"-inf\", \"nan\"";
  constexpr size_t kLongest = 200;
  std::string reason(what.substr(0, kLongest));
  return fail(ErrorCode::Syntax, at ? at - 1 : 0, std::move(reason),
              std::move(hint));
}

} // namespace

std::optional<Error> stream(std::string_view text, std::string_view sourceName,
                            const Limits &limits, const Sink &sink) {
  Cutter cutter(text, sourceName, limits, sink);
  Cursor first(text.data(), &cutter.seen);
  Cursor last(text.data() + text.size(), &cutter.seen);
  bool ok = nlohmann::json::sax_parse(first, last, &cutter);
  if (cutter.error)
    return cutter.error;
  if (ok)
    return std::nullopt;
  Error e;
  e.code = ErrorCode::Syntax;
  e.message = std::string(sourceName) + ": cannot be parsed";
  return e;
}

} // namespace tenon::json
