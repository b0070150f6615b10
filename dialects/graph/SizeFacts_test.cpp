// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/SizeFacts.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::graph;

namespace {

constexpr int64_t kNoMax = SizeFacts::kNoMax;

TEST(SizeFacts, SayWhichSizesAreAllowed) {
  SizeFacts any;
  EXPECT_TRUE(any.allows(0));
  EXPECT_TRUE(any.allows(kNoMax));
  EXPECT_EQ(any.str(), "any size");
  SizeFacts facts{8, 4096, 8, {}};
  EXPECT_TRUE(facts.allows(8));
  EXPECT_TRUE(facts.allows(4096));
  EXPECT_FALSE(facts.allows(0));
  EXPECT_FALSE(facts.allows(12));
  EXPECT_FALSE(facts.allows(4104));
  EXPECT_EQ(facts.str(), "from 8 to 4096 and a multiple of 8");
  EXPECT_EQ((SizeFacts{3, kNoMax, 1, {}}).str(), "at least 3");
  EXPECT_EQ((SizeFacts{0, kNoMax, 4, {}}).str(), "a multiple of 4");
}

TEST(SizeFacts, MayLeaveOneSize) {
  EXPECT_EQ((SizeFacts{5, 5, 1, {}}).onlySize(), 5);
  EXPECT_EQ((SizeFacts{1, 15, 8, {}}).onlySize(), 8);
  EXPECT_EQ((SizeFacts{1, 16, 8, {}}).onlySize(), std::nullopt);
  EXPECT_EQ((SizeFacts{1, 7, 8, {}}).onlySize(), std::nullopt);
  EXPECT_EQ((SizeFacts{kNoMax, kNoMax, 1, {}}).onlySize(), kNoMax);
  EXPECT_EQ((SizeFacts{kNoMax, kNoMax, 2, {}}).onlySize(), std::nullopt);
  EXPECT_EQ(SizeFacts().onlySize(), std::nullopt);
}

TEST(SizeFacts, ThatContradictAreErrors) {
  struct Case {
    const char *name;
    SizeFacts facts;
    ErrorCode code;
    const char *message;
  };
  for (const Case &c : std::vector<Case>{
           {"n + 1", {}, ErrorCode::AttrValue, "\"n + 1\" is no name"},
           {"", {}, ErrorCode::AttrValue, "\"\" is no name"},
           {"n", {-1, 4, 1, {}}, ErrorCode::BadSize, "at least -1"},
           {"n", {0, 4, 0, {}}, ErrorCode::BadSize, "a multiple of 0"},
           {"n", {8, 4, 1, {}}, ErrorCode::BadSize, "at least 8 and at most 4"},
           {"n",
            {9, 15, 8, {}},
            ErrorCode::BadSize,
            "from 9 to 15 and a multiple of 8: there is no such number"},
           {"n",
            {kNoMax, kNoMax, 2, {}},
            ErrorCode::BadSize,
            "there is no such number"},
           {"n",
            {8, 64, 8, {8, 12}},
            ErrorCode::BadSize,
            "from 8 to 64 and a multiple of 8, but 12 is declared to be "
            "likely"},
           {"n", {0, 64, 1, {5, 5}}, ErrorCode::BadSize, "value 5 twice"},
           {"n",
            {0, kNoMax, 1, std::vector<int64_t>(17)},
            ErrorCode::TooLarge,
            "17 likely values, 16 are possible"}}) {
    auto errors = checkSizeFacts(c.name, c.facts);
    ASSERT_FALSE(errors.empty()) << c.message;
    EXPECT_EQ(errors[0].code, c.code) << c.message;
    EXPECT_NE(errors[0].message.find(c.message), std::string::npos)
        << errors[0].message;
  }
  EXPECT_TRUE(checkSizeFacts("n", {0, kNoMax, 1, {0, 7, kNoMax}}).empty());
}

} // namespace
