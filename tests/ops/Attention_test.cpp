// SPDX-License-Identifier: Apache-2.0
// Which graphs become one attention group, and why others do not; dropout with
// chosen parameters and unknown sizes, against the evaluator.
#include "dialects/graph/reference/Evaluator.h"
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"
#include "tests/ops/UnknownSizes.h"

#include <cmath>
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

/// The kinds of the groups of main, in order, but for copies.
std::string kinds(const CompileReport &report) {
  std::string all;
  for (const GroupStats &group : report.mainGroups)
    if (group.kind != "copy")
      all += (all.empty() ? "" : " ") + group.kind;
  return all;
}

std::string scored(const std::string &score) {
  return "s = MatMul 2x3x11x8 2x3x13x8 transpose_b=true; " + score +
         "; p = SoftMax t axis=-1; MatMul p 2x3x13x8";
}

/// Attention whose weights are dropped with `probability`.
void checkDropout(double seed, double probability, double offset) {
  auto graph = parseGraph("s = MatMul 2x3x9x8 2x3x13x8 transpose_b=true; "
                          "p = SoftMax s axis=-1; d = Dropout p 1/s64 1/s64 "
                          "1; MatMul d 2x3x13x8");
  ASSERT_TRUE(graph) << str(graph.errors());
  auto o = Oracle::make(*graph);
  ASSERT_TRUE(o) << str(o.errors());
  const auto &ports = o->graph.inputPorts;
  for (auto [i, v] : {std::pair{2, seed}, {3, offset}, {4, probability}}) {
    reference::Tensor &input = o->inputs.at(ports[i]);
    input.data[0] = v;
    reference::roundToDType(input);
  }
  reference::EvalOptions exact;
  exact.roundOutputs = false;
  auto expected = reference::evaluate(o->graph, o->inputs, exact);
  ASSERT_TRUE(expected) << str(expected.errors());
  o->expected = o->plain = *expected;
  for (const char *schedule : {"avx2", "avx512", "generic"}) {
    RunConfig c;
    c.options.schedule = schedule;
    EXPECT_TRUE(checkGraph(*o, c)) << probability << ", " << schedule;
  }
}

/// Attention whose scores, of `type`, are divided by `divisor`.
void checkDivisor(double divisor, const std::string &type) {
  auto of = [&](const std::string &shape) { return " " + shape + type; };
  auto graph = parseGraph("s = MatMul" + of("2x3x9x8") + of("2x3x37x8") +
                          " transpose_b=true; d = Divide s" + of("()") +
                          "; t = Add d" + of("2x1x1x37") +
                          "; p = SoftMax t axis=-1; MatMul p" + of("2x3x37x8"));
  ASSERT_TRUE(graph) << str(graph.errors());
  Oracle plain = *Oracle::make(*graph);
  reference::Tensor &d = plain.inputs.at(plain.graph.inputPorts[2]);
  d.data[0] = divisor;
  reference::roundToDType(d);
  auto o = Oracle::bounded(*graph, plain.inputs);
  ASSERT_TRUE(o) << str(o.errors());
  for (const char *schedule : {"avx2", "avx512", "generic"}) {
    RunConfig c;
    c.options.schedule = schedule;
    EXPECT_TRUE(checkGraph(*o, c)) << divisor << type << ", " << schedule;
  }
}

/// Powers of two have exact reciprocals, some of them denormal; others, and
/// what is no number, go another way.
TEST(Attention, Divisors) {
  for (const char *type : {"", "/bf16"})
    for (double divisor : {8.0, 0.25, -4.0, 7.3, -11.3137, 0x1p-20, 0x1p100,
                           0x1p127, 0.0, double(INFINITY), double(NAN)})
      checkDivisor(divisor, type);
}

