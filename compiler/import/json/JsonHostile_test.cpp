//===- JsonHostile_test.cpp - malformed and malicious files ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes give a graph or coded errors that say where and what.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/json/Json.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>

using namespace tenon;
using namespace tenon::graph;
using json::readJson;
using json::writeJson;

namespace {

struct Case {
  const char *name;
  ErrorCode code;
  std::string text;
  const char *says; // part of the message
};

std::string op(std::string_view members) {
  return R"({"graph": [{"id": 5, "kind": "MatMul", "name": "fc", )" +
         std::string(members) + "}]}";
}
std::string tensor(std::string_view members) {
  return op(R"("inputs": [{"id": 3, )" + std::string(members) + "}]");
}
std::string attr(std::string_view value) {
  return op(R"("attrs": {"axis": )" + std::string(value) + "}");
}

std::vector<Case> cases() {
  using enum ErrorCode;
  std::string deep(100000, '[');
  std::string many;
  for (int i = 0; i < 13; ++i)
    many += i ? ",1" : "1";
  return {
      {"empty", Syntax, "", "t:1:1"},
      {"blank", Syntax, " \n ", "t:2"},
      {"garbage", Syntax, "\xff\xfe\x00{", "t:1:1"},
      {"truncated", Syntax, "{\n \"graph\": [{\"id\": 1", "t:2"},
      {"trailing", Syntax, "{\"graph\": []} x", "t:1:15"},
      {"bareInfinity", Syntax, attr("{\"value\": inf}"), "t:1:"},
      {"number1e400", Syntax, attr("{\"value\": 1e400}"), "1e400"},
      {"badUtf8", Syntax, "{\"a\": \"\xc3\x28\"}", "UTF-8"},
      {"twoGraphs", Syntax, R"({"graph": [], "graph": []})", "twice"},
      {"repeatedKey", Syntax, op(R"("name": "b")"), "twice"},
      {"repeatedAttr", Syntax,
       op(R"("attrs": {"a": {"value": 1}, "a": {"value": 2}})"), "twice"},
      {"rootArray", WrongType, "[1]", "not an object"},
      {"rootNumber", WrongType, "7", "not an object"},
      {"noGraph", MissingKey, "{}", "graph"},
      {"graphIsObject", WrongType, R"({"graph": {"a": [1]}})", "array"},
      {"elementIsList", WrongType, R"({"graph": [[1]]})", "object"},
      {"deepArray", TooLarge, "{\"x\": " + deep, "nesting"},
      {"deepInGraph", TooLarge, "{\"graph\": [" + deep, "nesting"},
      {"noOpId", MissingKey, R"({"graph": [{"kind": "Add"}]})", "id"},
      {"noKind", MissingKey, R"({"graph": [{"id": 1}]})", "kind"},
      {"idIsText", WrongType, R"({"graph": [{"id": "1", "kind": "A"}]})", "id"},
      {"negativeId", WrongType, R"({"graph": [{"id": -1, "kind": "A"}]})",
       "-1"},
      {"kindIsNumber", WrongType, R"({"graph": [{"id": 1, "kind": 2}]})",
       "kind"},
      {"inputsIsObject", WrongType, op(R"("inputs": {})"), "inputs"},
      {"inputIsNumber", WrongType, op(R"("inputs": [3])"), "logical tensor"},
      {"noTensorId", MissingKey, op(R"("inputs": [{}])"), "id"},
      {"tensorId2e20", WrongType, op(R"("inputs": [{"id": 2e20}])"), "2e20"},
      {"dtype", BadDType, tensor(R"("dtype": "f12")"), "f12"},
      {"dtypeNumber", WrongType, tensor(R"("dtype": 3)"), "dtype"},
      {"layout", WrongType, tensor(R"("layout_type": "blocked")"), "blocked"},
      {"property", WrongType, tensor(R"("property_type": "x")"), "\"x\""},
      {"negativeDim", BadDim, tensor(R"("shape": [4, -1])"), "-1"},
      {"hugeDim", BadDim, tensor(R"("shape": [9223372036854775808])"),
       "9223372036854775808"},
      {"fractionalDim", BadDim, tensor(R"("shape": [1.5])"), "1.5"},
      {"dimIsText", WrongType, tensor(R"("shape": ["4"])"), "\"4\""},
      {"shapeIsNumber", WrongType, tensor(R"("shape": 4)"), "shape"},
      {"product", BadDim, tensor(R"("shape": [4294967296, 4294967296])"),
       "4294967296"},
      {"productWithZero", BadDim,
       tensor(R"("shape": [0, 4294967296, 4294967296])"), "4294967296"},
      {"rank13", BadRank, tensor("\"shape\": [" + many + "]"), "13"},
      {"strideRank", BadStride, tensor(R"("shape": [2, 3], "stride": [1])"),
       "1 strides for 2"},
      {"negativeStride", BadStride,
       tensor(R"("shape": [2, 3], "stride": [-3, 1])"), "-3"},
      {"hugeStride", BadStride,
       tensor(R"("shape": [3], "stride": [9223372036854775807])"), "64 bits"},
      {"attrsIsList", WrongType, op(R"("attrs": [1])"), "attrs"},
      {"attrNoValue", MissingKey, attr(R"({"type": "s64"})"), "axis"},
      {"attrType", AttrType, attr(R"({"type": "u17", "value": 1})"), "u17"},
      {"attrTypeNumber", WrongType, attr(R"({"type": 1, "value": 1})"), "type"},
      {"attrText", AttrType, attr(R"({"type": "s64", "value": "1"})"), "axis"},
      {"attrObject", AttrType, attr(R"({"type": "s64", "value": {}})"), "axis"},
      {"attrNull", AttrType, attr(R"({"value": null})"), "axis"},
      {"attrBool2", AttrValue, attr(R"({"type": "bool", "value": 2})"), "2"},
      {"attr2to63", AttrValue,
       attr(R"({"type": "s64", "value": 9223372036854775808})"),
       "9223372036854775808"},
      {"attrFraction", AttrValue, attr(R"({"type": "s64", "value": 0.5})"),
       "0.5"},
      {"attr1e39", AttrValue, attr(R"({"type": "f32", "value": 1e39})"),
       "1e39"},
      {"attrMixedList", AttrType,
       attr(R"({"type": "s64[]", "value": [1, "2"]})"), "\"2\""},
      {"mode", AttrValue, R"({"graph": [], "fpmath_mode": "fast"})", "fast"},
      {"applyToInt", WrongType,
       R"({"graph": [], "fpmath_mode_apply_to_int": 1})", "apply_to_int"},
      {"ports", WrongType, R"({"graph": [], "input_ports": ["x"]})", "\"x\""},
      {"portsObject", WrongType, R"({"graph": [], "input_ports": {}})",
       "input_ports"},
      {"badPort", BadPort, R"({"graph": [], "output_ports": [4]})", "4"},
      {"sizesList", WrongType, R"({"graph": [], "sizes": []})", "sizes"},
      {"sizeNumber", WrongType, R"({"graph": [], "sizes": {"n": 4}})", "\"n\""},
      {"sizeMin", WrongType, R"({"graph": [], "sizes": {"n": {"min": 0.5}}})",
       "0.5"},
      {"sizeLikely", WrongType,
       R"({"graph": [], "sizes": {"n": {"likely": 3}}})", "likely"},
      {"sizeLikelyText", WrongType,
       R"({"graph": [], "sizes": {"n": {"likely": ["x"]}}})", "\"x\""},
      {"sizeKey", Syntax, R"({"graph": [], "sizes": {"n": {"maximum": 3}}})",
       "maximum"},
      {"sizeTwice", Syntax, R"({"graph": [], "sizes": {"n": {}, "n": {}}})",
       "twice"},
      {"duplicateOp", DuplicateOpId,
       R"({"graph": [{"id": 1, "kind": "A"}, {"id": 1, "kind": "B"}]})", "A_1"},
      {"twoProducers", TwoProducers,
       R"({"graph": [{"id": 1, "kind": "A", "outputs": [{"id": 1}]},
                     {"id": 2, "kind": "B", "outputs": [{"id": 1}]}]})",
       "tensor 1"},
      {"cycle", Cycle,
       R"({"graph": [{"id": 1, "kind": "A", "inputs": [{"id": 1}],
                      "outputs": [{"id": 2}]},
                     {"id": 2, "kind": "B", "inputs": [{"id": 2}],
                      "outputs": [{"id": 1}]}]})",
       "A_1"},
      {"ownInput", Cycle,
       R"({"graph": [{"id": 1, "kind": "A", "inputs": [{"id": 1}],
                      "outputs": [{"id": 1}]}]})",
       "A_1"},
      {"shapeConflict", EdgeConflict,
       op(R"("inputs": [{"id": 1, "shape": [2]}, {"id": 1, "shape": [3]}])"),
       "[2] and [3]"},
      {"rankConflict", EdgeConflict,
       op(R"("inputs": [{"id": 1, "shape": [2]}, {"id": 1, "shape": [2, 1]}])"),
       "[2] and [2, 1]"},
      {"dtypeConflict", EdgeConflict,
       op(R"("inputs": [{"id": 1, "dtype": "f32"}, {"id": 1, "dtype": "s8"}])"),
       "f32 and s8"},
      {"strideConflict", EdgeConflict,
       op(R"("inputs": [{"id": 1, "shape": [2, 3], "stride": [3, 1]},
                        {"id": 1, "shape": [2, 3], "stride": [1, 2]}])"),
       "[3, 1] and [1, 2]"},
      {"shapeHereStridesThere", EdgeConflict,
       op(R"("inputs": [{"id": 1, "shape": [2, 3, 4]},
                        {"id": 1, "stride": [1]}])"),
       "[2, 3, 4] and strides [1]"},
      {"stridesHereShapeThere", EdgeConflict,
       op(R"("inputs": [{"id": 1, "stride": [1]},
                        {"id": 1, "shape": [2, 3], "stride": [1, 2]}])"),
       "[2, 3] and strides [1]"},
      {"stridesThatOnlyTogetherExceed", EdgeConflict,
       op(R"("inputs": [{"id": 1, "shape": [3]},
                        {"id": 1, "stride": [9223372036854775807]}])"),
       "9223372036854775807"},
      {"dimsThatOnlyTogetherExceed", EdgeConflict, op(R"("inputs": [
         {"id": 1, "shape": [4294967296, -9223372036854775808]},
         {"id": 1, "shape": [-9223372036854775808, 4294967296]}])"),
       "too many elements"},
      {"propertyConflict", EdgeConflict,
       op(R"("inputs": [{"id": 1, "property_type": "constant"},
                        {"id": 1, "property_type": "variable"}])"),
       "constant and variable"},
  };
}

