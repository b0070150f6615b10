// SPDX-License-Identifier: Apache-2.0
// Sizes that follow from unknown ones, against the evaluator.
#include "tests/ops/UnknownSizes.h"

using namespace tenon::test;

namespace {

TEST(UnknownSizes, WhatOthersLeave) {
  auto text = [](const std::string &src, const std::string &shape) {
    return "a = StaticReshape " + src + " shape=" + shape +
           " special_zero=true; SoftMax a axis=1";
  };
  checkShapes(text("?x?x64", "0,-1"),
              {text("2x3x64", "0,-1"), text("7x1x64", "0,-1")});
  checkShapes(text("?x?x6", "0,-1,0"), {text("2x4x6", "0,-1,0")});
  checkShapes(text("?x?x6", "0,0,2,-1"), {text("2x4x6", "0,0,2,-1")});
  checkShapes(text("?x6", "-1,3"), {text("4x6", "-1,3")});
}

/// A size that is 1 when the code runs, and was unknown when it was made.
TEST(UnknownSizes, DoNotStretch) {
  struct Case {
    const char *general, *stretched, *whole;
  };
  for (const Case &c :
       {Case{"Add ?x4 ?x4", "Add 1x4 3x4", "Add 3x4 3x4"},
        {"Add 4096x4 ?x4", "Add 4096x4 1x4", "Add 4096x4 4096x4"},
        {"Multiply 8x? 8x?", "Multiply 8x7 8x1", "Multiply 8x1 8x1"},
        {"Select ?x4/boolean 4 ?x4", "Select 1x4/boolean 4 3x4",
         "Select 3x4/boolean 4 3x4"},
        {"PReLU ?x4 ?x4 per_channel_broadcast=false",
         "PReLU 3x4 1x4 per_channel_broadcast=false",
         "PReLU 3x4 3x4 per_channel_broadcast=false"},
        {"MatMul ?x4x8 ?x8x5", "MatMul 1x4x8 3x8x5", "MatMul 3x4x8 3x8x5"},
        {"MatMul 4x8 8x5 ?", "MatMul 4x8 8x5 1", "MatMul 4x8 8x5 5"}}) {
    checkShapes(c.general, {c.whole});
    auto general = parseGraph(c.general), stretched = parseGraph(c.stretched);
    ASSERT_TRUE(general && stretched);
    auto model = tenon::Compiled::compile(*general, {});
    ASSERT_TRUE(model) << str(model.errors());
    auto oracle = Oracle::make(*stretched);
    ASSERT_TRUE(oracle);
    auto results = execute(**model, *oracle, {});
    ASSERT_FALSE(results) << c.stretched;
    EXPECT_EQ(results.errors()[0].code, tenon::ErrorCode::ShapeMismatch);
  }
}

TEST(UnknownSizes, StatisticsOfAttention) {
  auto text = [](const std::string &keys) {
    return "s = MatMul 2x1x4x8 2x" + keys +
           "x8x16; p,t = SoftMax s axis=-1; o = MatMul p 2x" + keys +
           "x16x8; out o t";
  };
  checkShapes(text("?"), {text("3"), text("5")});
}

/// The memory of two elements to a byte has one dimension, the caller's tensor
/// two; sizes behind it are found all the same. And few rows have code of their
/// own.
TEST(UnknownSizes, RowsThatMeetQuantizedWeights) {
  auto text = [](const std::string &rows, const std::string &type) {
    return "w/f32 = DynamicDequantize 256x264/" + type +
           "c 8x264c qtype=per_group group_shape=32,1; y = MatMul " + rows +
           "x256 w; z = ReLU y; Add z 264";
  };
  for (const char *type : {"u4", "s4", "s8"})
    checkShapes(text("?", type),
                {text("1", type), text("3", type), text("16", type),
                 text("17", type), text("61", type)});
}

/// Tokens of any number, their rows and what is computed from them.
TEST(UnknownSizes, PlacesByIndex) {
  auto tokens = [](const std::string &shape) {
    return "e = Gather 50x32c " + shape +
           "/s64; LayerNorm e 32c 32c keep_stats=false";
  };
  checkShapes(tokens("?x?"), {tokens("2x7"), tokens("1x1"), tokens("5x0")});
  auto of = [](const char *text, const std::string &size) {
    std::string result = text;
    for (size_t at; (at = result.find('#')) != std::string::npos;)
      result.replace(at, 1, size);
    return result;
  };
  for (const char *text :
       {"Gather #x6x9 4/s64 axis=1", "Gather 7x6x# 3/s32 axis=0",
        "GatherElements #x6 #x4/s64 axis=1", "GatherND 9x#x3 5x1/s64",
        "ScatterND #x6 4x1/s64 4x6 reduction=add",
        "ScatterND 9x6 #x1/s64 #x6 reduction=add",
        "ScatterElements 9x# 4x#/s64 4x#",
        "s = Slice #x9 begins=2 ends=7 axes=1; ReLU s",
        "s = Slice 9x#x8 begins=2,1 ends=7,8 axes=0,2 steps=2,3; ReLU s",
        "e = Expand #x1 shape=-1,5; Multiply e #x5",
        "e = Expand #x1 shape=-1,5; ReLU e"})
    checkShapes(of(text, "?"), {of(text, "6"), of(text, "33")});
}

/// Weights say how long a row is, but code for levels has to know it.
TEST(UnknownSizes, ColumnsThatMeetQuantizedWeights) {
  auto text = [](const std::string &columns) {
    return "w/f32 = Dequantize 256x264/s8c scales=0.5; y = MatMul 3x" +
           columns + " w; ReLU y";
  };
  checkShapes(text("?"), {text("256")});
}

/// Columns of src lie apart: so many are brought into rows first.
TEST(UnknownSizes, RowsThatAreTransposed) {
  auto text = [](const std::string &rows) {
    return "y = MatMul 300x" + rows + " 300x260c 260c transpose_a=true; ReLU y";
  };
  checkShapes(text("?"), {text("1"), text("7"), text("130")});
}

TEST(UnknownSizes, OrdersFromTheBack) {
  auto text = [](const std::string &src, const std::string &order) {
    return "a = StaticTranspose " + src + " order=" + order + "; ReLU a";
  };
  for (const char *order : {"", "-1,-2,-3", "2,-3,1"})
    checkShapes(text("?x?x7", order), {text("2x3x7", order)});
}

} // namespace
