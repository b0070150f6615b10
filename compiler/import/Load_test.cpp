//===- Load_test.cpp - models from files ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/Load.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace tenon;

namespace {

std::string write(const char *name, const std::string &text) {
  std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

ErrorCode codeOf(const Expected<Model> &g) {
  return g ? ErrorCode::Internal : g.errors()[0].code;
}

TEST(Load, byExtension) {
  std::string text = R"({"graph": [{"id": 1, "kind": "Abs"}]})";
  Expected<Model> g = loadModel(write("a.json", text));
  ASSERT_TRUE(bool(g)) << str(g.errors());
  EXPECT_EQ(g->graph.ops.size(), 1u);
  EXPECT_EQ(codeOf(loadModel(write("a.txt", text))), ErrorCode::CannotRead);
  EXPECT_EQ(codeOf(loadModel(write("a", text))), ErrorCode::CannotRead);
}

TEST(Load, filesThatCannotBeRead) {
  EXPECT_EQ(codeOf(loadModel(testing::TempDir() + "/absent.json")),
            ErrorCode::CannotRead);
  EXPECT_EQ(codeOf(loadModel("")), ErrorCode::CannotRead);
  EXPECT_EQ(codeOf(loadModel(testing::TempDir())), ErrorCode::CannotRead);
  Expected<std::string> folder = readTextFile(testing::TempDir(), 100);
  ASSERT_FALSE(bool(folder));
  EXPECT_NE(folder.errors()[0].message.find("directory"), std::string::npos);
}

TEST(Load, sizeLimit) {
  LoadOptions options;
  options.maxFileSize = 10;
  EXPECT_EQ(codeOf(loadModel(write("b.json", "{\"graph\": []}"), options)),
            ErrorCode::TooLarge);
  Expected<std::string> exact = readTextFile(write("c", "0123456789"), 10);
  EXPECT_TRUE(exact && *exact == "0123456789");
}

TEST(Load, errorsNameTheFile) {
  std::string path = write("broken.json", "{\"graph\": [");
  Expected<Model> g = loadModel(path);
  ASSERT_FALSE(bool(g));
  EXPECT_EQ(g.errors()[0].code, ErrorCode::Syntax);
  EXPECT_NE(g.errors()[0].message.find("broken.json:1:"), std::string::npos);
}

TEST(Load, strictIsPassedOn) {
  LoadOptions options;
  options.strict = true;
  std::string path = write("d.json", "{\"graph\": [], \"x\": 1}");
  EXPECT_TRUE(bool(loadModel(path)));
  EXPECT_EQ(codeOf(loadModel(path, options)), ErrorCode::Syntax);
}

} // namespace
