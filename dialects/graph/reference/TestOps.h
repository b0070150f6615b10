//===- TestOps.h - running single operations in tests ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/reference/Evaluator.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

namespace tenon::reference {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline const double kNan = std::numeric_limits<double>::quiet_NaN();

inline Tensor make(graph::Dims shape, std::vector<double> data,
                   graph::DType dtype = graph::DType::f32) {
  Tensor tensor{graph::DType::undef, std::move(shape), std::move(data)};
  setDType(tensor, dtype);
  return tensor;
}

inline Tensor makeS64(graph::Dims shape, std::vector<int64_t> integers) {
  return Tensor{graph::DType::s64, std::move(shape), {}, std::move(integers)};
}

/// `count` distinct small numbers of both signs.
inline std::vector<double> ramp(int64_t count, double step = 0.37) {
  std::vector<double> data;
  for (int64_t i = 0; i < count; ++i)
    data.push_back(std::fmod(static_cast<double>(i) * step * 7, 5) - 2.5);
  return data;
}

/// One operation; operands get ids 0, 1, ..., results 100, 101, ... Those of
/// no type are left out.
struct OneOp {
  std::string kind;
  std::vector<Tensor> inputs;
  graph::AttrMap attrs = {};
  std::vector<graph::DType> results = {graph::DType::f32};
  std::optional<graph::Dims> resultShape = {}; // of result 0

  graph::Graph graph() const {
    graph::Graph graph;
    graph::Op op;
    op.id = 5;
    op.name = "it";
    op.kind = kind;
    op.attrs = attrs;
    auto add = [&](uint64_t id, graph::DType dtype) {
      graph.tensors[id].id = id;
      graph.tensors[id].dtype = dtype;
      return id;
    };
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].dtype == graph::DType::undef) {
        op.leaveOutInput();
        continue;
      }
      op.inputs.push_back(add(i, inputs[i].dtype));
      graph.tensor(i).shape = inputs[i].shape;
    }
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i] == graph::DType::undef)
        op.leaveOutOutput();
      else
        op.outputs.push_back(add(100 + i, results[i]));
    if (resultShape)
      graph.tensor(100).shape = resultShape;
    graph.ops.push_back(op);
    return graph;
  }

  Expected<std::map<uint64_t, Tensor>> tryRun(int threads = 1) const {
    std::map<uint64_t, Tensor> values;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].dtype != graph::DType::undef)
        values.emplace(i, inputs[i]);
    EvalOptions options;
    options.roundOutputs = false;
    options.threads = threads;
    return evaluate(graph(), std::move(values), options);
  }

  /// The results; an empty tensor for each when it fails, and for one that is
  /// left out.
  std::vector<Tensor> run(int threads = 1) const {
    auto values = tryRun(threads);
    EXPECT_TRUE(static_cast<bool>(values)) << str(values.errors());
    std::vector<Tensor> tensors(results.size());
    for (size_t i = 0; values && i < results.size(); ++i)
      if (results[i] != graph::DType::undef)
        tensors[i] = values->at(100 + i);
    return tensors;
  }

  ErrorCode error() const {
    auto values = tryRun();
    EXPECT_FALSE(static_cast<bool>(values)) << kind << " did not fail";
    return values ? ErrorCode::Internal : values.errors().front().code;
  }
};

/// Elements equal up to `tolerance` (absolute and relative); NaN equals NaN.
inline void expectNear(const Tensor &got, const graph::Dims &shape,
                       const std::vector<double> &expected,
                       double tolerance = 1e-9) {
  EXPECT_EQ(got.shape, shape);
  ASSERT_EQ(got.data.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    double g = got.data[i], e = expected[i];
    if (std::isnan(e))
      EXPECT_TRUE(std::isnan(g)) << "element " << i << " is " << g;
    else if (std::isinf(e))
      EXPECT_EQ(g, e) << "element " << i;
    else
      EXPECT_NEAR(g, e, tolerance * (1 + std::fabs(e))) << "element " << i;
  }
}

/// Checks gradients: the derivative of `loss`, a function of the results of
/// `forward`, with respect to operand `operand`, by central differences in
/// double.
template <typename Loss>
std::vector<double> numericGradientOf(OneOp forward, size_t operand,
                                      Loss loss) {
  std::vector<double> gradient;
  constexpr double step = 1e-5;
  for (double &value : forward.inputs[operand].data) {
    double saved = value, losses[2] = {0, 0};
    for (int side = 0; side < 2; ++side) {
      value = saved + (side ? step : -step);
      losses[side] = loss(forward.run());
    }
    value = saved;
    gradient.push_back((losses[1] - losses[0]) / (2 * step));
  }
  return gradient;
}

/// sum(weight * tensor)
inline double weighted(const Tensor &tensor,
                       const std::vector<double> &weight) {
  double sum = 0;
  for (size_t i = 0; i < tensor.data.size(); ++i)
    sum += weight[i] * tensor.data[i];
  return sum;
}

/// The same of sum(weight * forward result).
inline std::vector<double> numericGradient(const OneOp &forward, size_t operand,
                                           const std::vector<double> &weight,
                                           size_t result = 0) {
  return numericGradientOf(forward, operand,
                           [&](const std::vector<Tensor> &results) {
                             return weighted(results[result], weight);
                           });
}

} // namespace tenon::reference
