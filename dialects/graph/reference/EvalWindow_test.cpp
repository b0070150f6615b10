//===- EvalWindow_test.cpp - pooling and interpolation --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

using namespace tenon;
using namespace tenon::reference;
using graph::AttrMap;
using graph::Dims;
using graph::DType;

namespace {

constexpr double kLowest = -0x1.fffffep127;

AttrMap poolAttrs(int64_t kernel, int64_t stride, int64_t begin, int64_t end) {
  return {{"kernel", Dims{kernel}},
          {"strides", Dims{stride}},
          {"pads_begin", Dims{begin}},
          {"pads_end", Dims{end}},
          {"data_format", std::string("NCX")}};
}

TEST(MaxPool, OneDim) {
  OneOp op{"MaxPool", {make({1, 1, 5}, {1, -7, 3, 2, 5})}};
  op.attrs = poolAttrs(2, 2, 0, 0);
  expectNear(op.run()[0], {1, 1, 2}, {1, 3});
  op.attrs["rounding_type"] = std::string("ceil");
  expectNear(op.run()[0], {1, 1, 3}, {1, 3, 5});
  op.attrs = poolAttrs(2, 1, 0, 0);
  op.attrs["dilations"] = Dims{3};
  expectNear(op.run()[0], {1, 1, 2}, {2, 5});
  op.attrs["dilations"] = Dims(12, 1); // the placeholder of old files
  expectNear(op.run()[0], {1, 1, 4}, {1, 3, 3, 5});
}

TEST(MaxPool, PaddingNeverWins) {
  OneOp op{"MaxPool", {make({1, 1, 2}, {-4, -3})}, poolAttrs(2, 1, 1, 1)};
  expectNear(op.run()[0], {1, 1, 3}, {-4, -3, -3});
}

TEST(MaxPool, NanAndInfinity) {
  OneOp op{"MaxPool",
           {make({1, 1, 4}, {kNan, 1, -kInf, -kInf})},
           poolAttrs(2, 2, 0, 0)};
  expectNear(op.run()[0], {1, 1, 2}, {1, kLowest});
  op.attrs["propagate_nan"] = true;
  expectNear(op.run()[0], {1, 1, 2}, {kNan, -kInf});
}

TEST(MaxPool, IndicesOfTheFirstWinner) {
  OneOp op{"MaxPool",
           {make({1, 1, 4}, {1, kNan, -kInf, -kInf})},
           poolAttrs(2, 2, 0, 0),
           {DType::f32, DType::s64}};
  EXPECT_EQ(op.run()[1].integers, (std::vector<int64_t>{0, 2}));
  op.attrs["propagate_nan"] = true;
  EXPECT_EQ(op.run()[1].integers, (std::vector<int64_t>{1, 2}));
  // Row by row, of each channel alike; equal elements.
  op.inputs = {make({1, 2, 2, 3}, {5, 5, 5, 5, 5, 7, 0, 0, 0, 1, 2, 0})};
  op.attrs = {{"kernel", Dims{2, 2}},
              {"strides", Dims{1, 1}},
              {"pads_begin", Dims{0, 0}},
              {"pads_end", Dims{0, 0}},
              {"data_format", std::string("NCX")}};
  EXPECT_EQ(op.run()[1].integers, (std::vector<int64_t>{0, 5, 4, 4}));
  op.results[1] = DType::s32;
  expectNear(op.run()[1], {1, 2, 1, 2}, {0, 5, 4, 4});
  op.inputs = {make({1, 2, 3, 1}, {5, 5, 5, 5, 5, 7})};
  op.attrs.erase("data_format");
  expectNear(op.run()[1], {1, 1, 2, 1}, {0, 5});
}

/// The part of a window that lies on src and its padding.
TEST(AvgPool, ClippedDivisor) {
  OneOp op{"AvgPool", {make({1, 1, 3}, {2, 4, 6})}, poolAttrs(2, 2, 0, 0)};
  op.attrs["exclude_pad"] = false;
  op.attrs["rounding_type"] = std::string("ceil");
  expectNear(op.run()[0], {1, 1, 2}, {3, 3});
  op.attrs["divisor"] = std::string("clipped");
  expectNear(op.run()[0], {1, 1, 2}, {3, 6});
  op.attrs["kernel"] = Dims{3};
  op.attrs["pads_end"] = Dims{1};
  expectNear(op.run()[0], {1, 1, 2}, {4, 3});
}

TEST(MaxPool, ChannelLastTwoDims) {
  // 2x2 positions, 2 channels.
  OneOp op{"MaxPool",
           {make({1, 2, 2, 2}, {1, 8, 2, 7, 3, 6, 4, 5})},
           {{"kernel", Dims{2, 2}},
            {"strides", Dims{1, 1}},
            {"pads_begin", Dims{0, 0}},
            {"pads_end", Dims{0, 0}}}};
  expectNear(op.run()[0], {1, 1, 1, 2}, {4, 8});
  op.attrs["auto_pad"] = std::string("SAME_UPPER");
  expectNear(op.run()[0], {1, 2, 2, 2}, {4, 8, 4, 7, 4, 6, 4, 5});
}

TEST(AvgPool, Divisors) {
  OneOp op{"AvgPool", {make({1, 1, 3}, {2, 4, 6})}, poolAttrs(2, 1, 1, 1)};
  op.attrs["exclude_pad"] = false;
  expectNear(op.run()[0], {1, 1, 4}, {1, 3, 5, 3});
  op.attrs["exclude_pad"] = true;
  expectNear(op.run()[0], {1, 1, 4}, {2, 3, 5, 6});
}

TEST(AvgPool, WindowWithoutElements) {
  OneOp op{"AvgPool", {make({1, 1, 2}, {2, 4})}, poolAttrs(1, 2, 0, 2)};
  op.attrs["exclude_pad"] = true;
  op.attrs["rounding_type"] = std::string("ceil");
  expectNear(op.run()[0], {1, 1, 3}, {2, 0, 0});
}

// Elements that a negative end padding cuts off are in no window.
TEST(Pool, NegativeEndPadding) {
  OneOp max{
      "MaxPool", {make({1, 1, 6}, {1, 2, 3, 4, 5, 9})}, poolAttrs(2, 2, 0, -1)};
  expectNear(max.run()[0], {1, 1, 2}, {2, 4});
  max.attrs["rounding_type"] = std::string("ceil");
  expectNear(max.run()[0], {1, 1, 3}, {2, 4, 5});
  OneOp average{
      "AvgPool", {make({1, 1, 6}, {1, 2, 3, 4, 5, 9})}, poolAttrs(2, 2, 0, -1)};
  average.attrs["rounding_type"] = std::string("ceil");
  average.attrs["exclude_pad"] = true;
  expectNear(average.run()[0], {1, 1, 3}, {1.5, 3.5, 5});
  average.attrs["exclude_pad"] = false;
  expectNear(average.run()[0], {1, 1, 3}, {1.5, 3.5, 2.5});
  OneOp backward{
      "MaxPoolBackward",
      {make({1, 1, 6}, {1, 2, 3, 4, 5, 9}), make({1, 1, 3}, {10, 20, 30})},
      poolAttrs(2, 2, 0, -1)};
  expectNear(backward.run()[0], {1, 1, 6}, {0, 10, 0, 20, 30, 0});
  // Nothing is left for a window.
  max.attrs = poolAttrs(2, 2, 0, -5);
  EXPECT_EQ(max.error(), ErrorCode::ShapeMismatch);
  max.attrs = poolAttrs(2, 2, 0, INT64_MIN + 1);
  EXPECT_EQ(max.error(), ErrorCode::AttrValue);
}

TEST(Pool, Errors) {
  OneOp op{"MaxPool", {make({1, 1, 2}, {2, 4})}, poolAttrs(3, 1, 0, 0)};
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.attrs = poolAttrs(1, 1, -1, 0);
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.inputs = {make({2, 2}, {1, 2, 3, 4})};
  EXPECT_EQ(op.error(), ErrorCode::BadRank);
}

TEST(PoolBackward, MaxFirstOfEquals) {
  OneOp op{"MaxPoolBackward",
           {make({1, 1, 4}, {3, 3, 5, 1}), make({1, 1, 3}, {1, 10, 100})},
           poolAttrs(2, 1, 0, 0)};
  expectNear(op.run()[0], {1, 1, 4}, {1, 0, 110, 0});
}

TEST(PoolBackward, EdgesOfFloats) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double nan = std::nan(""), low = std::numeric_limits<float>::lowest();
  // No element is greater than the lowest number: no gradient.
  for (const std::vector<double> &window :
       {std::vector<double>{-kInf, -kInf}, {nan, nan}, {low, -kInf}}) {
    OneOp op{"MaxPoolBackward",
             {make({1, 1, 2}, window), make({1, 1, 1}, {5})},
             poolAttrs(2, 1, 0, 0)};
    expectNear(op.run()[0], {1, 1, 2}, {0, 0});
  }
  // NaN is skipped, and an infinite gradient reaches one element.
  OneOp max{
      "MaxPoolBackward",
      {make({1, 1, 4}, {nan, 1, kInf, -kInf}), make({1, 1, 2}, {kInf, 7})},
      poolAttrs(2, 2, 0, 0)};
  Tensor got = max.run()[0];
  EXPECT_EQ(got.data, (std::vector<double>{0, kInf, 7, 0}));
  // Every element of the window, and none outside.
  OneOp average{
      "AvgPoolBackward", {make({1, 1, 2}, {kInf, 4})}, poolAttrs(2, 2, 0, 0)};
  average.attrs["src_shape"] = Dims{1, 1, 4};
  EXPECT_EQ(average.run()[0].data, (std::vector<double>{kInf, kInf, 2, 2}));
}

