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
      {"Elu", {{"alpha", 2.f}}, {1, 0, -1}, {1, 0, 2 * (1 / e - 1)}},
      {"Exp", {}, {0, 1, -kInf}, {1, e, 0}},
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
  };
  for (const BinaryCase &c : cases) {
    SCOPED_TRACE(c.kind);
    OneOp op{c.kind, {make({1}, {c.a}), make({1}, {c.b})}};
    expectNear(op.run()[0], {1}, {c.dst});
  }
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
