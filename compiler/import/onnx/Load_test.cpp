// SPDX-License-Identifier: Apache-2.0
//
// Models in files: where weights are, and files that are wrong.
#include "compiler/import/onnx/Load.h"
#include "compiler/import/onnx/TestFiles.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

using namespace tenon;
using namespace tenon::onnx;
using namespace tenon::onnx::test;

namespace {

class OnnxFile : public testing::Test {
protected:
  OnnxFile() {
    folder = testing::TempDir() + "/onnx_file";
    std::filesystem::create_directories(folder + "/inner");
  }

  Expected<Model> load(const std::string &bytes,
                       const ImportOptions &options = {}) {
    writeFile(folder + "/model.onnx", bytes);
    return onnx::loadModel(folder + "/model.onnx", options);
  }
  ErrorCode failureOf(const std::string &bytes) {
    auto model = load(bytes);
    if (model)
      return ErrorCode::Internal;
    EXPECT_NE(model.errors().front().message.find("model.onnx"),
              std::string::npos);
    return model.errors().front().code;
  }

  std::string folder;
};

std::vector<float> weightOf(const Model &model) {
  for (const auto &[id, tensor] : model.graph.tensors)
    if (tensor.name == "w")
      if (const auto *bytes = model.constants.find(id)) {
        std::vector<float> elements(bytes->size() / sizeof(float));
        std::memcpy(elements.data(), bytes->data(), bytes->size());
        return elements;
      }
  return {};
}

const std::vector<float> kWeight{1, 2, 3};

TEST_F(OnnxFile, HasNamesSizesAndWeights) {
  auto model = load(addWeightModel());
  ASSERT_TRUE(model) << str(model.errors());
  const graph::Graph &g = model->graph;
  // The weight is a constant input of the graph.
  ASSERT_EQ(g.ops.size(), 1u);
  EXPECT_EQ(g.tensor(g.ops[0].outputs[0]).name, "y");
  const graph::LogicalTensor &x = g.tensor(g.ops[0].inputs[0]);
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.sizes, (std::vector<std::string>{"n", "3"}));
  EXPECT_EQ(weightOf(*model), kWeight);
  // Copies keep what the views are of.
  Constants copy = model->constants;
  model->constants = {};
  model->constants = copy;
  EXPECT_EQ(weightOf(*model), kWeight);

  ImportOptions options;
  options.shapes["x"] = {5, 3};
  auto known = load(addWeightModel(), options);
  ASSERT_TRUE(known) << str(known.errors());
  EXPECT_TRUE(
      known->graph.tensor(known->graph.ops[0].outputs[0]).hasStaticShape());
  options.shapes["x"] = {5, 4};
  auto wrong = load(addWeightModel(), options);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.errors().front().code, ErrorCode::ShapeMismatch);
}

TEST_F(OnnxFile, ErrorsNameFileNodeAndVersion) {
  std::string bytes = addWeightModel();
  bytes.replace(bytes.find("Add"), 3, "Odd");
  auto model = load(bytes);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.errors().front().str(),
            "E2001 Odd (ai.onnx 17) \"y\": " + folder +
                "/model.onnx: this operator is not converted");
}

TEST_F(OnnxFile, WeightsMayBeInOtherFiles) {
  std::string data(4, 'x');
  data.append(reinterpret_cast<const char *>(kWeight.data()), 12);
  for (const char *name : {"/w.bin", "/inner/w.bin"})
    writeFile(folder + name, data);
  for (const WeightPlace &place :
       {WeightPlace{"w.bin", "4", "12"}, WeightPlace{"inner/w.bin", "4", ""}}) {
    auto model = load(addWeightModel(place));
    ASSERT_TRUE(model) << str(model.errors());
    EXPECT_EQ(weightOf(*model), kWeight);
  }
  for (const WeightPlace &place :
       {WeightPlace{"w.bin", "8", "12"}, WeightPlace{"w.bin", "8", ""},
        WeightPlace{"w.bin", "99999999999999999999", "12"},
        WeightPlace{"w.bin", "4", "18446744073709551615"},
        WeightPlace{"w.bin", "-4", ""}, WeightPlace{"w.bin", "4", "8"},
        WeightPlace{folder + "/w.bin", "4", "12"},
        WeightPlace{"../onnx_file/w.bin", "4", "12"},
        WeightPlace{"inner/../w.bin", "4", "12"}})
    EXPECT_EQ(failureOf(addWeightModel(place)), ErrorCode::BadTensorData)
        << place.location << " " << place.offset << " " << place.length;
  EXPECT_EQ(failureOf(addWeightModel({"gone.bin", "", ""})),
            ErrorCode::CannotRead);
}

TEST_F(OnnxFile, DamagedFilesAreErrors) {
  std::string whole = addWeightModel();
  for (size_t size = 0; size < whole.size(); ++size) {
    auto cut = load(whole.substr(0, size));
    if (!cut)
      EXPECT_EQ(categoryOf(cut.errors().front().code), ErrorCategory::user);
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    (void)load(changed); // a model or an error
  }
  EXPECT_EQ(failureOf(""), ErrorCode::Syntax);
  EXPECT_FALSE(onnx::loadModel(folder + "/absent.onnx"));
  EXPECT_FALSE(onnx::loadModel(folder));
}

} // namespace