/// Of equal elements the first; a NaN where it wins, and -inf if it is all.
TEST(PoolBackward, MaximumPropagatesNan) {
  AttrMap attrs = poolAttrs(2, 2, 1, 0);
  OneOp op{"MaxPoolBackward",
           {make({1, 1, 5}, {-kInf, kNan, 3, -kInf, -kInf}),
            make({1, 1, 3}, {1, 2, 4})},
           attrs};
  expectNear(op.run()[0], {1, 1, 5}, {0, 0, 2, 0, 0});
  op.attrs["propagate_nan"] = true;
  expectNear(op.run()[0], {1, 1, 5}, {1, 2, 0, 4, 0});
}

TEST(PoolBackward, AverageIsTheGradient) {
  for (std::string divisor : {"window", "clipped", "elements"}) {
    AttrMap attrs = poolAttrs(3, 2, 1, 1);
    attrs["exclude_pad"] = divisor == "elements";
    if (divisor == "clipped") {
      attrs["divisor"] = divisor;
      attrs["pads_end"] = Dims{0};
      attrs["rounding_type"] = std::string("ceil");
      attrs["strides"] = Dims{3};
    }
    OneOp forward{"AvgPool", {make({2, 2, 5}, ramp(20))}, attrs};
    Tensor dst = forward.run()[0];
    Tensor diffDst = make(dst.shape, ramp(dst.numElements(), 0.41));
    OneOp backward{"AvgPoolBackward", {diffDst}, attrs};
    backward.attrs["src_shape"] = Dims{2, 2, 5};
    expectNear(backward.run()[0], {2, 2, 5},
               numericGradient(forward, 0, diffDst.data), 1e-8);
    backward.attrs.erase("src_shape");
    EXPECT_EQ(backward.error(), ErrorCode::UnknownShape);
  }
}

