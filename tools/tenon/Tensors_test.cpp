//===- Tensors_test.cpp - specifications, names, memory, files ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/WriteFile.h"
#include "tools/tenon/Cli.h"
#include "tools/tenon/Npy.h"
#include "tools/tenon/Tensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>

namespace tenon::cli {
namespace {

using graph::DType;
using reference::Tensor;
using Source = TensorSpec::Source;

//===----------------------------------------------------------------------===//
// Specifications
//===----------------------------------------------------------------------===//

TEST(Spec, AllForms) {
  auto spec = parseTensorSpec("fc1.src=4x16xf32=@dir/x=y.npy");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->name, "fc1.src");
  EXPECT_EQ(spec->shape, (graph::Dims{4, 16}));
  EXPECT_EQ(spec->dtype, DType::f32);
  EXPECT_EQ(spec->source, Source::file);
  EXPECT_EQ(spec->path, "dir/x=y.npy");

  spec = parseTensorSpec("3=@a=b.npy");
  ASSERT_TRUE(spec);
  EXPECT_FALSE(spec->shape);
  EXPECT_EQ(spec->path, "a=b.npy");

  spec = parseTensorSpec("3=rand:17");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->source, Source::random);
  EXPECT_EQ(spec->seed, 17u);

  spec = parseTensorSpec("3=0x5xbf16");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->shape, (graph::Dims{0, 5}));
  EXPECT_EQ(spec->source, Source::fill);

  spec = parseTensorSpec("3=s8=iota");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->shape, graph::Dims{});
  EXPECT_EQ(spec->source, Source::iota);
  EXPECT_TRUE(parseTensorSpec("3=ones"));
  EXPECT_TRUE(parseTensorSpec("3=zeros"));
  EXPECT_TRUE(parseTensorSpec("3=rand"));
}

TEST(Spec, WrongOnesAreErrors) {
  for (const char *text :
       {"", "x", "=ones", "x=", "x=@", "x=two", "x=rand:", "x=rand:-1",
        "x=rand:1x", "x=4x16=ones", "x=4xf33=ones", "x=-4xf32",
        "x=4xf32=", "x=xf32", "x=4x4xundef", "x=99999999999x99999999999xf32",
        "x=1x1x1x1x1x1x1x1x1x1x1x1x1xf32", "x=f32=ones=ones"}) {
    auto spec = parseTensorSpec(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.errors()[0].code, ErrorCode::BadOption) << text;
  }
  EXPECT_FALSE(parseFileSpec("x=ones", "output"));
  EXPECT_FALSE(parseFileSpec("x", "output"));
  EXPECT_TRUE(parseFileSpec("x=@y", "output"));
}

//===----------------------------------------------------------------------===//
// Names and values
//===----------------------------------------------------------------------===//

graph::Graph smallGraph() {
  graph::Graph graph;
  for (uint64_t id : {0, 1, 2, 3}) {
    graph.tensors[id].id = id;
    graph.tensors[id].dtype = DType::f32;
    graph.tensors[id].shape = graph::Dims{2, 2};
  }
  graph::Op fc;
  fc.kind = "MatMul";
  fc.name = "fc.1";
  fc.inputs = {0, 1};
  fc.outputs = {2};
  graph::Op act;
  act.id = 1;
  act.kind = "ReLU";
  act.name = "act";
  act.inputs = {2};
  act.outputs = {3};
  graph.ops = {fc, act};
  graph.inputPorts = {0, 1};
  graph.outputPorts = {3};
  return graph;
}

