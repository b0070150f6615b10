//===- TestSupport.h - small graphs through the API ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>

namespace tenon::test {

using Values = std::vector<float>;

inline LogicalTensor f32(uint64_t id, const std::vector<int64_t> &dims,
                         tenon_property property = TENON_PROPERTY_VARIABLE) {
  return LogicalTensor(id, TENON_F32, dims, TENON_LAYOUT_STRIDED, property);
}

inline Values ramp(size_t count, float first = -1, float step = 0.25f) {
  Values v(count);
  for (size_t i = 0; i < count; ++i)
    v[i] = first + step * static_cast<float>(i % 97);
  return v;
}

/// An engine with a stream.
struct ApiTest : testing::Test {
  Engine engine;
  Stream stream{engine};

  Tensor tensor(const LogicalTensor &about, Values &data) {
    return Tensor(about, engine, data.data());
  }
};

/// y = relu(x . w + b) with constant w (id 1) and b (id 2); x is 0, y is 4.
struct Dense {
  int64_t m, k, n;
  LogicalTensor x = f32(0, {m, k});
  LogicalTensor w = f32(1, {k, n}, TENON_PROPERTY_CONSTANT);
  LogicalTensor b = f32(2, {n}, TENON_PROPERTY_CONSTANT);
  LogicalTensor y = f32(4, {m, n});

  Graph graph() const {
    LogicalTensor t = f32(3, {m, n});
    Graph g;
    g.add(Op(10, tenon_op_matmul, "fc").input(x).input(w).input(b).output(t));
    g.add(Op(11, tenon_op_relu, "act").input(t).output(y));
    g.finalize();
    return g;
  }
  CompiledPartition compile(const Engine &engine) const {
    auto partitions = graph().partitions();
    EXPECT_EQ(partitions.size(), 1u);
    return partitions.at(0).compile(engine, {x, w, b}, {y});
  }
  Values expected(const Values &xs, const Values &ws, const Values &bs) const {
    Values r(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = bs[static_cast<size_t>(j)];
        for (int64_t p = 0; p < k; ++p)
          sum += double(xs[static_cast<size_t>(i * k + p)]) *
                 ws[static_cast<size_t>(p * n + j)];
        r[static_cast<size_t>(i * n + j)] =
            static_cast<float>(std::max(0., sum));
      }
    return r;
  }
};

inline void expectNear(const Values &a, const Values &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(b[i]))) << "element " << i;
}

} // namespace tenon::test