OneOp interpolate(const char *mode, int64_t size, const char *coordinates) {
  return {"Interpolate",
          {make({1, 1, 3}, {0, 10, 20})},
          {{"mode", std::string(mode)},
           {"sizes", Dims{size}},
           {"coordinate_transformation_mode", std::string(coordinates)},
           {"data_format", std::string("NCX")}}};
}

TEST(Interpolate, Linear) {
  expectNear(interpolate("linear", 4, "half_pixel").run()[0], {1, 1, 4},
             {0, 6.25, 13.75, 20});
  expectNear(interpolate("bilinear", 5, "align_corners").run()[0], {1, 1, 5},
             {0, 5, 10, 15, 20});
  expectNear(interpolate("linear", 1, "align_corners").run()[0], {1, 1, 1},
             {0});
}

/// As inference: 10 * 0.7 in f32.
TEST(Interpolate, SizesByScales) {
  OneOp op{"Interpolate",
           {make({1, 1, 10}, std::vector<double>(10, 1))},
           {{"mode", std::string("nearest")},
            {"scales", std::vector<float>{0.7f}},
            {"data_format", std::string("NCX")}}};
  expectNear(op.run()[0], {1, 1, 7}, std::vector<double>(7, 1));
}

TEST(Interpolate, Nearest) {
  OneOp op{
      "Interpolate",
      {make({1, 4, 1}, {1, 2, 3, 4})},
      {{"mode", std::string("nearest")}, {"scales", std::vector<float>{0.5f}}}};
  // x_src is 0.5 and 2.5: halves go away from zero.
  expectNear(op.run()[0], {1, 2, 1}, {2, 4});
}

