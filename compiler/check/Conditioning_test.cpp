//===- Conditioning_test.cpp - right and wrong results, ill-conditioned ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Results that arithmetic in f32 gives, in another order than the evaluator,
// are right; the same results with an error beyond what rounding explains are
// wrong, also where a graph makes much of small errors.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/TestGraph.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

using namespace tenon;
using namespace tenon::check;

namespace {

using Inputs = std::map<uint64_t, Tensor>;

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

/// The judgement of `values` as the one output of `graph`.
CompareResult judgeOne(const graph::Graph &graph, const Inputs &inputs,
                       std::vector<double> values) {
  auto reference = Reference::create(graph, inputs);
  EXPECT_TRUE(reference) << str(reference.errors());
  uint64_t id = graph.ops.back().outputs[0];
  Tensor got =
      reference::zeros(graph.tensor(id).dtype, *graph.tensor(id).shape);
  got.data = std::move(values);
  auto judged = reference->judge({{id, got}});
  EXPECT_TRUE(judged) << str(judged.errors());
  return judged->front().result;
}

/// LayerNorm, Abs, plus 1e-6, Reciprocal: of what is near the mean of its row
/// nothing but rounding errors remains.
struct NormReciprocal {
  static constexpr int64_t kRows = 16, kRow = 64;
  Builder b;
  Inputs inputs;

  NormReciprocal() {
    uint64_t x = b.tensor({kRows, kRow}), tiny = b.tensor({1});
    uint64_t norm = b.op("LayerNorm", {x}, {kRows, kRow}, DType::f32,
                         {{"keep_stats", false}, {"use_affine", false}});
    uint64_t abs = b.op("Abs", {norm}, {kRows, kRow});
    uint64_t sum = b.op("Add", {abs, tiny}, {kRows, kRow});
    b.op("Reciprocal", {sum}, {kRows, kRow});
    inputs = fillOrDie(b.graph, 1, FillMode::real);
    inputs.at(tiny).data = {static_cast<float>(1e-6)};
    // One element of each row as near its mean as f32 gets, one a little off.
    std::vector<double> &data = inputs.at(x).data;
    for (int64_t r = 0; r < kRows; ++r) {
      double mean = 0;
      for (int64_t i = 2; i < kRow; ++i)
        mean += data[r * kRow + i] / (kRow - 2);
      data[r * kRow] = static_cast<float>(mean);
      data[r * kRow + 1] = static_cast<float>(mean + 0.01);
    }
  }

