//===- Json_test.cpp - reading and writing graphs -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/json/Json.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>

using namespace tenon;
using namespace tenon::graph;
using json::readJson;
using json::writeJson;

namespace {

constexpr std::string_view kElu = R"({
 "graph": [{
  "outputs": [{"id": 8, "dtype": "f32", "shape": [2, 3], "stride": [3, 1],
               "layout_type": "strided", "property_type": "undef"}],
  "inputs": [{"id": 7, "dtype": "f32", "shape": [2, 3], "stride": [1, 2],
              "layout_type": "strided", "property_type": "constant"}],
  "attrs": {"alpha": {"value": 0.1, "type": "f32"},
            "partition_id": {"type": "string", "value": "3"}},
  "kind": "Elu", "id": 1}],
 "version": "3.9.0"})";

/// A graph of one op with the given attrs object.
std::string withAttrs(std::string_view attrs) {
  return R"({"graph": [{"id": 1, "kind": "X", "name": "x", "attrs": )" +
         std::string(attrs) + R"(, "inputs": [{"id": 1}], "outputs": []}]})";
}

/// A graph of one op that reads the given logical tensors.
std::string withInputs(std::string_view tensors) {
  return R"({"graph": [{"id": 1, "kind": "Add", "inputs": [)" +
         std::string(tensors) + R"(], "outputs": [{"id": 99}]}]})";
}

Graph mustRead(std::string_view text) {
  Expected<Graph> g = readJson(text, "t");
  if (!g) {
    ADD_FAILURE() << str(g.errors());
    return Graph();
  }
  return std::move(*g);
}

TEST(Json, readsKeysInAnyOrder) {
  Graph g = mustRead(kElu);
  ASSERT_EQ(g.ops.size(), 1u);
  EXPECT_EQ(g.version, "3.9.0");
  EXPECT_EQ(g.ops[0].kind, "Elu");
  EXPECT_EQ(g.ops[0].name, "Elu_1");
  EXPECT_EQ(g.ops[0].attrOr<float>("alpha", 0), 0.1f);
  EXPECT_EQ(g.ops[0].attrs.size(), 1u) << "partition_id must be dropped";
  EXPECT_EQ(g.inputPorts, std::vector<uint64_t>{7});
  EXPECT_EQ(g.outputPorts, std::vector<uint64_t>{8});
  EXPECT_EQ(g.tensor(7).strides, (Dims{1, 2}));
  EXPECT_EQ(g.tensor(7).property, PropertyType::constant);
  EXPECT_TRUE(g.tensor(8).strides.empty()) << "dense is the default";
}

TEST(Json, writesTheSameBytesAgain) {
  std::string once = writeJson(mustRead(kElu));
  EXPECT_EQ(writeJson(mustRead(once)), once);
  json::JsonOptions strict;
  strict.strict = true;
  EXPECT_TRUE(bool(readJson(once, "t", strict)));
}

TEST(Json, keepsEveryAttributeValue) {
  Graph g = mustRead(kElu);
  AttrMap &a = g.ops[0].attrs;
  float inf = std::numeric_limits<float>::infinity();
  a["b"] = true;
  a["i"] = INT64_MIN;
  a["name"] = std::string("quote \" slash \\ tab \t \xc3\xa9");
  a["ints"] = Dims{0, -1, INT64_MAX};
  a["noInts"] = Dims{};
  a["floats"] = std::vector<float>{0.1f,
                                   -0.0f,
                                   inf,
                                   -inf,
                                   16777217.0f,
                                   std::numeric_limits<float>::denorm_min(),
                                   std::numeric_limits<float>::max(),
                                   2.0f};
  a["f"] = 1.0f / 3;
  Graph h = mustRead(writeJson(g));
  EXPECT_EQ(h.ops[0].attrs, a);
  const auto &floats = std::get<std::vector<float>>(h.ops[0].attrs["floats"]);
  EXPECT_TRUE(std::signbit(floats[1]));
  a["nan"] = std::numeric_limits<float>::quiet_NaN();
  h = mustRead(writeJson(g));
  EXPECT_TRUE(std::isnan(std::get<float>(h.ops[0].attrs["nan"])));
}

