// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/Text.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Text, CountsAgreeWithTheirNouns) {
  EXPECT_EQ(countText(0, "group"), "0 groups");
  EXPECT_EQ(countText(1, "group"), "1 group");
  EXPECT_EQ(countText(2, "group"), "2 groups");
  EXPECT_EQ(countText(1, "copy", "copies"), "1 copy");
  EXPECT_EQ(countText(3, "copy", "copies"), "3 copies");
}

TEST(Text, ClosestIsWhatWasMeant) {
  std::vector<std::string> kinds = {"MatMul", "SoftMax", "LogSoftmax",
                                    "Softmin"};
  EXPECT_EQ(closest("Softmx", kinds), "SoftMax");
  EXPECT_EQ(closest("SOFTMAX", kinds), "SoftMax");
  EXPECT_EQ(closest("matmull", kinds), "MatMul");
  EXPECT_EQ(closest("Frobnicate", kinds), "");
  EXPECT_EQ(closest("", kinds), "");
  EXPECT_EQ(closest(std::string(1000, 'x'), kinds), "");
  EXPECT_EQ(closest("--tread", {"--threads", "--seed"}), "--threads");
  EXPECT_EQ(closest("--qqqqqq", {"--threads", "--seed"}), "");
}

} // namespace
} // namespace tenon