  std::vector<double> inF32() const {
    const std::vector<double> &data = inputs.at(0).data;
    std::vector<double> result;
    for (int64_t r = 0; r < kRows; ++r) {
      float sum = 0, squares = 0;
      for (int64_t i = kRow; i-- > 0;)
        sum += static_cast<float>(data[r * kRow + i]);
      float mean = sum / kRow;
      for (int64_t i = kRow; i-- > 0;) {
        float d = static_cast<float>(data[r * kRow + i]) - mean;
        squares += d * d;
      }
      float scale = 1 / std::sqrt(squares / kRow + 1e-5f);
      for (int64_t i = 0; i < kRow; ++i) {
        float y = (static_cast<float>(data[r * kRow + i]) - mean) * scale;
        result.push_back(1 / (std::fabs(y) + 1e-6f));
      }
    }
    return result;
  }
};

TEST(Conditioning, ReciprocalOfWhatAllButVanishes) {
  NormReciprocal n;
  std::vector<double> right = n.inF32();
  CompareResult result = judgeOne(n.b.graph, n.inputs, right);
  EXPECT_TRUE(result.passed()) << result.str();
  EXPECT_GT(result.illConditioned, 0) << result.str();
  // An error of a hundredth where some 1e-5 are to be expected.
  std::vector<double> wrong = right;
  wrong[1] *= 1.01;
  result = judgeOne(n.b.graph, n.inputs, wrong);
  EXPECT_EQ(result.mismatches, 1) << result.str();
  EXPECT_EQ(result.worstIndex, 1);
  // Of what is left of the mean only the size is known.
  wrong = right;
  wrong[0] = -wrong[0];
  EXPECT_EQ(judgeOne(n.b.graph, n.inputs, wrong).mismatches, 1);
  wrong[0] = 1;
  EXPECT_EQ(judgeOne(n.b.graph, n.inputs, wrong).mismatches, 1);
  // All of them, by a hundredth.
  wrong = right;
  for (double &value : wrong)
    value *= 1.01;
  EXPECT_GT(judgeOne(n.b.graph, n.inputs, wrong).mismatches, 100);
}

/// The gradient of rows of one element, all but nothing, moved: what is left of
/// two terms is off by the errors of the terms.
TEST(Conditioning, TermsThatCancelOnTheWay) {
  constexpr int64_t kRows = 8;
  Builder b;
  uint64_t x = b.tensor({kRows, 1}), diff = b.tensor({kRows, 1});
  uint64_t dx = b.op("RMSNormBackward", {x, diff}, {kRows, 1}, DType::f32,
                     {{"use_affine", false}});
  b.op("Multiply", {dx, x}, {kRows, 1});
  Inputs inputs = fillOrDie(b.graph, 1, FillMode::real);
  auto inF32 = [&](double error) {
    std::vector<double> result;
    for (int64_t r = 0; r < kRows; ++r) {
      auto value = static_cast<float>(inputs.at(x).data[r]),
           d = static_cast<float>(inputs.at(diff).data[r]);
      float scale = 1 / std::sqrt(value * value + 1e-5f);
      float first = d * scale,
            second = value * value * scale * scale * scale * d;
      result.push_back((first - second * float(1 + error)) * value);
    }
    return result;
  };
  CompareResult right = judgeOne(b.graph, inputs, inF32(0));
  EXPECT_TRUE(right.passed()) << right.str();
  EXPECT_FALSE(judgeOne(b.graph, inputs, inF32(1e-4)).passed());
}

/// a * b, denormal, times c.
struct DenormalProduct {
  Builder b;
  Inputs inputs;

