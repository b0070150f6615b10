// SPDX-License-Identifier: Apache-2.0
// Compiled results of every operation that compiles, and of small graphs that
// exercise fusion, against the evaluator.  All cases run with the avx2 schedule
// on one thread; each also runs once more in one of the other ways, in turn.
#include "dialects/graph/OpTable.h"
#include "tests/e2e/Harness.h"
#include "tests/ops/Cases.h"
#include "tests/ops/GraphText.h"

#include <cctype>
#include <limits>
#include <set>

using namespace tenon;
using namespace tenon::test;

namespace {

/// A case and its number, which picks its second configuration.
struct Param {
  std::string text;
  size_t index;
};

void PrintTo(const Param &param, std::ostream *out) { *out << param.text; }

RunConfig config(const char *schedule, int threads = 1, bool pool = false,
                 bool fuse = true) {
  RunConfig c;
  c.options.schedule = schedule;
  c.options.fuse = fuse;
  c.threads = threads;
  c.pool = pool;
  return c;
}

RunConfig secondConfig(size_t index) {
  switch (index % 5) {
  case 0:
    return config("avx512", 2);
  case 1:
    return config("generic");
  case 2:
    return config("avx2", 2, /*pool=*/true);
  case 3:
    return config("avx2", 1, false, /*fuse=*/false);
  }
  return config("avx512", 2, /*pool=*/true);
}

std::string describe(const RunConfig &c) {
  return c.options.schedule + ", " + std::to_string(c.threads) + " threads" +
         (c.pool ? ", caller's pool" : "") +
         (c.options.fuse ? "" : ", not fused");
}

class Ops : public testing::TestWithParam<Param> {};

TEST_P(Ops, AgreesWithTheEvaluator) {
  auto graph = parseGraph(GetParam().text);
  ASSERT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::make(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  for (const RunConfig &c : {config("avx2"), secondConfig(GetParam().index)})
    EXPECT_TRUE(checkGraph(*oracle, c)) << describe(c);
}

std::vector<Param> params(const Cases &cases) {
  std::vector<Param> params;
  for (const std::string &text : cases)
    params.push_back({text, params.size()});
  return params;
}

std::string nameOf(const testing::TestParamInfo<Param> &info) {
  return caseName(info.index, info.param.text);
}

#define TENON_OPS(family)                                                      \
  INSTANTIATE_TEST_SUITE_P(family, Ops,                                        \
                           testing::ValuesIn(params(family##Cases())), nameOf)
TENON_OPS(unary);
TENON_OPS(binary);
TENON_OPS(matmul);
TENON_OPS(convolution);
TENON_OPS(convGradient);
TENON_OPS(convGradientFusion);
TENON_OPS(pool);
TENON_OPS(poolGradient);
TENON_OPS(interpolate);
TENON_OPS(lrn);
TENON_OPS(norm);
TENON_OPS(reduce);
TENON_OPS(recurrent);
TENON_OPS(movement);
TENON_OPS(search);
TENON_OPS(backward);
TENON_OPS(type);
TENON_OPS(attention);
TENON_OPS(fusion);
TENON_OPS(narrow);
TENON_OPS(layout);
TENON_OPS(indexing);
TENON_OPS(integer);
TENON_OPS(joined);
TENON_OPS(weightOnly);

/// Machines without registers for 16-bit floats: LLVM must not reach for a
/// library that nobody links.
TEST(Narrow, OlderMachines) {
  for (const char *text :
       {"s = MatMul 2x9x8/bf16 2x8x13/bf16; p/bf16 = SoftMax s axis=-1; MatMul "
        "p 2x13x21/bf16",
        "MatMul 5x131/bf16 131x50/bf16c", "MatMul 33x64/bf16 64x96/bf16",
        "StaticTranspose 33x47/bf16 order=1,0"}) {
    auto graph = parseGraph(text);
    ASSERT_TRUE(graph) << str(graph.errors());
    auto oracle = Oracle::make(*graph);
    ASSERT_TRUE(oracle) << str(oracle.errors());
    for (const char *cpu : {"x86-64-v2", "x86-64-v3"}) {
      RunConfig c = config("auto");
      c.options.targetCpu = cpu;
      EXPECT_TRUE(checkGraph(*oracle, c)) << text << " " << cpu;
    }
  }
}

/// What a mask takes out of a softmax is 0, and never a denormal number, which
/// would take the machine hundreds of cycles.
TEST(SoftMax, MaskedWeightsAreZero) {
  auto graph = parseGraph("SoftMax 4x48 axis=-1");
  ASSERT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::make(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  auto &x = oracle->inputs.begin()->second.data;
  const double masks[] = {-90, -100, -10000,
                          -std::numeric_limits<double>::infinity()};
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i % 3 ? masks[i / 48] : 0.0;
  for (const char *schedule : {"avx2", "avx512", "generic"}) {
    RunConfig c = config(schedule);
    auto model = Compiled::compile(oracle->graph, c.options);
    ASSERT_TRUE(model) << str(model.errors());
    auto results = execute(**model, *oracle, c);
    ASSERT_TRUE(results) << str(results.errors());
    const auto &y = results->begin()->second.data;
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(y[i], i % 3 ? 0 : 0.0625) << schedule << " " << i;
  }
}

/// A narrow edge before a Quantize may be rounded or not, which moves ties.
TEST(Narrow, QuantizedFromANarrowEdge) {
  auto graph = parseGraph(
      "a/f32 = Dequantize 16x96/u8 scales=0.5 zps=7; c/bf16 = TypeCast a; "
      "b/f32 = Dequantize 96x32/s8c scales=0.25; d/bf16 = TypeCast b; y = "
      "MatMul c d; z/f32 = TypeCast y; q/s8 = Quantize z scales=128");
  ASSERT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::make(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  for (bool fuse : {true, false})
    EXPECT_TRUE(checkGraph(*oracle, config("avx2", 1, false, fuse))) << fuse;
}

/// Every operation that compiles is alone in some graph, and every string an
/// attribute may have is written in some graph.
TEST(Cases, CoverTheTable) {
  std::set<std::string> kinds, values;
  for (auto family :
       {unaryCases, binaryCases, matmulCases, convolutionCases,
        convGradientCases, poolCases, poolGradientCases, interpolateCases,
        lrnCases, normCases, reduceCases, recurrentCases, movementCases,
        searchCases, backwardCases, typeCases, integerCases, indexingCases})
    for (const std::string &text : family()) {
      // Inference would replace auto_pad by pads.
      auto graph = parseGraphOnly(text);
      ASSERT_TRUE(graph) << text << ": " << str(graph.errors());
      for (const graph::Op &op : graph->ops) {
        if (graph->ops.size() == 1)
          kinds.insert(op.kind);
        for (auto &[name, value] : op.attrs)
          if (auto *word = std::get_if<std::string>(&value))
            values.insert(op.kind + " " + name + "=" + *word);
      }
    }
  for (const graph::OpInfo &op : graph::allOps()) {
    // Of Reshape a text does not say the shape (Indexing_test.cpp).
    if (op.compiles.empty() || op.results.empty() || op.kind == "Reshape")
      continue;
    EXPECT_TRUE(kinds.count(std::string(op.kind))) << op.kind;
    for (const graph::AttrInfo &attr : op.attrs)
      for (std::string_view word : attr.allowed)
        if (word != attr.defaultText)
          EXPECT_TRUE(values.count(std::string(op.kind) + " " +
                                   std::string(attr.name) + "=" +
                                   std::string(word)))
              << op.kind << " " << attr.name << "=" << word;
  }
}

} // namespace
