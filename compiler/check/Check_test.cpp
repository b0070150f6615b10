//===- Check_test.cpp - filling and comparing -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/Exactness.h"
#include "compiler/check/FunctionErrors.h"
#include "compiler/check/TestGraph.h"
#include "dialects/graph/OpTable.h"

#include <cmath>
#include <limits>
#include <random>
#include <set>

using namespace tenon;
using namespace tenon::check;
using graph::AttrMap;
using graph::Dims;
using graph::DType;
using reference::Tensor;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Builder matMul(int64_t depth, DType dtype = DType::f32) {
  Builder b;
  uint64_t x = b.tensor({8, depth}, dtype), y = b.tensor({depth, 8}, dtype);
  b.op("MatMul", {x, y}, {8, 8}, dtype);
  return b;
}

TEST(Exactness, EveryNamedRuleExists) {
  for (const graph::OpInfo &info : graph::allOps())
    EXPECT_TRUE(info.grid.empty() || isGridRule(info.grid)) << info.kind;
}

TEST(Compare, S64CountsEveryBit) {
  auto wide = [](std::vector<int64_t> values) {
    return Tensor{DType::s64,
                  {static_cast<int64_t>(values.size())},
                  {},
                  std::move(values)};
  };
  constexpr int64_t beyond = (int64_t{1} << 53) + 1;
  Tensor expected = wide({1, beyond}), got = wide({1, beyond - 1});
  for (bool exact : {false, true}) {
    Tolerance tolerance;
    tolerance.exact = tolerance.signedZero = exact;
    EXPECT_TRUE(compare(expected, expected, nullptr, tolerance).passed());
    CompareResult result = compare(got, expected, nullptr, tolerance);
    EXPECT_EQ(result.mismatches, 1);
    EXPECT_EQ(result.maxError, 1);
    EXPECT_NE(result.str().find("got 9007199254740992, expected "
                                "9007199254740993,"),
              std::string::npos)
        << result.str();
  }
  EXPECT_TRUE(compare(vec({1, 2}), expected, nullptr, {}).shapesDiffer);
  // The lowest bit counts, also where a double loses it.
  EXPECT_FALSE(gridOf(expected)->fits(52));
  EXPECT_TRUE(gridOf(wide({int64_t{3} << 60}))->fits(24));
}

TEST(Fill, S64) {
  Builder b;
  uint64_t x = b.tensor({64}, DType::s64);
  b.op("StaticTranspose", {x}, {64}, DType::s64);
  Tensor filled = fillOrDie(b.graph, 1).at(x);
  ASSERT_EQ(filled.integers.size(), 64u);
  EXPECT_NE(filled.integers, std::vector<int64_t>(64, filled.integers[0]));
}

TEST(Fill, ElementsInOnePlaceAreEqual) {
  Builder b;
  uint64_t x = b.tensor({4, 3});
  b.op("Tanh", {x}, {4, 3});
  b.graph.tensor(x).strides = {3, 0};
  std::vector<double> data = fillOrDie(b.graph, 1).at(x).data;
  for (size_t i = 0; i < data.size(); ++i)
    EXPECT_EQ(data[i], data[i / 3 * 3]) << i;
  EXPECT_NE(data[0], data[3]);
  // Dims in another order overlap nowhere.
  b.graph.tensor(x).strides = {1, 4};
  data = fillOrDie(b.graph, 1).at(x).data;
  EXPECT_NE(data[0], data[1]);
  EXPECT_NE(data[0], data[3]);
}

TEST(Fill, RepeatsAndDependsOnTheSeed) {
  Builder b = matMul(16);
  auto first = fillOrDie(b.graph, 1), again = fillOrDie(b.graph, 1);
  EXPECT_EQ(first.at(0).data, again.at(0).data);
  EXPECT_NE(first.at(0).data, fillOrDie(b.graph, 2).at(0).data);
  EXPECT_NE(first.at(0).data, first.at(1).data);
}