  explicit DenormalProduct(double size) {
    uint64_t x = b.tensor({64}), y = b.tensor({64}), z = b.tensor({64});
    uint64_t p = b.op("Multiply", {x, y}, {64});
    b.op("Multiply", {p, z}, {64});
    inputs = fillOrDie(b.graph, 1, FillMode::real);
    for (double &value : inputs.at(x).data)
      value = static_cast<float>(value * size);
    for (double &value : inputs.at(y).data)
      value = static_cast<float>(value * 1e-20);
    for (double &value : inputs.at(z).data)
      value = static_cast<float>((value + 3) * 1e30);
  }
  std::vector<double> inF32() const {
    std::vector<double> result;
    for (int64_t i = 0; i < 64; ++i) {
      volatile float p = static_cast<float>(inputs.at(0).data[i]) *
                         static_cast<float>(inputs.at(1).data[i]);
      result.push_back(p * static_cast<float>(inputs.at(2).data[i]));
    }
    return result;
  }
};

TEST(Conditioning, DenormalNumbersHaveAFixedDistance) {
  for (double size : {1e-20, 1e-22, 1e-24, 1e-26}) {
    DenormalProduct p(size);
    std::vector<double> right = p.inF32();
    CompareResult result = judgeOne(p.b.graph, p.inputs, right);
    EXPECT_TRUE(result.passed()) << size << ": " << result.str();
    // More steps of a denormal number than one rounding may be off.
    auto worst = std::max_element(right.begin(), right.end());
    auto at = static_cast<size_t>(worst - right.begin());
    std::vector<double> wrong = right;
    wrong[at] += 12 * 0x1p-149 * p.inputs.at(2).data[at];
    EXPECT_EQ(judgeOne(p.b.graph, p.inputs, wrong).mismatches, 1) << size;
    wrong[at] = nan;
    EXPECT_EQ(judgeOne(p.b.graph, p.inputs, wrong).mismatches, 1) << size;
  }
}

TEST(Conditioning, SquaresOfSmallNumbersAreDenormal) {
  Builder b;
  uint64_t x = b.tensor({4, 8});
  b.op("ReduceL2", {x}, {4}, DType::f32, {{"axes", Dims{1}}});
  Inputs inputs = fillOrDie(b.graph, 1, FillMode::real);
  std::vector<double> right;
  for (int64_t r = 0; r < 4; ++r) {
    float squares = 0;
    for (int64_t i = 0; i < 8; ++i) {
      auto value = static_cast<float>(inputs.at(x).data[r * 8 + i] * 3e-22);
      inputs.at(x).data[r * 8 + i] = value;
      volatile float square = value * value;
      squares += square;
    }
    right.push_back(std::sqrt(squares));
  }
  CompareResult result = judgeOne(b.graph, inputs, right);
  EXPECT_TRUE(result.passed()) << result.str();
  std::vector<double> wrong = right;
  wrong[2] *= 3;
  EXPECT_EQ(judgeOne(b.graph, inputs, wrong).mismatches, 1);
  // Of still smaller ones nothing is left.
  for (double &value : inputs.at(x).data)
    value = static_cast<float>(value * 1e-8);
  EXPECT_TRUE(judgeOne(b.graph, inputs, {0, 0, 0, 0}).passed());
  EXPECT_FALSE(judgeOne(b.graph, inputs, {1, 0, 0, 0}).passed());
}

TEST(Conditioning, WhatOverflowsOnTheWay) {
  Builder b;
  uint64_t x = b.tensor({3});
  b.op("Sqrt", {b.op("Square", {x}, {3})}, {3});
  Inputs inputs = {{x, vec({static_cast<float>(1e30), 2, 3})}};
  // In f32 the square is infinite, with a wider range it is not.
  EXPECT_TRUE(judgeOne(b.graph, inputs, {inf, 2, 3}).passed());
  EXPECT_TRUE(judgeOne(b.graph, inputs, {inputs.at(x).data[0], 2, 3}).passed());
  EXPECT_EQ(judgeOne(b.graph, inputs, {-inf, 2, 3}).mismatches, 1);
  EXPECT_EQ(judgeOne(b.graph, inputs, {nan, 2, 3}).mismatches, 1);
  EXPECT_EQ(judgeOne(b.graph, inputs, {1e29, 2, 3}).mismatches, 1);
  EXPECT_EQ(judgeOne(b.graph, inputs, {inf, inf, 3}).mismatches, 1);
}

TEST(Conditioning, CancelledSums) {
  // Products that all but cancel, then a logarithm: log of an error.
  Builder b;
  uint64_t x = b.tensor({1, 256}), w = b.tensor({256, 1});
  uint64_t y = b.op("MatMul", {x, w}, {1, 1});
  uint64_t a = b.op("Abs", {y}, {1, 1});
  b.op("Log", {a}, {1, 1});
  Inputs inputs = fillOrDie(b.graph, 1, FillMode::real);
  std::vector<double> &xs = inputs.at(x).data, &ws = inputs.at(w).data;
  double sum = 0;
  for (size_t i = 0; i < 255; ++i) {
    ws[i] = static_cast<float>(ws[i] + 0.1);
    sum += xs[i] * ws[i];
  }
  xs[255] = 1;
  ws[255] = static_cast<float>(-sum);
  auto inF32 = [&](bool backwards) {
    float total = 0;
    for (size_t i = 0; i < 256; ++i) {
      size_t at = backwards ? 255 - i : i;
      volatile float product =
          static_cast<float>(xs[at]) * static_cast<float>(ws[at]);
      total += product;
    }
    return std::vector<double>{std::log(std::fabs(total))};
  };
  for (bool backwards : {false, true}) {
    CompareResult result = judgeOne(b.graph, inputs, inF32(backwards));
    EXPECT_TRUE(result.passed()) << result.str();
  }
  // No error of rounding makes the sum 1.
  EXPECT_FALSE(judgeOne(b.graph, inputs, {0}).passed());
}

TEST(Conditioning, DivisionByWhatMayVanish) {
  // log(exp(x)) - x is 0 in f32, or one of a few steps.
  Builder b;
  uint64_t x = b.tensor({16});
  uint64_t l = b.op("Log", {b.op("Exp", {x}, {16})}, {16});
  b.op("Reciprocal", {b.op("Subtract", {l, x}, {16})}, {16});
  Inputs inputs = fillOrDie(b.graph, 1, FillMode::real);
  for (double size : {1.0, -1.0})
    for (double steps : {0.0, 1.0, 3.0}) {
      std::vector<double> values;
      for (double value : inputs.at(x).data)
        values.push_back(static_cast<float>(
            1 / (steps * size * reference::ulpOf(DType::f32, value))));
      if (steps == 0)
        values.assign(16, inf);
      CompareResult result = judgeOne(b.graph, inputs, values);
      EXPECT_TRUE(result.passed()) << size << " " << steps << result.str();
    }
  EXPECT_EQ(judgeOne(b.graph, inputs, std::vector<double>(16, 1)).mismatches,
            16);
  // The difference itself is no more than an error.
  graph::Graph difference = b.graph;
  difference.ops.pop_back();
  for (double wrong : {inf, -inf, nan, 0.5})
    EXPECT_EQ(
        judgeOne(difference, inputs, std::vector<double>(16, wrong)).mismatches,
        16);
  EXPECT_TRUE(
      judgeOne(difference, inputs, std::vector<double>(16, 0)).passed());
}

TEST(Conditioning, ComparisonsOfWhatIsNearlyEqual) {
  Builder b;
  uint64_t x = b.tensor({4}), y = b.tensor({4});
  uint64_t e = b.op("Exp", {x}, {4});
  uint64_t l = b.op("Log", {e}, {4});
  b.op("GreaterEqual", {l, y}, {4}, DType::boolean);
  Inputs inputs = {{x, vec({0.5, 0.75, 1, 2})}, {y, vec({0.5, 0.5, 1, 3})}};
  // log(exp(x)) is x, up to rounding.
  for (double first : {0.0, 1.0})
    for (double third : {0.0, 1.0})
      EXPECT_TRUE(judgeOne(b.graph, inputs, {first, 1, third, 0}).passed());
  EXPECT_EQ(judgeOne(b.graph, inputs, {1, 0, 1, 0}).mismatches, 1);
  EXPECT_EQ(judgeOne(b.graph, inputs, {1, 1, 1, 1}).mismatches, 1);
}

TEST(Conditioning, IntegersBehindFractions) {
  // One less where the product is rounded to less than 3.
  Builder b;
  uint64_t x = b.tensor({3});
  uint64_t y = b.op("Exp", {b.op("Log", {x}, {3})}, {3});
  uint64_t wide = b.op("TypeCast", {y}, {3}, DType::s64);
  b.op("TypeCast", {wide}, {3}, DType::s32);
  Inputs inputs = {{x, vec({3, 3.5, 5})}};
  for (double first : {2.0, 3.0})
    EXPECT_TRUE(judgeOne(b.graph, inputs, {first, 3, 5}).passed());
  EXPECT_EQ(judgeOne(b.graph, inputs, {3, 2, 5}).mismatches, 1);
  EXPECT_EQ(judgeOne(b.graph, inputs, {4, 3, 5}).mismatches, 1);
}

TEST(Conditioning, NanAndInfinityOfInputs) {
  Builder b;
  uint64_t x = b.tensor({4}), y = b.tensor({4});
  b.op("Exp", {b.op("Add", {x, y}, {4})}, {4});
  Inputs inputs = {{x, vec({nan, inf, -inf, 1})}, {y, vec({1, 1, 1, -1})}};
  EXPECT_TRUE(judgeOne(b.graph, inputs, {nan, inf, 0, 1}).passed());
  for (size_t i = 0; i < 4; ++i)
    for (double wrong : {nan, inf, -inf, 0.0, 2.0}) {
      std::vector<double> values = {nan, inf, 0, 1};
      if (wrong == values[i] || std::isnan(wrong) == (i == 0))
        continue;
      values[i] = wrong;
      EXPECT_EQ(judgeOne(b.graph, inputs, values).mismatches, 1)
          << i << " " << wrong;
    }
}

/// Changes of ten units in the last place are found in graphs that do not grow
/// errors, whichever element they are in.
TEST(Conditioning, SmallErrorsAreFoundWhereNothingGrowsThem) {
  struct Case {
    const char *name;
    std::function<void(Builder &)> build;
  };
  const Dims shape = {64};
  for (const Case &c : std::vector<Case>{
           {"product",
            [&](Builder &b) {
              b.op("Multiply", {b.tensor(shape), b.tensor(shape)}, shape);
            }},
           {"scale and shift",
            [&](Builder &b) {
              uint64_t x = b.tensor(shape);
              uint64_t p = b.op("Multiply", {x, b.tensor(shape)}, shape);
              b.op("Add", {p, b.tensor(shape)}, shape);
            }},
           {"tanh",
            [&](Builder &b) { b.op("Tanh", {b.tensor(shape)}, shape); }},
           {"root", [&](Builder &b) {
              b.op("Sqrt", {b.op("Square", {b.tensor(shape)}, shape)}, shape);
            }}}) {
    Builder b;
    c.build(b);
    Inputs inputs = fillOrDie(b.graph, 3, FillMode::real);
    // Of one size: what is smaller than the others is measured by them.
    for (auto &[id, tensor] : inputs)
      for (double &value : tensor.data)
        value = static_cast<float>(1.25 + std::fabs(value) / 4);
    uint64_t id = b.graph.ops.back().outputs[0];
    std::vector<double> right = plainResults(b.graph, inputs).at(id).data;
    EXPECT_TRUE(judgeOne(b.graph, inputs, right).passed()) << c.name;
    for (size_t i = 0; i < right.size(); i += 7)
      for (double ulps : {10.0, -10.0}) {
        std::vector<double> wrong = right;
        wrong[i] += ulps * reference::ulpOf(DType::f32, right[i]);
        EXPECT_EQ(judgeOne(b.graph, inputs, wrong).mismatches, 1)
            << c.name << " " << i;
      }
  }
}

/// exp(x), whose large terms cancel, in bf16 or in steps: of a sum of numbers
/// of either sign little is left, and each was rounded to bf16 before.
struct NarrowProduct {
  static constexpr int64_t kRows = 64, kDepth = 128;
  Builder b;
  Inputs inputs;

