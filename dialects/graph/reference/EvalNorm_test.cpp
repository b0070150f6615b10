//===- EvalNorm_test.cpp - normalisations and softmax ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

using namespace tenon;
using namespace tenon::reference;
using graph::AttrMap;
using graph::Dims;
using graph::DType;

namespace {

const std::vector<DType> one = {DType::f32};
const std::vector<DType> two(2, DType::f32), three(3, DType::f32);
const AttrMap ncx = {{"data_format", std::string("NCX")}};

TEST(LayerNorm, StatisticsAndAffine) {
  // Rows 1,3 and 2,8: means 2 and 5, variances 1 and 9.
  Tensor src = make({2, 2}, {1, 3, 2, 8});
  OneOp op{"LayerNorm",
           {src, make({2}, {2, 3}), make({2}, {10, 20})},
           {{"epsilon", 0.f}},
           three};
  auto results = op.run();
  expectNear(results[0], {2, 2}, {8, 23, 8, 23});
  expectNear(results[1], {2}, {2, 5});
  expectNear(results[2], {2}, {1, 9});
}

TEST(LayerNorm, FormsAndErrors) {
  Tensor src = make({1, 2, 2}, {0, 2, 4, 6}); // mean 3, variance 5
  AttrMap attrs = {{"use_affine", false},
                   {"keep_stats", false},
                   {"epsilon", 4.f},
                   {"begin_norm_axis", int64_t{1}}};
  OneOp op{"LayerNorm", {src}, attrs, one};
  expectNear(op.run()[0], {1, 2, 2}, {-1, -1.0 / 3, 1.0 / 3, 1});
  op.attrs["use_affine"] = true;
  EXPECT_EQ(op.error(), ErrorCode::OperandCount);
  op.inputs = {src, make({3}, {1, 1, 1}), make({3}, {1, 1, 1})};
  EXPECT_EQ(op.error(), ErrorCode::ShapeMismatch);
  op.attrs["begin_norm_axis"] = int64_t{3};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

TEST(RmsNorm, OneSquareRoot) {
  Tensor src = make({1, 3}, {1, 2, 3.31662479035540}); // squares sum to 16
  OneOp op{"RMSNorm", {src}, {{"epsilon", 1.f}}};
  double root = std::sqrt(16.0 / 3 + 1);
  expectNear(op.run()[0], {1, 3}, {1 / root, 2 / root, 3.31662479 / root},
             1e-7);
  op.inputs.push_back(make({3}, {1, 10, 0}));
  expectNear(op.run()[0], {1, 3}, {1 / root, 20 / root, 0});
}

TEST(GroupNorm, BothFormats) {
  // Channels 0,1 form group 0: 1 3 5 7 (mean 4, variance 5), channels 2, 3
  // group 1: 0 0 2 2 (mean 1, variance 1).
  AttrMap attrs = {{"groups", int64_t{2}}, {"epsilon", 0.f}};
  attrs.insert(ncx.begin(), ncx.end());
  Tensor gamma = make({4}, {1, 2, 1, 10}), beta = make({4}, {0, 0, 5, 0});
  OneOp op{"GroupNorm",
           {make({1, 4, 2}, {1, 3, 5, 7, 0, 0, 2, 2}), gamma, beta},
           attrs,
           three};
  double r = std::sqrt(5.0);
  auto results = op.run();
  expectNear(results[0], {1, 4, 2},
             {-3 / r, -1 / r, 2 / r, 6 / r, 4, 4, 10, 10});
  expectNear(results[1], {1, 2}, {4, 1});
  expectNear(results[2], {1, 2}, {5, 1});
  op.attrs["data_format"] = std::string("NXC");
  op.inputs[0] = make({1, 2, 4}, {1, 5, 0, 2, 3, 7, 0, 2});
  expectNear(op.run()[0], {1, 2, 4},
             {-3 / r, 2 / r, 4, 10, -1 / r, 6 / r, 4, 10});
  op.attrs["groups"] = int64_t{3};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
}

TEST(BatchNorm, Inference) {
  OneOp op{"BatchNormInference",
           {make({1, 2, 2}, {1, 2, 3, 4}), make({2}, {2, 1}),
            make({2}, {0, 10}), make({2}, {1, 1}), make({2}, {3, 8})},
           {{"epsilon", 1.f}}};
  expectNear(op.run()[0], {1, 2, 2}, {0, 10 + 1.0 / 3, 2, 11});
  op.attrs.insert(ncx.begin(), ncx.end());
  expectNear(op.run()[0], {1, 2, 2}, {0, 1, 10 + 2.0 / 3, 11});
}

TEST(BatchNorm, TrainingBlendsOldStatistics) {
  // Channel 0: 1, 3 (mean 2, variance 1); channel 1: 2, 8 (mean 5, variance 9).
  OneOp op{
      "BatchNormForwardTraining",
      {make({2, 2}, {1, 2, 3, 8}), make({2}, {10, 20}), make({2}, {100, 200})},
      {{"epsilon", 0.f}, {"momentum", 0.75f}},
      std::vector<DType>(5, DType::f32)};
  auto results = op.run();
  expectNear(results[0], {2, 2}, {-1, -1, 1, 1});
  expectNear(results[1], {2}, {8, 16.25});
  expectNear(results[2], {2}, {75.25, 152.25});
  expectNear(results[3], {2}, {2, 5});
  expectNear(results[4], {2}, {1, 9});
  op.attrs.erase("momentum");
  expectNear(op.run()[1], {2}, {6, 12.5});
}

TEST(SoftMax, AxisModeStatistics) {
  double l2 = std::log(2.0);
  Tensor src = make({2, 2}, {0, l2, -kInf, -kInf});
  OneOp op{"SoftMax", {src}, {}, two};
  auto results = op.run();
  expectNear(results[0], {2, 2}, {1.0 / 3, 2.0 / 3, kNan, kNan});
  expectNear(results[1], {2, 1}, {std::log(3.0), kNan});
  op.attrs["mode"] = std::string("inf_as_zero");
  results = op.run();
  expectNear(results[0], {2, 2}, {1.0 / 3, 2.0 / 3, 0, 0});
  expectNear(results[1], {2, 1}, {std::log(3.0), 0});
  op.attrs["axis"] = int64_t{0};
  expectNear(op.run()[0], {2, 2}, {1, 1, 0, 0});
}

TEST(SoftMax, LargeAndNan) {
  OneOp op{"SoftMax", {make({2, 2}, {1e30, 1e30, kNan, 0})}};
  expectNear(op.run()[0], {2, 2}, {0.5, 0.5, kNan, kNan});
}

TEST(LogSoftmax, LastAxisByDefault) {
  double l2 = std::log(2.0), l3 = std::log(3.0);
  OneOp op{"LogSoftmax", {make({1, 2, 2}, {0, l2, 1000, 1000 + l2})}};
  expectNear(op.run()[0], {1, 2, 2}, {-l3, l2 - l3, -l3, l2 - l3});
}

/// ln(1 + exp(-50)) is not ln 1; of a row of equal elements, ln of their
/// number.
TEST(LogSoftmax, NearZero) {
  OneOp op{"LogSoftmax", {make({3, 2}, {0, -50, 7, 7, -kInf, -kInf})}};
  std::vector<double> got = op.run()[0].data;
  EXPECT_NEAR(got[0] / -std::exp(-50.0), 1, 1e-12);
  EXPECT_EQ(got[1], -50);
  EXPECT_NEAR(got[2], -std::log(2.0), 1e-15);
  EXPECT_TRUE(std::isnan(got[4]));
}

} // namespace