TEST(Fill, MatMulIsExact) {
  Builder b = matMul(1000);
  auto inputs = fillOrDie(b.graph, 3);
  for (double value : inputs.at(0).data)
    EXPECT_EQ(value, std::round(value));
  EXPECT_TRUE(toleranceFor(b.graph, 2, &inputs).exact);
  auto real = fillOrDie(b.graph, 3, FillMode::real);
  EXPECT_FALSE(toleranceFor(b.graph, 2, &real).exact);
}

TEST(Fill, NarrowChainsUseSmallerIntegers) {
  // The product feeds another one through a bf16 edge of 8 bits.
  Builder b = matMul(16, DType::bf16);
  uint64_t z = b.tensor({8, 8}, DType::bf16);
  b.op("MatMul", {2, z}, {8, 8}, DType::bf16);
  auto inputs = fillOrDie(b.graph, 1);
  EXPECT_TRUE(toleranceFor(b.graph, 4, &inputs).exact);
  auto oracle = reference::evaluate(b.graph, inputs);
  EXPECT_EQ(oracle->at(4).data, plainResults(b.graph, inputs).at(4).data);
}

TEST(Fill, Roles) {
  Builder b;
  uint64_t scores = b.tensor({2, 8}), mask = b.tensor({1, 8});
  uint64_t divisor = b.tensor({2, 8}), square = b.tensor({2, 8});
  uint64_t cond = b.tensor({2, 8}, DType::boolean);
  uint64_t sum = b.op("Add", {scores, mask}, {2, 8});
  uint64_t soft = b.op("SoftMax", {sum}, {2, 8});
  uint64_t root = b.op("Sqrt", {square}, {2, 8});
  uint64_t ratio = b.op("Divide", {soft, divisor}, {2, 8});
  b.op("Select", {cond, ratio, root}, {2, 8});
  auto inputs = fillOrDie(b.graph, 11);
  int masked = 0;
  for (double value : inputs.at(mask).data) {
    EXPECT_TRUE(value == 0 || value == -inf);
    masked += value != 0;
  }
  EXPECT_GT(masked, 0);
  EXPECT_EQ(inputs.at(mask).data[0], 0);
  for (double value : inputs.at(divisor).data)
    EXPECT_GE(std::fabs(value), 1);
  for (double value : inputs.at(square).data)
    EXPECT_GT(value, 0);
  for (double value : inputs.at(cond).data)
    EXPECT_TRUE(value == 0 || value == 1);
}

TEST(Fill, LengthsAreFromNothingToAllSteps) {
  Builder b;
  uint64_t src = b.tensor({64, 3, 2}); // batch first
  uint64_t w = b.tensor({1, 1, 2, 1, 4}), u = b.tensor({1, 1, 4, 1, 4});
  uint64_t lengths = b.tensor({64}, DType::s32);
  b.op("RNN", {src, w, u}, {64, 3, 4}, DType::f32, {{"batch_first", true}});
  graph::Op &op = b.graph.ops.back();
  EXPECT_TRUE(op.leaveOutInput() && op.leaveOutInput());
  op.inputs.push_back(lengths);
  std::set<double> values;
  auto inputs = fillOrDie(b.graph, 5);
  for (double value : inputs.at(lengths).data)
    values.insert(value);
  EXPECT_EQ(values, (std::set<double>{0, 1, 2, 3}));
}

TEST(Fill, QuantizeAvoidsTies) {
  Builder b;
  uint64_t x = b.tensor({1000});
  b.op("Quantize", {x}, {1000}, DType::s8,
       {{"scales", std::vector<float>{0.3f}}});
  for (FillMode mode : {FillMode::semantic, FillMode::real}) {
    auto inputs = fillOrDie(b.graph, 5, mode);
    for (double value : inputs.at(x).data) {
      double steps = value / double(0.3f);
      EXPECT_LT(std::fabs(steps - std::round(steps)), 0.3);
    }
  }
}