  /// `kind`: a cast to bf16, or a function whose result is bf16.
  explicit NarrowProduct(bool cast, bool steps = false) {
    DType narrow = DType::bf16;
    uint64_t x = b.tensor({kRows, kDepth}), w = b.tensor({kDepth, kRows});
    b.graph.tensor(w).dtype = narrow;
    uint64_t e = b.op("Exp", {x}, {kRows, kDepth}, cast ? DType::f32 : narrow);
    if (cast)
      e = b.op("TypeCast", {e}, {kRows, kDepth}, narrow);
    uint64_t y = b.op("MatMul", {e, w}, {kRows, kRows}, DType::f32);
    if (steps)
      b.op("Quantize", {y}, {kRows, kRows}, DType::s8,
           {{"scales", std::vector<float>{0x1p-11}}});
    inputs = fillOrDie(b.graph, 1, FillMode::real);
    // Terms of one size, signs that take turns: sums of nothing but errors.
    for (size_t i = 0; i < inputs.at(x).data.size(); ++i)
      inputs.at(x).data[i] =
          static_cast<float>(inputs.at(x).data[i / 2 * 2] / 16);
    for (size_t i = 0; i < inputs.at(w).data.size(); ++i)
      inputs.at(w).data[i] = i / kRows % 2 ? -1 : 1;
  }

