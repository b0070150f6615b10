//===- OverridesText.cpp - the grammar of the overrides -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/OverridesImpl.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tenon {

using graph::Dims;
using namespace overrides;

namespace overrides {

std::optional<int64_t> parseInt(std::string_view text) {
  int64_t v = 0;
  const char *last = text.data() + text.size();
  auto [end, code] = std::from_chars(text.data(), last, v);
  if (code != std::errc() || end != last || text.empty())
    return std::nullopt;
  return v;
}

std::optional<float> parseFloat(std::string_view text) {
  float v = 0;
  const char *last = text.data() + text.size();
  auto [end, code] = std::from_chars(text.data(), last, v);
  if (code != std::errc() || end != last || text.empty() || std::isnan(v))
    return std::nullopt;
  return v;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == text.npos)
      return pieces;
    text.remove_prefix(at + 1);
  }
}

std::optional<Dims> parseDims(std::string_view text) {
  Dims dims;
  for (std::string_view piece : split(text, 'x')) {
    std::optional<int64_t> d = parseInt(piece);
    if (!d)
      return std::nullopt;
    dims.push_back(*d);
  }
  return dims;
}

Error badOverride(std::string message, std::string hint) {
  Error e;
  e.code = ErrorCode::BadOverride;
  e.message = std::move(message);
  e.hint = std::move(hint);
  return e;
}

} // namespace overrides

bool Overrides::empty() const {
  return mb == 0 && tensors.empty() && attrs.empty() && kinds.empty() &&
         !dtype && dtypes.empty() && !fpmathMode && !fpmathApplyToInt &&
         properties.empty() && likely.empty();
}

namespace {

/// Parses all overrides, one error for each wrong entry.
class Parser {
public:
  void run(const OverrideText &text);
  Overrides result;
  std::vector<Error> errors;

private:
  void fail(std::string_view override, std::string_view entry, std::string why,
            std::string hint);
  void mb(std::string_view text);
  void shapeEntry(uint64_t id, std::string_view rest, std::string_view entry);
  void layout(Overrides::Tensor &t, std::string_view text,
              std::string_view entry);
  void attrEntry(uint64_t id, std::string_view rest, std::string_view entry);
  void dt(std::string_view text);
  void fpmath(std::string_view text);
  void likely(std::string_view text);
  template <typename Fn>
  void entries(std::string_view override, std::string_view text, Fn fn);
};

void Parser::fail(std::string_view override, std::string_view entry,
                  std::string why, std::string hint) {
  constexpr size_t kLongest = 120;
  errors.push_back(badOverride("--" + std::string(override) + ": \"" +
                                   std::string(entry.substr(0, kLongest)) +
                                   "\": " + std::move(why),
                               std::move(hint)));
}

/// Calls `fn(id, rest, entry)` for each `ID:rest` between pluses.
template <typename Fn>
void Parser::entries(std::string_view override, std::string_view text, Fn fn) {
  if (text.empty())
    return;
  if (text.find(',') != text.npos)
    return fail(override, text, "holds several alternatives",
                "one run applies one of them: split at the commas");
  for (std::string_view entry : split(text, '+')) {
    size_t colon = entry.find(':');
    std::optional<int64_t> id;
    if (colon != entry.npos)
      id = parseInt(entry.substr(0, colon));
    if (!id || *id < 0)
      fail(override, entry, "does not start with an id", "write ID:VALUE");
    else
      fn(static_cast<uint64_t>(*id), entry.substr(colon + 1), entry);
  }
}

void Parser::mb(std::string_view text) {
  if (text.empty())
    return;
  std::optional<int64_t> n = parseInt(text);
  if (!n || *n < 0)
    return fail("mb", text, "is no batch size", "write one number, 0 keeps");
  result.mb = *n;
}

void Parser::layout(Overrides::Tensor &t, std::string_view text,
                    std::string_view entry) {
  bool isLetters = !text.empty() && text[0] >= 'a' && text[0] <= 'z';
  if (!isLetters) {
    std::optional<Dims> strides = parseDims(text);
    if (!strides || strides->size() > size_t(graph::kMaxRank) ||
        std::any_of(strides->begin(), strides->end(),
                    [](int64_t s) { return s < 0; }))
      return fail("in-shapes", entry,
                  "\"" + std::string(text) + "\" is no layout",
                  "write axes such as abdc, or strides such as 12x1x3");
    t.strides = std::move(*strides);
    return;
  }
  for (char c : text)
    t.order.push_back(c - 'a');
  Dims sorted = t.order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i))
      return fail("in-shapes", entry,
                  "\"" + std::string(text) + "\" does not name each axis once",
                  "for rank 3 a permutation of abc; blocked layouts do not "
                  "exist");
}