TEST(Names, IdsOperationsAndRoles) {
  graph::Graph graph = smallGraph();
  auto idOf = [&](const char *name) -> int64_t {
    auto id = resolveTensor(graph, name);
    return id ? static_cast<int64_t>(*id) : -1;
  };
  EXPECT_EQ(idOf("1"), 1);
  EXPECT_EQ(idOf("fc.1"), 2);
  EXPECT_EQ(idOf("fc.1.src"), 0);
  EXPECT_EQ(idOf("fc.1.weights"), 1);
  EXPECT_EQ(idOf("act.dst"), 3);
  EXPECT_EQ(idOf("7"), -1);
  auto wrong = resolveTensor(graph, "fc.1.weihgts");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.errors()[0].code, ErrorCode::UnknownTensor);
  EXPECT_EQ(wrong.errors()[0].hint, "did you mean fc.1.weights");
  EXPECT_EQ(describeTensor(graph, 3), "3 (act.dst)");
}

TEST(Values, SourcesFillTheTensor) {
  graph::LogicalTensor tensor;
  tensor.dtype = DType::u8;
  tensor.shape = graph::Dims{300};
  TensorSpec spec;
  spec.source = Source::iota;
  auto iota = makeTensor(spec, tensor);
  ASSERT_TRUE(iota);
  EXPECT_EQ(iota->data[255], 255);
  EXPECT_EQ(iota->data[299], 255) << "saturates";

  tensor.dtype = DType::f32;
  spec.source = Source::random;
  spec.seed = 1;
  auto one = makeTensor(spec, tensor), again = makeTensor(spec, tensor);
  spec.seed = 2;
  auto two = makeTensor(spec, tensor);
  ASSERT_TRUE(one && again && two);
  EXPECT_EQ(one->data, again->data);
  EXPECT_NE(one->data, two->data);
  for (double value : one->data)
    EXPECT_LE(std::fabs(value), 1);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Tensor counting(DType dtype, graph::Dims shape) {
  Tensor tensor = reference::zeros(DType::undef, std::move(shape));
  for (size_t i = 0; i < tensor.data.size(); ++i)
    tensor.data[i] = static_cast<double>(i % 7);
  reference::setDType(tensor, dtype);
  return tensor;
}

TEST(Buffer, KeepsValuesInAnyStrides) {
  for (const graph::Dims &strides :
       {graph::Dims{12, 4, 1}, graph::Dims{1, 8, 2}, graph::Dims{40, 11, 2}})
    for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::s8,
                        DType::s32, DType::f8_e4m3}) {
      Tensor tensor = counting(dtype, {2, 3, 4});
      auto buffer = TensorBuffer::allocate(dtype, tensor.shape, strides);
      ASSERT_TRUE(buffer);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
      ASSERT_TRUE(buffer->write(tensor).empty());
      auto back = buffer->read();
      ASSERT_TRUE(back);
      EXPECT_EQ(back->data, tensor.data);
      EXPECT_EQ(buffer->damage(), "");
    }
}

TEST(Buffer, UnwrittenElementsAreNaN) {
  auto buffer = TensorBuffer::allocate(DType::f32, {3}, {1});
  ASSERT_TRUE(buffer);
  auto values = buffer->read();
  ASSERT_TRUE(values);
  EXPECT_TRUE(std::isnan(values->data[2]));
}

TEST(Buffer, DamageIsSeen) {
  Tensor tensor = counting(DType::f32, {2, 3});
  // One row of 3 in every 5.
  auto buffer = TensorBuffer::allocate(DType::f32, {2, 3}, {5, 1});
  ASSERT_TRUE(buffer);
  auto *floats = static_cast<float *>(buffer->data());
  for (int where : {-1, 3, 4, 8}) {
    buffer->clear();
    ASSERT_TRUE(buffer->write(tensor).empty());
    EXPECT_EQ(buffer->damage(), "");
    uint64_t before = buffer->hash();
    floats[where] = 1;
    EXPECT_NE(buffer->damage(), "") << where;
    if (where == 3 || where == 4) {
      EXPECT_NE(buffer->hash(), before);
    }
  }
}

