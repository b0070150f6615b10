// SPDX-License-Identifier: Apache-2.0
//
// Random numbers of known and of unknown sizes. ONNX does not say which they
// are: what they are like is checked.
#include "compiler/import/onnx/TestGraphs.h"
#include "dialects/graph/infer/Prepare.h"

#include <cmath>

using namespace tenon;
using namespace tenon::onnx;
using namespace tenon::onnx::test;

namespace {

AttributeProto number(std::string_view name, float value) {
  AttributeProto attribute;
  attribute.name = name;
  attribute.f = value;
  return attribute;
}

constexpr int64_t kRows = 120, kColumns = 100;

/// Two nodes of this kind, like an input of known sizes or of any.
std::vector<Tensor> numbersLike(std::string_view opType, bool isOpen,
                                std::vector<AttributeProto> attributes) {
  ModelProto model =
      modelOf({node(opType, {"x"}, {"a"}, attributes),
               node(opType, {"x"}, {"b"}, attributes)},
              {isOpen ? named("x", DataType::f32, {"n", "m"})
                      : port("x", DataType::f32, {kRows, kColumns})},
              {"a", "b"});
  auto imported = importModel(model);
  EXPECT_TRUE(imported) << str(imported.errors());
  if (!imported)
    return {};
  for (const Port &input : imported->inputs)
    if (input.id)
      imported->graph.tensors.at(*input.id).shape = {{kRows, kColumns}};
  auto prepared = graph::prepareGraph(imported->graph);
  EXPECT_TRUE(prepared) << str(prepared.errors());
  imported->graph = **prepared;
  Tensor x =
      tensor(graph::DType::f32, {kRows, kColumns}, Numbers(kRows * kColumns));
  return evaluated(*imported, {{"x", x}});
}

struct Moments {
  double mean = 0, variance = 0, least = 0, most = 0;
};

Moments momentsOf(const Numbers &numbers) {
  Moments m;
  m.least = std::ranges::min(numbers);
  m.most = std::ranges::max(numbers);
  auto count = static_cast<double>(numbers.size());
  for (double x : numbers)
    m.mean += x / count;
  for (double x : numbers)
    m.variance += (x - m.mean) * (x - m.mean) / count;
  return m;
}

/// The mean product of deviations, by the variance.
double correlation(const Numbers &a, const Numbers &b) {
  Moments of = momentsOf(a), other = momentsOf(b);
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - of.mean) * (b[i] - other.mean);
  return sum / static_cast<double>(a.size()) /
         std::sqrt(of.variance * other.variance);
}

void expectIndependent(const Numbers &a, const Numbers &b) {
  EXPECT_NEAR(correlation(a, b), 0, 0.05);
  // Neighbours in a row, and above each other.
  for (int64_t by : {int64_t{1}, kColumns})
    EXPECT_NEAR(correlation(Numbers(a.begin(), a.end() - by),
                            Numbers(a.begin() + by, a.end())),
                0, 0.05);
}

TEST(OnnxRandom, Uniform) {
  for (bool isOpen : {false, true}) {
    SCOPED_TRACE(isOpen);
    std::vector<Tensor> found = numbersLike(
        "RandomUniformLike", isOpen, {number("low", -1), number("high", 3)});
    ASSERT_EQ(found.size(), 2u);
    Numbers a = numbersOf(found[0]), b = numbersOf(found[1]);
    Moments m = momentsOf(a);
    EXPECT_NEAR(m.mean, 1, 0.05);
    EXPECT_NEAR(m.variance, 16.0 / 12, 0.05);
    EXPECT_GE(m.least, -1);
    EXPECT_LT(m.least, -0.99);
    EXPECT_GT(m.most, 2.99);
    EXPECT_LE(m.most, 3);
    expectIndependent(a, b);
    // Another seed has others, the same one the same.
    auto withSeed = [&](float seed) {
      return numbersOf(numbersLike("RandomUniformLike", isOpen,
                                   {number("low", -1), number("high", 3),
                                    number("seed", seed)})
                           .at(0));
    };
    EXPECT_EQ(withSeed(2.5f), withSeed(2.5f));
    expectIndependent(withSeed(2.5f), withSeed(3));
    expectIndependent(withSeed(2.5f), a);
  }
}

TEST(OnnxRandom, Normal) {
  for (bool isOpen : {false, true}) {
    SCOPED_TRACE(isOpen);
    std::vector<Tensor> found = numbersLike(
        "RandomNormalLike", isOpen, {number("mean", 5), number("scale", 2)});
    ASSERT_EQ(found.size(), 2u);
    Numbers a = numbersOf(found[0]), b = numbersOf(found[1]);
    Moments m = momentsOf(a);
    EXPECT_NEAR(m.mean, 5, 0.1);
    EXPECT_NEAR(m.variance, 4, 0.2);
    // Within 3 deviations are 99.73 %, within one 68.27 %.
    auto within = [&](double most) {
      return static_cast<double>(std::ranges::count_if(
                 a, [&](double x) { return std::abs(x - 5) < most; })) /
             static_cast<double>(a.size());
    };
    EXPECT_NEAR(within(6), 0.9973, 0.002);
    EXPECT_NEAR(within(2), 0.6827, 0.02);
    expectIndependent(a, b);
  }
}

TEST(OnnxRandom, OfAShape) {
  for (std::string_view opType : {"RandomNormal", "RandomUniform"}) {
    ModelProto model =
        modelOf({node(opType, {}, {"y"},
                      {attr("shape", graph::Dims{3, 4}),
                       attr("dtype", static_cast<int64_t>(DataType::f16))})},
                {}, {"y"});
    auto imported = importModel(model);
    ASSERT_TRUE(imported) << str(imported.errors());
    Tensor y = evaluated(*imported, {}).at(0);
    EXPECT_EQ(y.shape, (graph::Dims{3, 4}));
    EXPECT_EQ(y.dtype, graph::DType::f16);
    model.graph.nodes[0].attributes[1] =
        attr("dtype", static_cast<int64_t>(DataType::s64));
    EXPECT_EQ(failureOf(model).code, ErrorCode::UnsupportedForm);
  }
}

} // namespace