void Parser::shapeEntry(uint64_t id, std::string_view rest,
                        std::string_view entry) {
  Overrides::Tensor t;
  t.id = id;
  size_t star = rest.find('*');
  std::string_view shape = rest.substr(0, star);
  if (star != rest.npos)
    layout(t, rest.substr(star + 1), entry);
  else if (shape.empty())
    return fail("in-shapes", entry, "has neither shape nor layout",
                "write ID:2x3 or ID:*ba");
  if (shape == "-") {
    t.shape = Dims();
  } else if (!shape.empty()) {
    t.shape = parseDims(shape);
    int64_t product = 8; // bytes must fit, too
    bool ok = t.shape && t.shape->size() <= size_t(graph::kMaxRank);
    for (size_t i = 0; ok && i < t.shape->size(); ++i) {
      int64_t d = (*t.shape)[i];
      ok = d >= 0 &&
           !__builtin_mul_overflow(product, std::max<int64_t>(d, 1), &product);
    }
    if (!ok)
      return fail("in-shapes", entry,
                  "\"" + std::string(shape) + "\" is no shape",
                  "write 2x3x4, - for rank 0; the number of elements must fit "
                  "64 bits");
  }
  size_t given = std::max(t.order.size(), t.strides.size());
  if (t.shape && star != rest.npos && given != t.shape->size())
    return fail("in-shapes", entry,
                "the layout has " + std::to_string(given) +
                    " axes, the shape " + std::to_string(t.shape->size()),
                "");
  result.tensors.push_back(std::move(t));
}

void Parser::attrEntry(uint64_t id, std::string_view rest,
                       std::string_view entry) {
  for (std::string_view pair : split(rest, '*')) {
    size_t colon = pair.find(':');
    if (colon == pair.npos || colon == 0) {
      fail("op-attrs", entry, "\"" + std::string(pair) + "\" has no value",
           "write ID:NAME:VALUE*NAME:VALUE");
      continue;
    }
    Overrides::Attr a;
    a.opId = id;
    a.name = pair.substr(0, colon);
    a.value = pair.substr(colon + 1);
    result.attrs.push_back(std::move(a));
  }
}

void Parser::dt(std::string_view text) {
  using graph::DType;
  if (text.empty())
    return;
  if (text.find(':') == text.npos) {
    std::optional<DType> d = graph::parseDType(text);
    if (!d || (*d != DType::f32 && *d != DType::bf16 && *d != DType::f16))
      return fail("dt", text, "is no data type for a whole graph",
                  "write f32, bf16, f16, or ID:DT for single tensors");
    result.dtype = d;
    return;
  }
  entries("dt", text,
          [&](uint64_t id, std::string_view rest, std::string_view entry) {
            std::optional<DType> d = graph::parseDType(rest);
            if (!d || *d == DType::undef)
              return fail("dt", entry, "unknown data type",
                          "data types are f64 f32 f16 bf16 f8_e5m2 f8_e4m3 "
                          "f8_e8m0 s64 s32 s8 u8 s4 u4 boolean");
            result.dtypes.emplace_back(id, *d);
          });
}

void Parser::fpmath(std::string_view text) {
  if (text.empty())
    return;
  constexpr std::string_view kModes[] = {"strict", "bf16", "f16", "any",
                                         "tf32"};
  std::vector<std::string_view> pieces = split(text, ':');
  if (std::find(std::begin(kModes), std::end(kModes), pieces[0]) ==
      std::end(kModes))
    return fail("attr-fpmath", text, "unknown mode",
                "modes are strict bf16 f16 any tf32");
  result.fpmathMode = std::string(pieces[0]);
  if (pieces.size() == 1)
    return;
  if (pieces.size() > 2 || (pieces[1] != "true" && pieces[1] != "false"))
    return fail("attr-fpmath", text, "is not MODE:true or MODE:false", "");
  result.fpmathApplyToInt = pieces[1] == "true";
}