TEST(Buffer, EmptyAndWrong) {
  auto empty = TensorBuffer::allocate(DType::f32, {0, 4}, {4, 1});
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->bytes(), 0u);
  EXPECT_NE(empty->data(), nullptr);
  EXPECT_EQ(empty->damage(), "");
  EXPECT_FALSE(TensorBuffer::allocate(DType::f32, {2, 2}, {1}));
  EXPECT_FALSE(
      TensorBuffer::allocate(DType::f32, {1 << 30, 1 << 30}, {1 << 30, 1}));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TEST(Npy, RoundTrip) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e5m2,
                      DType::s8, DType::u8, DType::boolean, DType::s32,
                      DType::s64, DType::s4, DType::u4})
    for (const graph::Dims &shape :
         {graph::Dims{}, graph::Dims{5}, graph::Dims{2, 3}, graph::Dims{0, 3},
          graph::Dims{1, 2, 1, 2, 1, 2}}) {
      Tensor tensor = counting(dtype, shape);
      reference::roundToDType(tensor);
      std::string bytes = formatNpy(tensor);
      auto back = parseNpy(bytes, "x.npy");
      ASSERT_TRUE(back) << str(back.errors());
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(back->data, tensor.data) << graph::name(dtype);
      EXPECT_EQ(back->integers, tensor.integers) << graph::name(dtype);
    }
}

TEST(Npy, StartsAtAMultipleOf64) {
  std::string bytes = formatNpy(counting(DType::f32, {3}));
  EXPECT_EQ(bytes.size() % 64, 12u);
  EXPECT_EQ(bytes[bytes.size() - 13], '\n');
  float last;
  std::memcpy(&last, bytes.data() + bytes.size() - 4, 4);
  EXPECT_EQ(last, 2.0f);
}

std::string file(const std::string &header, const std::string &data,
                 char version = 1) {
  std::string out("\x93NUMPY", 6);
  out += version;
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  if (version > 1)
    out += std::string(2, '\0');
  return out + header + data;
}

TEST(Npy, ReadsWhatOthersWrite) {
  double values[2] = {0.1, -2};
  std::string data(reinterpret_cast<char *>(values), sizeof(values));
  for (char version : {1, 2, 3}) {
    auto tensor = parseNpy(
        file("{\"shape\": (2,), 'fortran_order':False,'descr': '<f8'}  \n",
             data, version),
        "x");
    ASSERT_TRUE(tensor) << str(tensor.errors());
    EXPECT_EQ(tensor->data, (std::vector<double>{0.1, -2}));
  }
  // Order does not matter with one dim.
  EXPECT_TRUE(parseNpy(
      file("{'descr': '|u1', 'fortran_order': True, 'shape': (2,), }", "ab"),
      "x"));
  auto columns = parseNpy(
      file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
           "\1\2\3\4\5\6"),
      "x");
  ASSERT_TRUE(columns) << str(columns.errors());
  EXPECT_EQ(columns->data, (std::vector<double>{1, 3, 5, 2, 4, 6}));
}

TEST(Npy, BadFilesAreErrors) {
  const std::string good =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  ASSERT_TRUE(parseNpy(file(good, std::string(8, '\0')), "x"));
  auto replaced = [&](const char *from, const char *to) {
    std::string text = good;
    text.replace(text.find(from), std::strlen(from), to);
    return file(text, std::string(8, '\0'));
  };
  std::vector<std::string> bad = {
      "",
      "hello world, this is text",
      file(good, std::string(7, '\0')),
      file(good, std::string(9, '\0')),
      file(good, std::string(8, '\0'), 4),
      file("", ""),
      file("{", ""),
      file("{'descr': '<f4'}", ""),
      replaced("<f4", ">f4"),
      replaced("<f4", "<c8"),
      replaced("False", "Maybe"),
      replaced("(2,)", "(-2,)"),
      replaced("(2,)", "(99999999999999999999,)"),
      replaced("(2,)", "(4611686018427387904,4)"),
      replaced("(2,)", "(2 2)"),
      replaced("(2,)", "2"),
      replaced("(2,)", "(1,1,1,1,1,1,1,1,1,1,1,1,2)"),
      replaced("'shape'", "'shapes'"),
      replaced("'shape'", "'shape"),
      file("{'descr': '<f4', 'fortran_order': True, 'shape': (1,2), }",
           std::string(4, '\0')),
  };
  for (size_t i = 0; i < bad.size(); ++i) {
    auto tensor = parseNpy(bad[i], "x");
    ASSERT_FALSE(tensor) << i;
    EXPECT_EQ(tensor.errors()[0].code, ErrorCode::BadTensorData) << i;
  }
  // Any prefix, any changed byte: an error or a tensor, never a crash.
  const std::string whole = file(good, std::string(8, '\0'));
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(parseNpy(whole.substr(0, i), "x"));
    for (int change : {1, 0x80, 0xff}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      (void)parseNpy(changed, "x");
    }
  }
}

