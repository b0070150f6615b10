//===- Numeric_test.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

#include <bit>
#include <limits>

using namespace tenon;
using namespace tenon::reference;
using graph::DType;

namespace {

TEST(Numeric, F32AgreesWithTheHost) {
  for (double value :
       {1.0, 0.1, -3.3e38, 1e-40, 1.4e-45, 0.7e-45, 3.5e38, 16777217.0,
        1.0 + std::ldexp(1, -24), 1.0 + std::ldexp(3, -24), -0.0}) {
    auto host = static_cast<float>(value);
    EXPECT_EQ(roundTo(DType::f32, value), host) << value;
    EXPECT_EQ(encode(DType::f32, value), std::bit_cast<uint32_t>(host));
  }
}

using Limits = std::numeric_limits<int64_t>;

TEST(Numeric, S64IsRoundedOnce) {
  // By way of a double, 2^60 + 2^36 + 1 becomes the tie 2^60 + 2^36 first.
  constexpr int64_t tie = (int64_t{1} << 60) + (int64_t{1} << 36);
  for (int64_t value :
       {tie + 1, tie, tie - 1, -tie - 1, Limits::max(), Limits::min(),
        (int64_t{1} << 53) + 1, (int64_t{1} << 24) + 1, int64_t{0}}) {
    EXPECT_EQ(nearestTo(DType::f32, value), static_cast<float>(value)) << value;
    EXPECT_EQ(castFromS64(DType::f32, value), static_cast<float>(value));
  }
  EXPECT_EQ(nearestTo(DType::f32, tie + 1), 0x1p60 + 0x1p37);
  EXPECT_EQ(nearestTo(DType::bf16, (int64_t{1} << 60) + (int64_t{1} << 52) + 1),
            0x1p60 + 0x1p53);
  EXPECT_EQ(nearestTo(DType::f16, Limits::max()), kInf);
  EXPECT_EQ(nearestTo(DType::s32, Limits::min()), -0x1p31);
  EXPECT_EQ(nearestTo(DType::u8, -3), 0);
  EXPECT_EQ(nearestTo(DType::boolean, Limits::min()), 1);
  EXPECT_EQ(nearestS64(0x1p63), Limits::max());
  EXPECT_EQ(nearestS64(-0x1p63), Limits::min());
  EXPECT_EQ(nearestS64(-0x1p64), Limits::min());
  EXPECT_EQ(nearestS64(2.5), 2);
  EXPECT_EQ(nearestS64(kNan), 0);
  EXPECT_EQ(castToS64(-2.9), -2);
  EXPECT_EQ(castToS64(kInf), Limits::max());
  EXPECT_EQ(castFromS64(DType::s32, Limits::max()), -1);
  EXPECT_EQ(castFromS64(DType::u8, -1), 255);
  EXPECT_EQ(castFromS64(DType::s8, 128), -128);
}

TEST(Numeric, EveryNarrowPatternSurvives) {
  for (DType dtype :
       {DType::bf16, DType::f16, DType::f8_e5m2, DType::f8_e4m3, DType::f8_e8m0,
        DType::s8, DType::u8, DType::s4, DType::u4}) {
    int bits = static_cast<int>(graph::byteSize(dtype) * 8);
    for (uint64_t pattern = 0; pattern < uint64_t{1} << bits; ++pattern) {
      double value = decode(dtype, pattern);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(decode(dtype, encode(dtype, value))));
      else
        EXPECT_EQ(encode(dtype, value), pattern) << graph::name(dtype);
    }
  }
}

TEST(Numeric, NarrowRoundingIsNearestEven) {
  // Between every pair of neighbours: quarter, half, three quarters.
  for (DType dtype : {DType::bf16, DType::f16, DType::f8_e5m2, DType::f8_e4m3})
    for (uint64_t pattern = 0; pattern < 0x70; ++pattern) {
      double low = decode(dtype, pattern), high = decode(dtype, pattern + 1);
      double step = high - low;
      EXPECT_EQ(roundTo(dtype, low + 0.25 * step), low);
      EXPECT_EQ(roundTo(dtype, low + 0.75 * step), high);
      EXPECT_EQ(roundTo(dtype, low + 0.5 * step), pattern % 2 ? high : low);
      EXPECT_EQ(roundTo(dtype, -(low + 0.75 * step)), -high);
    }
}

TEST(Numeric, OverflowOfFloats) {
  EXPECT_EQ(roundTo(DType::f16, 65519), 65504);
  EXPECT_EQ(roundTo(DType::f16, 65520), kInf);
  EXPECT_EQ(roundTo(DType::f16, -65520), -kInf);
  EXPECT_EQ(roundTo(DType::f8_e4m3, 464), 448);
  EXPECT_TRUE(std::isnan(roundTo(DType::f8_e4m3, 464.1)));
  EXPECT_EQ(encode(DType::f8_e4m3, 500), 0x7fu);
  EXPECT_EQ(roundTo(DType::f8_e5m2, 61439), 57344);
  EXPECT_EQ(encode(DType::f8_e5m2, 61440), 0x7cu);
  EXPECT_EQ(roundTo(DType::bf16, 3.4e38), kInf);
}