  /// Exponentials that are scaled before they are rounded to bf16, as a softmax
  /// in steps does with what it has not divided yet.
  std::vector<double> scaled(double scale) const {
    const std::vector<double> &x = inputs.at(0).data, &w = inputs.at(1).data;
    std::vector<double> result(kRows * kRows);
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t k = 0; k < kDepth; ++k) {
        // Not all even: neighbours are rounded apart.
        double by = k % 2 ? scale : 1;
        double e =
            reference::roundTo(DType::bf16, std::exp(x[r * kDepth + k]) * by);
        for (int64_t c = 0; c < kRows; ++c)
          result[r * kRows + c] += e / by * w[k * kRows + c];
      }
    return result;
  }
};

TEST(Conditioning, NarrowNumbersAreRoundedInAnotherWay) {
  for (bool cast : {false, true}) {
    NarrowProduct p(cast);
    for (double scale : {0.7, 0.9, 1.3}) {
      std::vector<double> right = p.scaled(scale);
      CompareResult result = judgeOne(p.b.graph, p.inputs, right);
      EXPECT_TRUE(result.passed()) << cast << " " << scale << result.str();
      // One term is missing.
      right[70] += std::exp(p.inputs.at(0).data[128]);
      EXPECT_EQ(judgeOne(p.b.graph, p.inputs, right).mismatches, 1);
    }
  }
}

