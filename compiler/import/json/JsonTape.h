//===- JsonTape.h - JSON values as a flat tape ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The reader never builds a tree of the whole file: every top-level value, and
// every element of the top-level array "graph", becomes a flat list of tokens,
// is converted and forgotten.  Memory is bounded by the largest element, no
// step recurses over the input, and a tape is reused without allocation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/support/Error.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::json {

enum class Kind : uint8_t {
  null,
  boolean,
  integer,    // fits int64_t
  unsigned64, // above INT64_MAX, fits uint64_t
  real,       // anything else; kept as text
  string,
  array,
  object
};
/// "an integer", "a string", ... for messages.
std::string_view describe(Kind);

/// One value or key.  Values of an object alternate with their keys.
struct Token {
  Kind kind = Kind::null;
  uint32_t end = 0;    // index of the token after this value
  uint64_t value = 0;  // number, or offset of the text in the pool
  uint32_t length = 0; // of the text; number of children of a container
  size_t offset = 0;   // byte offset of the value's end in the source
};

class Value;

/// Tokens of one value.
class Tape {
public:
  void clear();
  bool empty() const { return tokens.empty(); }
  size_t size() const { return tokens.size(); }
  Value root() const;

  std::vector<Token> tokens;
  std::string pool;
};

/// A view of one value of a tape; valid as long as the tape is unchanged.
class Value {
public:
  Value(const Tape &tape, uint32_t index) : tape(&tape), index(index) {}

  Kind kind() const { return token().kind; }
  size_t offset() const { return token().offset; }
  /// Children of an array, members of an object.
  size_t size() const { return token().length; }

  /// The text of a string, or the spelling of a real number.
  std::string_view text() const;
  std::optional<int64_t> asInt64() const;   // also of reals such as 2.0
  std::optional<uint64_t> asUInt64() const; // same
  /// Correctly rounded; infinite when out of range.  Numbers only.
  std::optional<float> asFloat() const;
  bool isNumber() const {
    return kind() == Kind::integer || kind() == Kind::unsigned64 ||
           kind() == Kind::real;
  }
  /// The value as text for an error message, shortened.
  std::string spelling() const;

  /// Calls `fn(Value)` for each element of an array.
  template <typename Fn> void forEachElement(Fn fn) const {
    for (uint32_t i = index + 1; i < token().end; i = tape->tokens[i].end)
      fn(Value(*tape, i));
  }
  /// Calls `fn(std::string_view key, Value)` for each member of an object.
  template <typename Fn> void forEachMember(Fn fn) const {
    for (uint32_t i = index + 1; i < token().end; i = tape->tokens[i + 1].end)
      fn(Value(*tape, i).text(), Value(*tape, i + 1));
  }

private:
  const Token &token() const { return tape->tokens[index]; }
  const Tape *tape;
  uint32_t index;
};

/// What a stream of a document's parts reports to.
struct Sink {
  /// A member of the root object other than the array "graph".
  std::function<void(std::string_view key, Value)> member;
  /// The array "graph" begins.
  std::function<void()> beginGraph;
  /// One element of "graph", in file order.
  std::function<void(Value)> element;
};

struct Limits {
  int depth = 64;                  // nesting of arrays and objects
  size_t tokens = size_t(1) << 22; // values and keys in one element
};

/// Parses `text`.  Errors: Syntax, TooLarge (with line:column), WrongType when
/// the root is no object.  What preceded the error has been reported already.
std::optional<Error> stream(std::string_view text, std::string_view sourceName,
                            const Limits &limits, const Sink &sink);

/// "name:line:column" of a byte offset.
std::string position(std::string_view text, std::string_view sourceName,
                     size_t offset);

} // namespace tenon::json