void Parser::likely(std::string_view text) {
  if (text.empty())
    return;
  for (std::string_view entry : split(text, '+')) {
    size_t colon = entry.find(':');
    std::vector<std::string_view> values;
    if (colon != entry.npos)
      values = split(entry.substr(colon + 1), '*');
    if (colon == 0 || values.empty())
      fail("likely", entry, "does not say values of a size",
           "write SIZE:VALUE*VALUE");
    for (std::string_view value : values)
      if (std::optional<int64_t> number = parseInt(value))
        result.likely.emplace_back(entry.substr(0, colon), *number);
      else
        fail("likely", entry,
             "\"" + std::string(value) + "\" is no number of 64 bits", "");
  }
}

void Parser::run(const OverrideText &text) {
  mb(text.mb);
  entries("in-shapes", text.inShapes, [&](auto... a) { shapeEntry(a...); });
  entries("op-attrs", text.opAttrs, [&](auto... a) { attrEntry(a...); });
  entries("op-kind", text.opKind,
          [&](uint64_t id, std::string_view rest, std::string_view entry) {
            if (rest.empty())
              return fail("op-kind", entry, "names no kind", "write ID:KIND");
            result.kinds.emplace_back(id, std::string(rest));
          });
  dt(text.dt);
  fpmath(text.attrFpmath);
  likely(text.likely);
  entries("tensor-property", text.tensorProperty,
          [&](uint64_t id, std::string_view rest, std::string_view entry) {
            if (auto p = graph::parsePropertyType(rest))
              result.properties.emplace_back(id, *p);
            else
              fail("tensor-property", entry, "unknown property",
                   "properties are undef variable constant host_scalar");
          });
}

} // namespace

Expected<Overrides> parseOverrides(const OverrideText &text) {
  Parser parser;
  parser.run(text);
  if (!parser.errors.empty())
    return std::move(parser.errors);
  return std::move(parser.result);
}

Expected<RunLine> parseRunLine(std::string_view line) {
  RunLine run;
  auto badOption = [](std::string message, std::string hint) {
    Error e;
    e.code = ErrorCode::BadOption;
    e.message = std::move(message);
    e.hint = std::move(hint);
    return e;
  };
  const std::pair<std::string_view, std::string *> overrides[] = {
      {"--case", &run.caseFile},
      {"--mb", &run.text.mb},
      {"--in-shapes", &run.text.inShapes},
      {"--op-attrs", &run.text.opAttrs},
      {"--op-kind", &run.text.opKind},
      {"--dt", &run.text.dt},
      {"--attr-fpmath", &run.text.attrFpmath},
      {"--tensor-property", &run.text.tensorProperty},
      {"--likely", &run.text.likely}};
  std::vector<Error> errors;
  for (size_t at = 0; at < line.size();) {
    size_t begin = line.find_first_not_of(" \t\r\n", at);
    if (begin == line.npos)
      break;
    at = std::min(line.find_first_of(" \t\r\n", begin), line.size());
    std::string_view word = line.substr(begin, at - begin);
    size_t equals = word.find('=');
    std::string_view key = word.substr(0, equals);
    if (key == "--expected-n-partitions" && equals != word.npos)
      continue;
    const auto *override =
        std::find_if(std::begin(overrides), std::end(overrides),
                     [&](auto &k) { return k.first == key; });
    if (override == std::end(overrides) || equals == word.npos)
      errors.push_back(badOption("\"" + std::string(word.substr(0, 80)) +
                                     "\" is no override of a run",
                                 "overrides are --case= --mb= --in-shapes= "
                                 "--op-attrs= --op-kind= --dt= "
                                 "--attr-fpmath= --tensor-property= "
                                 "--likely="));
    else
      *override->second = word.substr(equals + 1);
  }
  if (run.caseFile.empty())
    errors.push_back(badOption("a run names no file", "add --case=FILE"));
  Expected<Overrides> parsed = parseOverrides(run.text);
  if (!parsed)
    errors.insert(errors.end(), parsed.errors().begin(), parsed.errors().end());
  if (!errors.empty())
    return errors;
  run.overrides = std::move(*parsed);
  return run;
}

} // namespace tenon