/// Whatever the decimal point of the program's locale.
TEST(Json, numbersInAnyLocale) {
  std::string before = setlocale(LC_NUMERIC, nullptr);
  const char *found = nullptr;
  for (const char *name : {"de_DE.UTF-8", "fr_FR.UTF-8", "pl_PL.UTF-8"})
    if (!found)
      found = setlocale(LC_NUMERIC, name);
  if (!found)
    GTEST_SKIP() << "no locale with a decimal comma is installed";
  Graph g = mustRead(kElu);
  g.ops[0].attrs["alpha"] = 0.5f;
  Graph h = mustRead(writeJson(g));
  setlocale(LC_NUMERIC, before.c_str());
  EXPECT_EQ(std::get<float>(h.ops[0].attrs["alpha"]), 0.5f);
}

TEST(Json, namesThatAreNotUtf8AreRepaired) {
  Graph g = mustRead(kElu);
  g.ops[0].name = "a\xff";
  EXPECT_EQ(mustRead(writeJson(g)).ops[0].name, "a\xef\xbf\xbd");
}

TEST(Json, keepsShapesStridesAndIds) {
  Graph g = mustRead(kElu);
  auto roundTrip = [&](std::optional<Dims> shape, Dims strides,
                       LayoutType layout) {
    LogicalTensor &t = g.tensor(7);
    t.shape = shape;
    t.strides = strides;
    t.layout = layout;
    Graph h = mustRead(writeJson(g));
    EXPECT_EQ(h.tensor(7).shape, shape);
    EXPECT_EQ(h.tensor(7).strides, strides);
    EXPECT_EQ(h.tensor(7).layout, layout);
  };
  roundTrip(std::nullopt, {}, LayoutType::undef);
  roundTrip(Dims{}, {}, LayoutType::strided);
  roundTrip(Dims{kUnknownDim}, {}, LayoutType::strided);
  roundTrip(Dims{kUnknownDim}, {}, LayoutType::any);
  roundTrip(Dims{kUnknownDim, 13}, {}, LayoutType::strided);
  roundTrip(Dims{2, kUnknownDim, 3}, {}, LayoutType::strided);
  roundTrip(Dims{2, 3}, {}, LayoutType::undef);
  roundTrip(Dims{2, 3}, {}, LayoutType::any);
  roundTrip(Dims{0, 3}, {}, LayoutType::strided);
  roundTrip(Dims{2, 3, 4}, {12, 1, 3}, LayoutType::strided);
  g.ops[0].id = UINT64_MAX;
  EXPECT_EQ(mustRead(writeJson(g)).ops[0].id, UINT64_MAX);
}

TEST(Json, sizesMayBeExpressions) {
  Graph g = mustRead(withInputs(
      R"({"id": 5, "dtype": "f32", "shape": ["batch", 12, "2 * seq"]},
         {"id": 6, "dtype": "f32", "shape": ["n"]})"));
  EXPECT_EQ(g.tensor(5).shape, (Dims{kUnknownDim, 12, kUnknownDim}));
  EXPECT_EQ(g.tensor(5).sizes,
            (std::vector<std::string>{"batch", "12", "2 * seq"}));
  EXPECT_EQ(g.tensor(6).shape, Dims{kUnknownDim});
  std::string text = writeJson(g);
  EXPECT_NE(text.find(R"("shape": ["batch", 12, "2 * seq"])"), text.npos);
  EXPECT_EQ(mustRead(text).tensor(5).sizes, g.tensor(5).sizes);

  auto wrong = [](std::string_view shape) {
    auto g = readJson(
        withInputs(R"({"id": 5, "shape": )" + std::string(shape) + "}"), "t");
    return g ? ErrorCode::Internal : g.errors().front().code;
  };
  EXPECT_EQ(wrong(R"(["batch *"])"), ErrorCode::BadDim);
  EXPECT_EQ(wrong(R"([""])"), ErrorCode::WrongType);
  EXPECT_EQ(wrong(R"(["4"])"), ErrorCode::WrongType);
}

TEST(Json, sizesMayBeDeclared) {
  std::string text = withInputs(R"({"id": 1, "shape": ["n", "m"]})");
  text.insert(1, R"("sizes": {"n": {"min": 8, "max": 4096, "multiple_of": 8,
                                    "likely": [128, 8]}, "m": {}}, )");
  Graph g = mustRead(text);
  ASSERT_EQ(g.sizeFacts.size(), 2u);
  EXPECT_EQ(g.sizeFacts["n"], (SizeFacts{8, 4096, 8, {128, 8}}));
  EXPECT_EQ(g.sizeFacts["m"], SizeFacts());
  std::string written = writeJson(g);
  Graph again = mustRead(written);
  EXPECT_EQ(again.sizeFacts, g.sizeFacts);
  EXPECT_EQ(writeJson(again), written);
  json::JsonOptions strict;
  strict.strict = true;
  EXPECT_TRUE(readJson(written, "t", strict));
}