TEST(JsonHostile, eachMistakeHasItsCodeAndNumbers) {
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.name);
    Expected<Graph> g = readJson(c.text, "t");
    if (g) {
      ADD_FAILURE() << "was read";
      continue;
    }
    EXPECT_EQ(g.errors()[0].code, c.code) << str(g.errors());
    EXPECT_NE(g.errors()[0].str().find(c.says), std::string::npos)
        << str(g.errors());
  }
}

TEST(JsonHostile, errorsAboutAnOperationNameIt) {
  Expected<Graph> g = readJson(attr(R"({"type": "s64", "value": []})"), "t");
  ASSERT_FALSE(bool(g));
  EXPECT_EQ(g.errors()[0].opKind, "MatMul");
  EXPECT_EQ(g.errors()[0].opName, "fc");
  EXPECT_EQ(g.errors()[0].opId, 5u);
}

TEST(JsonHostile, strictRejectsUnknownKeys) {
  json::JsonOptions strict;
  strict.strict = true;
  for (std::string text : {std::string(R"({"graph": [], "extra": 1})"),
                           op(R"("extra": 1)"), tensor(R"("extra": 1)"),
                           attr(R"({"value": 1, "extra": 1})"), attr("1")}) {
    EXPECT_TRUE(bool(readJson(text, "t"))) << text;
    EXPECT_FALSE(bool(readJson(text, "t", strict))) << text;
  }
}