OneOp interpolate(std::vector<double> src, AttrMap attrs) {
  attrs["data_format"] = std::string("NCX");
  auto size = static_cast<int64_t>(src.size());
  return {"Interpolate", {make({1, 1, size}, std::move(src))}, attrs};
}

TEST(Interpolate, NearestModes) {
  // x_src is 0.5 and 2.5.
  auto run = [](const char *mode) {
    return interpolate({1, 2, 3, 4}, {{"mode", std::string("nearest")},
                                      {"nearest_mode", std::string(mode)},
                                      {"sizes", Dims{2}}})
        .run()[0];
  };
  expectNear(run("round"), {1, 1, 2}, {2, 4});
  expectNear(run("round_prefer_floor"), {1, 1, 2}, {1, 3});
  expectNear(run("round_prefer_ceil"), {1, 1, 2}, {2, 4});
  expectNear(run("floor"), {1, 1, 2}, {1, 3});
  expectNear(run("ceil"), {1, 1, 2}, {2, 4});
}

TEST(Interpolate, Coordinates) {
  auto run = [](const char *coordinates, int64_t size, AttrMap attrs) {
    attrs["coordinate_transformation_mode"] = std::string(coordinates);
    attrs["sizes"] = Dims{size};
    return interpolate({0, 10, 20}, attrs).run()[0];
  };
  AttrMap linear = {{"mode", std::string("linear")}};
  AttrMap floor = {{"mode", std::string("nearest")},
                   {"nearest_mode", std::string("floor")}};
  AttrMap round = {{"mode", std::string("nearest")}};
  expectNear(run("asymmetric", 6, linear), {1, 1, 6}, {0, 5, 10, 15, 20, 20});
  expectNear(run("asymmetric", 5, floor), {1, 1, 5}, {0, 0, 10, 10, 20});
  expectNear(run("half_pixel", 1, linear), {1, 1, 1}, {10});
  expectNear(run("pytorch_half_pixel", 1, linear), {1, 1, 1}, {0});
  expectNear(run("pytorch_half_pixel", 2, linear), {1, 1, 2}, {2.5, 17.5});
  expectNear(run("half_pixel_symmetric", 2, linear), {1, 1, 2}, {2.5, 17.5});
  expectNear(run("tf_half_pixel_for_nn", 3, floor), {1, 1, 3}, {0, 10, 20});
  expectNear(run("tf_half_pixel_for_nn", 3, round), {1, 1, 3}, {10, 20, 20});
}

