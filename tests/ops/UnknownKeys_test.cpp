// SPDX-License-Identifier: Apache-2.0
// Attention over an unknown number of keys: prefill, and decoding against a
// cache of any length. One compilation serves all sizes.
#include "tests/ops/UnknownSizes.h"

#include <cstring>

using namespace tenon;
using namespace tenon::test;

namespace {

/// Sizes of attention as they are in a graph's text.
struct Sizes {
  std::string batch, queries, keys;
};
const Sizes kUnknown{"?", "?", "?"};

/// `text`, made from sizes, compiled without them.
template <typename Text>
void checkSizes(const Text &text, const std::vector<Sizes> &all) {
  EXPECT_EQ(groupKinds(text(kUnknown)), "attention");
  std::vector<std::string> texts;
  for (const Sizes &s : all)
    texts.push_back(text(s));
  checkShapes(text(kUnknown), texts);
}

/// Three heads; `score` makes t of the scores s.
std::string attention(const Sizes &s, const std::string &type,
                      const std::string &score) {
  std::string lead = s.batch + "x3x";
  return "s = MatMul " + lead + s.queries + "x8" + type + " " + lead + s.keys +
         "x8" + type + " transpose_b=true; " + score +
         "; p = SoftMax t axis=-1; MatMul p " + lead + s.keys + "x16" + type;
}

/// Around the bounds of rows that read keys in place, of blocks of queries, of
/// panels, splits and steps.
const std::vector<Sizes> kAround = {
    {"1", "1", "1"},    {"1", "1", "37"},    {"2", "1", "1021"},
    {"1", "1", "4099"}, {"1", "3", "2"},     {"2", "7", "613"},
    {"1", "8", "300"},  {"1", "9", "5"},     {"1", "97", "16"},
    {"2", "13", "512"}, {"1", "101", "521"}, {"3", "31", "1031"},
    {"2", "5", "0"},    {"2", "19", "0"},    {"0", "3", "7"},
    {"2", "0", "7"}};

TEST(UnknownKeys, Plain) {
  checkSizes(
      [](const Sizes &s) { return attention(s, "", "t = Multiply s ()c"); },
      kAround);
}

TEST(UnknownKeys, AddedMask) {
  checkSizes(
      [](const Sizes &s) {
        return attention(
            s, "", "d = Divide s ()c; t = Add d " + s.batch + "x1x1x" + s.keys);
      },
      kAround);
}

TEST(UnknownKeys, BooleanMask) {
  checkSizes(
      [](const Sizes &s) {
        return attention(s, "",
                         "t = Select " + s.batch + "x1x" + s.queries + "x" +
                             s.keys + "/boolean s n:()c");
      },
      {{"1", "1", "37"}, {"2", "7", "613"}, {"1", "101", "521"}});
}

/// The row of a query is its place among the queries.
std::string causal(const Sizes &s, const std::string &type) {
  return attention(s, type,
                   "r/s32 = GenIndex s axis=-2; c/s32 = GenIndex s axis=-1; "
                   "g/boolean = GreaterEqual r c; t = Select g s n:()" +
                       type + "c");
}

TEST(UnknownKeys, CausalMask) {
  checkSizes([](const Sizes &s) { return causal(s, ""); }, kAround);
}

/// Products of bf16 take neighbours of K in groups, of which the last may not
/// be full.
TEST(UnknownKeys, NarrowFloats) {
  for (std::string type : {"/bf16", "/f16"}) {
    checkSizes(
        [&](const Sizes &s) {
          return attention(s, type, "t = Multiply s ()" + type + "c");
        },
        kAround);
    checkSizes([&](const Sizes &s) { return causal(s, type); },
               {{"1", "1", "37"}, {"2", "13", "512"}, {"1", "101", "521"}});
  }
}

/// Four heads of queries share each head of keys: their queries are rows of one
/// product, which reads keys in place if these are few.
TEST(UnknownKeys, GroupedHeads) {
  for (const char *type : {"", "/bf16", "/f16"})
    checkSizes(
        [&](const Sizes &s) {
          std::string keys = s.batch + "x2x1x" + s.keys;
          return "s = MatMul " + s.batch + "x2x4x" + s.queries + "x8" + type +
                 " " + keys + "x8" + type + " transpose_b=true; t = Add s " +
                 s.batch + "x1x1x1x" + s.keys + type +
                 "; p = SoftMax t axis=-1; MatMul p " + keys + "x16" + type;
        },
        {{"1", "1", "37"},
         {"2", "1", "1021"},
         {"1", "2", "300"},
         {"1", "3", "613"},
         {"2", "31", "521"}});
}

/// Few queries that are known, and many.
TEST(UnknownKeys, KnownQueries) {
  for (const char *queries : {"1", "5", "40"}) {
    auto text = [&](const Sizes &s) {
      return attention({s.batch, queries, s.keys}, "", "t = Multiply s ()c");
    };
    checkSizes(text, {{"1", "", "1"}, {"2", "", "1021"}, {"1", "", "4099"}});
  }
}

TEST(UnknownKeys, DropoutAndStatistics) {
  auto text = [](const Sizes &s) {
    std::string lead = s.batch + "x3x";
    return "s = MatMul " + lead + s.queries + "x8 " + lead + s.keys +
           "x8 transpose_b=true; p,z = SoftMax s axis=-1; "
           "w = Dropout p ()/s64 ()/s64 (); o = MatMul w " +
           lead + s.keys + "x16; out o z";
  };
  checkSizes(text, {{"1", "1", "37"}, {"2", "7", "613"}, {"1", "101", "521"}});
}

/// Keys and values are computed by the group that reads them.
TEST(UnknownKeys, ComputedOperands) {
  auto text = [](const Sizes &s) {
    std::string lead = s.batch + "x3x";
    return "a = Multiply " + lead + s.queries + "x8 8c; b = ReLU " + lead +
           s.keys + "x8; c = ReLU " + lead + s.keys +
           "x16; s = MatMul a b transpose_b=true; p = SoftMax s axis=-1; "
           "MatMul p c";
  };
  checkSizes(text, {{"1", "1", "37"}, {"2", "7", "613"}, {"1", "101", "521"}});
}

/// Two groups read the same keys: each packs them, as only it knows how many
/// there are.
TEST(UnknownKeys, SharedKeys) {
  for (const char *type : {"", "/bf16"}) {
    auto text = [&](const Sizes &s) {
      std::string rows = s.batch + "x" + s.queries + "x8" + type,
                  keys = s.batch + "x" + s.keys + "x8" + type;
      return "k = ReLU " + keys + "; s = MatMul " + rows +
             " k transpose_b=true; p = SoftMax s axis=-1; o = MatMul p k; "
             "t = MatMul " +
             rows +
             " k transpose_b=true; q = SoftMax t axis=-1; w = MatMul q k; "
             "out o w";
    };
    checkShapes(text(kUnknown),
                {text({"1", "1", "37"}), text({"2", "19", "521"})});
  }
}

/// Work is cut by sizes, never by threads.
TEST(UnknownKeys, SameBitsForAllThreads) {
  for (const char *type : {"", "/bf16"}) {
    auto general = parseGraph(causal(kUnknown, type));
    ASSERT_TRUE(general);
    RunConfig c;
    auto model = Compiled::compile(*general, c.options);
    ASSERT_TRUE(model) << str(model.errors());
    for (const Sizes &s : kAround) {
      auto concrete = parseGraph(causal(s, type));
      ASSERT_TRUE(concrete);
      auto oracle = Oracle::make(*concrete);
      ASSERT_TRUE(oracle) << str(oracle.errors());
      std::vector<double> first;
      for (int threads : {1, 2, 3}) {
        c.threads = threads;
        auto results = execute(**model, *oracle, c);
        ASSERT_TRUE(results) << str(results.errors());
        const std::vector<double> &data = results->begin()->second.data;
        if (threads == 1)
          first = data;
        EXPECT_TRUE(first.empty() ||
                    !std::memcmp(first.data(), data.data(),
                                 first.size() * sizeof(double)))
            << s.batch << " " << s.queries << " " << s.keys << ", " << threads;
      }
    }
  }
}

} // namespace