TEST(Json, oldForms) {
  Graph g = mustRead(R"({"graph": [{"id": 1, "kind": "BiasAddBackprop",
    "attrs": {"plain": 3, "list": {"type": "s64[]", "value": 4},
              "flag": {"type": "bool", "value": true},
              "whole": {"type": "s64", "value": 2.0}},
    "inputs": [{"id": 1, "dtype": "f32", "shape": [], "stride": [],
                "layout_type": "undef", "property_type": "host_scalar"}],
    "outputs": [{"id": 2, "shape": [-9223372036854775808],
                 "stride": [-9223372036854775808]}]}],
    "novelty": {"deep": [1, {"x": null}]}})");
  EXPECT_EQ(g.ops[0].kind, "BiasAddBackward");
  EXPECT_EQ(g.ops[0].attrOr<int64_t>("plain", 0), 3);
  EXPECT_EQ(g.ops[0].attrOr<Dims>("list", {}), Dims{4});
  EXPECT_TRUE(g.ops[0].attrOr<bool>("flag", false));
  EXPECT_EQ(g.ops[0].attrOr<int64_t>("whole", 0), 2);
  EXPECT_EQ(g.tensor(1).shape, Dims{});
  EXPECT_EQ(g.tensor(1).layout, LayoutType::strided);
  EXPECT_EQ(g.tensor(1).property, PropertyType::host_scalar);
  EXPECT_FALSE(g.tensor(2).shape.has_value());
  EXPECT_EQ(g.outputPorts, std::vector<uint64_t>{2});
}

TEST(Json, inputPortsThatNothingReadsAreIgnored) {
  const std::string ops = R"("graph": [{"id": 0, "kind": "ReLU",
    "inputs": [{"id": 1, "dtype": "f32", "shape": [2]}],
    "outputs": [{"id": 2, "dtype": "f32", "shape": [2]}]}])";
  Graph g = mustRead("{" + ops + R"(, "input_ports": [7, 1, 99]})");
  EXPECT_EQ(g.inputPorts, std::vector<uint64_t>{1});
  EXPECT_EQ(g.ignoredInputs, (std::vector<uint64_t>{7, 99}));
  Graph again = mustRead(writeJson(g));
  EXPECT_EQ(again.inputPorts, g.inputPorts);
  EXPECT_EQ(again.ignoredInputs, g.ignoredInputs);
  // Nobody can write an output that there is not.
  for (bool strict : {false, true}) {
    json::JsonOptions options;
    options.strict = strict;
    auto bad = json::readJson("{" + ops + R"(, "output_ports": [2, 17]})",
                              "test", options);
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.errors().front().code, ErrorCode::BadPort);
    EXPECT_NE(bad.errors().front().message.find("17"), std::string::npos);
  }
}

/// One that is described gives its sizes, and is an input like others.
TEST(Json, inputPortsThatNothingReadsMayBeDescribed) {
  Graph g = mustRead(R"({
   "graph": [{"id": 1, "kind": "Expand", "name": "e",
              "attrs": {"shape": {"type": "s64[]",
                                  "value": [-9223372036854775808]}},
              "inputs": [{"id": 1, "dtype": "f32", "shape": [1]}],
              "outputs": [{"id": 2, "dtype": "f32", "shape": ["tokens"]}]}],
   "unread_inputs": [{"id": 3, "dtype": "s64", "shape": ["tokens"]}],
   "input_ports": [1, 3], "output_ports": [2]})");
  EXPECT_EQ(g.inputPorts, (std::vector<uint64_t>{1, 3}));
  EXPECT_TRUE(g.ignoredInputs.empty());
  EXPECT_EQ(g.tensor(3).sizes, std::vector<std::string>{"tokens"});
  std::string text = writeJson(g);
  EXPECT_NE(text.find("\"unread_inputs\""), text.npos);
  Graph again = mustRead(text);
  EXPECT_EQ(again.inputPorts, g.inputPorts);
  EXPECT_EQ(again.tensor(3).sizes, g.tensor(3).sizes);
  EXPECT_EQ(writeJson(again), text);
}

