// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/TestGraphs.h"

using namespace tenon;
using namespace tenon::onnx;
using namespace tenon::onnx::test;

namespace {

/// Running sums of the entries of x.
GraphProto runningSum() {
  return graphOf({"s", "part"}, {node("Add", {"s", "part"}, {"next"})},
                 {"next", "next"});
}

ModelProto scanModel(std::vector<AttributeProto> attributes, graph::Dims dims,
                     graph::Dims start) {
  attributes.push_back(attr("body", runningSum()));
  attributes.push_back(attr("num_scan_inputs", 1));
  return modelOf(
      {node("Scan", {"start", "x"}, {"sum", "sums"}, std::move(attributes))},
      {port("start", DataType::f32, std::move(start)),
       port("x", DataType::f32, std::move(dims))},
      {"sum", "sums"});
}

const Tensor kStart = tensor(graph::DType::f32, {2}, {0, 0});
const Numbers kSix{1, 2, 3, 4, 5, 6};

TEST(OnnxScan, RunsAlongAnAxisInADirection) {
  Given rows{{"start", kStart}, {"x", tensor(graph::DType::f32, {3, 2}, kSix)}};
  expectOutputs(scanModel({}, {3, 2}, {2}), rows,
                {{{2}, {9, 12}}, {{3, 2}, {1, 2, 4, 6, 9, 12}}});
  Given columns{{"start", kStart},
                {"x", tensor(graph::DType::f32, {2, 3}, {1, 3, 5, 2, 4, 6})}};
  for (int64_t axis : {1, -1})
    expectOutputs(scanModel({attr("scan_input_axes", graph::Dims{axis}),
                             attr("scan_output_axes", graph::Dims{axis})},
                            {2, 3}, {2}),
                  columns, {{{2}, {9, 12}}, {{2, 3}, {1, 4, 9, 2, 6, 12}}});
  expectOutputs(
      scanModel({attr("scan_input_directions", graph::Dims{1})}, {3, 2}, {2}),
      rows, {{{2}, {9, 12}}, {{3, 2}, {5, 6, 8, 10, 9, 12}}});
  expectOutputs(
      scanModel({attr("scan_output_directions", graph::Dims{1})}, {3, 2}, {2}),
      rows, {{{2}, {9, 12}}, {{3, 2}, {9, 12, 4, 6, 1, 2}}});
  expectOutputs(
      scanModel({}, {0, 2}, {2}),
      {{"start", kStart}, {"x", tensor(graph::DType::f32, {0, 2}, {})}},
      {{{2}, {0, 0}}, {{0, 2}, {}}});
}

TEST(OnnxScan, SizesBesideTheStepsMayBeUnknown) {
  ModelProto model = scanModel({}, {3, 2}, {2});
  model.graph.inputs = {named("start", DataType::f32, {"n"}),
                        named("x", DataType::f32, {"t", "n"})};
  (*model.graph.inputs[1].shape)[0].value = 3;
  expectOutputs(
      model,
      {{"start", kStart}, {"x", tensor(graph::DType::f32, {3, 2}, kSix)}},
      {{{2}, {9, 12}}, {{3, 2}, {1, 2, 4, 6, 9, 12}}});
  (*model.graph.inputs[1].shape)[0].value.reset();
  Error error = failureOf(model);
  EXPECT_EQ(error.code, ErrorCode::UnsupportedForm);
  EXPECT_NE(error.hint.find("--input"), std::string::npos) << error.str();
}

/// Version 8: a batch of two sequences of three entries of one number.
TEST(OnnxScan, BatchesHaveLengths) {
  auto model = [](std::string_view lengths,
                  std::vector<AttributeProto> attributes) {
    ModelProto m = scanModel(std::move(attributes), {2, 3, 1}, {2, 1});
    m.operatorSets[0].version = 8;
    m.graph.nodes[0].inputs.insert(m.graph.nodes[0].inputs.begin(), lengths);
    return m;
  };
  Given given{{"start", tensor(graph::DType::f32, {2, 1}, {0, 10})},
              {"x", tensor(graph::DType::f32, {2, 3, 1}, kSix)}};
  expectOutputs(model("", {}), given,
                {{{2, 1}, {6, 25}}, {{2, 3, 1}, {1, 3, 6, 14, 19, 25}}});
  ModelProto known = model("lengths", {});
  known.graph.initializers = {integers("lengths", {2}, {3, 1})};
  const std::vector<Result> cut{{{2, 1}, {6, 14}},
                                {{2, 3, 1}, {1, 3, 6, 14, 0, 0}}};
  expectOutputs(known, given, cut);
  ModelProto asked = model("lengths", {});
  asked.graph.inputs.push_back(port("lengths", DataType::s64, {2}));
  Given more = given;
  more["lengths"] = Tensor{graph::DType::s64, {2}, {}, {3, 1}};
  expectOutputs(asked, more, cut);
  // Those that begin at their end, which is that of the length.
  ModelProto back = model("lengths", {attr("directions", graph::Dims{1})});
  back.graph.initializers = {integers("lengths", {2}, {0, 2})};
  expectOutputs(back, given,
                {{{2, 1}, {0, 19}}, {{2, 3, 1}, {0, 0, 0, 15, 19, 0}}});
  back.graph.initializers = {integers("lengths", {2}, {0, 4})};
  EXPECT_EQ(failureOf(back).code, ErrorCode::BadTensorData);
  back.graph.initializers = {integers("lengths", {3}, {0, 1, 1})};
  EXPECT_EQ(failureOf(back).code, ErrorCode::BadTensorData);
}

TEST(OnnxScan, WrongNodesAreErrors) {
  auto code = [](std::vector<AttributeProto> attributes, graph::Dims dims) {
    return failureOf(scanModel(std::move(attributes), std::move(dims), {2}))
        .code;
  };
  EXPECT_EQ(code({attr("num_scan_inputs", 3)}, {3, 2}), ErrorCode::AttrValue);
  EXPECT_EQ(code({attr("num_scan_inputs", 0)}, {3, 2}), ErrorCode::AttrValue);
  EXPECT_EQ(code({attr("num_scan_inputs", -1)}, {3, 2}), ErrorCode::AttrValue);
  EXPECT_EQ(code({attr("scan_input_axes", graph::Dims{2})}, {3, 2}),
            ErrorCode::BadDim);
  EXPECT_EQ(code({attr("scan_input_axes", graph::Dims{0, 1})}, {3, 2}),
            ErrorCode::AttrValue);
  EXPECT_EQ(code({attr("scan_output_axes", graph::Dims{7})}, {3, 2}),
            ErrorCode::BadDim);
  EXPECT_EQ(code({}, {}), ErrorCode::BadDim);
  EXPECT_EQ(code({}, {5000, 2}), ErrorCode::UnsupportedForm);
  EXPECT_EQ(code({attr("body", graphOf({"a"}, {}, {"a"}))}, {3, 2}),
            ErrorCode::OperandCount);
}

} // namespace
