// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/SizeExpr.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::graph;

namespace {

std::optional<int64_t> valueOf(std::string_view text) {
  Expected<SizeExpr> expr = SizeExpr::parse(text);
  EXPECT_TRUE(expr) << text;
  if (!expr)
    return std::nullopt;
  return expr->evaluate([](std::string_view name) -> std::optional<int64_t> {
    if (name == "batch")
      return 3;
    if (name == "seq.len_2")
      return 17;
    return std::nullopt;
  });
}

TEST(SizeExpr, Values) {
  EXPECT_EQ(valueOf("7"), 7);
  EXPECT_EQ(valueOf(" batch "), 3);
  EXPECT_EQ(valueOf("batch*seq.len_2"), 51);
  EXPECT_EQ(valueOf("2 + 3 * batch"), 11);
  EXPECT_EQ(valueOf("(2 + 3) * batch"), 15);
  EXPECT_EQ(valueOf("(seq.len_2 + 2 - 3) // 2 + 1"), 9);
  EXPECT_EQ(valueOf("seq.len_2 % 5 * 2"), 4);
  EXPECT_EQ(valueOf("-1 + seq.len_2"), 16);
  EXPECT_EQ(valueOf("9 - 3 - 2"), 4);
}

TEST(SizeExpr, NoValue) {
  for (const char *text :
       {"height", "batch - 4", "batch // 0", "batch % (batch - 3)",
        "(batch - 4) // 2", "9223372036854775807 + 1",
        "4611686018427387904 * batch"})
    EXPECT_EQ(valueOf(text), std::nullopt) << text;
}

TEST(SizeExpr, OneName) {
  EXPECT_EQ(SizeExpr::parse("batch")->name(), "batch");
  EXPECT_EQ(SizeExpr::parse("batch + 1")->name(), std::nullopt);
  EXPECT_EQ(SizeExpr::parse("4")->name(), std::nullopt);
}

TEST(SizeExpr, Mistakes) {
  for (const std::string &text :
       {std::string(), std::string(" "), std::string("batch seq"),
        std::string("batch *"), std::string("(batch"), std::string("batch)"),
        std::string("batch / 2"), std::string("2batch"), std::string("--1"),
        std::string("99999999999999999999"), std::string(257, 'a'),
        std::string(200, '('), std::string("a\n")}) {
    Expected<SizeExpr> expr = SizeExpr::parse(text);
    ASSERT_FALSE(expr) << text;
    EXPECT_EQ(expr.errors()[0].code, ErrorCode::AttrValue);
  }
}

} // namespace
