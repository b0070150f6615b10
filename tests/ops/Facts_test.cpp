// SPDX-License-Identifier: Apache-2.0
// What the compiler counts in groups is what the graph says, what it moves is
// what its tensors have; buffers of the arena never clash.
#include "compiler/driver/Session.h"
#include "compiler/report/Stats.h"
#include "tests/ops/GraphText.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace tenon;
using namespace tenon::test;

namespace {

CompileReport compile(const graph::Graph &graph, bool fuse = true) {
  CompileReport report;
  Options options;
  options.fuse = fuse;
  auto model = Compiled::compile(graph, options, &report);
  EXPECT_TRUE(model) << str(model.errors());
  return report;
}

graph::Graph parse(const std::string &text) {
  auto graph = parseGraph(text);
  EXPECT_TRUE(graph) << text << ": " << str(graph.errors());
  return graph ? *graph : graph::Graph();
}

double flopsOf(const CompileReport &report) {
  double sum = 0;
  for (const auto *list : {&report.mainGroups, &report.foldGroups})
    for (const GroupStats &group : *list)
      sum += group.flops;
  return sum;
}

TEST(Facts, ContractionsCountAsInTheGraph) {
  const std::string window =
      " strides=2,2 pads_begin=1,1 pads_end=1,1 dilations=1,1";
  for (const std::string &text : std::vector<std::string>{
           "MatMul 5x7 7x11c", "MatMul 2x3x5x7 7x11",
           "MatMul 5x7 11x7c transpose_b=true", "MatMul 5x70/bf16 70x11/bf16c",
           "Convolution 2x9x8x7/bf16 3x3x7x10/bf16c" + window,
           "Convolution 2x9x8x6 3x3x2x12c groups=3" + window,
           "Convolution 2x9x8x6 3x3x6x10" + window,
           "Convolution 2x9x8x6 3x3x1x6c groups=6" + window,
           "Convolution 1x6x9x8 12x6x3x3c data_format=NCX "
           "weights_format=OIX" +
               window,
           "ConvTranspose 2x5x4x6 3x3x4x6c" + window,
           "ConvTranspose 2x5x4x6 3x3x4x6c groups=3" + window,
           "ConvTranspose 2x5x4x6 3x3x1x6c groups=6" + window,
           "ConvolutionBackwardData 2x5x4x6 3x3x4x6 dst_shape=2,9,7,4" + window,
           "ConvolutionBackwardWeights 2x9x8x6 2x5x4x12 "
           "weights_shape=3,3,6,12" +
               window,
           "ConvolutionBackwardWeights 2x9x8x6 2x5x4x12 "
           "weights_shape=3,3,2,12 groups=3" +
               window,
           "ConvolutionBackwardWeights 2x9x8x6 2x5x4x6 "
           "weights_shape=3,3,1,6 groups=6" +
               window}) {
    graph::Graph graph = parse(text);
    double expected = report::statsOf(graph).contractionFlops;
    EXPECT_GT(expected, 0) << text;
    EXPECT_EQ(flopsOf(compile(graph)), expected) << text;
  }
}

// Attention counts both products, and a bit for the scores between them.
TEST(Facts, AttentionCountsBothProducts) {
  graph::Graph graph =
      parse("s = MatMul 2x3x11x8 2x3x13x8 transpose_b=true; "
            "t = Multiply s 1; p = SoftMax t axis=-1; MatMul p 2x3x13x8");
  CompileReport report = compile(graph);
  double scores = 2 * 3 * 11 * 13;
  EXPECT_EQ(flopsOf(report), scores * (2 * 8 + 2 * 8 + 2));
  EXPECT_TRUE(std::any_of(report.mainGroups.begin(), report.mainGroups.end(),
                          [](const GroupStats &g) {
                            return g.kind == "attention" && g.ops.size() == 4;
                          }));
}

TEST(Facts, TrafficIsThatOfTheTensors) {
  graph::Graph graph =
      parse("t = MatMul x:32x64 64x128; u = ReLU t; n = SoftMax u axis=-1; "
            "y = Add n x2:32x128; z = MatMul u 128x16; out y z");
  CompileReport report = compile(graph);
  ASSERT_EQ(report.mainGroups.size(), 3u);
  const double f32 = 4;
  auto find = [&](const std::string &kind, size_t op) -> const GroupStats & {
    for (const GroupStats &g : report.mainGroups)
      if (g.kind == kind &&
          std::find(g.ops.begin(), g.ops.end(), op) != g.ops.end())
        return g;
    ADD_FAILURE() << kind << " of " << op;
    return report.mainGroups[0];
  };
  const GroupStats &first = find("contraction", 0);
  EXPECT_EQ(first.ops, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(first.memory.read, (32 * 64 + 64 * 128) * f32);
  EXPECT_EQ(first.memory.written, 0);
  EXPECT_EQ(first.reused.read, 0);
  EXPECT_EQ(first.reused.written, 32 * 128 * f32);
  EXPECT_EQ(first.flops, 2. * 32 * 64 * 128 + 32 * 128);
  const GroupStats &rows = find("reduction", 2);
  EXPECT_EQ(rows.ops, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(rows.memory.read, 32 * 128 * f32);
  EXPECT_EQ(rows.reused.read, 32 * 128 * f32);
  EXPECT_EQ(rows.memory.written, 32 * 128 * f32);
  EXPECT_EQ(rows.types, "32x128xf32, 32x128xf32 -> 32x128xf32");
  const GroupStats &second = find("contraction", 4);
  EXPECT_EQ(second.memory.read, 128 * 16 * f32);
  EXPECT_EQ(second.memory.written, 32 * 16 * f32);
}

/// What a Concat has in place it does not move; one that begins with all that
/// another joins has that one's operands, too.
TEST(Facts, ConcatMovesWhatIsNotInPlace) {
  CompileReport report = compile(
      parse("a = ReLU 8x64; b = Abs a; c = Concat a b axis=1; d = Exp c; "
            "e = Concat a b x:8x16 axis=1; out d e"));
  const double f32 = 4;
  for (const GroupStats &group : report.mainGroups) {
    if (group.kind != "concat")
      continue;
    bool first = group.ops == std::vector<size_t>{2};
    EXPECT_EQ(group.inPlace, first ? (std::vector<size_t>{0, 1})
                                   : (std::vector<size_t>{0, 1, 2}));
    EXPECT_EQ(group.memory.read, first ? 0 : 8 * 16 * f32);
    EXPECT_EQ(group.memory.written, first ? 0 : 8 * 16 * f32);
    EXPECT_EQ(group.reused.read + group.reused.written, 0);
  }
}

TEST(Facts, UnknownSizesAreSaid) {
  CompileReport report = compile(parse("MatMul ?x7 7x11c"));
  ASSERT_EQ(report.mainGroups.size(), 1u);
  EXPECT_FALSE(report.mainGroups[0].sized);
  EXPECT_TRUE(report.foldGroups.at(0).sized);
  EXPECT_EQ(report.mainGroups[0].types.substr(0, 8), "?x7xf32,");
}

// Equal groups share a function; each call has operations of its own.
TEST(Facts, EqualGroupsHaveTheirOwnOperations) {
  CompileReport report =
      compile(parse("a = MatMul x:8x8 8x8c; b = ReLU a; c = MatMul b 8x8c; "
                    "ReLU c"));
  EXPECT_EQ(report.groupFunctions, 2);
  ASSERT_EQ(report.mainGroups.size(), 2u);
  EXPECT_EQ(report.mainGroups[0].ops, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(report.mainGroups[1].ops, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(report.foldGroups.at(1).ops, (std::vector<size_t>{2}));
}

TEST(Arena, BuffersThatLiveTogetherAreApart) {
  std::string text = "a0 = MatMul x:40x40 40x40; ";
  for (int i = 0; i < 12; ++i)
    text += "a" + std::to_string(i + 1) + " = MatMul a" + std::to_string(i) +
            " 40x40; ";
  text += "s = Add a12 a3; SoftMax s axis=0";
  CompileReport report = compile(parse(text));
  ASSERT_GT(report.arena.size(), 10u);
  int64_t sum = 0, peak = 0;
  int shared = 0;
  for (const ArenaBuffer &b : report.arena) {
    EXPECT_LE(b.first, b.last);
    EXPECT_LT(b.last, report.arenaSteps.size());
    EXPECT_EQ(b.offset % 64, 0);
    sum += b.bytes;
    peak = std::max(peak, b.offset + b.bytes);
    for (const ArenaBuffer &c : report.arena) {
      bool sameTime = b.first <= c.last && c.first <= b.last;
      bool samePlace =
          b.offset < c.offset + c.bytes && c.offset < b.offset + b.bytes;
      EXPECT_TRUE(&b == &c || !sameTime || !samePlace)
          << b.name << " and " << c.name;
      shared += &b != &c && samePlace;
    }
  }
  EXPECT_GT(shared, 0);
  EXPECT_EQ(sum, report.unsharedBytes);
  EXPECT_LE(peak, report.arenaBytes);
  EXPECT_LT(report.arenaBytes - peak, 64);
}

} // namespace