TEST(Interpolate, RatioOfScales) {
  auto run = [](std::vector<double> src, float scale, const char *coordinates,
                AttrMap attrs) {
    attrs["coordinate_transformation_mode"] = std::string(coordinates);
    attrs["scales"] = std::vector<float>{scale};
    attrs["ratio"] = std::string("scales");
    return interpolate(std::move(src), attrs).run()[0];
  };
  AttrMap linear = {{"mode", std::string("linear")}};
  std::vector<double> src = {0, 10, 20};
  expectNear(run(src, 0.8f, "half_pixel", linear), {1, 1, 2}, {1.25, 13.75},
             1e-6);
  expectNear(run(src, 0.8f, "half_pixel_symmetric", linear), {1, 1, 2},
             {3.75, 16.25}, 1e-6);
  // 3 / 0.6 is 5, although 0.6f is more than 0.6.
  AttrMap floor = {{"mode", std::string("nearest")},
                   {"nearest_mode", std::string("floor")}};
  expectNear(run({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 0.6f, "asymmetric", floor),
             {1, 1, 6}, {0, 1, 3, 5, 6, 8});
}

TEST(Interpolate, Cubic) {
  AttrMap attrs = {{"mode", std::string("cubic")}, {"sizes", Dims{6}}};
  expectNear(
      interpolate({0, 10, 20}, attrs).run()[0], {1, 1, 6},
      {-1.0546875, 1.9140625, 6.6796875, 13.3203125, 18.0859375, 21.0546875});
  attrs["exclude_outside"] = true;
  EXPECT_NEAR(interpolate({0, 10, 20}, attrs).run()[0].data[1],
              1.9140625 / 1.10546875, 1e-9);
  // With a = 0 neighbours alone count: w(1/4) = 27/32.
  attrs["cubic_coeff_a"] = 0.f;
  attrs.erase("exclude_outside");
  EXPECT_NEAR(interpolate({0, 32, 0}, attrs).run()[0].data[1], 5, 1e-9);
}

TEST(Interpolate, Antialias) {
  AttrMap attrs = {
      {"mode", std::string("linear")}, {"sizes", Dims{2}}, {"antialias", true}};
  expectNear(interpolate({0, 10, 20, 30}, attrs).run()[0], {1, 1, 2},
             {6.25, 23.75});
  attrs["exclude_outside"] = true;
  expectNear(interpolate({0, 10, 20, 30}, attrs).run()[0], {1, 1, 2},
             {12.5 / 1.75, 30 - 12.5 / 1.75});
  // Where dst is larger, nothing changes.
  attrs["sizes"] = Dims{4};
  expectNear(interpolate({0, 10, 20}, attrs).run()[0], {1, 1, 4},
             {0, 6.25, 13.75, 20});
}

TEST(Interpolate, TwoDimsAreSeparable) {
  OneOp op{"Interpolate",
           {make({1, 2, 2, 1}, {0, 1, 2, 3})},
           {{"mode", std::string("bilinear")},
            {"coordinate_transformation_mode", std::string("align_corners")},
            {"sizes", Dims{3, 3}}}};
  expectNear(op.run()[0], {1, 3, 3, 1}, {0, .5, 1, 1, 1.5, 2, 2, 2.5, 3});
  op.attrs.erase("sizes");
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

TEST(Interpolate, BackwardIsTheGradient) {
  for (const char *mode : {"nearest", "linear", "cubic"})
    for (int64_t size : {2, 7}) {
      OneOp forward = interpolate(
          mode, size, size == 2 ? "half_pixel" : "tf_half_pixel_for_nn");
      forward.attrs["antialias"] = true;
      forward.attrs["nearest_mode"] = std::string("ceil");
      Tensor diffDst = make({1, 1, size}, ramp(size));
      OneOp backward{
          "InterpolateBackward", {forward.inputs[0], diffDst}, forward.attrs};
      expectNear(backward.run()[0], {1, 1, 3},
                 numericGradient(forward, 0, diffDst.data), 1e-8);
    }
}

} // namespace
