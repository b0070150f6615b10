// SPDX-License-Identifier: Apache-2.0
// Norms, means and their gradients of numbers whose sums, squares or sums of
// squares do not fit f32, though results do; against the evaluator in double.
#include "dialects/graph/reference/Evaluator.h"
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr double kMax = 0x1.fffffep127;

/// What an input holds: a row of about `size`, of one of these forms.
enum class Form { normal, positive, constant, ends, single };

double elementOf(Form form, double size, size_t i, std::mt19937_64 &random) {
  switch (form) {
  case Form::normal:
    return std::clamp(std::normal_distribution<>(0, size)(random), -kMax, kMax);
  case Form::positive:
    return std::uniform_real_distribution<>(size, 1.1 * size)(random);
  case Form::constant:
    return size;
  case Form::ends: // of the range, if `size` is that of the largest number
    return i % 3 ? size : -size;
  case Form::single:
    return i % 37 == 5 ? size : 0;
  }
  return 0;
}

/// Results are finite where they should be, and off by no more than `relative`
/// of the largest of their tensor, whose rows are alike.
testing::AssertionResult areNear(const reference::Tensor &got,
                                 const reference::Tensor &expected,
                                 double relative) {
  double size = 0;
  for (double x : expected.data)
    if (std::abs(x) <= kMax)
      size = std::max(size, std::abs(x));
  for (size_t i = 0; i < got.data.size(); ++i) {
    double x = reference::roundTo(got.dtype, expected.data[i]);
    bool same = std::isnan(x) ? std::isnan(got.data[i]) : got.data[i] == x;
    // Terms of a mean that are denormal have few digits.
    if (!same &&
        !(std::abs(got.data[i] - x) <= std::max(relative * size, 0x1p-138)))
      return testing::AssertionFailure()
             << "element " << i << " is " << got.data[i] << ", should be " << x;
  }
  return testing::AssertionSuccess();
}

struct Model {
  RunConfig setup;
  std::unique_ptr<Compiled> code;
};

/// `graph`, of `text`, under each schedule; compiled once.
const std::vector<Model> &modelsOf(const std::string &text,
                                   const graph::Graph &graph) {
  static std::map<std::string, std::vector<Model>> all;
  std::vector<Model> &models = all[text];
  if (!models.empty())
    return models;
  for (const char *schedule : {"avx2", "avx512", "generic"}) {
    RunConfig setup;
    setup.options.schedule = schedule;
    setup.threads = 2;
    auto model = Compiled::compile(graph, setup.options);
    EXPECT_TRUE(model) << text << ": " << str(model.errors());
    if (model)
      models.push_back({setup, std::move(*model)});
  }
  return models;
}

/// `sizes` of the inputs, in order: the last one serves the others, too. The
/// first has `form`, one of number `positive` holds variances.
void check(const std::string &text, Form form, std::vector<double> sizes,
           double relative = 0x1p-19, size_t positive = 99) {
  auto graph = parseGraph(text);
  ASSERT_TRUE(graph) << text << ": " << str(graph.errors());
  auto inputs = Oracle::unjudged(*graph);
  ASSERT_TRUE(inputs) << str(inputs.errors());
  std::mt19937_64 random(1);
  const std::vector<uint64_t> &ports = inputs->graph.inputPorts;
  for (size_t n = 0; n < ports.size(); ++n) {
    reference::Tensor &input = inputs->inputs.at(ports[n]);
    double size = sizes[std::min(n, sizes.size() - 1)];
    for (size_t i = 0; i < input.data.size(); ++i)
      input.data[i] = elementOf(n == 0          ? form
                                : n == positive ? Form::positive
                                                : Form::normal,
                                size, i, random);
    reference::roundToDType(input);
  }
  auto oracle = Oracle::bounded(*graph, inputs->inputs);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  for (const Model &model : modelsOf(text, oracle->graph)) {
    auto results = execute(*model.code, *oracle, model.setup);
    ASSERT_TRUE(results) << str(results.errors());
    for (uint64_t id : oracle->graph.outputPorts)
      EXPECT_TRUE(areNear(results->at(id), oracle->expected.at(id), relative))
          << text << ", " << model.setup.options.schedule << ", form "
          << int(form) << " of " << sizes[0] << ", tensor " << id;
  }
}

/// Large, small and ordinary numbers.
const double kSizes[] = {1e20, 8e37, kMax, 1e-15, 1e-30, 1e-38, 1, 3e4};
const Form kForms[] = {Form::normal, Form::positive, Form::constant, Form::ends,
                       Form::single};

