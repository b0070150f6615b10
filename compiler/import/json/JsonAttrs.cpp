//===- JsonAttrs.cpp - attributes of an operation -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/json/JsonRead.h"

#include <cmath>
#include <limits>

namespace tenon::json {

using graph::AttrValue;
using graph::Op;

namespace {

/// Attributes that partitioning and matching leave in dumps; they say nothing
/// about the graph.
bool isInternalAttr(std::string_view name) {
  return name == "partition_id" || name == "backend" || name == "op_depth" ||
         name == "matched" || name == "matched_pattern";
}

class AttrReader {
public:
  AttrReader(Op &op, std::string_view name, Reporter &reporter)
      : op(op), name(name), reporter(reporter) {}

  void read(Value object);

private:
  std::string what() const { return "attribute \"" + std::string(name) + "\""; }
  std::optional<AttrValue> typed(std::string_view type, Value v);
  std::optional<AttrValue> deduced(Value v);
  std::optional<bool> boolean(Value v);
  std::optional<int64_t> integer(Value v);
  std::optional<float> real(Value v);
  template <typename T, typename Fn>
  std::optional<AttrValue> list(Value v, Fn element);

  Op &op;
  std::string_view name;
  Reporter &reporter;
};

std::optional<bool> AttrReader::boolean(Value v) {
  if (v.kind() == Kind::boolean)
    return v.spelling() == "true";
  std::optional<int64_t> i = v.asInt64();
  if (i && (*i == 0 || *i == 1))
    return *i == 1;
  if (v.kind() == Kind::string && (v.text() == "true" || v.text() == "false"))
    return v.text() == "true";
  reporter.report(v.isNumber() ? ErrorCode::AttrValue : ErrorCode::AttrType, v,
                  &op, what() + " is a bool, not " + v.spelling(),
                  "write 0 or 1");
  return std::nullopt;
}

std::optional<int64_t> AttrReader::integer(Value v) {
  if (std::optional<int64_t> i = v.asInt64())
    return i;
  if (v.isNumber())
    reporter.report(ErrorCode::AttrValue, v, &op,
                    what() + ": " + v.spelling() + " is no integer of 64 bits");
  else
    reporter.report(ErrorCode::AttrType, v, &op,
                    what() + " needs an integer, not " + v.spelling());
  return std::nullopt;
}

std::optional<float> AttrReader::real(Value v) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  if (std::optional<float> f = v.asFloat()) {
    if (!std::isinf(*f))
      return f;
    reporter.report(ErrorCode::AttrValue, v, &op,
                    what() + ": " + v.spelling() +
                        " does not fit f32 (at most 3.4e38)",
                    "write infinities as the strings \"inf\" and \"-inf\"");
    return std::nullopt;
  }
  if (v.kind() == Kind::string) {
    if (v.text() == "inf")
      return kInf;
    if (v.text() == "-inf")
      return -kInf;
    if (v.text() == "nan")
      return std::numeric_limits<float>::quiet_NaN();
  }
  reporter.report(ErrorCode::AttrType, v, &op,
                  what() + " needs a number, not " + v.spelling());
  return std::nullopt;
}

template <typename T, typename Fn>
std::optional<AttrValue> AttrReader::list(Value v, Fn element) {
  std::vector<T> values;
  // A list of one is sometimes written without brackets.
  if (v.kind() != Kind::array) {
    if (!v.isNumber() || reporter.options.strict) {
      reporter.report(ErrorCode::AttrType, v, &op,
                      what() + " needs a list, not " + v.spelling());
      return std::nullopt;
    }
    if (std::optional<T> x = element(v))
      return AttrValue(std::vector<T>{*x});
    return std::nullopt;
  }
  values.reserve(v.size());
  bool ok = true;
  v.forEachElement([&](Value e) {
    if (!ok)
      return; // one error per list is enough
    std::optional<T> x = element(e);
    ok = x.has_value();
    values.push_back(x.value_or(T()));
  });
  if (!ok)
    return std::nullopt;
  return AttrValue(std::move(values));
}

std::optional<AttrValue> AttrReader::typed(std::string_view type, Value v) {
  auto wrap = [](auto x) -> std::optional<AttrValue> {
    if (!x)
      return std::nullopt;
    return AttrValue(*x);
  };
  if (type == "bool")
    return wrap(boolean(v));
  if (type == "s64")
    return wrap(integer(v));
  if (type == "f32")
    return wrap(real(v));
  if (type == "s64[]")
    return list<int64_t>(v, [&](Value e) { return integer(e); });
  if (type == "f32[]")
    return list<float>(v, [&](Value e) { return real(e); });
  if (type == "string") {
    if (v.kind() == Kind::string)
      return AttrValue(std::string(v.text()));
    reporter.report(ErrorCode::AttrType, v, &op,
                    what() + " needs a string, not " + v.spelling());
    return std::nullopt;
  }
  reporter.report(ErrorCode::AttrType, v, &op,
                  what() + " has the unknown type \"" +
                      std::string(type.substr(0, 40)) + "\"",
                  "types are bool, s64, s64[], f32, f32[], string");
  return std::nullopt;
}

/// Without "type" the spelling decides.
std::optional<AttrValue> AttrReader::deduced(Value v) {
  switch (v.kind()) {
  case Kind::boolean:
    return typed("bool", v);
  case Kind::integer:
  case Kind::unsigned64:
    return typed("s64", v);
  case Kind::real:
    return typed("f32", v);
  case Kind::string:
    return typed("string", v);
  case Kind::array: {
    bool isIntegral = true;
    v.forEachElement([&](Value e) { isIntegral &= e.kind() == Kind::integer; });
    return typed(isIntegral ? "s64[]" : "f32[]", v);
  }
  default:
    reporter.report(ErrorCode::AttrType, v, &op,
                    what() + " has no value: " + v.spelling(),
                    R"(write {"type": "s64", "value": 1})");
    return std::nullopt;
  }
}

void AttrReader::read(Value object) {
  std::optional<Value> type, value;
  if (object.kind() != Kind::object) {
    if (reporter.options.strict)
      return reporter.wrongType(object, &op, what(), "an object");
    value = object;
  } else {
    object.forEachMember([&](std::string_view key, Value v) {
      std::optional<Value> *slot = key == "type"    ? &type
                                   : key == "value" ? &value
                                                    : nullptr;
      if (!slot)
        return reporter.unknownKey(v, &op, key);
      if (*slot)
        reporter.repeatedKey(v, &op, key);
      *slot = v;
    });
  }
  if (!value)
    return reporter.report(ErrorCode::MissingKey, object, &op,
                           what() + " has no \"value\"");
  if (type && type->kind() != Kind::string)
    return reporter.wrongType(*type, &op, "\"type\" of " + what(), "a string");
  std::optional<AttrValue> v =
      type ? typed(type->text(), *value) : deduced(*value);
  if (!v)
    return;
  if (!op.attrs.insert_or_assign(std::string(name), std::move(*v)).second)
    reporter.repeatedKey(object, &op, name);
}

} // namespace

void readAttrs(Value object, Op &op, Reporter &reporter) {
  if (object.kind() == Kind::null && !reporter.options.strict)
    return;
  if (object.kind() != Kind::object)
    return reporter.wrongType(object, &op, "\"attrs\"", "an object");
  object.forEachMember([&](std::string_view name, Value v) {
    if (!isInternalAttr(name))
      AttrReader(op, name, reporter).read(v);
  });
}

} // namespace tenon::json