/// `stored`, written to a file and read, cast, for a tensor of `dtype`.
Expected<Tensor> throughFile(const Tensor &stored, DType dtype) {
  TensorSpec spec;
  spec.name = "x";
  spec.source = Source::file;
  spec.path = testing::TempDir() + "tenon_through_file.npy";
  spec.cast = true;
  EXPECT_TRUE(writeNpy(spec.path, stored));
  graph::LogicalTensor tensor;
  tensor.dtype = dtype;
  tensor.shape = stored.shape;
  auto made = makeTensor(spec, tensor);
  std::remove(spec.path.c_str());
  return made;
}

TEST(Npy, IntegersKeepAllBits) {
  constexpr int64_t tie = (int64_t{1} << 60) + (int64_t{1} << 36);
  Tensor wide{DType::s64,
              {4},
              {},
              {(int64_t{1} << 53) + 1, INT64_MAX, INT64_MIN, tie + 1}};
  auto same = throughFile(wide, DType::s64);
  ASSERT_TRUE(same) << str(same.errors());
  EXPECT_EQ(same->integers, wide.integers);
  // One rounding, from the integer.
  auto f32 = throughFile(wide, DType::f32);
  ASSERT_TRUE(f32) << str(f32.errors());
  EXPECT_EQ(f32->data,
            (std::vector<double>{0x1p53, 0x1p63, -0x1p63, 0x1p60 + 0x1p37}));
  for (DType narrow : {DType::s32, DType::s8, DType::u8, DType::boolean}) {
    auto refused = throughFile(wide, narrow);
    ASSERT_FALSE(refused);
    EXPECT_NE(str(refused.errors()).find("is 9007199254740993, which"),
              std::string::npos)
        << str(refused.errors());
  }
  Tensor floats{DType::f32, {1}, {0x1p62}};
  auto read = throughFile(floats, DType::s64);
  ASSERT_TRUE(read) << str(read.errors());
  EXPECT_EQ(read->integers, (std::vector<int64_t>{int64_t{1} << 62}));
  for (double no : {0x1p63, -0x1p64, 0.5, double(INFINITY), double(NAN)}) {
    floats.data[0] = no;
    EXPECT_FALSE(throughFile(floats, DType::s64)) << no;
  }
}

TEST(Npy, FilesMustSuitTheTensor) {
  std::string path = testing::TempDir() + "tenon_tensors_test.npy";
  graph::LogicalTensor tensor;
  tensor.dtype = DType::s8;
  tensor.shape = graph::Dims{2};
  TensorSpec spec;
  spec.name = "x";
  spec.source = Source::file;
  spec.path = path;
  spec.cast = true;
  auto codeFor = [&](std::vector<double> values) {
    Tensor stored =
        reference::zeros(DType::f32, {static_cast<int64_t>(values.size())});
    stored.data = std::move(values);
    EXPECT_TRUE(writeNpy(path, stored));
    auto made = makeTensor(spec, tensor);
    return made ? 0 : static_cast<int>(made.errors()[0].code);
  };
  EXPECT_EQ(codeFor({1, -128}), 0);
  EXPECT_EQ(codeFor({1, 200}), 1008);
  EXPECT_EQ(codeFor({1, 0.5}), 1008);
  EXPECT_EQ(codeFor({1, NAN}), 1008);
  EXPECT_EQ(codeFor({1, 2, 3}), 1008);
  std::remove(path.c_str());
  auto missing = makeTensor(spec, tensor);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.errors()[0].code, ErrorCode::CannotRead);
}