TEST(Fill, LongChainsStayFinite) {
  Builder b;
  uint64_t x = b.tensor({4, 512});
  for (int layer = 0; layer < 60; ++layer) {
    uint64_t w = b.tensor({512, 512});
    x = b.op("MatMul", {x, w}, {4, 512});
  }
  auto inputs = fillOrDie(b.graph, 5, FillMode::real);
  auto results = reference::evaluate(b.graph, inputs);
  for (double value : results->at(x).data) {
    EXPECT_TRUE(std::isfinite(value));
    EXPECT_LT(std::fabs(value), 1e20);
  }
}

TEST(Fill, Errors) {
  Builder b;
  uint64_t x = b.tensor({graph::kUnknownDim});
  b.op("ReLU", {x}, {graph::kUnknownDim});
  EXPECT_EQ(fillInputs(b.graph, 1).errors().front().code,
            ErrorCode::UnknownShape);
  b.graph.tensor(x).shape = Dims{int64_t{1} << 40};
  EXPECT_EQ(fillInputs(b.graph, 1).errors().front().code, ErrorCode::TooLarge);
}

TEST(Exactness, GridOfValues) {
  auto grid = gridOf(vec({0.75, -3, 0}));
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->granule, 0.25);
  EXPECT_EQ(grid->largest, 3);
  EXPECT_TRUE(grid->fits(4));
  EXPECT_FALSE(grid->fits(3));
  EXPECT_FALSE(gridOf(vec({1, -inf})));
}

TEST(Exactness, StopsWhereRoundingStarts) {
  Builder b;
  uint64_t x = b.tensor({4});
  uint64_t e = b.op("Exp", {x}, {4});
  uint64_t y = b.op("ReLU", {x}, {4});
  std::map<uint64_t, Tensor> inputs = {{x, vec({1, 2, 3, 4})}};
  auto exact = exactEdges(b.graph, inputs);
  EXPECT_TRUE(exact.count(y));
  EXPECT_FALSE(exact.count(e));
  // 2^13 squared twice has more than 24 bits below it.
  inputs.at(x).data[0] = 8191.5;
  uint64_t s = b.op("Square", {x}, {4});
  EXPECT_FALSE(exactEdges(b.graph, inputs).count(s));
}

/// The roundings of `kind` on tensors of 16 x 4 x 25.
double roundingsOf(const char *kind, size_t inputs, size_t outputs,
                   AttrMap attrs) {
  Builder b;
  graph::Op op;
  op.kind = kind;
  op.attrs = std::move(attrs);
  for (size_t i = 0; i < inputs; ++i)
    op.inputs.push_back(b.tensor({16, 4, 25}));
  for (size_t i = 0; i < outputs; ++i)
    op.outputs.push_back(b.tensor({16, 4, 25}));
  b.graph.ops.push_back(op);
  return toleranceFor(b.graph, op.outputs[0]).roundings;
}

TEST(Tolerance, CountsTheElementsOfARow) {
  double row = roundingsOf("LayerNorm", 1, 1, {});
  double rows =
      roundingsOf("LayerNorm", 1, 1, {{"begin_norm_axis", int64_t{1}}});
  EXPECT_NEAR(rows - row, 6 * (10 - 5), 1e-9);
  // diff_gamma sums 16 * 4 rows, diff_src 25 elements.
  double sums = roundingsOf("LayerNormBackward", 4, 3, {});
  double only = roundingsOf("LayerNormBackward", 4, 1, {});
  EXPECT_NEAR(sums - only, 6 * (8 - 5), 1e-9);
  double nxc = roundingsOf("BatchNormForwardTraining", 3, 5, {});
  double ncx = roundingsOf("BatchNormForwardTraining", 3, 5,
                           {{"data_format", std::string("NCX")}});
  EXPECT_NEAR(ncx - nxc, 6 * (20 - 8), 1e-9);
}

