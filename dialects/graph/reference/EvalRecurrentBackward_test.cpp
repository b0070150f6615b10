//===- EvalRecurrentBackward_test.cpp - gradients of recurrent cells ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every gradient of every cell against central differences of the forward
// operation, which EvalRecurrent_test holds against formulas of its own.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/RecurrentProblem.h"

using namespace tenon;
using namespace tenon::reference;

namespace {

/// Checks all gradients of one problem.
void checkGradients(const Cell &cell, const Variant &variant) {
  Problem problem(cell, variant);
  OneOp forward = problem.forward();
  std::vector<Tensor> results = forward.run(), weights = results;
  for (size_t i = 0; i + 1 < weights.size(); ++i) // the last is workspace
    weights[i].data = ramp(weights[i].numElements(), 0.21 + 0.1 * double(i));
  auto loss = [&](const std::vector<Tensor> &values) {
    double sum = 0;
    for (size_t i = 0; i + 1 < values.size(); ++i)
      sum += weighted(values[i], weights[i].data);
    return sum;
  };
  OneOp backward = problem.backward(results, weights);
  std::vector<Tensor> gradients = backward.run();
  const graph::OpInfo &info = graph::factsOf(backward.kind);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (backward.results[i] == DType::undef)
      continue;
    SCOPED_TRACE(info.results[i].name);
    std::string name(info.results[i].name.substr(5)); // without diff_
    // What was left out is zeros.
    OneOp other = forward;
    size_t operand = problem.slot(name);
    if (other.inputs[operand].dtype == DType::undef)
      other.inputs[operand] = zeros(DType::f32, problem.shapeOf(name));
    std::vector<double> expected = numericGradientOf(other, operand, loss);
    bool isWeights = name.starts_with("weights") || name == "bias";
    if (variant.accumulates && isWeights) {
      std::vector<double> before = ramp(int64_t(expected.size()), 0.07);
      for (size_t k = 0; k < expected.size(); ++k)
        expected[k] += before[k];
    }
    expectNear(gradients[i], problem.shapeOf(name), expected, 1e-7);
  }
}

class RecurrentGradients : public testing::TestWithParam<size_t> {
protected:
  void check(const Variant &variant) {
    SCOPED_TRACE(
        variant.direction + ", " + variant.stacking + ", layers " +
        std::to_string(variant.layers) + ", flags " +
        std::to_string(variant.batchFirst) + std::to_string(variant.lengths) +
        std::to_string(variant.optional) + std::to_string(variant.projected) +
        std::to_string(variant.accumulates));
    checkGradients(cells[GetParam()], variant);
  }
};

TEST_P(RecurrentGradients, AgreeWithDifferences) {
  bool mayProject = std::string(cells[GetParam()].kind) == "LSTM";
  for (const char *direction : {"left2right", "right2left",
                                "bidirectional_concat", "bidirectional_sum"})
    for (const char *stacking : {"independent", "concatenated"})
      for (int64_t layers : {1, 2})
        for (bool lengths : {false, true})
          for (bool optional : {false, true})
            for (bool projected : {false, true}) {
              if (projected && !mayProject)
                continue;
              Variant variant{direction,
                              stacking,
                              layers,
                              /*batchFirst=*/layers == 2,
                              lengths,
                              optional,
                              projected,
                              /*accumulates=*/optional};
              check(variant);
            }
}

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentGradients,
                         testing::Range<size_t>(0, std::size(cells)));

TEST(RecurrentBackward, ThreadsDoNotChangeResults) {
  for (const Cell &cell : cells) {
    Problem problem(cell, {"bidirectional_concat", "concatenated", 2});
    std::vector<Tensor> results = problem.forward().run();
    EXPECT_EQ(problem.forward().run(3)[0].data, results[0].data);
    OneOp backward = problem.backward(results, results);
    std::vector<Tensor> one = backward.run(), three = backward.run(3);
    for (size_t i = 0; i < one.size(); ++i)
      EXPECT_EQ(one[i].data, three[i].data);
  }
}

/// Gates and states are those of the workspace, whatever src_layer is now.
TEST(RecurrentBackward, ReadsTheWorkspace) {
  for (const Cell &cell : cells) {
    Problem problem(cell, {});
    std::vector<Tensor> results = problem.forward().run();
    OneOp backward = problem.backward(results, results);
    std::vector<Tensor> expected = backward.run();
    for (double &value : backward.inputs[0].data)
      value = -value;
    std::vector<Tensor> got = backward.run();
    EXPECT_EQ(got[0].data, expected[0].data); // diff_src_layer
    EXPECT_EQ(got[2].data, expected[2].data); // diff_weights_iter
    for (double &value : expected[1].data)
      value = -value;
    expectNear(got[1], expected[1].shape, expected[1].data, 1e-12);
  }
}

/// Tensors without elements are given all the same.
TEST(RecurrentBackward, NoUnits) {
  OneOp op{"RNNBackward",
           {make({2, 1, 3}, ramp(6)), make({1, 1, 3, 1, 0}, {}),
            make({1, 1, 0, 1, 0}, {}), make({1, 1, 2, 1, 0}, {}),
            make({2, 1, 0}, {}), Tensor{}, Tensor{}, Tensor{},
            make({1, 1, 3, 1, 0}, {}), make({1, 1, 0, 1, 0}, {}),
            make({1, 1, 1, 0}, {})},
           {{"diff_weights", std::string("accumulate")}},
           std::vector<DType>(5, DType::f32)};
  auto results = op.run();
  expectNear(results[0], {2, 1, 3}, std::vector<double>(6, 0));
  EXPECT_EQ(results[1].shape, (Dims{1, 1, 3, 1, 0}));
}

TEST(RecurrentBackward, Errors) {
  Problem lstm(cells[3], {});
  std::vector<Tensor> results = lstm.forward().run();
  const OneOp good = lstm.backward(results, results);
  const graph::OpInfo &info = graph::factsOf("LSTMBackward");
  auto slot = [&](std::string_view name) {
    return size_t(
        std::ranges::find(info.operands, name, &graph::ValueInfo::name) -
        info.operands.begin());
  };
  OneOp bad = good;
  bad.inputs[slot("workspace")] =
      Problem(cells[5], {}).forward().run().back(); // of a GRU
  EXPECT_EQ(bad.error(), ErrorCode::ShapeMismatch);
  bad = good; // diff_weights_peephole without the weights
  bad.inputs[slot("weights_peephole")] = Tensor{};
  EXPECT_EQ(bad.error(), ErrorCode::OperandCount);
  bad = good;
  bad.attrs["diff_weights"] = std::string("accumulate");
  EXPECT_EQ(bad.error(), ErrorCode::OperandCount);
  Variant accumulating;
  accumulating.accumulates = true;
  bad = Problem(cells[3], accumulating).backward(results, results);
  bad.attrs.erase("diff_weights");
  EXPECT_EQ(bad.error(), ErrorCode::OperandCount);
  Variant withLengths;
  withLengths.lengths = true;
  bad = Problem(cells[3], withLengths).backward(results, results);
  bad.inputs[slot("sequence_lengths")].data[1] = 4;
  EXPECT_EQ(bad.error(), ErrorCode::BadTensorData);
}

} // namespace