TEST(Attention, EverySpellingIsOneGroup) {
  for (const char *score :
       {"t = Divide s ()", "t = Multiply s 1c", "t = Multiply s 2x3x11x13",
        "a = Divide s 1c; t = Add a 2x1x1x13",
        "a = Multiply s 1; t = Add 11x13 a",
        "a = Divide s 1c; t = Select 2x1x1x13/boolean 1 a",
        "a = Select 11x13/boolean s ()c; t = Divide a ()",
        "a = Divide s 1c; b = Tanh a; c = Multiply b 1c; t = Add c 11x13"})
    EXPECT_EQ(kinds(compile(scored(score))), "attention") << score;
  EXPECT_EQ(kinds(compile("s = MatMul 2x2x3x5x8 2x2x1x7x8 transpose_b=true; "
                          "p,z = SoftMax s axis=-1 mode=inf_as_zero; "
                          "o = MatMul p 2x2x1x7x8; out o z")),
            "attention");
  EXPECT_EQ(kinds(compile("s = MatMul 2x9x8 2x8x7; p = SoftMax s axis=2; "
                          "t = StaticTranspose p order=0,2,1; r = Reorder t; "
                          "MatMul 2x4x7 r")),
            "attention elementwise");
}

/// The softmax, and the sum behind it, along any of the last two dimensions.
TEST(Attention, EveryAxisIsOneGroup) {
  EXPECT_EQ(kinds(compile("s = MatMul 2x7x8 2x8x5; p = SoftMax s axis=-1; "
                          "MatMul 2x4x7 p")),
            "attention");
  EXPECT_EQ(kinds(compile("s = MatMul 2x7x8 2x8x9; a = Add s 9; "
                          "p = SoftMax a axis=1; MatMul 2x4x7 p")),
            "attention elementwise");
  EXPECT_EQ(kinds(compile("s = MatMul 2x7x8 2x8x5; p = SoftMax s axis=1; "
                          "MatMul p 2x5x4")),
            "attention elementwise");
}

/// Heads that are columns of one matrix: nothing moves, the result is written
/// with its heads side by side.
TEST(Attention, HeadsAsColumnsAreOneGroup) {
  std::string text =
      "s = MatMul 2x7x8 2x8x15; r = StaticReshape s shape=2,7,3,5 "
      "special_zero=false; t = StaticTranspose r order=0,2,1,3; "
      "a = Add t 2x3x7x5; p = SoftMax a axis=3; u = StaticTranspose p "
      "order=0,2,1,3; w = StaticReshape u shape=2,7,15 special_zero=false; "
      "MatMul 2x4x7 w";
  EXPECT_EQ(kinds(compile(text)), "attention");
}

/// Attention whose keys and values repeat each of two heads four times; `any`
/// is an unknown size in a list.
std::string repeatedHeads(const std::string &batch, const std::string &queries,
                          const std::string &keys, const std::string &any) {
  auto list = [&](const std::string &x, const std::string &known) {
    return any.empty() ? known : x;
  };
  std::string b = list(any, batch), n = list(any, keys);
  auto repeat = [&](const std::string &to, const std::string &from) {
    auto step = [&](const std::string &name, const std::string &heads,
                    const std::string &kind, const std::string &src) {
      std::string shape = heads;
      for (char &c : shape)
        c = c == ',' ? 'x' : c;
      return name + ":" + batch + "x" + shape + "x" + keys + "x16 = " + kind +
             " " + src + " shape=" + b + "," + heads + "," + n + ",16" +
             (kind == "Expand" ? "; " : " special_zero=false; ");
    };
    return step(to + "1", "2,1", "StaticReshape",
                from + ":" + batch + "x2x" + keys + "x16") +
           step(to + "2", "2,4", "Expand", to + "1") +
           step(to, "8", "StaticReshape", to + "2");
  };
  return repeat("k", "kc") + repeat("v", "vc") + "s = MatMul " + batch + "x8x" +
         queries + "x16 k transpose_b=true; a = Add s " + batch + "x1x" +
         queries + "x" + keys +
         "; c = Multiply a 8x1x1; p,z = SoftMax c "
         "axis=-1; o = MatMul p v; out o z";
}