TEST(Conditioning, StepsOfWhatWasNarrow) {
  NarrowProduct p(/*cast=*/true, /*steps=*/true);
  for (double scale : {0.7, 0.9, 1.3}) {
    std::vector<double> right = p.scaled(scale);
    for (double &value : right)
      value = reference::roundTo(DType::s8, value * 0x1p11);
    CompareResult result = judgeOne(p.b.graph, p.inputs, right);
    EXPECT_TRUE(result.passed()) << scale << " " << result.str();
    right[70] = right[70] > 0 ? -128 : 127;
    EXPECT_EQ(judgeOne(p.b.graph, p.inputs, right).mismatches, 1);
  }
}

/// Floats next to a tie may be rounded to either side, and no further.
TEST(Conditioning, IntegersThatAreFloats) {
  for (DType type : {DType::f32, DType::f16})
    for (auto [kind, near] :
         {std::pair("Round", 2.5), std::pair("Floor", 2.0)}) {
      Builder b;
      uint64_t x = b.tensor({2}, type);
      uint64_t exp = b.op("Exp", {x}, {2}, type);
      uint64_t sum = b.op("Add", {exp, exp}, {2}, type);
      b.op(kind, {sum}, {2}, type);
      Inputs inputs = fillOrDie(b.graph, 1, FillMode::real);
      inputs.at(x).data = {reference::roundTo(type, std::log(near / 2)),
                           reference::roundTo(type, std::log(1.2))};
      double below = near == 2.5 ? 2 : 1;
      for (double value : {below, below + 1})
        EXPECT_TRUE(judgeOne(b.graph, inputs, {value, 2}).passed())
            << kind << " " << value;
      for (double value : {below - 1, below + 2, below + 0.5})
        EXPECT_EQ(judgeOne(b.graph, inputs, {value, 2}).mismatches, 1)
            << kind << " " << value;
      EXPECT_EQ(judgeOne(b.graph, inputs, {below, 3}).mismatches, 1) << kind;
    }
}

