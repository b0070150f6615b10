//===- Npz_test.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/Npy.h"
#include "tools/tenon/Npz.h"
#include "tools/tenon/Tensors.h"

#include <gtest/gtest.h>

#include <fstream>

namespace tenon::cli {
namespace {

void append(std::string &text, uint64_t value, int size) {
  for (int i = 0; i < size; ++i)
    text += static_cast<char>(value >> (8 * i));
}

/// An archive with one member.
std::string zip(const std::string &name, uint64_t method,
                const std::string &packed, uint64_t size, uint64_t checksum) {
  std::string about; // in front of the member and in the directory
  append(about, method, 2);
  append(about, 0, 4);
  append(about, checksum, 4);
  append(about, packed.size(), 4);
  append(about, size, 4);
  append(about, name.size(), 2);
  std::string file;
  append(file, 0x04034b50, 4);
  append(file, 0, 4);
  file += about;
  append(file, 0, 2);
  file += name + packed;
  uint64_t directory = file.size();
  append(file, 0x02014b50, 4);
  append(file, 0, 6);
  file += about;
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

std::string npyOf(std::vector<double> elements) {
  reference::Tensor tensor;
  tensor.dtype = graph::DType::f32;
  tensor.shape = {static_cast<int64_t>(elements.size())};
  tensor.data = std::move(elements);
  return formatNpy(tensor);
}

constexpr uint64_t kHelloChecksum = 0x3610a686; // CRC-32 of "hello"

TEST(Npz, WhatIsWrittenIsRead) {
  std::vector<NpzMember> members{
      {"a/b:0", npyOf({1, -2.5})}, {"c", npyOf({})}, {"", npyOf({3})}};
  auto bytes = formatNpz(members);
  ASSERT_TRUE(bytes);
  auto read = parseNpz(*bytes, "x.npz");
  ASSERT_TRUE(read) << str(read.errors());
  ASSERT_EQ(read->size(), members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    EXPECT_EQ((*read)[i].name, members[i].name);
    EXPECT_EQ((*read)[i].bytes, members[i].bytes);
  }
  auto none = formatNpz({});
  ASSERT_TRUE(none && parseNpz(*none, "x.npz"));
}

TEST(Npz, MembersMayBeDeflated) {
  // One block of deflate that is stored: final, length, its complement.
  std::string packed = "\1";
  append(packed, 5, 2);
  append(packed, ~uint64_t{5}, 2);
  packed += "hello";
  auto read = parseNpz(zip("x.npy", 8, packed, 5, kHelloChecksum), "x.npz");
  ASSERT_TRUE(read) << str(read.errors());
  EXPECT_EQ(read->front().bytes, "hello");
  EXPECT_EQ(read->front().name, "x");
  EXPECT_FALSE(parseNpz(zip("x", 8, packed, 6, kHelloChecksum), "x.npz"));
  EXPECT_FALSE(parseNpz(zip("x", 8, packed, 1 << 20, kHelloChecksum), "x"));
  EXPECT_FALSE(parseNpz(zip("x", 12, packed, 5, kHelloChecksum), "x.npz"));
  EXPECT_FALSE(parseNpz(zip("x", 0, "hello", 4, kHelloChecksum), "x.npz"));
}

TEST(Npz, BitsThatFlipAreFound) {
  auto good = parseNpz(zip("x", 0, "hello", 5, kHelloChecksum), "x.npz");
  ASSERT_TRUE(good) << str(good.errors());
  auto bad = parseNpz(zip("x", 0, "jello", 5, kHelloChecksum), "x.npz");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.errors()[0].code, ErrorCode::BadTensorData);
  EXPECT_EQ(bad.errors()[0].message,
            "x.npz: x is damaged: its checksum differs");
}

TEST(Npz, EveryCutIsAnError) {
  std::string file = zip("x", 0, "hello", 5, kHelloChecksum);
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parseNpz(file.substr(0, size), "x.npz")) << size;
}

TEST(Npz, DamageDoesNotCrash) {
  auto file = formatNpz({{"a", npyOf({1})}, {"b", npyOf({2})}});
  ASSERT_TRUE(file);
  for (size_t i = 0; i < file->size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = *file;
      damaged[i] ^= static_cast<char>(1 << bit);
      if (auto read = parseNpz(damaged, "x.npz"))
        for (const NpzMember &member : *read)
          (void)parseNpy(member.bytes, member.name);
    }
}

TEST(Npz, NamesAreUnique) {
  auto twice = formatNpz({{"a", npyOf({1})}, {"a", npyOf({2})}});
  ASSERT_TRUE(twice);
  EXPECT_FALSE(parseNpz(*twice, "x.npz"));
}

TEST(Npz, SpecsNameArrays) {
  std::string path = testing::TempDir() + "/specs.npz";
  auto bytes = formatNpz({{"a", npyOf({1})}, {"b", npyOf({2, 3})}});
  ASSERT_TRUE(bytes);
  std::ofstream(path, std::ios::binary) << *bytes;
  auto open = [&](const std::string &text) {
    auto spec = parseTensorSpec(text);
    EXPECT_TRUE(spec) << text;
    return openFiles({*spec});
  };
  auto all = open("cast:@" + path);
  ASSERT_TRUE(all) << str(all.errors());
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[1].name, "b");
  EXPECT_TRUE((*all)[1].cast);
  EXPECT_EQ((*all)[1].fileShape, (graph::Dims{2}));
  auto one = open("b=@" + path);
  ASSERT_TRUE(one && one->size() == 1);
  graph::LogicalTensor type;
  type.dtype = graph::DType::f32;
  type.shape = graph::Dims{2};
  auto tensor = makeTensor(one->front(), type);
  ASSERT_TRUE(tensor) << str(tensor.errors());
  EXPECT_EQ(tensor->data, (std::vector<double>{2, 3}));
  auto lacks = open("c=@" + path);
  ASSERT_FALSE(lacks);
  EXPECT_EQ(lacks.errors()[0].hint, "it has a, b");
  EXPECT_FALSE(parseTensorSpec("@x.npy"));
  EXPECT_FALSE(parseFileSpec("cast:@x.npz", "output"));
  EXPECT_TRUE(parseFileSpec("@x.npz", "output"));
}

} // namespace
} // namespace tenon::cli
