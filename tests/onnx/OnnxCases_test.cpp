// SPDX-License-Identifier: Apache-2.0
//
// ONNX's own test cases. Each passes, evaluated and compiled, or stands in
// Exceptions.cpp with the reason; one that stands there and passes is an error,
// too.
#include "tests/onnx/Cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>

namespace tenon::test {

namespace {

/// Counts of what was run, printed at the end.
class Counts : public testing::Environment {
public:
  static int passed, converted;
  static std::map<std::string, int> &excepted() {
    static std::map<std::string, int> counts;
    return counts;
  }
  void TearDown() override {
    int total = passed;
    for (auto &[reason, count] : excepted())
      total += count;
    std::cout << "ONNX's cases: " << total << " run, " << converted
              << " converted, " << passed << " pass; those that do not:\n";
    for (auto &[reason, count] : excepted())
      std::cout << "  " << count << ": " << reason << "\n";
  }
};
int Counts::passed = 0, Counts::converted = 0;

const auto *counts = testing::AddGlobalTestEnvironment(new Counts);

class OnnxCases : public testing::TestWithParam<std::string> {};

TEST_P(OnnxCases, PassOrAreExcepted) {
  auto [isConverted, why] = runOnnxCase(GetParam());
  Counts::converted += isConverted;
  const char *reason = exceptionFor(GetParam());
  if (reason) {
    EXPECT_FALSE(why.empty())
        << GetParam() << " passes, but is listed: " << reason;
    ++Counts::excepted()[reason];
  } else {
    EXPECT_EQ(why, "") << GetParam();
    Counts::passed += why.empty();
  }
}

std::string nameOf(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, OnnxCases, testing::ValuesIn(onnxCases()),
                         nameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxCases);

TEST(OnnxCaseList, HasNoExceptionInVain) {
  std::vector<std::string> cases = onnxCases();
  for (const char *suite : {"newest/", "node/"})
    if (std::none_of(cases.begin(), cases.end(),
                     [&](auto &name) { return name.starts_with(suite); }))
      GTEST_SKIP() << "suite " << suite << " is not there";
  for (const std::string &pattern : unusedExceptions(cases))
    ADD_FAILURE() << pattern << " is listed, and no case";
}

} // namespace

} // namespace tenon::test