TEST(Tolerance, CountsUpdatesOfOneElement) {
  auto roundings = [](const char *reduction) {
    Builder b;
    uint64_t x = b.tensor({64, 2}), at = b.tensor({24, 2}, DType::s64),
             updates = b.tensor({24, 2});
    uint64_t y = b.op("ScatterElements", {x, at, updates}, {64, 2}, DType::f32,
                      {{"reduction", std::string(reduction)}});
    return toleranceFor(b.graph, y).roundings;
  };
  for (const char *joined : {"add", "mul"})
    EXPECT_NEAR(roundings(joined) - roundings("max"), 6 * 5, 1e-9);
  EXPECT_EQ(roundings("none"), roundings("min"));
}

TEST(Tolerance, GrowsWithTheGraph) {
  Tolerance small = toleranceFor(matMul(4).graph, 2);
  Tolerance large = toleranceFor(matMul(4096).graph, 2);
  EXPECT_FALSE(small.exact);
  EXPECT_NEAR(small.roundings, 1 + 6 * 2, 1e-9);
  EXPECT_NEAR(large.roundings, 1 + 6 * 64, 1e-9);
  EXPECT_LT(large.relative, 1e-4);
  Builder b;
  uint64_t x = b.tensor({2, 3});
  uint64_t y = b.op("StaticTranspose", {x}, {3, 2});
  EXPECT_TRUE(toleranceFor(b.graph, y).exact);
  EXPECT_TRUE(toleranceFor(b.graph, y).signedZero);
}

/// What docs/accuracy.md states of a function is what it may be off.
TEST(Tolerance, FunctionsCountWhatIsStated) {
  auto of = [](const char *kind, AttrMap attrs) {
    size_t inputs = std::string_view(kind).ends_with("Backward") ? 2 : 1;
    return std::ldexp(roundingsOf(kind, inputs, 1, std::move(attrs)), -24);
  };
  auto mode = [](const char *name) {
    return AttrMap{{"mode", std::string(name)}};
  };
  EXPECT_EQ(of("Exp", {}), 0x1p-23);
  EXPECT_EQ(of("GELUBackward", {}), 0x1p-19); // gelu_erf by default
  EXPECT_EQ(of("GELU", mode("gelu_erf")), 0x1p-20);
  EXPECT_EQ(of("GELU", mode("gelu_tanh")), 0x1p-19);
  EXPECT_EQ(of("SigmoidBackward", {}), 0x1p-23);
  EXPECT_EQ(of("SigmoidBackward", {{"use_dst", false}}), 0x1p-21);
  EXPECT_EQ(of("SoftPlus", {{"beta", 1.0f}}), 0x1p-22);
  // No row has it: the largest error of the operation.
  EXPECT_EQ(of("SoftPlus", {{"beta", 7.0f}}), 0x1p-20);
  for (const FunctionError &row : functionErrors())
    EXPECT_TRUE(row.ofLarge > 0 && row.ofLarge <= row.ofSmall) << row.op;
}

/// With fast math, 3x3 convolutions that F(4x4, 3x3) may compute.
TEST(Tolerance, FastMathCountsFilteredConvolutions) {
  auto build = [](Dims taps, int64_t stride, const char *format,
                  const char *kind = "Convolution") {
    Builder b;
    int64_t size = 8 / stride;
    uint64_t x = b.tensor({1, 8, 8, 32});
    uint64_t w = b.tensor(std::move(taps));
    Dims pads{1, 1}, strides{stride, stride};
    b.op(kind, {x, w}, {1, size, size, 16}, DType::f32,
         {{"strides", strides},
          {"pads_begin", pads},
          {"pads_end", pads},
          {"dilations", Dims{1, 1}},
          {"weights_format", std::string(format)}});
    return b.graph;
  };
  for (auto &[graph, filtered] :
       {std::pair(build({3, 3, 32, 16}, 1, "XIO"), true),
        {build({16, 32, 3, 3}, 1, "OIX"), true},
        {build({3, 3, 16, 32}, 1, "XOI", "ConvTranspose"), true},
        {build({3, 3, 32, 16}, 2, "XIO"), false},
        {build({1, 3, 32, 16}, 1, "XIO"), false}}) {
    auto inputs = fillOrDie(graph, 1);
    Tolerance strict = toleranceFor(graph, 2, &inputs);
    Tolerance fast = toleranceFor(graph, 2, &inputs, {.fastMath = true});
    EXPECT_TRUE(strict.exact);
    EXPECT_EQ(fast.exact, !filtered);
    EXPECT_EQ(fast.relative > strict.relative, filtered);
    EXPECT_LT(fast.relative, 4 * strict.relative);
  }
}