/// Heads of keys that are repeated are read where they are.
TEST(Attention, RepeatedHeadsAreReadOnce) {
  for (const char *queries : {"1", "37"}) {
    std::string text = repeatedHeads("2", queries, "41", "");
    CompileReport report = compile(text);
    ASSERT_EQ(report.mainGroups.size(), 1U) << text;
    EXPECT_EQ(report.mainGroups[0].kind, "attention");
    checkShapes(text, {text});
  }
  const std::string unknown = "-9223372036854775808";
  std::string dynamic = repeatedHeads("[b]", "[m]", "[n]", unknown);
  CompileReport report = compile(dynamic);
  EXPECT_EQ(report.mainGroups.size(), 1U);
  checkShapes(dynamic, {repeatedHeads("2", "37", "41", ""),
                        repeatedHeads("1", "1", "300", ""),
                        repeatedHeads("3", "5", "1", ""),
                        repeatedHeads("0", "5", "7", "")});
}

TEST(Attention, DropoutIsInTheGroup) {
  std::string start = "s = MatMul 2x9x8 2x8x7; a = Add s 2x1x7; "
                      "p,z = SoftMax a axis=-1; ";
  EXPECT_EQ(kinds(compile(start + "d = Dropout p ()/s64 ()/s64 (); "
                                  "o = MatMul d 2x7x4; out o z")),
            "attention");
  EXPECT_EQ(kinds(compile(start + "d = Dropout p 1/s64 1/s64c 1c; "
                                  "o = MatMul d 2x7x4; out o z")),
            "attention");
  // Weights above one come from the probability, zeros from the number.
  for (double probability : {0.0, 0.3, 0.75, 1.0})
    for (double offset : {0.0, 17.0})
      checkDropout(2, probability, offset);
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

/// Nor does memory of a thread grow with the number of keys.
TEST(Attention, LongRowsAreWalkedInSteps) {
  constexpr int64_t kL2 = 512 << 10;
  auto arena = [](const std::string &keys) {
    // Heads behind the sequence: rows of values are a power of two apart.
    return compile("v = StaticTranspose 1x" + keys +
                   "x16x64 order=0,2,1,3; s = MatMul 1x16x" + keys +
                   "x64 16x64x" + keys + "c; p = SoftMax s axis=-1; MatMul p v")
        .arenaBytes;
  };
  for (const char *keys : {"1536", "4096", "8192"})
    EXPECT_LE(arena(keys), kL2) << keys;
}

std::string masked(const std::string &batch, const std::string &queries,
                   const std::string &keys, const std::string &dropout = "") {
  return "s = MatMul " + batch + "x3x" + queries + "x8 " + batch + "x3x" +
         keys + "x8 transpose_b=true; d = Divide s ()c; a = Add d " + batch +
         "x1x1x" + keys + "; p = SoftMax a axis=-1; " + dropout + "MatMul " +
         (dropout.empty() ? "p " : "w ") + batch + "x3x" + keys + "x8";
}

TEST(Attention, UnknownBatchAndQueries) {
  std::string dynamic = masked("?", "?", "37");
  EXPECT_EQ(kinds(compile(dynamic)), "attention");
  checkShapes(dynamic, {masked("1", "1", "37"), masked("2", "131", "37"),
                        masked("5", "13", "37"), masked("0", "13", "37")});
  std::string drop = "w = Dropout p ()/s64 ()/s64 (); ";
  checkShapes(masked("?", "?", "37", drop), {masked("2", "19", "37", drop)});
  // Steps over the keys.
  checkShapes(masked("?", "?", "1601"),
              {masked("2", "101", "1601"), masked("1", "1", "1601")});
}

/// Each thread packs the keys of a head for itself, unless these are many.
TEST(Attention, ManyKeysArePackedBefore) {
  auto text = [](const std::string &keys) {
    return "s = MatMul 1x20x256 1x" + keys +
           "x256 transpose_b=true; p = SoftMax s axis=-1; MatMul p 1x" + keys +
           "x8";
  };
  EXPECT_EQ(kinds(compile(text("300"))), "attention");
  EXPECT_EQ(kinds(compile(text("9000"))), "pack attention");
}

TEST(Attention, ThreeThreads) {
  for (const std::string &text :
       {masked("2", "97", "101"), masked("1", "100", "1601"),
        masked("1", "2", "1601"), masked("2", "1", "1536"),
        std::string("s = MatMul 5x97x8 5x8x33; p = SoftMax s axis=-1; "
                    "MatMul 5x4x97 p")})
    checkShapes(text, {text});
}

/// Causal attention in `type`; `score` makes t of the scores s, of g, which
/// tells what a query sees, and of h, which hides.
std::string causal(int64_t queries, int64_t keys, const std::string &type,
                   const std::string &hiding, const std::string &score) {
  auto matrix = [&](int64_t rows) {
    return " 2x" + std::to_string(rows) + "x16" + type;
  };
  return "s = MatMul" + matrix(queries) + matrix(keys) +
         " transpose_b=true; r/s32 = GenIndex s axis=-2; "
         "c/s32 = GenIndex s axis=-1; g/boolean = GreaterEqual r c; "
         "z = Subtract n:()" +
         type + "c n; h = " + hiding + "; " + score +
         "; p = SoftMax t axis=-1; MatMul p" + matrix(keys);
}

/// One number of the second matrix of queries (0), keys (1) or values (2).
struct Foreign {
  int operand;
  int64_t row;
  double value;
};

/// One number of an input of the graph, of those with three dims.
struct Change {
  int input;
  int64_t element;
  double value;
};

/// How many elements are not NaN, infinite or about what they should be.
int64_t countWrong(const std::vector<double> &got,
                   const std::vector<double> &expected) {
  int64_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    double x = expected[i];
    bool same = std::isnan(x)   ? std::isnan(got[i])
                : std::isinf(x) ? got[i] == x
                                : std::abs(got[i] - x) < 0.05;
    wrong += !same;
  }
  return wrong;
}

