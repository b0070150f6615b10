// SPDX-License-Identifier: Apache-2.0
//
// Messages are written with protozero and read back; any bytes give a model or
// a coded error.
#include "compiler/import/onnx/Elements.h"

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

using namespace tenon;
using namespace tenon::onnx;
using Writer = protozero::pbf_writer;

namespace {

/// A tensor with the dims 2, 2, of `type`, and what `elements` adds.
template <typename F> std::string tensorOf(DataType type, F elements) {
  std::string bytes;
  Writer writer(bytes);
  std::vector<int64_t> dims{2, 2};
  writer.add_packed_int64(1, dims.begin(), dims.end());
  writer.add_int32(2, static_cast<int32_t>(type));
  elements(writer);
  writer.add_string(8, "w");
  return bytes;
}

std::vector<double> elementsOf(const std::string &bytes) {
  auto tensor = parseTensor(bytes);
  EXPECT_TRUE(tensor) << str(tensor.errors());
  if (!tensor)
    return {};
  auto elements = readElements(*tensor);
  EXPECT_TRUE(elements) << str(elements.errors());
  std::vector<double> values;
  for (int64_t i = 0; elements && i < elements->numElements(); ++i)
    values.push_back(elements->at(i));
  return values;
}

ErrorCode failureOf(const std::string &bytes) {
  auto tensor = parseTensor(bytes);
  if (!tensor)
    return tensor.errors().front().code;
  auto elements = readElements(*tensor);
  return elements ? ErrorCode::Internal : elements.errors().front().code;
}

/// A model of one graph that holds `node`.
std::string modelOf(const std::string &node) {
  std::string graph, set, bytes;
  Writer(graph).add_message(1, node);
  Writer writer(bytes);
  writer.add_int64(1, 8);
  Writer(set).add_int64(2, 17);
  writer.add_message(8, set);
  writer.add_message(7, graph);
  return bytes;
}

/// A node with `depth` graphs in graphs.
std::string nested(int depth) {
  std::string node;
  for (int i = 0; i < depth; ++i) {
    std::string graph, attribute;
    Writer(graph).add_message(1, node);
    Writer(attribute).add_message(6, graph);
    node.clear();
    Writer(node).add_message(5, attribute);
  }
  return node;
}

const std::vector<double> kValues{1, -2, 3, 4};

TEST(OnnxElements, AreListsOrBytes) {
  std::vector<float> floats{1, -2, 3, 4};
  std::vector<double> doubles{1, -2, 3, 4};
  std::vector<int64_t> integers{1, -2, 3, 4};
  std::vector<int32_t> halves{0x3c00, 0xc000, 0x4200, 0x4400};
  EXPECT_EQ(elementsOf(tensorOf(DataType::f32,
                                [&](Writer &w) {
                                  w.add_packed_float(4, floats.begin(),
                                                     floats.end());
                                })),
            kValues);
  EXPECT_EQ(elementsOf(tensorOf(DataType::f32,
                                [&](Writer &w) {
                                  for (float f : floats)
                                    w.add_float(4, f);
                                })),
            kValues);
  EXPECT_EQ(elementsOf(tensorOf(
                DataType::f32,
                [&](Writer &w) {
                  w.add_bytes(9, reinterpret_cast<const char *>(floats.data()),
                              16);
                })),
            kValues);
  EXPECT_EQ(elementsOf(tensorOf(DataType::f64,
                                [&](Writer &w) {
                                  w.add_packed_double(10, doubles.begin(),
                                                      doubles.end());
                                })),
            kValues);
  EXPECT_EQ(elementsOf(tensorOf(DataType::s64,
                                [&](Writer &w) {
                                  for (int64_t i : integers)
                                    w.add_int64(7, i);
                                })),
            kValues);
  EXPECT_EQ(elementsOf(tensorOf(DataType::f16,
                                [&](Writer &w) {
                                  w.add_packed_int32(5, halves.begin(),
                                                     halves.end());
                                })),
            kValues);
}

TEST(OnnxElements, MustBeAsManyAsDimsSay) {
  auto bytes = [](size_t count) {
    return [count](Writer &w) { w.add_bytes(9, std::string(count, '\0')); };
  };
  EXPECT_EQ(failureOf(tensorOf(DataType::f32, bytes(15))),
            ErrorCode::BadTensorData);
  EXPECT_EQ(failureOf(tensorOf(DataType::f32, [](Writer &) {})),
            ErrorCode::BadTensorData);
  EXPECT_EQ(failureOf(tensorOf(DataType::string, bytes(16))),
            ErrorCode::UnsupportedDType);
  EXPECT_EQ(failureOf(tensorOf(DataType::f64, bytes(16))),
            ErrorCode::BadTensorData);
  EXPECT_EQ(failureOf(tensorOf(DataType::f32,
                               [](Writer &w) {
                                 w.add_int64(1, int64_t{1} << 62);
                                 w.add_int64(1, int64_t{1} << 62);
                               })),
            ErrorCode::BadTensorData);
  EXPECT_EQ(
      failureOf(tensorOf(DataType::f32, [](Writer &w) { w.add_int32(14, 1); })),
      ErrorCode::UnsupportedForm);
}

TEST(OnnxProto, ReadsANode) {
  std::string attribute, node;
  Writer(attribute).add_string(1, "alpha");
  Writer(attribute).add_float(2, 0.5f);
  Writer writer(node);
  writer.add_string(1, "x");
  writer.add_string(1, "");
  writer.add_string(2, "y");
  writer.add_string(4, "Elu");
  writer.add_message(5, attribute);
  writer.add_string(99, "of a version to come");
  std::string bytes = modelOf(node);
  auto model = parseModel(bytes);
  ASSERT_TRUE(model) << str(model.errors());
  EXPECT_EQ(model->operatorSets.at(0).version, 17);
  const NodeProto &read = model->graph.nodes.at(0);
  EXPECT_EQ(read.opType, "Elu");
  EXPECT_EQ(read.inputs, (std::vector<std::string_view>{"x", ""}));
  EXPECT_EQ(read.attributes.at(0).name, "alpha");
  EXPECT_EQ(read.attributes.at(0).f, 0.5f);
}

TEST(OnnxProto, BytesThatAreNoModelAreErrors) {
  EXPECT_EQ(parseModel("").errors().front().code, ErrorCode::Syntax);
  EXPECT_EQ(parseModel("{\"graph\": []}").errors().front().code,
            ErrorCode::Syntax);
  std::string node;
  Writer(node).add_string(4, "Relu");
  std::string whole = modelOf(node);
  // The last field is the graph, so that what is cut off is never complete.
  for (size_t length = 0; length < whole.size(); ++length) {
    auto cut = parseModel(std::string_view(whole).substr(0, length));
    if (!cut)
      EXPECT_EQ(cut.errors().front().code, ErrorCode::Syntax) << length;
    else
      EXPECT_TRUE(cut->graph.nodes.empty()) << length;
  }
}

TEST(OnnxProto, DepthAndNumberAreBounded) {
  EXPECT_TRUE(parseModel(modelOf(nested(8))));
  auto deep = parseModel(modelOf(nested(2000)));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.errors().front().code, ErrorCode::TooLarge);
  // Two bytes for each name of an input.
  std::string node;
  for (int i = 0; i < 5000000; ++i)
    node += std::string_view("\x0a\x00", 2);
  auto many = parseModel(modelOf(node));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.errors().front().code, ErrorCode::TooLarge);
}

} // namespace
