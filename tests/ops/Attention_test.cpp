// Which graphs become one attention group, and why others do not.
#include "compiler/driver/Session.h"
#include "tests/ops/GraphText.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::test;

namespace {

CompileReport compile(const std::string &text, bool fuse = true) {
  CompileReport report;
  auto graph = parseGraph(text);
  EXPECT_TRUE(graph) << str(graph.errors());
  if (!graph)
    return report;
  Options options;
  options.fuse = fuse;
  auto model = Compiled::compile(*graph, options, &report);
  EXPECT_TRUE(model) << text << ": " << str(model.errors());
  return report;
}

/// The kinds of the groups of main, in order.
std::string kinds(const CompileReport &report) {
  std::string all;
  for (auto &[label, kind] : report.groupList)
    all += (all.empty() ? "" : " ") + kind;
  return all;
}

std::string scored(const std::string &score) {
  return "s = MatMul 2x3x11x8 2x3x13x8 transpose_b=true; " + score +
         "; p = SoftMax t axis=-1; MatMul p 2x3x13x8";
}

/// Packing the keys is the only other group.
TEST(Attention, EverySpellingIsOneGroup) {
  for (const char *score :
       {"t = Divide s ()", "t = Multiply s 1c", "t = Multiply s 2x3x11x13",
        "a = Divide s 1c; t = Add a 2x1x1x13",
        "a = Multiply s 1; t = Add 11x13 a",
        "a = Divide s 1c; t = Select 2x1x1x13/boolean 1 a",
        "a = Select 11x13/boolean s ()c; t = Divide a ()",
        "a = Divide s 1c; b = Tanh a; c = Multiply b 1c; t = Add c 11x13"})
    EXPECT_EQ(kinds(compile(scored(score))), "pack attention") << score;
  EXPECT_EQ(kinds(compile("s = MatMul 2x2x3x5x8 2x2x1x7x8 transpose_b=true; "
                          "p,z = SoftMax s axis=-1 mode=inf_as_zero; "
                          "o = MatMul p 2x2x1x7x8; out o z")),
            "pack attention");
  EXPECT_EQ(kinds(compile("s = MatMul 2x5x8 2x8x7; p = SoftMax s axis=2; "
                          "t = StaticTranspose p order=0,2,1; r = Reorder t; "
                          "MatMul 2x4x7 r")),
            "pack attention elementwise");
}

TEST(Attention, ConstantKeysArePackedOnce) {
  EXPECT_EQ(kinds(compile("s = MatMul 5x8 8x7c; p = SoftMax s axis=-1; "
                          "MatMul p 7x4")),
            "attention");
}

/// No score tensor: what the arena holds does not grow with their number.
TEST(Attention, ScoresAreNotInMemory) {
  std::string text = "s = MatMul 64x512x8 64x8x512; p = SoftMax s axis=-1; "
                     "MatMul p 64x512x8";
  int64_t scores = int64_t(64) * 512 * 512 * 4;
  EXPECT_LT(compile(text).arenaBytes, scores / 16);
  EXPECT_GE(compile(text, false).arenaBytes, scores);
}

TEST(Attention, RefusalsAreRemarks) {
  auto remarked = [](const std::string &text, const std::string &reason) {
    CompileReport report = compile(text);
    EXPECT_EQ(kinds(report).find("attention"), std::string::npos) << text;
    for (const std::string &remark : report.remarks)
      if (remark.find("no attention in one group: " + reason) !=
          std::string::npos)
        return true;
    return false;
  };
  std::string start = "s = MatMul 5x8 8x7; p = SoftMax s axis=-1; ";
  EXPECT_TRUE(remarked(start + "o = MatMul p 7x4; out o s",
                       "the scores are a result of the graph"));
  EXPECT_TRUE(remarked(start + "o = MatMul p 7x4; out o p",
                       "the probabilities have more than one reader"));
  EXPECT_TRUE(remarked("s = MatMul 7x8 8x7; p = SoftMax s axis=0; "
                       "MatMul p 7x4",
                       "it does not run along the last dimension"));
}

} // namespace