/// Results are NaN, infinite and finite where the definition says: 0 times NaN
/// is NaN, and what a Select does not take has no part.
void checkChanges(const std::string &text, const std::vector<Change> &all) {
  auto graph = parseGraph(text);
  ASSERT_TRUE(graph) << text << ": " << str(graph.errors());
  auto inputs = Oracle::unjudged(*graph);
  ASSERT_TRUE(inputs) << str(inputs.errors());
  std::vector<uint64_t> ports;
  for (uint64_t id : inputs->graph.inputPorts)
    if (inputs->inputs.at(id).rank() == 3)
      ports.push_back(id);
  std::vector<Oracle> oracles;
  for (const Change &change : all) {
    Tensors changed = inputs->inputs;
    changed.at(ports[change.input]).data[change.element] = change.value;
    auto oracle = Oracle::bounded(*graph, changed);
    ASSERT_TRUE(oracle) << str(oracle.errors());
    oracles.push_back(std::move(*oracle));
  }
  for (const char *schedule : {"avx2", "avx512", "generic"})
    for (bool fuse : {true, false}) {
      RunConfig setup;
      setup.options.schedule = schedule;
      setup.options.fuse = fuse;
      auto model = Compiled::compile(oracles[0].graph, setup.options);
      ASSERT_TRUE(model) << text << ": " << str(model.errors());
      for (size_t i = 0; i < all.size(); ++i) {
        auto results = execute(**model, oracles[i], setup);
        ASSERT_TRUE(results) << str(results.errors());
        EXPECT_EQ(countWrong(results->begin()->second.data,
                             oracles[i].expected.begin()->second.data),
                  0)
            << text << ", " << schedule << (fuse ? ": " : ", not fused: ")
            << all[i].value << " in input " << all[i].input << ", element "
            << all[i].element;
      }
    }
}

/// Of causal(queries, keys, ..).
void checkForeign(const std::string &text, int64_t queries, int64_t keys,
                  const std::vector<Foreign> &all) {
  constexpr int64_t kColumns = 16, kColumn = 3;
  std::vector<Change> changes;
  for (const Foreign &foreign : all) {
    int64_t before = foreign.operand == 0 ? queries : keys;
    changes.push_back({foreign.operand,
                       (before + foreign.row) * kColumns + kColumn,
                       foreign.value});
  }
  checkChanges(text, changes);
}

/// NaN and infinity in `rows` of operands from `first` on.
std::vector<Foreign> foreignNumbers(int first, std::vector<int64_t> rows) {
  std::vector<Foreign> all;
  for (double value : {double(NAN), double(INFINITY), -double(INFINITY)})
    for (int operand = first; operand < 3; ++operand)
      for (int64_t row : rows)
        all.push_back({operand, row, value});
  return all;
}