TEST(Numeric, PowersOfTwo) {
  auto rounded = [](double value) { return roundTo(DType::f8_e8m0, value); };
  EXPECT_EQ(rounded(3), 4);
  EXPECT_EQ(rounded(2.99), 2);
  EXPECT_EQ(rounded(0), 0x1p-127);
  EXPECT_EQ(rounded(-0.0), 0x1p-127);
  EXPECT_EQ(rounded(0x1.8p-127), 0x1p-126);
  EXPECT_EQ(rounded(0x1.7fp127), 0x1p127);
  for (double value : {-1.0, 0x1.8p127, kInf, kNan})
    EXPECT_TRUE(std::isnan(rounded(value))) << value;
  EXPECT_EQ(encode(DType::f8_e8m0, 1), 127u);
}

TEST(Numeric, DoublesStayAsTheyAre) {
  for (double value : {0.1, -0.0, 0x1p-1074, 1e308, kInf})
    EXPECT_EQ(decode(DType::f64, encode(DType::f64, value)), value);
  EXPECT_EQ(encode(DType::f64, -0.0), uint64_t{1} << 63);
  EXPECT_EQ(ulpOf(DType::f64, 1), 0x1p-52);
  EXPECT_EQ(ulpOf(DType::f64, 0), 0x1p-1074);
  EXPECT_EQ(rangeOf(DType::f64).max, std::numeric_limits<double>::max());
  EXPECT_EQ(nearestTo(DType::f64, (int64_t{1} << 53) + 1), 0x1p53);
}

TEST(Numeric, OneRoundingOnly) {
  // By way of f16 this would become a tie and then 1.
  EXPECT_EQ(roundTo(DType::f8_e5m2, 1.1251343488693237), 1.25);
}

TEST(Numeric, IntegersSaturate) {
  EXPECT_EQ(roundTo(DType::u8, -1), 0);
  EXPECT_EQ(roundTo(DType::u8, 255.5), 255);
  EXPECT_EQ(roundTo(DType::s8, -1000), -128);
  EXPECT_EQ(roundTo(DType::s8, 2.5), 2);
  EXPECT_EQ(roundTo(DType::s8, 3.5), 4);
  EXPECT_EQ(roundTo(DType::s32, 1e20), 2147483647);
  EXPECT_EQ(roundTo(DType::s8, kNan), 0);
  EXPECT_EQ(roundTo(DType::boolean, 2), 1);
  EXPECT_FALSE(std::signbit(roundTo(DType::s8, -0.3)));
  EXPECT_EQ(wrapTo(DType::s32, 2147483648.0), -2147483648.0);
  EXPECT_EQ(wrapTo(DType::s32, -2147483649.0), 2147483647.0);
}

TEST(Numeric, HalfEven) {
  EXPECT_EQ(roundHalfEven(0.5), 0);
  EXPECT_EQ(roundHalfEven(1.5), 2);
  EXPECT_EQ(roundHalfEven(-2.5), -2);
  EXPECT_EQ(roundHalfEven(-3.5), -4);
  EXPECT_TRUE(std::signbit(roundHalfEven(-0.2)));
  EXPECT_EQ(roundHalfEven(0.49999999999999994), 0);
}

TEST(Numeric, Spacing) {
  EXPECT_EQ(epsilonOf(DType::f32), std::ldexp(1, -23));
  EXPECT_EQ(ulpOf(DType::f16, 1), std::ldexp(1, -10));
  EXPECT_EQ(ulpOf(DType::f32, 0), std::ldexp(1, -149));
  EXPECT_EQ(ulpOf(DType::bf16, 300), 2);
}

TEST(Tensor, StridedMemory) {
  std::vector<float> memory = {1, 9, 2, 9, 3, 9, 4, 9};
  auto bytes = std::as_writable_bytes(std::span(memory));
  auto tensor = fromMemory(DType::f32, {2, 2}, {2, 4}, bytes);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->data, (std::vector<double>{1, 3, 2, 4}));
  tensor->data = {5, 6, 7, 8};
  EXPECT_TRUE(toMemory(*tensor, {2, 4}, bytes).empty());
  EXPECT_EQ(memory, (std::vector<float>{5, 9, 7, 9, 6, 9, 8, 9}));
}

TEST(Tensor, HalfBytes) {
  std::byte bytes[2] = {std::byte{0x2f}, std::byte{0xf8}};
  auto tensor = fromMemory(DType::s4, {3}, {1}, bytes);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->data, (std::vector<double>{-1, 2, -8}));
  tensor->data = {1, -2, 3};
  EXPECT_TRUE(toMemory(*tensor, {1}, bytes).empty());
  EXPECT_EQ(bytes[0], std::byte{0xe1});
  EXPECT_EQ(bytes[1], std::byte{0xf3}); // the unused half stays
}

TEST(Tensor, MemoryTooSmall) {
  std::byte bytes[7] = {};
  EXPECT_FALSE(fromMemory(DType::f32, {2}, {1}, bytes));
  EXPECT_FALSE(fromMemory(DType::f32, {2}, {-1}, bytes));
  EXPECT_FALSE(fromMemory(DType::f32, {2}, {}, bytes));
  EXPECT_FALSE(fromMemory(DType::s8, {int64_t{1} << 40, int64_t{1} << 40},
                          {1, 1}, bytes));
  EXPECT_TRUE(fromMemory(DType::f32, {0, 5}, {5, 1}, {}));
}

} // namespace
