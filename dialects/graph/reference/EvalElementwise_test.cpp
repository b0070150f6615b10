//===- EvalElementwise_test.cpp - one, two and three operands -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

using namespace tenon;
using namespace tenon::reference;
using graph::AttrMap;
using graph::Dims;
using graph::DType;

namespace {

struct UnaryCase {
  const char *kind;
  AttrMap attrs;
  std::vector<double> src, dst;
};

TEST(Unary, HandComputedValues) {
  double e = std::exp(1.0);
  const UnaryCase cases[] = {
      {"Abs", {}, {-2, 0, 3}, {2, 0, 3}},
      {"Clamp", {{"min", -1.f}, {"max", 2.f}}, {-5, 0.5, 7}, {-1, 0.5, 2}},
      {"Cos", {}, {0, 1, kInf}, {1, 0.540302305868140, kNan}},
      {"Elu", {{"alpha", 2.f}}, {1, 0, -1}, {1, 0, 2 * (1 / e - 1)}},
      {"Exp", {}, {0, 1, -kInf}, {1, e, 0}},
      {"Expm1", {}, {0, 1, -kInf}, {0, e - 1, -1}},
      {"GELU", {}, {0, 1, -1}, {0, 0.841344746068543, -0.158655253931457}},
      {"GELU",
       {{"mode", std::string("gelu_tanh")}},
       {0, 1, -1},
       {0, 0.841191990608276, -0.158808009391724}},
      {"HardSigmoid",
       {{"alpha", 0.5f}, {"beta", 0.25f}},
       {-4, 0, 1, 4},
       {0, 0.25, 0.75, 1}},
      {"HardSwish", {}, {-4, -1, 0, 1, 5}, {0, -1.0 / 3, 0, 2.0 / 3, 5}},
      {"LeakyReLU", {{"alpha", 0.5f}}, {-4, 0, 4}, {-2, 0, 4}},
      {"Log", {}, {1, e, 0, -1}, {0, 1, -kInf, kNan}},
      {"Log1p", {}, {0, e - 1, -1, -2}, {0, 1, -kInf, kNan}},
      {"Mish", {}, {0, 1, 1000}, {0, 0.865098388267310, 1000}},
      {"Pow", {{"beta", 3.f}}, {2, -2, 0}, {8, -8, 0}},
      {"Pow", {{"beta", 0.5f}}, {4, -4}, {2, kNan}},
      {"ReLU", {}, {-1, 0, 2, kNan}, {0, 0, 2, kNan}},
      {"Reciprocal", {}, {4, -0.5, 0, -0.0}, {0.25, -2, kInf, -kInf}},
      {"Round", {}, {0.5, 1.5, -2.5, 2.4}, {0, 2, -2, 2}},
      {"Sigmoid", {}, {0, 1, -1000}, {0.5, e / (1 + e), 0}},
      {"SoftPlus", {}, {0, 1000, -1000}, {std::log(2.0), 1000, 0}},
      {"SoftPlus", {{"beta", -1.f}}, {0, 1000}, {-std::log(2.0), 0}},
      {"SoftPlus", {{"beta", 2.f}}, {1}, {std::log1p(e * e) / 2}},
      {"Sqrt", {}, {9, 0, -1}, {3, 0, kNan}},
      {"Square", {}, {-3, 0.5}, {9, 0.25}},
      {"Tanh", {}, {0, 1, -kInf}, {0, 0.761594155955765, -1}},
  };
  for (const UnaryCase &c : cases) {
    SCOPED_TRACE(c.kind);
    auto size = static_cast<int64_t>(c.src.size());
    OneOp op{c.kind, {make({1, size}, c.src)}, c.attrs};
    expectNear(op.run()[0], {1, size}, c.dst);
  }
}

/// Far from where the factor of x is 1: digits by arithmetic of 40 digits.
TEST(Unary, TailsKeepTheirDigits) {
  const UnaryCase cases[] = {
      {"GELU",
       {},
       {-4, -6, -13},
       {-0.0001266849673324797, -5.919525870226189e-9, -7.952313719414844e-38}},
      {"GELU",
       {{"mode", std::string("gelu_tanh")}},
       {-4, -6},
       {-7.024594819237269e-5, -8.439646700762297e-11}},
      {"Elu", {{"alpha", 1.f}}, {-1e-20}, {-1e-20}},
      {"Mish", {}, {-30}, {-2.807286890651921e-12}},
      {"Sigmoid", {}, {-80}, {1.804851387845415e-35}},
      {"SoftPlus", {}, {-50}, {1.928749847963918e-22}},
  };
  for (const UnaryCase &c : cases) {
    auto size = static_cast<int64_t>(c.src.size());
    OneOp op{c.kind, {make({size}, c.src)}, c.attrs};
    std::vector<double> got = op.run()[0].data;
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i] / c.dst[i], 1, 1e-12) << c.kind << " " << c.src[i];
  }
}

TEST(Unary, ScalarsAndEmptyTensors) {
  expectNear(OneOp{"Square", {make({}, {3})}}.run()[0], {}, {9});
  expectNear(OneOp{"Square", {make({2, 0}, {})}}.run()[0], {2, 0}, {});
}