/// ... that all, some and one query sees.
TEST(Attention, ForeignNumbersBehindMasks) {
  std::vector<Foreign> all = foreignNumbers(0, {0, 131, 199});
  for (std::string type : {"/f32", "/bf16"}) {
    for (std::string hiding : {"Log z", "Clamp z min=-10000 max=-10000"})
      checkForeign(causal(200, 200, type, hiding, "t = Select g s h"), 200, 200,
                   all);
    std::string mask = "f/f32 = TypeCast g; m = Log f; ";
    if (type == "/bf16")
      mask = "f/f32 = TypeCast g; u = Log f; m/bf16 = TypeCast u; ";
    checkForeign(causal(200, 200, type, "Log z", mask + "t = Add s m"), 200,
                 200, all);
  }
}

/// ... some of them no query.
TEST(Attention, ForeignNumbersInSteps) {
  for (std::string type : {"", "/bf16"})
    checkForeign(causal(117, 1601, type, "Log z", "t = Select g s h"), 117,
                 1601, foreignNumbers(1, {3, 700, 1600}));
}

/// Attention whose scores meet a tensor of `shape` in `op`.
std::string withMask(const std::string &op, const std::string &shape,
                     int64_t queries, int64_t keys, const std::string &type) {
  auto matrix = [&](int64_t rows) {
    return " 2x" + std::to_string(rows) + "x16" + type;
  };
  return "s = MatMul" + matrix(queries) + matrix(keys) +
         " transpose_b=true; t = " + op + " s " + shape + type +
         "; p = SoftMax t axis=-1; MatMul p" + matrix(keys);
}

/// A mask that is NaN or infinite somewhere: for one query and key, for a key
/// and all queries, for a query and all keys.
TEST(Attention, ForeignNumbersInTheMask) {
  for (std::string type : {"", "/bf16"})
    for (std::string op : {"Add", "Multiply", "Subtract", "Maximum"})
      for (auto [shape, element] : {std::pair{"2x40x72", 40 * 72 + 17 * 72 + 5},
                                    {"1x40x72", 71},
                                    {"1x1x72", 33},
                                    {"2x1x72", 72},
                                    {"2x40x1", 40 + 39}}) {
        std::string text = withMask(op, shape, 40, 72, type);
        EXPECT_EQ(kinds(compile(text)), "attention") << text;
        std::vector<Change> all;
        for (double value : {double(NAN), double(INFINITY), -double(INFINITY)})
          all.push_back({2, element, value});
        checkChanges(text, all);
      }
}

/// The same where attention takes steps along the keys, and with a Select that
/// hides what the mask has made NaN.
TEST(Attention, ForeignNumbersInTheMaskOfSteps) {
  std::vector<Change> all;
  for (double value : {double(NAN), double(INFINITY), -double(INFINITY)})
    for (int64_t key : {0, 801, 1600})
      all.push_back({2, key, value});
  for (std::string type : {"", "/bf16"}) {
    checkChanges(withMask("Add", "1x1x1601", 33, 1601, type), all);
    checkChanges(causal(117, 1601, type, "Log z",
                        "a = Add s 1x1x1601" + type + "; t = Select g a h"),
                 all);
  }
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
  EXPECT_TRUE(remarked("s = MatMul 3x7x8 3x8x7; p = SoftMax s axis=0; "
                       "MatMul p 3x7x4",
                       "it does not run along one of the last two dimensions"));
  EXPECT_TRUE(remarked("s = MatMul 5x8 8x7; p = SoftMax s axis=-1; "
                       "d,m/u8 = Dropout p 1/s64 1/s64 1; "
                       "o = MatMul d 7x4; out o m",
                       "its Dropout also returns the mask"));
  EXPECT_TRUE(remarked("s = MatMul 7x8 8x5; p = SoftMax s axis=0; "
                       "d = Dropout p 1/s64 1/s64 1; MatMul 4x7 d",
                       "its Dropout numbers weights along the last dimension"));
}

} // namespace
