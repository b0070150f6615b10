// SPDX-License-Identifier: Apache-2.0
// Errors of elementwise functions over the numbers of f32, bf16 and f16, tails
// included, are at most those that docs/accuracy.md states.
#include "compiler/check/FunctionErrors.h"
#include "dialects/graph/reference/Evaluator.h"
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

using namespace tenon;
using namespace tenon::test;
using graph::DType;

namespace {

using Row = check::FunctionError;

/// Distance of the bit patterns that are tried, a prime; TENON_MATH_STRIDE sets
/// it, as for the functions themselves.
uint64_t sweepStride() {
  const char *text = std::getenv("TENON_MATH_STRIDE");
  return text ? std::max(std::atoi(text), 1) : 49157;
}

std::vector<double> numbersOf(DType dtype) {
  std::vector<double> x;
  if (dtype != DType::f32) {
    for (uint64_t bits = 0; bits < 1 << 16; ++bits)
      x.push_back(reference::decode(dtype, bits));
    return x;
  }
  for (uint64_t bits = 0; bits < 1ull << 32; bits += sweepStride())
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  // Exponentials become 0 or infinite within these.
  for (double v = -110; v < 110; v += 0.00973)
    x.push_back(static_cast<float>(v));
  for (double v : {0.0, 0x1p-149, 0x1p-126, 0x1.fffffep127, double(INFINITY)})
    x.insert(x.end(), {v, -v});
  return x;
}

struct TargetCpu {
  const char *name;
  bool isHere;
};
std::vector<TargetCpu> targets() {
  return {{"x86-64-v2", true},
          {"x86-64-v3", bool(__builtin_cpu_supports("avx2"))},
          {"x86-64-v4", bool(__builtin_cpu_supports("avx512vl"))}};
}

/// The rows, whose type is printed by its operation.
struct Param {
  Row row;
};
void PrintTo(const Param &param, std::ostream *out) { *out << param.row.op; }

std::vector<Param> params() {
  std::vector<Param> all;
  for (const Row &row : check::functionErrors())
    all.push_back({row});
  return all;
}

class Accuracy : public testing::TestWithParam<Param> {
public:
  /// An oracle of the operation on all numbers of `dtype`; the gradients behind
  /// it are 1.
  static Expected<Oracle> oracleOf(const std::string &op, DType dtype) {
    std::vector<double> x = numbersOf(dtype);
    std::string kind = op.substr(0, op.find(' '));
    std::string shape =
        " " + std::to_string(x.size()) + "/" + std::string(graph::name(dtype));
    std::string operands = kind.ends_with("Backward") ? shape + shape : shape;
    auto graph = parseGraph(kind + operands + op.substr(kind.size()));
    if (!graph)
      return graph.errors();
    auto inputs = Oracle::unjudged(*graph);
    if (!inputs)
      return inputs;
    const std::vector<uint64_t> &ports = inputs->graph.inputPorts;
    inputs->inputs.at(ports[0]).data = x;
    if (ports.size() > 1)
      std::ranges::fill(inputs->inputs.at(ports[1]).data, 1.0);
    return Oracle::bounded(*graph, inputs->inputs);
  }
};

/// How far `value` may be from `exact` when it is rounded to `dtype` once.
double halfUlp(DType dtype, double exact) {
  return dtype == DType::f32 ? 0 : reference::ulpOf(dtype, exact) / 2;
}

/// Whether `value` is off by no more than `row` says; `worst` becomes the
/// largest relative error above the floor.
bool isWithin(const Row &row, DType dtype, double x, double value, double exact,
              double &worst) {
  double rounded = reference::roundTo(dtype, exact);
  if (std::isnan(exact) || std::isnan(value))
    return std::isnan(exact) && std::isnan(value);
  if (value == rounded)
    return true;
  double relative = row.relativeTo(exact);
  if (std::isinf(value) || std::isinf(rounded)) {
    // On both sides of the largest number.
    double limit = reference::rangeOf(dtype).max;
    return std::min(std::abs(value), std::abs(exact)) >=
               limit * (1 - relative - reference::epsilonOf(dtype)) &&
           !std::isinf(exact) && std::signbit(value) == std::signbit(exact);
  }
  double error = std::abs(value - exact) - halfUlp(dtype, exact);
  if (error <= row.floor || (x > -2 && x < 0 && error <= row.nearZero))
    return true;
  worst = std::max(worst, error / std::abs(exact));
  return error <= relative * std::abs(exact);
}

TEST_P(Accuracy, IsAsDocumented) {
  const Row &row = GetParam().row;
  for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    auto oracle = Accuracy::oracleOf(std::string(row.op), dtype);
    ASSERT_TRUE(oracle) << str(oracle.errors());
    const auto &x = oracle->inputs.at(oracle->graph.inputPorts[0]).data;
    uint64_t output = oracle->graph.outputPorts[0];
    for (const TargetCpu &target : targets()) {
      if (!target.isHere)
        continue;
      RunConfig setup;
      setup.options.targetCpu = target.name;
      auto model = Compiled::compile(oracle->graph, setup.options);
      ASSERT_TRUE(model) << str(model.errors());
      auto results = execute(**model, *oracle, setup);
      ASSERT_TRUE(results) << str(results.errors());
      const auto &got = results->at(output).data;
      const auto &exact = oracle->expected.at(output).data;
      double worst = 0;
      int64_t wrong = 0;
      for (size_t i = 0; i < x.size(); ++i)
        if (!isWithin(row, dtype, x[i], got[i], exact[i], worst) &&
            ++wrong <= 3)
          ADD_FAILURE() << target.name << " " << graph::name(dtype) << " of "
                        << x[i] << ": " << got[i] << ", should be " << exact[i];
      EXPECT_EQ(wrong, 0) << target.name << " " << graph::name(dtype);
      if (dtype == DType::f32)
        std::printf("%s %s: worst relative error 2^%.2f\n",
                    std::string(row.op).c_str(), target.name, std::log2(worst));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, Accuracy, testing::ValuesIn(params()),
                         [](const auto &info) {
                           return caseName(info.index, info.param.row.op);
                         });

/// The table can be read.
TEST(AccuracyTable, HasRows) { EXPECT_GE(check::functionErrors().size(), 20u); }

} // namespace