TEST(Unary, ThreadsDoNotMatter) {
  OneOp op{"Exp", {make({100000}, ramp(100000))}};
  EXPECT_EQ(op.run(1)[0].data, op.run(5)[0].data);
}

TEST(Unary, ClampBoundsInOrder) {
  OneOp op{"Clamp", {make({1}, {0})}, {{"min", 2.f}, {"max", 1.f}}};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

struct BinaryCase {
  const char *kind;
  double a, b, dst;
};

TEST(Binary, HandComputedValues) {
  const BinaryCase cases[] = {
      {"Add", 2, 3, 5},
      {"Subtract", 2, 3, -1},
      {"Multiply", 2, 3, 6},
      {"Divide", 1, 4, 0.25},
      {"Divide", -1, 0, -kInf},
      {"Maximum", 2, 3, 3},
      {"Minimum", 2, 3, 2},
      {"Maximum", kNan, 3, kNan},
      {"Minimum", 3, kNan, kNan},
      {"SquaredDifference", 2, 5, 9},
      {"GreaterEqual", 2, 2, 1},
      {"GreaterEqual", 1, 2, 0},
      {"GreaterEqual", kNan, 0, 0},
      {"Greater", 2, 2, 0},
      {"Greater", kNan, 0, 0},
      {"Equal", 0.0, -0.0, 1},
      {"Equal", kNan, kNan, 0},
      {"Atan2", 1, -1, 2.356194490192345},
      {"Atan2", -0.0, -1, -3.141592653589793},
      {"Remainder", -7, 3, 2},
      {"Remainder", 7, -3, -2},
      {"Remainder", 5, kInf, 5},
      {"Remainder", 5, 0, kNan},
  };
  for (const BinaryCase &c : cases) {
    SCOPED_TRACE(c.kind);
    OneOp op{c.kind, {make({1}, {c.a}), make({1}, {c.b})}};
    expectNear(op.run()[0], {1}, {c.dst});
  }
}

TEST(Binary, PowHasAnExponentPerElement) {
  OneOp op{"Pow",
           {make({8}, {2, -2, -2, -2, 0, kNan, 0, 1}),
            make({8}, {3, 3, 2, 0.5, -1, 0, 0, kInf})}};
  expectNear(op.run()[0], {8}, {8, -8, 4, kNan, kInf, 1, 1, 1});
  op.inputs = {make({2, 1}, {2, 3}), make({2}, {0, -1})};
  expectNear(op.run()[0], {2, 2}, {1, 0.5, 1, 1.0 / 3});
  op.attrs["auto_broadcast"] = std::string("none");
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
}

TEST(Binary, BroadcastsBothWays) {
  OneOp op{"Subtract", {make({2, 1}, {10, 20}), make({3}, {1, 2, 3})}};
  expectNear(op.run()[0], {2, 3}, {9, 8, 7, 19, 18, 17});
  op.attrs = {{"auto_broadcast", std::string("none")}};
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  OneOp bad{"Add", {make({2}, {1, 2}), make({3}, {1, 2, 3})}};
  EXPECT_EQ(bad.error(), ErrorCode::ShapeMismatch);
  OneOp empty{"Add", {make({2, 0}, {}), make({1, 1}, {1})}};
  expectNear(empty.run()[0], {2, 0}, {});
}

TEST(Binary, IntegersWrap) {
  OneOp op{"Add",
           {make({1}, {2147483647}, DType::s32), make({1}, {1}, DType::s32)},
           {},
           {DType::s32}};
  expectNear(op.run()[0], {1}, {-2147483648.0});
  op.kind = "Subtract";
  op.inputs[0].data[0] = -2147483648.0;
  expectNear(op.run()[0], {1}, {2147483647.0});
  op.kind = "Multiply";
  op.inputs[0].data[0] = op.inputs[1].data[0] = 2147483647.0;
  expectNear(op.run()[0], {1}, {1});
}

struct IntegerCase {
  const char *kind;
  DType dtype;
  int64_t a, b, dst;
  AttrMap attrs = {};
};

TEST(Binary, Integers) {
  const AttrMap trunc = {{"mode", std::string("trunc")}};
  const IntegerCase cases[] = {
      {"Add", DType::s64, INT64_MAX, 1, INT64_MIN},
      {"Multiply", DType::s64, INT64_MAX, INT64_MAX, 1},
      {"Add", DType::u8, 200, 100, 44},
      {"Multiply", DType::s8, 100, 3, 44},
      {"Add", DType::boolean, 1, 1, 1},
      {"Multiply", DType::boolean, 1, 0, 0},
      {"Divide", DType::s32, -7, 2, -3},
      {"Divide", DType::s64, INT64_MIN, -1, INT64_MIN},
      {"Divide", DType::s64, 5, 0, 0},
      {"Remainder", DType::s64, -7, 3, 2},
      {"Remainder", DType::s64, -7, 3, -1, trunc},
      {"Remainder", DType::s32, 7, -3, -2},
      {"Remainder", DType::s32, 7, 0, 7},
      {"Remainder", DType::s64, INT64_MIN, -1, 0},
      {"Maximum", DType::s64, INT64_MAX, INT64_MAX - 1, INT64_MAX},
      {"Minimum", DType::u8, 200, 100, 100},
      {"And", DType::s8, -2, 7, 6},
      {"Or", DType::u8, 0xf0, 0x0f, 0xff},
      {"And", DType::boolean, 1, 0, 0},
      {"Equal", DType::s64, INT64_MAX, INT64_MAX - 1, 0},
      {"Greater", DType::s64, INT64_MAX, INT64_MAX - 1, 1},
      {"GreaterEqual", DType::u8, 200, 201, 0},
  };
  for (const IntegerCase &c : cases) {
    SCOPED_TRACE(c.kind);
    auto number = [&](int64_t v) {
      return c.dtype == DType::s64
                 ? makeS64({1}, {v})
                 : make({1}, {static_cast<double>(v)}, c.dtype);
    };
    bool compares =
        std::string_view(c.kind).find("qual") != std::string::npos ||
        c.kind[0] == 'G';
    OneOp op{c.kind,
             {number(c.a), number(c.b)},
             c.attrs,
             {compares ? DType::boolean : c.dtype}};
    EXPECT_EQ(integerAt(op.run()[0], 0), c.dst);
  }
}

TEST(Unary, Integers) {
  OneOp abs{"Abs", {makeS64({2}, {INT64_MIN, -5})}, {}, {DType::s64}};
  EXPECT_EQ(abs.run()[0].integers, (std::vector<int64_t>{INT64_MIN, 5}));
  OneOp negation{
      "Not", {make({2}, {0, 1}, DType::boolean)}, {}, {DType::boolean}};
  expectNear(negation.run()[0], {2}, {1, 0});
  negation = {"Not", {make({2}, {0, 5}, DType::u8)}, {}, {DType::u8}};
  expectNear(negation.run()[0], {2}, {255, 250});
  // Bounds are the nearest integers between them.
  OneOp clamp{"Clamp",
              {make({3}, {-9, 1, 9}, DType::s8)},
              {{"min", -2.5f}, {"max", 1e9f}},
              {DType::s8}};
  expectNear(clamp.run()[0], {3}, {-2, 1, 9});
}

TEST(Binary, TypesOfIntegersDoNotMix) {
  OneOp op{
      "Add", {makeS64({1}, {1}), make({1}, {1}, DType::s32)}, {}, {DType::s64}};
  EXPECT_EQ(op.error(), ErrorCode::BadDType);
}

TEST(Binary, BiasAdd) {
  Tensor bias = make({2}, {10, 20});
  OneOp last{"BiasAdd", {make({1, 3, 2}, {1, 2, 3, 4, 5, 6}), bias}};
  expectNear(last.run()[0], {1, 3, 2}, {11, 22, 13, 24, 15, 26});
  OneOp second{"BiasAdd",
               {make({1, 2, 3}, {1, 2, 3, 4, 5, 6}), bias},
               {{"data_format", std::string("NCX")}}};
  expectNear(second.run()[0], {1, 2, 3}, {11, 12, 13, 24, 25, 26});
  second.inputs[1] = make({3}, {1, 2, 3});
  EXPECT_EQ(second.error(), ErrorCode::ShapeMismatch);
}

TEST(Binary, PRelu) {
  Tensor src = make({1, 2, 2}, {-1, -2, 3, -4});
  Tensor slope = make({2}, {0.5, 2});
  expectNear(OneOp{"PReLU", {src, slope}}.run()[0], {1, 2, 2},
             {-0.5, -4, 3, -8});
  AttrMap second = {{"data_format", std::string("NCX")}};
  expectNear(OneOp{"PReLU", {src, slope}, second}.run()[0], {1, 2, 2},
             {-0.5, -1, 3, -8});
  AttrMap last = {{"data_format", std::string("NCX")},
                  {"per_channel_broadcast", false}};
  expectNear(OneOp{"PReLU", {src, slope}, last}.run()[0], {1, 2, 2},
             {-0.5, -4, 3, -8});
  expectNear(OneOp{"PReLU", {src, make({2, 1}, {1, 10})}, second}.run()[0],
             {1, 2, 2}, {-1, -2, 3, -40});
  OneOp bad{"PReLU", {src, make({1}, {1})}};
  EXPECT_EQ(bad.error(), ErrorCode::ShapeMismatch);
}

TEST(Binary, Select) {
  Tensor cond = make({2, 1}, {1, 0}, DType::boolean);
  Tensor a = make({1, 3}, {1, 2, 3}), b = make({2, 3}, {4, 5, 6, 7, 8, 9});
  expectNear(OneOp{"Select", {cond, a, b}}.run()[0], {2, 3},
             {1, 2, 3, 7, 8, 9});
  // The condition cannot enlarge the result.
  OneOp bad{"Select", {cond, a, make({}, {0})}};
  EXPECT_EQ(bad.error(), ErrorCode::ShapeMismatch);
}

} // namespace