TEST(Tolerance, NarrowEdgesCountOnce) {
  Builder b;
  uint64_t x = b.tensor({4}, DType::bf16);
  uint64_t y = b.op("Exp", {x}, {4}, DType::bf16);
  Tolerance one = toleranceFor(b.graph, y);
  EXPECT_LT(one.relative, 0x1p-18); // the rounding of the output is apart
  uint64_t z = b.op("StaticReshape", {y}, {4}, DType::bf16);
  uint64_t w = b.op("Square", {z}, {4}, DType::bf16);
  EXPECT_NEAR(toleranceFor(b.graph, w).relative, 0x1p-8 + 0x1p-24 * 10, 1e-6);
}

TEST(Compare, ExactMeansEqual) {
  Tolerance exact;
  exact.exact = true;
  Tensor expected = vec({1, 2, 3});
  EXPECT_TRUE(compare(expected, expected, nullptr, exact).passed());
  Tensor got = expected;
  got.data[1] = std::nextafter(2.f, 3.f);
  CompareResult result = compare(got, expected, nullptr, exact);
  EXPECT_EQ(result.mismatches, 1);
  EXPECT_EQ(result.worstIndex, 1);
  EXPECT_NE(result.str().find("1 of 3 elements"), std::string::npos);
}

TEST(Compare, SignedZero) {
  Tolerance moved;
  moved.exact = moved.signedZero = true;
  EXPECT_FALSE(compare(vec({-0.0}), vec({0.0}), nullptr, moved).passed());
  moved.signedZero = false;
  EXPECT_TRUE(compare(vec({-0.0}), vec({0.0}), nullptr, moved).passed());
}

TEST(Compare, FourUlpTimesNIsCaught) {
  for (int64_t depth : {1, 64, 4096}) {
    Builder b = matMul(depth);
    auto inputs = fillOrDie(b.graph, 9, FillMode::real);
    auto results = plainResults(b.graph, inputs);
    auto judged = judge(b.graph, inputs, results);
    ASSERT_TRUE(judged);
    EXPECT_TRUE(judged->front().result.passed())
        << judged->front().result.str();
    // The largest element, wrong by 4 ulp for each counted rounding.
    double n = judged->front().tolerance.roundings;
    double *worst = &results.at(2).data[0];
    for (double &value : results.at(2).data)
      if (std::fabs(value) > std::fabs(*worst))
        worst = &value;
    *worst += 4 * n * reference::ulpOf(DType::f32, *worst);
    judged = judge(b.graph, inputs, results);
    EXPECT_EQ(judged->front().result.mismatches, 1);
  }
}

TEST(Compare, SingleOperationsAreTight) {
  Builder b;
  uint64_t x = b.tensor({64}), y = b.tensor({64});
  uint64_t z = b.op("Multiply", {x, y}, {64});
  auto inputs = fillOrDie(b.graph, 4, FillMode::real);
  auto results = plainResults(b.graph, inputs);
  EXPECT_TRUE(judge(b.graph, inputs, results)->front().result.passed());
  for (double &value : results.at(z).data)
    value += 4 * reference::ulpOf(DType::f32, 2);
  EXPECT_GT(judge(b.graph, inputs, results)->front().result.mismatches, 0);
}

