// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/SizeFacts.h"

#include "dialects/graph/SizeExpr.h"

#include <algorithm>

namespace tenon::graph {

namespace {

/// The smallest allowed size, if there is one.
std::optional<int64_t> firstSize(const SizeFacts &facts) {
  int64_t rest = facts.min % facts.multipleOf, first = facts.min;
  if (rest && __builtin_add_overflow(first, facts.multipleOf - rest, &first))
    return std::nullopt;
  return first <= facts.max ? std::optional(first) : std::nullopt;
}

} // namespace

std::optional<int64_t> SizeFacts::onlySize() const {
  std::optional<int64_t> first = firstSize(*this);
  return first && multipleOf > max - *first ? first : std::nullopt;
}

std::string SizeFacts::str() const {
  std::string text;
  if (max != kNoMax)
    text = "from " + std::to_string(min) + " to " + std::to_string(max);
  else if (min > 0)
    text = "at least " + std::to_string(min);
  if (multipleOf > 1)
    text += (text.empty() ? "a multiple of " : " and a multiple of ") +
            std::to_string(multipleOf);
  return text.empty() ? "any size" : text;
}

std::vector<Error> checkSizeFacts(std::string_view name,
                                  const SizeFacts &facts) {
  std::vector<Error> errors;
  std::string label = "the size \"" + std::string(name) + "\"";
  auto report = [&](ErrorCode code, std::string message,
                    std::string hint = "") {
    Error error;
    error.code = code;
    error.message = label + " " + std::move(message);
    error.hint = std::move(hint);
    errors.push_back(std::move(error));
  };
  auto expr = SizeExpr::parse(name);
  if (!expr || !expr->name())
    report(ErrorCode::AttrValue, "is no name",
           "names are a letter or _, then letters, digits, _ and .");
  if (facts.min < 0)
    report(ErrorCode::BadSize,
           "is declared to be at least " + std::to_string(facts.min),
           "sizes are 0 or more");
  if (facts.multipleOf < 1)
    report(ErrorCode::BadSize,
           "is declared to be a multiple of " +
               std::to_string(facts.multipleOf),
           "say a multiple of 1 or more");
  if (facts.max < facts.min)
    report(ErrorCode::BadSize, "is declared to be at least " +
                                   std::to_string(facts.min) + " and at most " +
                                   std::to_string(facts.max));
  if (facts.likely.size() > kMostLikelyValues)
    report(ErrorCode::TooLarge,
           "has " + std::to_string(facts.likely.size()) + " likely values, " +
               std::to_string(kMostLikelyValues) + " are possible");
  if (!errors.empty())
    return errors;
  if (!firstSize(facts))
    report(ErrorCode::BadSize,
           "is declared to be " + facts.str() + ": there is no such number");
  for (auto it = facts.likely.begin(); it != facts.likely.end(); ++it) {
    if (!facts.allows(*it))
      report(ErrorCode::BadSize, "is declared to be " + facts.str() + ", but " +
                                     std::to_string(*it) +
                                     " is declared to be likely");
    if (std::find(facts.likely.begin(), it, *it) != it)
      report(ErrorCode::BadSize,
             "has the likely value " + std::to_string(*it) + " twice");
  }
  return errors;
}

} // namespace tenon::graph