TEST(JsonHostile, allErrorsAtOnceButNotMillions) {
  std::string text = R"({"graph": [)";
  for (int i = 0; i < 5000; ++i)
    text += std::string(i ? "," : "") + "{\"id\": \"x\"}";
  Expected<Graph> g = readJson(text + "]}", "t");
  ASSERT_FALSE(bool(g));
  EXPECT_EQ(g.errors().size(), 21u);
  // Each operation lacks a proper id and a kind.
  EXPECT_EQ(g.errors().back().message, "and 9980 more errors");
}

TEST(JsonHostile, everyTruncationFails) {
  std::string text = tensor(R"("shape": [2, 3], "dtype": "f32")");
  ASSERT_TRUE(bool(readJson(text, "t")));
  for (size_t n = 0; n < text.size(); ++n)
    EXPECT_FALSE(bool(readJson(text.substr(0, n), "t"))) << n;
}

TEST(JsonHostile, hugeElementIsRefused) {
  std::string text = "{\"input_ports\": [0";
  for (int i = 0; i < (1 << 22); ++i)
    text += ",0";
  Expected<Graph> g = readJson(text + "], \"graph\": []}", "t");
  ASSERT_FALSE(bool(g));
  EXPECT_EQ(g.errors()[0].code, ErrorCode::TooLarge);
}

