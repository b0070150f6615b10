//===- EvalContraction_test.cpp - MatMul and the convolution family -------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

using namespace tenon;
using namespace tenon::reference;
using graph::AttrMap;
using graph::Dims;
using graph::DType;

namespace {

std::string text(const char *s) { return s; }

TEST(MatMul, PlainAndTransposed) {
  Tensor a = make({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor b = make({3, 2}, {1, 0, 0, 1, 2, 2});
  expectNear(OneOp{"MatMul", {a, b}}.run()[0], {2, 2}, {7, 8, 16, 17});
  Tensor at = make({3, 2}, {1, 4, 2, 5, 3, 6});
  Tensor bt = make({2, 3}, {1, 0, 2, 0, 1, 2});
  AttrMap both = {{"transpose_a", true}, {"transpose_b", true}};
  expectNear(OneOp{"MatMul", {at, bt}, both}.run()[0], {2, 2}, {7, 8, 16, 17});
  EXPECT_EQ((OneOp{"MatMul", {a, bt}}.error()), ErrorCode::ShapeMismatch);
}

TEST(MatMul, Vectors) {
  Tensor v = make({2}, {1, 2}), m = make({2, 3}, {1, 2, 3, 4, 5, 6});
  expectNear(OneOp{"MatMul", {v, v}}.run()[0], {}, {5});
  expectNear(OneOp{"MatMul", {v, m}}.run()[0], {3}, {9, 12, 15});
  Tensor w = make({3}, {1, 1, 1});
  expectNear(OneOp{"MatMul", {m, w}}.run()[0], {2}, {6, 15});
}

TEST(MatMul, BatchBroadcastAndBias) {
  Tensor a = make({2, 1, 1, 2}, {1, 2, 3, 4});
  Tensor b = make({3, 2, 1}, {1, 0, 0, 1, 1, 1});
  expectNear(OneOp{"MatMul", {a, b}}.run()[0], {2, 3, 1, 1},
             {1, 2, 3, 3, 4, 7});
  Tensor bias = make({3, 1, 1}, {10, 20, 30});
  expectNear(OneOp{"MatMul", {a, b, bias}}.run()[0], {2, 3, 1, 1},
             {11, 22, 33, 13, 24, 37});
  OneOp bad{"MatMul", {a, b, make({2}, {0, 0})}};
  EXPECT_EQ(bad.error(), ErrorCode::ShapeMismatch);
}

TEST(MatMul, EmptyDims) {
  OneOp noDepth{"MatMul", {make({2, 0}, {}), make({0, 2}, {})}};
  expectNear(noDepth.run()[0], {2, 2}, {0, 0, 0, 0});
  OneOp noRows{"MatMul", {make({0, 2}, {}), make({2, 2}, {1, 2, 3, 4})}};
  expectNear(noRows.run()[0], {0, 2}, {});
}

/// Sizes that leave remainders in every blocking of the product.
TEST(MatMul, AgreesWithTheDefinition) {
  int64_t m = 71, k = 13, n = 9;
  Tensor a = make({m, k}, ramp(m * k)), b = make({k, n}, ramp(k * n, 0.23));
  std::vector<double> expected(m * n, 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t x = 0; x < k; ++x)
        expected[i * n + j] += a.data[i * k + x] * b.data[x * n + j];
  OneOp op{"MatMul", {a, b}};
  expectNear(op.run()[0], {m, n}, expected);
  EXPECT_EQ(op.run(1)[0].data, op.run(3)[0].data);
}

/// Of products that have more bits than a double, the low 32 bits of the sum.
TEST(MatMul, IntegersWrapAround) {
  const std::vector<int64_t> a = {INT32_MAX, -1, 123456789, INT32_MIN};
  const std::vector<int64_t> b = {INT32_MAX, 987654321, INT32_MIN, -3};
  uint32_t sum = 7;
  std::vector<double> src, weights;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<uint32_t>(a[i]) * static_cast<uint32_t>(b[i]);
    src.push_back(static_cast<double>(a[i]));
    weights.push_back(static_cast<double>(b[i]));
  }
  OneOp op{"MatMul",
           {make({1, 4}, src, DType::s32), make({4, 1}, weights, DType::s32),
            make({1}, {7}, DType::s32)},
           {},
           {DType::s32}};
  expectNear(op.run()[0], {1, 1},
             {static_cast<double>(static_cast<int32_t>(sum))});
  OneOp bytes{"MatMul",
              {make({1, 2}, {255, 255}, DType::u8),
               make({2, 1}, {-128, 127}, DType::s8)},
              {},
              {DType::s32}};
  expectNear(bytes.run()[0], {1, 1}, {-255});
}

AttrMap convAttrs(Dims strides, Dims begin, Dims end, Dims dilations,
                  const char *data, const char *weights, int64_t groups = 1) {
  return {{"strides", strides},
          {"pads_begin", begin},
          {"pads_end", end},
          {"dilations", dilations},
          {"data_format", text(data)},
          {"groups", groups},
          {"weights_format", text(weights)}};
}

TEST(Convolution, OneDim) {
  Tensor src = make({1, 1, 5}, {1, 2, 3, 4, 5});
  Tensor weights = make({1, 1, 2}, {1, 10});
  auto run = [&](int64_t stride, int64_t begin, int64_t end, int64_t dilation) {
    return OneOp{"Convolution",
                 {src, weights},
                 convAttrs({stride}, {begin}, {end}, {dilation}, "NCX", "OIX")}
        .run()[0];
  };
  expectNear(run(1, 0, 0, 1), {1, 1, 4}, {21, 32, 43, 54});
  expectNear(run(2, 0, 0, 1), {1, 1, 2}, {21, 43});
  expectNear(run(1, 0, 0, 3), {1, 1, 2}, {41, 52});
  expectNear(run(1, 1, 2, 1), {1, 1, 7}, {10, 21, 32, 43, 54, 5, 0});
}

TEST(Convolution, FormatsAgree) {
  // 2 positions x 3 channels in, 2 out, 1x1 window.
  Tensor ncx = make({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor nxc = make({1, 2, 3}, {1, 3, 5, 2, 4, 6});
  Tensor oix = make({2, 3, 1}, {1, 0, 2, 0, 1, 0});
  Tensor xio = make({1, 3, 2}, {1, 0, 0, 1, 2, 0});
  Tensor bias = make({2}, {100, 200});
  Dims one{1}, zero{0};
  OneOp first{"Convolution",
              {ncx, oix, bias},
              convAttrs(one, zero, zero, one, "NCX", "OIX")};
  expectNear(first.run()[0], {1, 2, 2}, {111, 114, 203, 204});
  OneOp second{"Convolution",
               {nxc, xio, bias},
               convAttrs(one, zero, zero, one, "NXC", "XIO")};
  expectNear(second.run()[0], {1, 2, 2}, {111, 203, 114, 204});
}

TEST(Convolution, GroupsAndErrors) {
  Tensor src = make({1, 4, 1}, {1, 2, 3, 4});
  Tensor weights = make({2, 2, 1}, {1, 1, 10, 1});
  OneOp op{"Convolution",
           {src, weights},
           convAttrs({1}, {0}, {0}, {1}, "NCX", "OIX", 2)};
  expectNear(op.run()[0], {1, 2, 1}, {3, 34});
  op.attrs["groups"] = int64_t{1};
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.attrs["groups"] = int64_t{3};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.attrs["groups"] = int64_t{2};
  op.attrs["strides"] = Dims{0};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.attrs["strides"] = Dims{1, 1};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.attrs["strides"] = Dims{1};
  op.attrs["dilations"] = Dims{INT64_MAX};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

TEST(Convolution, AutoPad) {
  Tensor src = make({1, 1, 4}, {1, 2, 3, 4});
  Tensor weights = make({1, 1, 2}, {1, 10});
  AttrMap attrs = convAttrs({1}, {9}, {9}, {1}, "NCX", "OIX");
  OneOp op{"Convolution", {src, weights}, attrs};
  op.attrs["auto_pad"] = text("SAME_UPPER");
  expectNear(op.run()[0], {1, 1, 4}, {21, 32, 43, 4});
  op.attrs["auto_pad"] = text("SAME_LOWER");
  expectNear(op.run()[0], {1, 1, 4}, {10, 21, 32, 43});
  op.attrs["auto_pad"] = text("VALID");
  expectNear(op.run()[0], {1, 1, 3}, {21, 32, 43});
  op.inputs[1] = make({1, 1, 5}, {1, 1, 1, 1, 1});
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
}

/// Two and three spatial dims against a direct sum, many threads.
TEST(Convolution, ThreeDimsAgainstTheDefinition) {
  int64_t d = 3, h = 4, w = 5;
  Tensor src = make({2, 2, d, h, w}, ramp(2 * 2 * d * h * w));
  Tensor weights = make({3, 2, 2, 3, 2}, ramp(3 * 2 * 12, 0.29));
  OneOp op{"Convolution",
           {src, weights},
           convAttrs({1, 2, 1}, {1, 1, 0}, {0, 1, 1}, {1, 1, 2}, "NCX", "OIX")};
  Tensor got = op.run(3)[0];
  ASSERT_EQ(got.shape, (Dims{2, 3, 3, 2, 4}));
  size_t at = 0;
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t o = 0; o < 3; ++o)
      for (int64_t z = 0; z < 3; ++z)
        for (int64_t y = 0; y < 2; ++y)
          for (int64_t x = 0; x < 4; ++x, ++at) {
            double sum = 0;
            for (int64_t i = 0; i < 2; ++i)
              for (int64_t kz = 0; kz < 2; ++kz)
                for (int64_t ky = 0; ky < 3; ++ky)
                  for (int64_t kx = 0; kx < 2; ++kx) {
                    int64_t sz = z - 1 + kz, sy = 2 * y - 1 + ky,
                            sx = x + 2 * kx;
                    if (sz < 0 || sz >= d || sy < 0 || sy >= h || sx < 0 ||
                        sx >= w)
                      continue;
                    sum +=
                        src.data[(((n * 2 + i) * d + sz) * h + sy) * w + sx] *
                        weights
                            .data[(((o * 2 + i) * 2 + kz) * 3 + ky) * 2 + kx];
                  }
            EXPECT_NEAR(got.data[at], sum, 1e-12) << at;
          }
}

TEST(ConvTranspose, ScattersTheWindow) {
  Tensor src = make({1, 1, 2}, {1, 2});
  Tensor weights = make({1, 1, 3}, {1, 10, 100});
  auto run = [&](int64_t stride, int64_t begin, int64_t end, int64_t extra) {
    OneOp op{"ConvTranspose",
             {src, weights, make({1}, {0.5})},
             convAttrs({stride}, {begin}, {end}, {1}, "NCX", "IOX")};
    op.attrs["output_padding"] = Dims{extra};
    return op.run()[0];
  };
  expectNear(run(1, 0, 0, 0), {1, 1, 4}, {1.5, 12.5, 120.5, 200.5});
  expectNear(run(2, 0, 0, 0), {1, 1, 5}, {1.5, 10.5, 102.5, 20.5, 200.5});
  expectNear(run(2, 1, 0, 1), {1, 1, 5}, {10.5, 102.5, 20.5, 200.5, 0.5});
}

TEST(ConvTranspose, GroupsCountOutputsPerGroup) {
  Tensor src = make({1, 4, 1}, {1, 2, 3, 4});
  Tensor weights = make({4, 1, 1}, {1, 10, 100, 1000});
  OneOp op{"ConvTranspose",
           {src, weights},
           convAttrs({1}, {0}, {0}, {1}, "NCX", "IOX", 2)};
  expectNear(op.run()[0], {1, 2, 1}, {21, 4300});
}

/// All gradients of grouped, strided, dilated, padded convolutions and their
/// transposes agree with differences of the forward operation.
TEST(ConvolutionBackward, FiniteDifferences) {
  struct Case {
    const char *forward, *data, *format;
    Dims src, weights;
    AttrMap attrs;
  };
  auto window = [](Dims strides, Dims begin, Dims end, Dims dilations,
                   int64_t groups) {
    return convAttrs(strides, begin, end, dilations, "", "", groups);
  };
  AttrMap two = window({2, 1}, {1, 0}, {0, 1}, {1, 2}, 2);
  // Stride and dilation have a common divisor; a window wider than src.
  AttrMap shared = window({4, 3}, {2, 1}, {3, 2}, {2, 3}, 1);
  AttrMap wide = window({1, 2}, {3, 2}, {3, 2}, {1, 1}, 1);
  AttrMap one = window({3}, {1}, {2}, {1}, 1);
  AttrMap depthwise = window({2, 1}, {1, 1}, {1, 1}, {1, 1}, 3);
  AttrMap three = window({1, 2, 1}, {0, 1, 1}, {1, 0, 1}, {2, 1, 1}, 1);
  const Case cases[] = {
      {"Convolution", "NCX", "OIX", {2, 4, 5, 4}, {2, 2, 3, 2}, two},
      {"Convolution", "NCX", "XIO", {2, 4, 5, 4}, {3, 2, 2, 2}, two},
      {"ConvTranspose", "NCX", "IOX", {2, 4, 3, 2}, {4, 1, 3, 2}, two},
      {"ConvTranspose", "NCX", "XOI", {2, 4, 3, 2}, {3, 2, 1, 4}, two},
      {"Convolution", "NXC", "XIO", {1, 9, 8, 2}, {3, 3, 2, 3}, shared},
      {"ConvTranspose", "NXC", "XOI", {1, 4, 3, 2}, {3, 3, 3, 2}, shared},
      {"Convolution", "NXC", "XIO", {2, 2, 3, 1}, {7, 5, 1, 2}, wide},
      {"ConvTranspose", "NXC", "IOX", {1, 5, 3, 2}, {2, 1, 7, 5}, wide},
      {"Convolution", "NXC", "OIX", {2, 11, 3}, {2, 3, 4}, one},
      {"ConvTranspose", "NCX", "XOI", {2, 3, 4}, {4, 2, 3}, one},
      {"Convolution", "NXC", "XIO", {2, 5, 4, 3}, {3, 3, 1, 3}, depthwise},
      {"ConvTranspose", "NCX", "IOX", {2, 3, 3, 4}, {3, 1, 3, 3}, depthwise},
      {"Convolution", "NXC", "XIO", {1, 4, 4, 3, 2}, {2, 2, 3, 2, 2}, three},
      {"ConvTranspose", "NXC", "XOI", {1, 3, 2, 3, 2}, {2, 3, 3, 1, 2}, three},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE("case " + std::to_string(&c - cases));
    AttrMap attrs = c.attrs;
    attrs["data_format"] = text(c.data);
    attrs["weights_format"] = text(c.format);
    OneOp forward{c.forward,
                  {make(c.src, ramp(elementCount(c.src))),
                   make(c.weights, ramp(elementCount(c.weights), 0.31))},
                  attrs};
    Tensor dst = forward.run()[0];
    Tensor diffDst = make(dst.shape, ramp(dst.numElements(), 0.41));
    OneOp data{std::string(c.forward) + "BackwardData",
               {diffDst, forward.inputs[1]},
               attrs,
               {graph::DType::f32},
               c.src};
    expectNear(data.run()[0], c.src, numericGradient(forward, 0, diffDst.data),
               1e-7);
    OneOp weights{std::string(c.forward) + "BackwardWeights",
                  {forward.inputs[0], diffDst},
                  attrs};
    weights.attrs["weights_shape"] = c.weights;
    expectNear(weights.run(2)[0], c.weights,
               numericGradient(forward, 1, diffDst.data), 1e-7);
  }
}

TEST(ConvolutionBackward, NeedsAShape) {
  OneOp op{"ConvolutionBackwardData",
           {make({1, 1, 2}, {1, 2}), make({1, 1, 1}, {1})},
           convAttrs({2}, {0}, {0}, {1}, "NCX", "OIX")};
  EXPECT_EQ(op.error(), ErrorCode::UnknownShape);
  op.attrs["dst_shape"] = Dims{1, 1, 4};
  expectNear(op.run()[0], {1, 1, 4}, {1, 0, 2, 0});
  op.attrs["dst_shape"] = Dims{1, 1, 9};
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
}

} // namespace
