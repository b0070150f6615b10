// SPDX-License-Identifier: Apache-2.0
// Attention whose keys or values are dequantised: a compressed cache. One group
// in each form of scales, which never writes the cache in floats.
#include "tests/ops/UnknownSizes.h"

using namespace tenon;
using namespace tenon::test;

namespace {

/// Scores are capped: rounding of large ones would change their exponentials.
const std::string kCapped = "a = Tanh s; t = Multiply a 1c";

std::string cappedIn(const std::string &type) {
  return "a" + type + " = Tanh s; t" + type + " = Multiply a 1" + type + "c";
}

/// How keys and values are written, and what the scores meet.
struct Form {
  std::string lead = "2x3x", heads = "2x3x"; // of queries, of keys
  std::string queries = "1", keys = "203";
  std::string depth = "32", columns = "48";
  std::string type = "";                    // of the products
  std::string keyType = "", valueType = ""; // empty: not compressed
  std::string scales = "token"; // tensor, constant, channel, token, group
  bool zeroPoints = false;
  std::string score = kCapped;
};

/// `count` numbers around `first`, one after the other.
std::string list(double first, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += (i ? "," : "") + std::to_string(first * (1 + 0.125 * (i % 5)));
  return text;
}

/// The statements that make `name`, of `rows` with `width` elements.
std::string dequantised(const Form &f, const std::string &name,
                        const std::string &bytes, const std::string &width) {
  std::string shape = f.heads + f.keys + "x" + width;
  std::string src = shape + "/" + bytes, zero = "/" + bytes;
  std::string to = f.type.empty() ? name : name + "8";
  std::string text = to + "/f32 = ";
  bool isSigned = bytes[0] == 's';
  auto dynamic = [&](const std::string &of, const std::string &attrs) {
    return "DynamicDequantize " + src + " " + of +
           (f.zeroPoints ? " " + of + zero : "") + attrs;
  };
  std::string ones = "1,"; // of the leading dimensions and of the keys
  for (char c : f.heads)
    ones += c == 'x' ? "1," : "";
  std::string zps = f.zeroPoints ? (isSigned ? "-3" : "5") : "0";
  if (f.scales == "constant") {
    text += "Dequantize " + src + " scales=0.05 zps=" + zps;
  } else if (f.scales == "channel") {
    int64_t count = std::stoll(width);
    std::string all = zps;
    for (int64_t i = 1; i < count; ++i)
      all += "," + zps;
    text += "Dequantize " + src + " scales=" + list(0.05, count) +
            " zps=" + all + " qtype=per_channel axis=-1";
  } else if (f.scales == "tensor") {
    text += dynamic("1", "");
  } else if (f.scales == "token") {
    text += dynamic(f.heads + f.keys + "x1",
                    " qtype=per_group group_shape=" + ones + width);
  } else { // so many elements of a group
    int64_t group = std::stoll(f.scales);
    text += dynamic(f.heads + f.keys + "x" +
                        std::to_string(std::stoll(width) / group),
                    " qtype=per_group group_shape=" + ones + f.scales);
  }
  if (!f.type.empty())
    text += "; " + name + f.type + " = TypeCast " + to;
  return text + "; ";
}

std::string textOf(const Form &f) {
  std::string text, k = "k", v = "v";
  if (f.keyType.empty())
    k = f.heads + f.keys + "x" + f.depth + f.type;
  else
    text += dequantised(f, k, f.keyType, f.depth);
  if (f.valueType.empty())
    v = f.heads + f.keys + "x" + f.columns + f.type;
  else
    text += dequantised(f, v, f.valueType, f.columns);
  return text + "s = MatMul " + f.lead + f.queries + "x" + f.depth + f.type +
         " " + k + " transpose_b=true; " + f.score +
         "; p = SoftMax t axis=-1; MatMul p " + v;
}

/// `f` is right, and one group, whose products have `rows` rows. Two forms are
/// dequantised before: values in groups that are packed in pairs, and zero
/// points of four bits for groups.
void check(const Form &f, int64_t rows) {
  constexpr int64_t kRowsInPlace = 8;
  std::string text = textOf(f);
  bool ofGroups = f.scales == "16";
  bool declines = ofGroups && ((!f.type.empty() && rows > kRowsInPlace) ||
                               (f.zeroPoints && f.keyType.ends_with('4')));
  if (!declines)
    EXPECT_EQ(groupKinds(text), "attention") << text;
  checkShapes(text, {text});
}

void check(const Form &f) { check(f, std::stoll(f.queries)); }

/// One query reads keys in place, eight do so a box at a time, more have them
/// packed.
const std::vector<std::string> kQueries = {"1", "5", "40"};

TEST(CompressedKeys, Scales) {
  for (const std::string &queries : kQueries)
    for (const char *scales : {"constant", "channel", "tensor", "token", "16"})
      for (bool zeroPoints : {false, true})
        for (const char *bytes : {"s8", "u8"})
          check({.queries = queries,
                 .keyType = bytes,
                 .valueType = bytes,
                 .scales = scales,
                 .zeroPoints = zeroPoints});
}

TEST(CompressedKeys, OneOfBoth) {
  for (const std::string &queries : kQueries) {
    check({.queries = queries, .keyType = "s8"});
    check({.queries = queries, .valueType = "s8"});
    check({.queries = queries, .keyType = "s8", .valueType = "u8"});
  }
}

/// More keys than one split has, and numbers that no vector divides.
TEST(CompressedKeys, Splits) {
  for (const char *keys : {"1", "37", "1601", "4099"})
    for (const char *scales : {"tensor", "token"})
      check({.lead = "1x2x",
             .heads = "1x2x",
             .keys = keys,
             .depth = "40",
             .columns = "19",
             .keyType = "s8",
             .valueType = "s8",
             .scales = scales,
             .zeroPoints = true});
}

TEST(CompressedKeys, Masks) {
  const std::string causal =
      "r/s32 = GenIndex s axis=-2; c/s32 = GenIndex s axis=-1; m/s32 = Add r "
      "()/s32c; g/boolean = GreaterEqual m c; t = Select g s n:()c";
  for (const std::string &queries : kQueries)
    for (const std::string &score :
         {std::string("d = Divide s ()c; t = Add d 2x1x1x203"), causal,
          "t = Select 2x1x" + queries + "x203/boolean s n:()c"})
      check({.queries = queries,
             .keyType = "s8",
             .valueType = "s8",
             .score = score});
}

/// Heads that share keys are rows of one product.
TEST(CompressedKeys, SharedHeads) {
  for (int64_t heads : {4, 9}) // in place, and packed
    for (const char *scales : {"constant", "token", "16"})
      for (const char *type : {"", "/bf16"}) {
        Form f{.lead = "2x2x" + std::to_string(heads) + "x",
               .heads = "2x2x1x",
               .type = type,
               .keyType = "s8",
               .valueType = "u8",
               .scales = scales,
               .zeroPoints = true};
        f.score = cappedIn(f.type);
        check(f, heads);
      }
}

TEST(CompressedKeys, NarrowProducts) {
  for (const std::string &queries : kQueries)
    for (std::string type : {"/bf16", "/f16"})
      for (const char *scales : {"constant", "tensor", "token"})
        for (const char *bytes : {"s8", "u8"})
          check({.queries = queries,
                 .type = type,
                 .keyType = bytes,
                 .valueType = bytes,
                 .scales = scales,
                 .zeroPoints = true,
                 .score = cappedIn(type)});
}

/// Columns of values that are packed in pairs are cut where panels end, which
/// need not be where groups do: a group of its own dequantises them.
TEST(CompressedKeys, NarrowGroups) {
  for (const char *queries : {"1", "5"})
    check({.queries = queries,
           .type = "/bf16",
           .keyType = "s8",
           .valueType = "u8",
           .scales = "16",
           .score = cappedIn("/bf16")});
  std::string text = textOf({.queries = "40",
                             .type = "/bf16",
                             .keyType = "s8",
                             .valueType = "u8",
                             .scales = "16",
                             .score = cappedIn("/bf16")});
  checkShapes(text, {text});
}

TEST(CompressedKeys, FourBits) {
  for (const std::string &queries : kQueries)
    for (const char *bytes : {"s4", "u4"})
      for (const char *scales :
           {"constant", "channel", "tensor", "token", "16"})
        check({.queries = queries,
               .keys = "204",
               .keyType = bytes,
               .valueType = bytes,
               .scales = scales,
               .zeroPoints = std::string(scales) != "token"});
  for (const char *queries : {"1", "5"})
    check({.queries = queries,
           .keys = "204",
           .type = "/bf16",
           .keyType = "s4",
           .valueType = "s4",
           .scales = "16",
           .score = cappedIn("/bf16")});
}

/// One compilation for any batch, number of keys and of queries.
TEST(CompressedKeys, UnknownSizes) {
  for (std::string type : {"", "/bf16"})
    for (const char *scales : {"constant", "tensor", "token", "16"})
      for (const char *queries : {"1", "?"}) {
        auto text = [&](const std::string &batch, const std::string &rows,
                        const std::string &keys) {
          std::string lead = batch + "x3x";
          return textOf(
              {.lead = lead,
               .heads = lead,
               .queries = std::string(queries) == "?" ? rows : queries,
               .keys = keys,
               .type = type,
               .keyType = "s8",
               .valueType = "s8",
               .scales = scales,
               .zeroPoints = true,
               .score = cappedIn(type)});
        };
        std::string unknown = text("?", "?", "?");
        if (type.empty() || std::string(queries) == "1" ||
            std::string(scales) != "16")
          EXPECT_EQ(groupKinds(unknown), "attention") << unknown;
        checkShapes(unknown, {text("1", "1", "1"), text("2", "1", "1021"),
                              text("1", "1", "4099"), text("2", "7", "613"),
                              text("1", "101", "521"), text("2", "5", "0")});
      }
}

/// What is declined is right all the same: keys that are read twice, in two
/// groups of products.
TEST(CompressedKeys, SharedKeys) {
  for (const char *queries : {"1", "40"}) {
    std::string rows = std::string("2x") + queries + "x16";
    std::string text =
        "k/f32 = Dequantize 2x203x16/s8 scales=0.05; s = MatMul " + rows +
        " k transpose_b=true; p = SoftMax s axis=-1; o = MatMul "
        "p k; t = MatMul " +
        rows +
        " k transpose_b=true; q = SoftMax t axis=-1; w = MatMul "
        "q k; out o w";
    checkShapes(text, {text});
  }
}

/// The cache is never in memory in floats: what the arena holds does not grow
/// with the number of keys.
TEST(CompressedKeys, CacheIsNotInMemory) {
  for (std::string type : {"", "/bf16"}) {
    Form f{.lead = "1x8x",
           .heads = "1x8x",
           .keys = "4096",
           .depth = "64",
           .columns = "64",
           .type = type,
           .keyType = "s8",
           .valueType = "s8"};
    f.score = cappedIn(f.type);
    CompileReport report;
    auto graph = parseGraph(textOf(f));
    ASSERT_TRUE(graph) << str(graph.errors());
    ASSERT_TRUE(Compiled::compile(*graph, Options(), &report));
    EXPECT_LT(report.arenaBytes, 512 << 10) << type;
  }
}

} // namespace