/// A chain of `count` operations.
std::string chain(int count) {
  std::string text = "{\"graph\": [";
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += i ? "," : "";
    text +=
        "{\"id\":" + n + ",\"kind\":\"ReLU\",\"inputs\":[{\"id\":" + n +
        ",\"dtype\":\"f32\",\"shape\":[8,8]}],\"outputs\":[{\"id\":" + next +
        ",\"dtype\":\"f32\",\"shape\":[8,8]}]}";
  }
  return text + "]}";
}

#if defined(__SANITIZE_ADDRESS__)
constexpr int kManyOps = 100000; // Instrumented code is ten times slower.
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr int kManyOps = 100000;
#else
constexpr int kManyOps = 1000000;
#endif
#else
constexpr int kManyOps = 1000000;
#endif

TEST(JsonHostile, aMillionOperationsTakeSeconds) {
  std::string text = chain(kManyOps);
  // Time of this thread's CPU: other work on the machine does not count.
  std::clock_t start = std::clock();
  Expected<Graph> g = readJson(text, "t");
  double s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_TRUE(g && g->ops.size() == static_cast<size_t>(kManyOps));
  RecordProperty("seconds", std::to_string(s));
  EXPECT_LT(s, 20) << "must be linear";
}

TEST(JsonHostile, mutatedFilesNeverCrash) {
  std::string text = writeJson(*readJson(chain(4), "t"));
  std::string others = attr(R"({"type": "f32[]", "value": [1, 0.5, 1e3]})");
  std::mt19937 random(20260101);
  auto pick = [&](size_t n) { return random() % n; };
  const char bytes[] = "{}[]\",:0123456789eE+-.truefalsn\\ \n\x80\xff";
  int read = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string s = i % 2 ? text : others;
    for (size_t k = 1 + pick(4); k; --k) {
      size_t at = pick(s.size());
      switch (pick(4)) {
      case 0:
        s[at] = bytes[pick(sizeof bytes)];
        break;
      case 1:
        s.erase(at, 1 + pick(8));
        break;
      case 2:
        s.insert(at, s.substr(pick(s.size()), pick(40)));
        break;
      default:
        s[at] = static_cast<char>(pick(256));
      }
    }
    Expected<Graph> g = readJson(s, "t");
    if (!g) {
      ASSERT_FALSE(g.errors().empty());
      continue;
    }
    // What was read must survive a round trip.
    ++read;
    std::string once = writeJson(*g);
    Expected<Graph> h = readJson(once, "t");
    ASSERT_TRUE(bool(h)) << str(h.errors()) << once;
    EXPECT_EQ(writeJson(*h), once);
  }
  EXPECT_GT(read, 20) << "mutations must not only break the syntax";
}

} // namespace
