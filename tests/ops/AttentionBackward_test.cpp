// SPDX-License-Identifier: Apache-2.0
// Which gradients of attention become one group, and what it computes, against
// the evaluator.
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"
#include "tests/ops/UnknownSizes.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::test;

namespace {

struct Sizes {
  std::string lead, rows, keys, depth, columns;
  std::string keyLead = ""; // of keys and values, if they have another
  std::string type = "";
};

/// Gradients of queries, keys and values. `score` makes u of d, the scaled
/// products; weights `p` and their gradient `dp` become w and dd by `weights`
/// and `gradient`.
std::string backward(const Sizes &s, const std::string &score,
                     const std::string &weights = "",
                     const std::string &gradient = "",
                     const std::string &after = "gq = MatMul tt k; "
                                                "gk = MatMul tt q "
                                                "transpose_a=true; ",
                     const std::string &results = "out gq gk gv") {
  std::string keyLead = s.keyLead.empty() ? s.lead : s.keyLead;
  std::string q = s.lead + s.rows + "x" + s.depth + s.type,
              k = keyLead + s.keys + "x" + s.depth + s.type,
              v = keyLead + s.keys + "x" + s.columns + s.type,
              g = s.lead + s.rows + "x" + s.columns + s.type,
              row = s.lead + s.rows + "x1";
  auto narrowed = [&](const std::string &to, const std::string &from) {
    return s.type.empty() ? std::string()
                          : to + s.type + " = TypeCast " + from + "; ";
  };
  std::string wide = s.type.empty() ? "" : "/f32";
  std::string w = s.type.empty() ? (weights.empty() ? "p" : "w") : "ww";
  std::string replaced = after;
  for (size_t at;
       s.type.empty() && (at = replaced.find("tt")) != std::string::npos;)
    replaced.replace(at, 2, "dt");
  return "s" + wide + " = MatMul q:" + q + " k:" + k +
         " transpose_b=true; d = Multiply s f:()c; " + score +
         "e = Subtract u " + row + "; p = Exp e; " + weights +
         narrowed("ww", weights.empty() ? "p" : "w") + "gv = MatMul " + w +
         " g:" + g + " transpose_a=true; dp" + wide + " = MatMul g " + v +
         " transpose_b=true; " + gradient + "m = Subtract " +
         (gradient.empty() ? "dp" : "dd") + " " + row +
         "; ds = Multiply p m; dt = Multiply ds f; " + narrowed("tt", "dt") +
         replaced + results;
}

const std::string kNoMask = "u = Add d ()c; ";

/// Compiles and checks for several targets and numbers of threads.
void check(const std::string &text, const std::string &expected = "attention") {
  EXPECT_EQ(groupKinds(text), expected) << text;
  checkShapes(text, {text});
}

TEST(AttentionBackward, EverySize) {
  for (const Sizes &sizes :
       {Sizes{"", "5", "7", "8", "4"}, Sizes{"2x", "1", "1", "1", "1"},
        Sizes{"2x3x", "64", "128", "32", "32"},
        Sizes{"2x", "65", "129", "16", "24"},
        Sizes{"1x2x", "131", "203", "8", "5"},
        Sizes{"3x", "17", "401", "13", "20"},
        Sizes{"40x", "9", "150", "8", "8"}, Sizes{"2x", "0", "7", "8", "4"},
        Sizes{"0x", "5", "7", "8", "4"}})
    check(backward(sizes, kNoMask));
}

TEST(AttentionBackward, EveryMask) {
  const Sizes sizes{"2x3x", "33", "141", "16", "16"};
  const std::string indices = "r/s32 = GenIndex s axis=-2; "
                              "c/s32 = GenIndex s axis=-1; ";
  for (const std::string &score :
       {std::string("u = Add d 2x1x1x141; "), std::string("u = Add 33x141 d; "),
        std::string("u = Select 2x1x33x141/boolean d ()c; "),
        std::string("a = Divide d 1c; b = Tanh a; u = Multiply b 1c; "),
        indices + "h = Clamp ()c min=-50 max=-50; g1/boolean = GreaterEqual r "
                  "c; u = Select g1 d h; "})
    check(backward(sizes, score));
}

TEST(AttentionBackward, Dropout) {
  check(backward({"2x3x", "33", "141", "16", "8"}, kNoMask,
                 "w = Dropout p j:1/s64 l:1/s64 r:1; ",
                 "dd = Dropout dp j l r; "));
}

TEST(AttentionBackward, HeadsThatShareKeys) {
  auto summed = [](const std::string &axes) {
    return "gq = MatMul tt k; gx = MatMul tt q transpose_a=true; gk = "
           "ReduceSum gx axes=" +
           axes + " keep_dims=true; gw = ReduceSum gv axes=" + axes +
           " keep_dims=true; ";
  };
  check(backward({"2x3x4x", "17", "71", "16", "8", "2x3x1x"}, kNoMask, "", "",
                 summed("2"), "out gq gk gw"));
  check(backward({"2x3x", "70", "150", "16", "8", "2x1x"}, kNoMask, "", "",
                 summed("1"), "out gq gk gw"));
  check(backward({"2x3x", "17", "71", "16", "8", "1x1x"}, kNoMask, "", "",
                 summed("0,1"), "out gq gk gw"));
}

TEST(AttentionBackward, NarrowTypes) {
  for (const char *type : {"/bf16", "/f16"})
    check(backward({"2x3x", "70", "150", "32", "16", "", type}, kNoMask));
}

TEST(AttentionBackward, UnknownSizes) {
  auto text = [](const std::string &lead, const std::string &rows,
                 const std::string &keys) {
    return backward({lead, rows, keys, "16", "8"}, kNoMask);
  };
  std::string unknown = text("?x3x", "?", "?");
  EXPECT_EQ(groupKinds(unknown), "attention");
  checkShapes(unknown, {text("2x3x", "131", "203"), text("1x3x", "1", "1"),
                        text("3x3x", "17", "640"), text("0x3x", "5", "7"),
                        text("2x3x", "0", "7"), text("2x3x", "5", "0")});
}

/// Heads side by side, as a model has them: nothing is copied.
TEST(AttentionBackward, HeadsSideBySide) {
  auto heads = [](const char *name, const char *from, int rows) {
    return std::string(name) + "h = StaticReshape " + from + ":2x" +
           std::to_string(rows) + "x48 shape=2," + std::to_string(rows) +
           ",3,16 special_zero=false; " + name + " = StaticTranspose " + name +
           "h order=0,2,1,3; ";
  };
  auto joined = [](const char *name, const char *to, int rows) {
    return std::string(to) + "t = StaticTranspose " + name +
           " order=0,2,1,3; " + to + " = StaticReshape " + to + "t shape=2," +
           std::to_string(rows) + ",48 special_zero=false; ";
  };
  std::string text =
      heads("q", "qi", 33) + heads("k", "ki", 150) + heads("v", "vi", 150) +
      heads("g", "gi", 33) +
      "s = MatMul q k transpose_b=true; e = Subtract s 2x3x33x1; p = Exp e; "
      "gv = MatMul p g transpose_a=true; dp = MatMul g v transpose_b=true; m = "
      "Subtract dp 2x3x33x1; ds = Multiply p m; gq = MatMul ds k; gk = MatMul "
      "ds q transpose_a=true; " +
      joined("gq", "oq", 33) + joined("gk", "ok", 150) +
      joined("gv", "ov", 150) + "out oq ok ov";
  check(text);
}

/// Attention and its gradient in one graph, which keeps the weights: both are
/// one group, and the weights are in no memory.
TEST(AttentionBackward, WithTheAttentionItself) {
  for (const char *type : {"", "/bf16"})
    for (bool drops : {false, true}) {
      auto of = [&](const char *shape) { return std::string(shape) + type; };
      std::string weights = drops ? "w = Dropout p j:1/s64 l:1/s64 r:1; " : "";
      std::string gradient = drops ? "dd = Dropout dp j l r; " : "";
      std::string w = drops ? "w" : "p", d = drops ? "dd" : "dp";
      std::string text =
          "s = MatMul q:" + of("2x3x33x16") + " k:" + of("2x3x141x16") +
          " transpose_b=true; t = Add s " + of("2x1x1x141") +
          "; p = SoftMax t axis=-1; " + weights + "o = MatMul " + w +
          " v:" + of("2x3x141x8") + "; g = Multiply o " + of("2x3x33x8") +
          "; gv = MatMul " + w +
          " g transpose_a=true; dp = MatMul g v "
          "transpose_b=true; " +
          gradient + "ds = SoftMaxBackward " + d +
          " p axis=-1; gq = MatMul ds k; gk = MatMul ds q transpose_a=true; "
          "out o gq gk gv";
      std::string found = groupKinds(text);
      EXPECT_EQ(found.find("contraction"), std::string::npos) << found;
      checkShapes(text, {text});
    }
}

TEST(AttentionBackward, OtherResultsAreNotOneGroup) {
  Sizes sizes{"2x", "9", "21", "8", "8"};
  std::string after = "gq = MatMul tt k; gk = MatMul tt q transpose_a=true; ";
  // The gradient of the mask is a result of the size of the scores.
  EXPECT_EQ(
      groupKinds(backward(sizes, kNoMask, "", "", after, "out gq gk gv ds"))
          .find("attention"),
      std::string::npos);
  EXPECT_EQ(groupKinds(backward(sizes, kNoMask, "", "",
                                "gq = MatMul tt 2x21x8; gk = MatMul tt q "
                                "transpose_a=true; "))
                .find("attention"),
            std::string::npos);
}

} // namespace
