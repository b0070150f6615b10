//===- GivenValues.h - graphs whose inputs hold chosen values ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/reference/Evaluator.h"
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

#include <gtest/gtest.h>

#include <limits>

namespace tenon::test {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline const double kNan = std::numeric_limits<double>::quiet_NaN();

/// Each case is compiled this often: all vector widths, one and two threads.
inline std::vector<RunConfig> fewConfigs() {
  std::vector<RunConfig> configs(3);
  configs[0].options.schedule = "avx2";
  configs[1].options.schedule = "avx512";
  configs[1].threads = 2;
  configs[2].options.targetCpu = "x86-64-v2";
  return configs;
}

/// A tensor of this type and shape with `values` over and over.
template <typename T>
reference::Tensor repeated(const reference::Tensor &like,
                           const std::vector<T> &values) {
  constexpr bool isWide = std::is_same_v<T, int64_t>;
  reference::Tensor tensor = reference::zeros(
      isWide ? graph::DType::s64 : graph::DType::undef, like.shape);
  for (int64_t i = 0; i < tensor.numElements(); ++i) {
    T value = values[static_cast<size_t>(i) % values.size()];
    if constexpr (isWide)
      tensor.integers[i] = value;
    else
      tensor.data[i] = value;
  }
  reference::setDType(tensor, like.dtype);
  reference::roundToDType(tensor);
  return tensor;
}

/// An oracle of `text` whose first inputs hold `values` over and over.
template <typename T>
Expected<Oracle> withValues(std::string_view text,
                            const std::vector<std::vector<T>> &values) {
  auto g = parseGraph(text);
  if (!g)
    return g.errors();
  auto o = Oracle::make(*g);
  if (!o)
    return o;
  for (size_t n = 0; n < values.size(); ++n) {
    reference::Tensor &input = o->inputs.at(o->graph.inputPorts[n]);
    input = repeated(input, values[n]);
  }
  auto expected = reference::evaluate(o->graph, o->inputs, {});
  if (!expected)
    return expected.errors();
  o->expected = o->plain = *expected;
  return o;
}

template <typename T>
void checkAll(const std::string &text,
              const std::vector<std::vector<T>> &values) {
  auto o = withValues(text, values);
  ASSERT_TRUE(o) << text << ": " << str(o.errors());
  for (const RunConfig &c : fewConfigs())
    EXPECT_TRUE(checkGraph(*o, c))
        << text << ", " << c.options.schedule << " for " << c.options.targetCpu;
}

inline void checkInputs(const std::string &text,
                        const std::vector<std::vector<double>> &values) {
  checkAll(text, values);
}

inline void checkValues(const std::string &text,
                        const std::vector<double> &values) {
  checkInputs(text, {values});
}

/// Around 0, the bounds of all integer types, and what is no number.
inline const std::vector<double> kFloats = {0,
                                            -0.0,
                                            0.5,
                                            -0.5,
                                            1.5,
                                            -1.5,
                                            0.99999,
                                            126.9,
                                            127,
                                            127.9,
                                            128,
                                            -128,
                                            -128.9,
                                            -129,
                                            255,
                                            255.9,
                                            256,
                                            1e9,
                                            -1e9,
                                            0x1p31,
                                            -0x1p31,
                                            0x1p31 - 128,
                                            0x1p32,
                                            -0x1p33,
                                            0x1p62,
                                            0x1p63,
                                            -0x1p63,
                                            -0x1p64,
                                            0x1p63 - 0x1p39,
                                            1e30,
                                            -1e30,
                                            kInf,
                                            -kInf,
                                            kNan,
                                            0x1p-149,
                                            -0x1p-149};

} // namespace tenon::test