void checkAll(const std::string &text, double relative = 0x1p-19) {
  for (double size : kSizes)
    for (Form form : kForms)
      check(text, form, {size}, relative);
}
/// Of results that are sums in f32: what a thousand roundings make of them.
constexpr double kOfSums = 0x1p-15;

TEST(Ranges, LayerNorm) {
  for (const char *end : {"", " epsilon=1e-20"}) {
    checkAll(std::string("LayerNorm 3x768 use_affine=false keep_stats=false") +
             end);
    checkAll(std::string("y,m,v = LayerNorm 3x61 use_affine=false") + end);
  }
  checkAll("LayerNorm 5x48/bf16 use_affine=false keep_stats=false");
}

/// With an epsilon of 0 elements must differ.
TEST(Ranges, NoEpsilon) {
  for (double size : kSizes)
    for (Form form : {Form::normal, Form::ends, Form::single})
      for (const char *text :
           {"LayerNorm 3x768 use_affine=false keep_stats=false epsilon=0",
            "RMSNorm 3x768 epsilon=0",
            "GroupNorm 2x5x7x8 groups=2 use_affine=false keep_stats=false "
            "epsilon=0"})
        check(text, form, {size});
}

TEST(Ranges, RmsNorm) {
  checkAll("RMSNorm 3x768");
  checkAll("RMSNorm 3x61 epsilon=1e-30");
  checkAll("RMSNorm 5x48/bf16");
}

TEST(Ranges, GroupNorm) {
  checkAll("GroupNorm 2x5x7x8 groups=2 use_affine=false keep_stats=false");
  checkAll("y,m,v = GroupNorm 2x8x5x7 groups=8 data_format=NCX "
           "use_affine=false"); // of instances
}

TEST(Ranges, BatchNorm) {
  for (double size : kSizes)
    for (Form form : kForms) {
      check("y,a,b,c,d = BatchNormForwardTraining 9x5x7 7 7 epsilon=1e-5", form,
            {size, 1});
      check("y,a,b,c,d = BatchNormForwardTraining 4x7x33 7 7 epsilon=1e-5 "
            "data_format=NCX",
            form, {size, 1});
    }
}

/// Rows that are divided among items.
TEST(Ranges, LongRows) {
  for (double size : {1e20, 8e37, 1e-30})
    for (Form form : {Form::normal, Form::positive}) {
      check("LayerNorm 2x262144 use_affine=false keep_stats=false", form,
            {size}, kOfSums);
      check("RMSNorm 2x262144", form, {size}, kOfSums);
      check("ReduceMean 2x262144 axes=1", form, {size}, kOfSums);
      check("ReduceL2 2x262144 axes=1", form, {size}, kOfSums);
    }
}

TEST(Ranges, Reductions) {
  checkAll("ReduceMean 3x1024 axes=1", kOfSums);
  checkAll("ReduceMean 1024x3 axes=0", kOfSums);
  checkAll("ReduceMean 7x5/bf16 axes=0,1", kOfSums);
  checkAll("ReduceL2 3x768 axes=1", kOfSums);
  checkAll("ReduceL2 768x3 axes=0 keep_dims=true", kOfSums);
  checkAll("ReduceL2 5x48/bf16 axes=1", kOfSums);
}

/// src, diff_dst, mean and variance, gamma.
TEST(Ranges, Gradients) {
  const std::string layer = "LayerNormBackward 6x96 6x96 6 6 use_affine=false";
  const std::string batch =
      "x,g,b = BatchNormTrainingBackward 24x8 24x8 8 8 8 epsilon=";
  for (Form form : {Form::normal, Form::positive, Form::ends}) {
    check(layer, form, {1e18, 8e37, 1e17, 0x1p120}, kOfSums, 3);
    check(layer, form, {1e19, 8e37, 1e18, 0x1p126}, kOfSums, 3);
    check(layer, form, {1e-30, 8e37, 1e-30, 1}, kOfSums, 3);
    check(layer + " epsilon=0", form, {1e-15, 1e10, 1e-15, 0x1p-100}, kOfSums,
          3);
    check(batch + "1e-5", form, {1e18, 8e37, 1e17, 0x1p120, 1}, kOfSums, 3);
    check(batch + "1e-5", form, {1, 1, 1, 1, 1}, kOfSums, 3);
    check(batch + "0", form, {1e-15, 1e10, 1e-15, 0x1p-100, 1}, kOfSums, 3);
  }
  const std::string rms = "RMSNormBackward 6x96 6x96";
  for (Form form : {Form::normal, Form::positive, Form::ends}) {
    check(rms, form, {1e18, 8e37}, kOfSums, 3);
    check(rms, form, {1e38, 8e37}, kOfSums, 3);
    check(rms, form, {1e-30, 8e30}, kOfSums, 3);
    check(rms + " epsilon=0", form, {1e-15, 1e10}, kOfSums, 3);
  }
  check("LogSoftmaxBackward 3x1024 3x1024 axis=1", Form::positive, {8e37, 1});
}