TEST(Compare, NanAndInfinity) {
  Tolerance loose;
  loose.relative = 1e-6;
  auto passes = [&](double got, double expected) {
    return compare(vec({got}), vec({expected}), nullptr, loose).passed();
  };
  EXPECT_TRUE(passes(nan, nan));
  EXPECT_FALSE(passes(nan, 1));
  EXPECT_FALSE(passes(1, nan));
  EXPECT_TRUE(passes(inf, inf));
  EXPECT_FALSE(passes(inf, -inf));
  EXPECT_FALSE(passes(3e38, inf));
  EXPECT_TRUE(passes(inf, 1e39)); // beyond f32
  EXPECT_TRUE(passes(inf, 3.4028235e38 * (1 + 1e-7)));
  EXPECT_FALSE(passes(inf, 3.3e38));
  EXPECT_FALSE(passes(-inf, 1e39));
}

TEST(Compare, ShapesMustAgree) {
  CompareResult result = compare(vec({1, 2}), vec({1}), nullptr, {});
  EXPECT_FALSE(result.passed());
  EXPECT_EQ(result.str(), "the shapes differ");
}

TEST(Compare, QuantizedStepsOnlyAtTies) {
  Builder b;
  uint64_t x = b.tensor({3});
  uint64_t e = b.op("Exp", {x}, {3});
  uint64_t q = b.op("Quantize", {e}, {3}, DType::u8,
                    {{"scales", std::vector<float>{1}}, {"zps", Dims{3}}});
  EXPECT_EQ(roundingSource(b.graph, q), e);
  Builder parts = b; // Elements are no longer where they were.
  uint64_t part = parts.op("Slice", {q}, {1}, DType::u8,
                           {{"begins", Dims{1}}, {"ends", Dims{2}}});
  EXPECT_EQ(roundingSource(parts.graph, part), std::nullopt);
  // exp = 2.5 (a tie within f32), 2.4 and 2.6.
  std::map<uint64_t, Tensor> inputs = {
      {x, vec({std::log(2.5), std::log(2.4), std::log(2.6)})}};
  auto results = [&](std::vector<double> values) {
    return std::map<uint64_t, Tensor>{{q, vec(std::move(values), DType::u8)}};
  };
  for (double first : {5, 6}) {
    auto judged = judge(b.graph, inputs, results({first, 5, 6}));
    ASSERT_TRUE(judged);
    EXPECT_TRUE(judged->front().result.passed());
  }
  EXPECT_FALSE(
      judge(b.graph, inputs, results({5, 6, 6}))->front().result.passed());
  EXPECT_FALSE(
      judge(b.graph, inputs, results({7, 5, 6}))->front().result.passed());
}

/// The steps of a float are 4 wide around 34, which is in the middle of two.
TEST(Compare, StepsOfByteFloatsOnlyAtTies) {
  Builder b;
  uint64_t x = b.tensor({2});
  uint64_t e = b.op("Exp", {x}, {2});
  uint64_t q = b.op("Quantize", {e}, {2}, DType::f8_e4m3,
                    {{"scales", std::vector<float>{0.5}}});
  std::map<uint64_t, Tensor> inputs = {
      {x, vec({std::log(17.0), std::log(16.9)})}};
  auto passes = [&](double first, double second) {
    std::map<uint64_t, Tensor> results = {
        {q, vec({first, second}, DType::f8_e4m3)}};
    return judge(b.graph, inputs, results)->front().result.passed();
  };
  EXPECT_TRUE(passes(32, 32));
  EXPECT_TRUE(passes(36, 32));
  EXPECT_FALSE(passes(40, 32));
  EXPECT_FALSE(passes(32, 36));
}

