// SPDX-License-Identifier: Apache-2.0
//
// Codes of types that Tenon does not have.
#include "compiler/import/onnx/TestGraphs.h"

#include <limits>
#include <tuple>

using namespace tenon;
using namespace tenon::onnx;
using namespace tenon::onnx::test;

namespace {

TensorProto shorts(std::string_view name, DataType type,
                   std::vector<int32_t> elements) {
  TensorProto tensor =
      weightOf(name, type, {static_cast<int64_t>(elements.size())});
  if (elements.size() == 1)
    tensor.dims = {};
  tensor.int32s = std::move(elements);
  return tensor;
}

/// x, to codes and back.
ModelProto codesAndBack(std::string_view domain, TensorProto zero,
                        AttributeProto axis) {
  NodeProto to =
      node("QuantizeLinear", {"x", "scale", "zero"}, {"codes"}, {axis});
  NodeProto back =
      node("DequantizeLinear", {"codes", "scale", "zero"}, {"y"}, {axis});
  to.domain = back.domain = domain;
  std::vector<float> scales(zero.dims.empty() ? 1 : 2, 0.5f);
  scales.back() = 0.25f;
  TensorProto scale = floats("scale", zero.dims, scales);
  ModelProto model =
      modelOf({to, back}, {port("x", DataType::f32, {2, 3})}, {"y"},
              {scale, std::move(zero)}, domain.empty() ? 21 : 17);
  model.operatorSets.push_back({.domain = "com.microsoft", .version = 1});
  return model;
}

TEST(OnnxQuant, CodesOf16Bits) {
  Given given{{"x", tensor(graph::DType::f32, {2, 3},
                           {0.25, -9000, 20000, 0.1, 1.125, -20000})}};
  for (std::string_view domain : {"", "com.microsoft"}) {
    // An even zero point and an odd one: 0.25 / 0.25 is 1, and 4.5 a tie.
    for (int32_t zero : {0, 32768, 7}) {
      double least = -zero * 0.25, most = (65535 - zero) * 0.25;
      auto clamped = [&](double x) { return std::clamp(x, least, most); };
      expectOutputs(
          codesAndBack(domain, shorts("zero", DataType::u16, {zero}),
                       attr("axis", 0)),
          given,
          {{{2, 3},
            {0.25, clamped(-9000), clamped(20000), 0, 1, clamped(-20000)}}});
    }
    expectOutputs(codesAndBack(domain, shorts("zero", DataType::s16, {0, -3}),
                               attr("axis", 0)),
                  given, {{{2, 3}, {0, -9000, 16383.5, 0, 1, -8191.25}}});
  }
}

/// Elements are read as they are in files, as bytes, too.
TEST(OnnxQuant, ReadsIntegersOf16Bits) {
  TensorProto bytes = weightOf("w", DataType::s16, {2});
  bytes.isRaw = true;
  bytes.raw = std::string_view("\xfe\xff\x01\x80", 4);
  auto elements = readElements(bytes);
  ASSERT_TRUE(elements) << str(elements.errors());
  EXPECT_EQ(numbersOf(*elements), (Numbers{-2, -32767}));
  bytes.type = DataType::u16;
  elements = readElements(bytes);
  ASSERT_TRUE(elements);
  EXPECT_EQ(numbersOf(*elements), (Numbers{65534, 32769}));
  bytes.dims = {3};
  EXPECT_FALSE(readElements(bytes));
}

/// x, to codes of a type and back, with a scale for each column.
ModelProto codesOfColumns(DataType type, std::vector<float> scales) {
  auto count = static_cast<int64_t>(scales.size());
  TensorProto zero = weightOf("zero", type, {count});
  zero.int32s.assign(scales.size(), 3);
  if (count == 1)
    zero.dims = {};
  graph::Dims dims = zero.dims;
  return modelOf({node("QuantizeLinear", {"x", "scale", "zero"}, {"codes"},
                       {attr("axis", 1)}),
                  node("DequantizeLinear", {"codes", "scale", "zero"}, {"y"},
                       {attr("axis", 1)})},
                 {port("x", DataType::f32, {3, 2})}, {"codes", "y"},
                 {floats("scale", dims, std::move(scales)), zero}, 21);
}

/// Exporters write an infinite scale for a mask of infinities, and 0 for what
/// is always 0. By 0 / 0 and the like comes the least code.
TEST(OnnxQuant, ScalesThatAreNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr auto kInfinite = static_cast<float>(kInfinity);
  Given given{{"x", tensor(graph::DType::f32, {3, 2},
                           {0, 0.5, -kInfinity, -1, 2, -kInfinity})}};
  for (auto [type, least, most] :
       {std::tuple{DataType::u8, 0.0, 255.0}, {DataType::s8, -128.0, 127.0}})
    for (std::vector<float> scales :
         {std::vector{kInfinite}, {kInfinite, 0.5f}, {0.0f}, {0.0f, 0.5f}}) {
      SCOPED_TRACE(scales[0]);
      ModelProto model = codesOfColumns(type, scales);
      auto imported = importModel(model);
      ASSERT_TRUE(imported) << str(imported.errors());
      std::vector<Tensor> outputs = evaluated(*imported, given);
      ASSERT_EQ(outputs.size(), 2u);
      bool isZero = scales[0] == 0;
      Numbers first =
          isZero ? Numbers{least, least, most} : Numbers{3, least, 3};
      Numbers second = scales.size() > 1 ? Numbers{4, 1, least}
                       : isZero          ? Numbers{most, least, least}
                                         : Numbers{3, 3, least};
      for (int64_t i = 0; i < 6; ++i) {
        double code = i % 2 ? second[i / 2] : first[i / 2];
        EXPECT_EQ(outputs[0].at(i), code) << i;
        double expected = (code - 3) * (i % 2 ? scales.back() : scales[0]);
        double found = outputs[1].at(i);
        EXPECT_TRUE(found == expected ||
                    (found != found && expected != expected))
            << i << ": " << found << ", not " << expected;
      }
    }
}

/// Weights of 32 columns and 2 rows in groups of 16, whose codes count.
ModelProto groupedProduct(TensorProto groups, bool hasZeros) {
  TensorProto codes = weightOf("codes", DataType::u8, {2, 2, 8});
  for (int64_t i = 0; i < 32; ++i)
    codes.int32s.push_back(static_cast<int32_t>((7 * i + 3) % 251));
  TensorProto zeros = weightOf("zeros", DataType::u8, {2});
  zeros.int32s = {0x52, 0xf1};
  NodeProto product = node(
      "MatMulNBits",
      {"x", "codes", "scales", hasZeros ? "zeros" : "", "groups"}, {"y"},
      {attr("K", 32), attr("N", 2), attr("bits", 4), attr("block_size", 16)});
  product.domain = "com.microsoft";
  ModelProto model =
      modelOf({product}, {port("x", DataType::f32, {1, 32})}, {"y"},
              {codes, floats("scales", {4}, {1, 0.5f, 2, 0.25f}), zeros});
  if (groups.int32s.empty())
    model.graph.inputs.push_back(port("groups", DataType::s32, {32}));
  else
    model.graph.initializers.push_back(std::move(groups));
  model.operatorSets.push_back({.domain = "com.microsoft", .version = 1});
  return model;
}

TEST(OnnxQuant, GroupsOfColumns) {
  for (bool isInOrder : {false, true})
    for (bool hasZeros : {false, true}) {
      TensorProto groups = weightOf("groups", DataType::s32, {32});
      for (int32_t k = 0; k < 32; ++k)
        groups.int32s.push_back(isInOrder ? k / 16 : (k * k + 1) % 3 % 2);
      constexpr double scales[2][2] = {{1, 0.5}, {2, 0.25}},
                       zeros[2][2] = {{2, 5}, {1, 15}};
      Numbers x, sums{0, 0};
      for (int64_t k = 0; k < 32; ++k) {
        x.push_back(static_cast<double>(k % 5) - 2);
        for (int64_t row = 0; row < 2; ++row) {
          int64_t byte = (7 * (row * 16 + k / 2) + 3) % 251;
          auto code = static_cast<double>(k % 2 ? byte / 16 : byte % 16);
          int32_t group = groups.int32s[k];
          double zero = hasZeros ? zeros[row][group] : 8;
          sums[row] += x[k] * (code - zero) * scales[row][group];
        }
      }
      expectOutputs(groupedProduct(groups, hasZeros),
                    {{"x", tensor(graph::DType::f32, {1, 32}, x)}},
                    {{{1, 2}, sums}});
    }
  TensorProto groups = weightOf("groups", DataType::s32, {32});
  EXPECT_EQ(failureOf(groupedProduct(groups, false)).code,
            ErrorCode::UnsupportedForm);
  groups.int32s.assign(32, 2);
  EXPECT_EQ(failureOf(groupedProduct(groups, false)).code,
            ErrorCode::UnsupportedForm);
}

} // namespace