TEST(Npy, TypesMustBeThoseOfTheTensor) {
  std::string path = testing::TempDir() + "tenon_types_test.npy";
  const DType all[] = {DType::f32,     DType::f16, DType::bf16, DType::f8_e4m3,
                       DType::f8_e5m2, DType::s64, DType::s32,  DType::s8,
                       DType::u8,      DType::s4,  DType::u4,   DType::boolean};
  for (DType stored : all)
    for (DType wanted : all) {
      Tensor tensor = reference::zeros(stored, {2});
      if (tensor.isS64())
        tensor.integers = {1, 0};
      else
        tensor.data = {1, 0};
      ASSERT_TRUE(writeNpy(path, tensor));
      graph::LogicalTensor about;
      about.dtype = wanted;
      about.shape = graph::Dims{2};
      for (const char *text : {"x=@", "x=cast:@"}) {
        auto spec = parseTensorSpec(text + path);
        ASSERT_TRUE(spec);
        EXPECT_EQ(spec->path, path);
        auto made = makeTensor(*spec, about);
        bool same = npyTypeFor(stored) == npyTypeFor(wanted);
        EXPECT_EQ(bool(made), same || spec->cast)
            << graph::name(stored) << " " << graph::name(wanted);
        if (!made) {
          EXPECT_NE(made.errors()[0].str().find("cast:@"), std::string::npos);
          continue;
        }
        EXPECT_EQ(made->at(0), 1);
        EXPECT_EQ(made->at(1), 0);
      }
    }
  // What f64 files hold is rounded only when that is asked for.
  std::string header =
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n";
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += {static_cast<char>(header.size()), '\0'};
  double value = 0.1;
  bytes += header;
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  ASSERT_TRUE(writeFile(path, bytes));
  graph::LogicalTensor about;
  about.dtype = DType::f32;
  about.shape = graph::Dims{1};
  EXPECT_FALSE(makeTensor(*parseTensorSpec("x=@" + path), about));
  auto made = makeTensor(*parseTensorSpec("x=1xf32=cast:@" + path), about);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->data[0], 0.1f);
  std::remove(path.c_str());
}

TEST(Spec, Casts) {
  auto spec = parseTensorSpec("x=4xf32=cast:@a=b.npy");
  ASSERT_TRUE(spec);
  EXPECT_TRUE(spec->cast);
  EXPECT_EQ(spec->path, "a=b.npy");
  EXPECT_EQ(spec->shape, graph::Dims{4});
  EXPECT_FALSE(parseTensorSpec("x=cast:ones"));
  EXPECT_FALSE(parseTensorSpec("x=cast:@"));
  EXPECT_TRUE(parseFileSpec("x=cast:@a.npy", "expect", /*mayCast=*/true));
  EXPECT_FALSE(parseFileSpec("x=cast:@a.npy", "output"));
}

//===----------------------------------------------------------------------===//
// Small helpers
//===----------------------------------------------------------------------===//

TEST(Text, Helpers) {
  EXPECT_EQ(environmentName("target-cpu"), "TENON_TARGET_CPU");
  EXPECT_EQ(splitText("a,,b,", ','),
            (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_TRUE(splitText("", ',').empty());
  EXPECT_EQ(parseInteger("-12"), -12);
  EXPECT_FALSE(parseInteger("12x"));
  EXPECT_FALSE(parseInteger(""));
  EXPECT_FALSE(parseInteger("99999999999999999999"));
  EXPECT_EQ(secondsText(1.5e-3), "1.5 ms");
  EXPECT_EQ(bytesText(3072), "3 KiB");
  std::vector<double> values = {3, 1, 2};
  EXPECT_EQ(quantile(values, 0.5), 2);
  EXPECT_EQ(quantile(values, 1), 3);
}

} // namespace
} // namespace tenon::cli