/// A tolerance is relative to the value, not to what a zero point leaves of it.
TEST(Compare, QuantizedStepsWithZeroPoints) {
  Builder b;
  uint64_t x = b.tensor({2});
  uint64_t e = b.op("Log", {x}, {2});
  uint64_t q = b.op("Quantize", {e}, {2}, DType::u8,
                    {{"scales", std::vector<float>{1}}, {"zps", Dims{101}}});
  // log = -100.5 and 1e-5 more, so 0.50001 of a step; -98.7 is 2.3 steps.
  std::map<uint64_t, Tensor> inputs = {
      {x, vec({std::exp(-100.49999), std::exp(-98.7)})}};
  auto passes = [&](double first, double second) {
    std::map<uint64_t, Tensor> results = {{q, vec({first, second}, DType::u8)}};
    return judge(b.graph, inputs, results)->front().result.passed();
  };
  EXPECT_TRUE(passes(1, 2));
  EXPECT_TRUE(passes(0, 2));
  EXPECT_FALSE(passes(2, 2));
  EXPECT_FALSE(passes(1, 3));
}

/// -1 is what unwritten memory may hold, and never what 0 becomes.
TEST(Compare, TruncationStaysOnItsSideOfZero) {
  Builder b;
  uint64_t x = b.tensor({3});
  uint64_t l = b.op("Log", {x}, {3});
  uint64_t r = b.op("ReLU", {l}, {3});
  uint64_t c = b.op("TypeCast", {r}, {3}, DType::s32);
  std::map<uint64_t, Tensor> inputs = {
      {x, vec({0.5, std::exp(2.0), std::exp(1.5)})}};
  auto passes = [&](double first, double second, double third) {
    std::map<uint64_t, Tensor> results = {
        {c, vec({first, second, third}, DType::s32)}};
    return judge(b.graph, inputs, results)->front().result.passed();
  };
  EXPECT_TRUE(passes(0, 1, 1)); // log = 2 within f32
  EXPECT_TRUE(passes(0, 2, 1));
  EXPECT_FALSE(passes(-1, 2, 1));
  EXPECT_FALSE(passes(1, 2, 1));
  EXPECT_FALSE(passes(0, 2, 2));
}

/// A comparison that came out the other way allows few others to do so, not
/// everything.
TEST(Compare, OneFlippedElementDoesNotFreeAllOthers) {
  Tolerance tight;
  tight.relative = 1e-6;
  Tensor expected = vec(std::vector<double>(1000, 1.0)), plain = expected;
  plain.data[3] = 2;
  Tensor got = expected;
  got.data[5] = 2;
  EXPECT_TRUE(compare(got, expected, &plain, tight).passed());
  got = vec(std::vector<double>(1000, 0.0));
  EXPECT_EQ(compare(got, expected, &plain, tight).mismatches, 1000);
}

/// Errors of the same kind, twice as wide, in results that are rounded besides.
TEST(Compare, WiderErrorsThanThePlainOnesPass) {
  Tolerance tolerance;
  tolerance.relative = 0x1p-7;
  Tensor expected = vec(std::vector<double>(4096, 1.0)), plain = expected;
  expected.dtype = DType::bf16;
  std::mt19937 random(5);
  std::normal_distribution<double> error(0, 0x1p-9);
  Tensor got = expected;
  for (size_t i = 0; i < got.data.size(); ++i) {
    plain.data[i] += error(random);
    got.data[i] = reference::roundTo(DType::bf16, 1 + 2 * error(random));
  }
  EXPECT_TRUE(compare(got, expected, &plain, tolerance).passed());
  for (double &g : got.data)
    g = 1 + 8 * (g - 1);
  EXPECT_FALSE(compare(got, expected, &plain, tolerance).passed());
}

TEST(Judge, MissingResult) {
  Builder b = matMul(2);
  auto judged = judge(b.graph, fillOrDie(b.graph, 1), {});
  ASSERT_FALSE(judged);
  EXPECT_EQ(judged.errors().front().code, ErrorCode::UnknownTensor);
}

} // namespace
