//===- JsonSizes.cpp - what is declared of named sizes --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   "sizes": {"tokens": {"min": 8, "max": 4096, "multiple_of": 8,
//                        "likely": [8, 128]}}
//
// Whether the numbers make sense is checked with the graph.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/json/JsonRead.h"

namespace tenon::json {

namespace {

using graph::SizeFacts;

class SizeReader {
public:
  SizeReader(std::string_view name, SizeFacts &facts, Reporter &reporter)
      : label("size \"" + std::string(name.substr(0, 40)) + "\""), facts(facts),
        reporter(reporter) {}

  void read(Value object) {
    if (object.kind() != Kind::object)
      return reporter.wrongType(object, nullptr, label, "an object");
    object.forEachMember(
        [&](std::string_view key, Value v) { member(key, v); });
  }

private:
  void member(std::string_view key, Value v) {
    if (key == "min")
      return number(v, key, facts.min);
    if (key == "max")
      return number(v, key, facts.max);
    if (key == "multiple_of")
      return number(v, key, facts.multipleOf);
    if (key == "likely")
      return likely(v);
    // Not a key of the format that others write: a slip.
    reporter.report(ErrorCode::Syntax, v, nullptr,
                    label + " has the unknown key \"" +
                        std::string(key.substr(0, 40)) + "\"",
                    "keys are min max multiple_of likely");
  }

  void number(Value v, std::string_view key, int64_t &to) {
    if (std::optional<int64_t> value = v.asInt64())
      to = *value;
    else
      reporter.wrongType(v, nullptr, "\"" + std::string(key) + "\" of " + label,
                         "an integer");
  }

  void likely(Value v) {
    if (v.kind() != Kind::array)
      return reporter.wrongType(v, nullptr, "\"likely\" of " + label,
                                "an array of integers");
    facts.likely.clear();
    v.forEachElement([&](Value e) {
      int64_t value = 0;
      number(e, "likely", value);
      facts.likely.push_back(value);
    });
  }

  std::string label;
  SizeFacts &facts;
  Reporter &reporter;
};

} // namespace

void readSizeFacts(Value object, graph::NamedSizeFacts &facts,
                   Reporter &reporter) {
  if (object.kind() != Kind::object)
    return reporter.wrongType(object, nullptr, "\"sizes\"", "an object");
  object.forEachMember([&](std::string_view name, Value v) {
    auto [it, isNew] = facts.try_emplace(std::string(name));
    if (!isNew)
      return reporter.repeatedKey(v, nullptr, name);
    SizeReader(name, it->second, reporter).read(v);
  });
}

} // namespace tenon::json
