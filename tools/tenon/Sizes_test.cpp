//===- Sizes_test.cpp - what is declared of sizes, by the command ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/TestSupport.h"

namespace tenon::test {
namespace {

/// A product of any number of rows, of which `declared` is said.
std::string product(const std::string &name, const std::string &declared) {
  return inScratch(name,
                   R"({"graph": [
    {"id": 0, "kind": "MatMul", "name": "fc",
     "inputs": [{"id": 0, "dtype": "f32", "shape": ["rows", 24]},
                {"id": 1, "dtype": "f32", "shape": [24, 40],
                 "property_type": "constant"}],
     "outputs": [{"id": 2, "dtype": "f32"}]}],
   "sizes": {)" + declared +
                       R"(}, "input_ports": [0, 1], "output_ports": [2]})");
}

std::string rows(int64_t count) {
  return " --repeat=1 --in-shapes=0:" + std::to_string(count) + "x24 ";
}

TEST(Sizes, RunSaysWhichCodeWasExecuted) {
  std::string model =
      product("likely.json", R"("rows": {"min": 1, "max": 64, "likely": [1]})");
  Result result = tenon("run" + rows(1) + model);
  EXPECT_RESULT(result, 0, "executed: the code for rows=1\n");
  EXPECT_RESULT(result, 0, "and code for rows=1 in ");
  EXPECT_RESULT(result, 0, "check: passed");
  result = tenon("run" + rows(2) + model);
  EXPECT_RESULT(result, 0, "executed: the code for all sizes\n");
  EXPECT_RESULT(result, 0, "check: passed");
  result = tenon("run --likely=rows:16*1" + rows(16) + model);
  EXPECT_RESULT(result, 0, "executed: the code for rows=16\n");
  // One compilation serves all.
  result = tenon("run --repeat=1 --in-shapes=0:1x24,0:7x24,0:64x24 " + model);
  EXPECT_RESULT(result, 0, "3 runs, compiled 1 time\n");
  result =
      tenon("run" + rows(4) + product("none.json", R"("rows": {"max": 64})"));
  EXPECT_RESULT(result, 0, "check: passed");
  EXPECT_FALSE(result.has("executed")) << result.out;
  EXPECT_RESULT(tenon("check --in-shapes=0:1x24,0:5x24 " + model), 0,
                "2 passed");
  EXPECT_RESULT(tenon("bench --min-time=0.001 --max-runs=2 " +
                      rows(1).substr(11) + model),
                0, "time");
}

TEST(Sizes, OthersThanDeclaredAreErrors) {
  std::string model = product(
      "bounds.json", R"("rows": {"min": 8, "max": 64, "multiple_of": 8})");
  for (int64_t count : {8, 24, 64})
    EXPECT_RESULT(tenon("run" + rows(count) + model), 0, "check: passed");
  EXPECT_RESULT(tenon("run" + rows(12) + model), 1,
                "E1212: " + model +
                    ": dim 0 of tensor 0, rows, is 12, declared to be from 8 "
                    "to 64 and a multiple of 8");
  EXPECT_RESULT(tenon("run" + rows(72) + model), 1, "E1212");
  EXPECT_RESULT(tenon("run --likely=rows:12" + rows(8) + model), 1, "E1212");
  EXPECT_RESULT(tenon("run --likely=columns:8" + rows(8) + model), 1, "E1212");
  EXPECT_RESULT(tenon("run --likely=rows:x" + rows(8) + model), 1, "E1301");
  EXPECT_RESULT(tenon("inspect " + product("bad.json", R"("rows": {"min": 9,
                      "max": 5})")),
                1, "at least 9 and at most 5");
}

TEST(Sizes, ExplainListsVersions) {
  std::string model =
      product("explain.json", R"("rows": {"max": 64, "likely": [1, 16]})");
  Result result = tenon("explain " + model);
  EXPECT_RESULT(result, 0,
                "sizes: executions with rows=16 have code of their own");
  EXPECT_RESULT(tenon("explain --format=json " + model), 0, "\"rows=1\"");
  std::string report = scratch("report.json");
  EXPECT_RESULT(tenon("inspect --report=" + report + " " + model), 0, "");
  EXPECT_NE(contentOf(report).find("\"rows=1\""), std::string::npos);
}

TEST(Sizes, CompiledFilesHaveAllVersions) {
  std::string model = product(
      "file.json", R"("rows": {"min": 1, "max": 64, "likely": [1, 16]})");
  for (const char *form : {".so", ".o", ".a"}) {
    std::string file = scratch("rows") + form;
    Result result = tenon("compile --name rows -o " + file +
                          " --header=" + scratch("rows.h") + " " + model);
    EXPECT_RESULT(result, 0, "with code of its own for rows=16\n");
    for (auto [count, code] : {std::pair<int64_t, const char *>{1, "rows=1\n"},
                               {16, "rows=16\n"},
                               {17, "all sizes\n"}}) {
      result = tenon("run" + rows(count) + file);
      EXPECT_RESULT(result, 0, std::string("the code for ") + code);
      EXPECT_RESULT(result, 0, "check: passed");
    }
    EXPECT_RESULT(tenon("run" + rows(65) + file), 1, "E1212");
    EXPECT_RESULT(tenon("inspect " + file), 0, "code of its own rows=16");
  }
  std::string header = contentOf(scratch("rows.h"));
  EXPECT_NE(header.find("rows: from 1 to 64, is "), std::string::npos)
      << header;
  EXPECT_NE(header.find("rows=16"), std::string::npos) << header;
}

} // namespace
} // namespace tenon::test
