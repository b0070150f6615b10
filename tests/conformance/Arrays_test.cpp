//===- Arrays_test.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/Arrays.h"

#include "gtest/gtest.h"

using namespace tenon;
using namespace tenon::conformance;

namespace {

void append(std::string &text, uint64_t value, int size) {
  for (int i = 0; i < size; ++i)
    text += static_cast<char>(value >> (8 * i));
}

TEST(Arrays, RawHalfPrecisionAndScalars) {
  std::string data;
  append(data, 0x3fc0, 2); // 1.5 in bf16
  cli::NpyArray array{"<u2", {}, false, data};
  auto tensor = toTensor(array, graph::DType::bf16);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->data, std::vector<double>{1.5});
  EXPECT_FALSE(toTensor(array, graph::DType::f8_e4m3));
}

TEST(Arrays, IntegersKeepAllBits) {
  constexpr int64_t beyond = (int64_t{1} << 53) + 1;
  std::string data;
  append(data, uint64_t{beyond}, 8);
  cli::NpyArray array{"<i8", {1}, false, data};
  auto tensor = toTensor(array, graph::DType::s64);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->integers, std::vector<int64_t>{beyond});
  EXPECT_EQ(toTensor(array, graph::DType::f32)->data,
            std::vector<double>{0x1p53});
}

TEST(Arrays, UnusableOnesAreErrors) {
  std::string data(8, '\0');
  for (const cli::NpyArray &array : {cli::NpyArray{">f4", {2}, false, data},
                                     {"<c8", {1}, false, data},
                                     {"<f4", {3}, false, data},
                                     {"<f4", {99999999999}, false, data},
                                     {"<f4", {2, 1}, true, data}})
    EXPECT_FALSE(toTensor(array, graph::DType::f32)) << array.type;
}

} // namespace