/// src, gamma, beta, mean and variance: src and mean of opposite signs.
TEST(Ranges, BatchNormInference) {
  const std::string norm = "BatchNormInference 9x5x16 16 16 16 16 epsilon=";
  for (Form form : kForms) {
    check(norm + "1e-5", form, {kMax, 1, 1, kMax, 0x1p120}, 0x1p-19, 4);
    check(norm + "1e-5", form, {8e37, 1e10, 1e30, 8e37, 1e30}, 0x1p-19, 4);
    check(norm + "1e-5", form, {1e-30, 1, 0, 1e-30, 1}, 0x1p-19, 4);
    check(norm + "0", form, {1e-38, 1, 0, 1e-38, 1e-38}, 0x1p-19, 4);
    check("BatchNormInference 2x16x33 16 16 16 16 epsilon=1e-5 "
          "data_format=NCX",
          form, {kMax, 1, 1, kMax, 0x1p120}, 0x1p-19, 4);
    check("y/bf16 = BatchNormInference 9x5x16/bf16 16 16 16 16 epsilon=1e-5",
          form, {3e38, 1, 1, 3e38, 0x1p120}, 0x1p-19, 4);
  }
}

/// diff_dst and dst, weights that add up to about 1.
TEST(Ranges, SoftMaxBackward) {
  for (double size : kSizes)
    for (Form form : kForms) {
      check("SoftMaxBackward 6x96 6x96 axis=1", form, {size, 1.0 / 96},
            kOfSums);
      check("SoftMaxBackward 96x6 96x6 axis=0", form, {size, 1.0 / 96},
            kOfSums);
    }
}

TEST(Ranges, AvgPool) {
  for (const std::string &shape : {"1x9x9x5 data_format=NXC",
                                   "1x5x9x9 "
                                   "data_format=NCX",
                                   "1x9x9x5/bf16 "
                                   "data_format=NXC"})
    for (const std::string &window :
         {"kernel=3,3 strides=2,2 pads_begin=1,1 pads_end=1,1",
          "kernel=7,8 strides=1,1 pads_begin=0,0 pads_end=0,0"})
      for (const std::string &pad : {"true", "false"})
        checkAll("AvgPool " + shape + " " + window + " exclude_pad=" + pad);
  // Rows of src are folded first.
  checkAll("AvgPool 1x2x28x28 data_format=NCX kernel=2,2 strides=2,2 "
           "pads_begin=0,0 pads_end=0,0 exclude_pad=false");
  // Windows that are summed in parts.
  checkAll("AvgPool 1x40x41x16 data_format=NXC kernel=40,40 strides=1,1 "
           "pads_begin=0,0 pads_end=0,0 exclude_pad=false",
           kOfSums);
}

/// The largest logarithm is that of 1 + small: all its digits are right.
TEST(Ranges, LogSoftmaxNearZero) {
  auto graph = parseGraph("LogSoftmax 4x37 axis=1");
  ASSERT_TRUE(graph) << str(graph.errors());
  auto inputs = Oracle::unjudged(*graph);
  ASSERT_TRUE(inputs) << str(inputs.errors());
  auto &x = inputs->inputs.at(inputs->graph.inputPorts[0]).data;
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = (i % 37 == 3 ? 0.0 : -10.0 - 5.0 * double(i % 37)) +
           7.0 * double(i / 37);
  x[2 * 37 + 9] = x[2 * 37 + 3]; // two are the largest
  auto oracle = Oracle::bounded(*graph, inputs->inputs);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  uint64_t id = oracle->graph.outputPorts[0];
  // -ln(1 + exp(-10) + exp(-15) + exp(-20) + ...)
  EXPECT_NEAR(oracle->expected.at(id).data[3] / -4.5707e-05, 1, 1e-4);
  for (const char *schedule : {"avx2", "avx512", "generic"}) {
    RunConfig setup;
    setup.options.schedule = schedule;
    auto model = Compiled::compile(oracle->graph, setup.options);
    ASSERT_TRUE(model) << str(model.errors());
    auto results = execute(**model, *oracle, setup);
    ASSERT_TRUE(results) << str(results.errors());
    for (size_t i = 0; i < x.size(); ++i) {
      double exact = oracle->expected.at(id).data[i];
      EXPECT_NEAR(results->at(id).data[i] / exact, 1, 0x1p-21)
          << schedule << " " << i;
    }
  }
}

} // namespace