TEST(Conditioning, IsNotMeasuredWithoutNeed) {
  Builder b;
  uint64_t x = b.tensor({4});
  b.op("Exp", {x}, {4});
  Inputs inputs = fillOrDie(b.graph, 1, FillMode::real);
  auto results = plainResults(b.graph, inputs);
  uint64_t id = b.graph.ops.back().outputs[0];
  int asked = 0;
  auto spreadOf = [&](int) -> const Spread * {
    ++asked;
    return nullptr;
  };
  Tolerance tolerance = toleranceFor(b.graph, id, &inputs);
  Tensor &got = results.at(id), expected = got;
  EXPECT_TRUE(
      compare(got, expected, nullptr, tolerance, nullptr, spreadOf).passed());
  EXPECT_EQ(asked, 0);
  got.data[0] *= 2;
  EXPECT_FALSE(
      compare(got, expected, nullptr, tolerance, nullptr, spreadOf).passed());
  EXPECT_EQ(asked, 1);
  tolerance.exact = true;
  EXPECT_FALSE(
      compare(got, expected, nullptr, tolerance, nullptr, spreadOf).passed());
  EXPECT_EQ(asked, 1);
}

/// LRNBackward with windows of one element, in f32; `error` of its second term.
/// With beta = 1/2 the result is dd k w^(-3/2): both terms are w / k as large.
std::vector<double> lrnBackward(const Tensor &src, const Tensor &diff, float k,
                                float error) {
  std::vector<double> result;
  for (size_t i = 0; i < src.data.size(); ++i) {
    auto s = static_cast<float>(src.data[i]);
    auto dd = static_cast<float>(diff.data[i]);
    float w = k + s * s;
    float first = dd / std::sqrt(w), second = s * s * dd / (w * std::sqrt(w));
    result.push_back(first - second * (1 + error));
  }
  return result;
}

TEST(Conditioning, TermsOfLrnBackwardMayCancel) {
  constexpr float kSmall = 0x1p-12f;
  Builder b;
  uint64_t src = b.tensor({1, 64, 1}), diff = b.tensor({1, 64, 1});
  uint64_t dst = b.op(
      "LRNBackward", {src, diff}, {1, 64, 1}, DType::f32,
      {{"size", int64_t{1}}, {"alpha", 1.0f}, {"beta", 0.5f}, {"k", kSmall}});
  auto inputs = fillOrDie(b.graph, 3, FillMode::real);
  for (double &s : inputs.at(src).data)
    s = std::copysign(1 + std::fabs(s), s);
  auto verdict = [&](float error) {
    auto exact = reference::evaluate(b.graph, inputs);
    Tensor got = exact->at(dst);
    got.data = lrnBackward(inputs.at(src), inputs.at(diff), kSmall, error);
    auto judged = judge(b.graph, inputs, {{dst, got}});
    return judged && judged->at(0).result.passed();
  };
  EXPECT_TRUE(verdict(0));
  // The result is lost: its size is that of the error.
  EXPECT_FALSE(verdict(1e-4f));
  EXPECT_FALSE(verdict(1e-5f));
  // What cancels is judged by its terms, other results as before.
  Tolerance tolerance = toleranceFor(b.graph, dst, &inputs);
  ASSERT_EQ(tolerance.terms.size(), 64u);
  for (size_t i = 0; i < 64; ++i) {
    double s = inputs.at(src).data[i], dd = inputs.at(diff).data[i];
    double w = double(kSmall) + s * s;
    EXPECT_NEAR(tolerance.terms[i],
                std::fabs(dd) * (1 / std::sqrt(w) + s * s / std::pow(w, 1.5)),
                1e-9);
  }
  Builder other;
  uint64_t x = other.tensor({8});
  uint64_t y = other.op("Exp", {x}, {8});
  auto numbers = fillOrDie(other.graph, 3, FillMode::real);
  EXPECT_TRUE(toleranceFor(other.graph, y, &numbers).terms.empty());
}

} // namespace
