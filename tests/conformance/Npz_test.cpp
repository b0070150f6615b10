//===- Npz_test.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/Npz.h"

#include "gtest/gtest.h"

using namespace tenon;
using namespace tenon::conformance;

namespace {

std::span<const std::byte> bytesOf(const std::string &text) {
  return {reinterpret_cast<const std::byte *>(text.data()), text.size()};
}

void append(std::string &text, uint64_t value, int size) {
  for (int i = 0; i < size; ++i)
    text += static_cast<char>(value >> (8 * i));
}

std::string npy(const std::string &descr, const std::string &shape,
                const std::string &data) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string file = "\x93NUMPY";
  file += '\1';
  file += '\0';
  append(file, header.size(), 2);
  return file + header + data;
}

/// An archive with one member.
std::string zip(const std::string &name, uint64_t method,
                const std::string &packed, uint64_t size) {
  std::string file;
  append(file, 0x04034b50, 4);
  append(file, 0, 4);
  append(file, method, 2);
  append(file, 0, 8);
  append(file, packed.size(), 4);
  append(file, size, 4);
  append(file, name.size(), 2);
  append(file, 0, 2);
  file += name + packed;
  uint64_t directory = file.size();
  append(file, 0x02014b50, 4);
  append(file, 0, 6);
  append(file, method, 2);
  append(file, 0, 8);
  append(file, packed.size(), 4);
  append(file, size, 4);
  append(file, name.size(), 2);
  append(file, 0, 12);
  append(file, 0, 4); // the local header is at 0
  file += name;
  uint64_t directorySize = file.size() - directory;
  append(file, 0x06054b50, 4);
  append(file, 0, 4);
  append(file, 1, 2);
  append(file, 1, 2);
  append(file, directorySize, 4);
  append(file, directory, 4);
  append(file, 0, 2);
  return file;
}

std::string floats() {
  std::string data;
  append(data, 0x3f800000, 4); // 1
  append(data, 0xc0200000, 4); // -2.5
  return data;
}

TEST(Npz, StoredArray) {
  std::string array = npy("<f4", "(2, 1)", floats());
  auto arrays = parseNpz(bytesOf(zip("t7.npy", 0, array, array.size())));
  ASSERT_TRUE(arrays) << str(arrays.errors());
  auto tensor = toTensor(arrays->at("t7"), graph::DType::f32);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->shape, (graph::Dims{2, 1}));
  EXPECT_EQ(tensor->data, (std::vector<double>{1, -2.5}));
}

TEST(Npz, DeflatedArray) {
  std::string array = npy("<f4", "(2,)", floats());
  // One stored deflate block: final, length, its complement, the bytes.
  std::string packed = "\1";
  append(packed, array.size(), 2);
  append(packed, ~array.size(), 2);
  packed += array;
  auto arrays = parseNpz(bytesOf(zip("x.npy", 8, packed, array.size())));
  ASSERT_TRUE(arrays) << str(arrays.errors());
  EXPECT_EQ(arrays->at("x").bytes.size(), 8u);
}

TEST(Npz, RawHalfPrecisionAndScalars) {
  std::string data;
  append(data, 0x3fc0, 2); // 1.5 in bf16
  auto array = parseNpy(bytesOf(npy("<u2", "()", data)));
  ASSERT_TRUE(array);
  auto tensor = toTensor(*array, graph::DType::bf16);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->data, std::vector<double>{1.5});
  EXPECT_FALSE(toTensor(*array, graph::DType::f8_e4m3));
}

TEST(Npz, IntegersKeepAllBits) {
  constexpr int64_t beyond = (int64_t{1} << 53) + 1;
  std::string data;
  append(data, uint64_t{beyond}, 8);
  auto array = parseNpy(bytesOf(npy("<i8", "(1,)", data)));
  ASSERT_TRUE(array);
  auto tensor = toTensor(*array, graph::DType::s64);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->integers, std::vector<int64_t>{beyond});
  EXPECT_EQ(toTensor(*array, graph::DType::f32)->data,
            std::vector<double>{0x1p53});
}

TEST(Npz, EveryCutIsAnError) {
  std::string array = npy("<f4", "(2, 1)", floats());
  std::string file = zip("t.npy", 0, array, array.size());
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parseNpz(bytesOf(file.substr(0, size)))) << size;
  for (size_t size = 0; size < array.size(); ++size)
    EXPECT_FALSE(parseNpy(bytesOf(array.substr(0, size)))) << size;
}

TEST(Npz, DamageDoesNotCrash) {
  std::string array = npy("<f4", "(2, 1)", floats());
  std::string file = zip("t.npy", 0, array, array.size());
  for (size_t i = 0; i < file.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = file;
      damaged[i] ^= static_cast<char>(1 << bit);
      if (auto arrays = parseNpz(bytesOf(damaged)))
        for (auto &[name, one] : *arrays)
          (void)toTensor(one, graph::DType::f32);
    }
}

TEST(Npz, UnusableHeaders) {
  EXPECT_FALSE(parseNpy(bytesOf(npy(">f4", "(1,)", floats()))));
  EXPECT_FALSE(parseNpy(bytesOf(npy("<c8", "(1,)", floats()))));
  EXPECT_FALSE(parseNpy(bytesOf(npy("<f4", "(99999999999,)", floats()))));
  EXPECT_FALSE(readFile("/nonexistent/file"));
}

} // namespace