TEST(Json, outputPortsOfWhichTheGraphHasNoneSayNothing) {
  const std::string text = R"({"graph": [{"id": 0, "kind": "ReLU",
    "inputs": [{"id": 1, "dtype": "f32", "shape": [2]}],
    "outputs": [{"id": 2, "dtype": "f32", "shape": [2]}]}],
    "output_ports": [5]})";
  Graph g = mustRead(text);
  EXPECT_EQ(g.outputPorts, std::vector<uint64_t>{2});
  EXPECT_EQ(g.ignoredOutputs, std::vector<uint64_t>{5});
  ASSERT_EQ(graph::remarksOnPorts(g).size(), 1u);
  EXPECT_NE(graph::remarksOnPorts(g)[0].find("tensor 5"), std::string::npos);
  json::JsonOptions strict;
  strict.strict = true;
  EXPECT_FALSE(json::readJson(text, "test", strict));
}

TEST(Json, integersThatAreFloatsConvert) {
  Graph g = mustRead(withAttrs(R"({"f": {"type": "f32", "value": 16777217},
      "tiny": {"type": "f32", "value": 1e-60},
      "rounded": {"type": "f32", "value": 1.00000017881393432617187499}})"));
  EXPECT_EQ(g.ops[0].attrOr<float>("f", 0), 16777216.0f);
  EXPECT_EQ(g.ops[0].attrOr<float>("tiny", 1), 0.0f);
  // Rounding to double first would give the neighbour.
  EXPECT_EQ(g.ops[0].attrOr<float>("rounded", 0), 0x1.000002p0f);
}

TEST(Json, severalDescriptionsRefineEachOther) {
  Graph g = mustRead(withInputs(R"(
    {"id": 1, "shape": [-9223372036854775808, 4], "dtype": "f32"},
    {"id": 1, "shape": [2, -9223372036854775808], "property_type": "constant"},
    {"id": 1, "dtype": "f32", "shape": [2, 4], "stride": [1, 2]})"));
  EXPECT_EQ(g.tensor(1).shape, (Dims{2, 4}));
  EXPECT_EQ(g.tensor(1).dtype, DType::f32);
  EXPECT_EQ(g.tensor(1).property, PropertyType::constant);
  EXPECT_EQ(g.tensor(1).strides, (Dims{1, 2}));
}

TEST(Json, strideOfSizeOneDimDoesNotMatter) {
  Graph g = mustRead(withInputs(R"(
    {"id": 1, "shape": [2, 1, 3], "stride": [3, 3, 1]},
    {"id": 1, "shape": [2, 1, 3], "stride": [3, 9, 1]})"));
  EXPECT_EQ(g.tensor(1).shape, (Dims{2, 1, 3}));
}

TEST(Json, producerKnowsTheShape) {
  std::string text = R"({"graph": [
    {"id": 1, "kind": "Abs", "inputs": [{"id": 1}],
     "outputs": [{"id": 2, "shape": [4, 5]}]},
    {"id": 2, "kind": "Add", "inputs": [{"id": 2, "shape": [4, 1]}],
     "outputs": [{"id": 3}]}]})";
  EXPECT_EQ(mustRead(text).tensor(2).shape, (Dims{4, 5}));
  json::JsonOptions strict;
  strict.strict = true;
  Expected<Graph> g = readJson(text, "t", strict);
  ASSERT_FALSE(bool(g));
  EXPECT_EQ(g.errors()[0].code, ErrorCode::EdgeConflict);
}

TEST(Json, sortsTopologically) {
  Graph g = mustRead(R"({"graph": [
    {"id": 2, "kind": "B", "inputs": [{"id": 2}], "outputs": [{"id": 3}]},
    {"id": 1, "kind": "A", "inputs": [{"id": 1}], "outputs": [{"id": 2}]}]})");
  ASSERT_EQ(g.ops.size(), 2u);
  EXPECT_EQ(g.ops[0].kind, "A");
}

TEST(Json, emptyGraph) {
  EXPECT_TRUE(mustRead(R"({"graph": []})").ops.empty());
  EXPECT_TRUE(mustRead(writeJson(Graph())).ops.empty());
}

} // namespace
