// SPDX-License-Identifier: Apache-2.0
// The option `denormals`: numbers below 2^-126 are kept, or read and written as
// zero, by every thread that computes, and the caller's mode stays as it was.
#include "compiler/check/Reference.h"
#include "compiler/driver/Denormals.h"
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

#include <cmath>

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr double kTiny = 0x1p-130; // denormal in f32

/// The result of `text` for inputs that are all `value`, each its own element
/// type's.
std::vector<double> resultOf(const char *text, double value,
                             const char *denormals, int threads) {
  auto graph = parseGraph(text);
  EXPECT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::unjudged(*graph);
  EXPECT_TRUE(oracle) << str(oracle.errors());
  for (auto &[id, tensor] : oracle->inputs)
    tensor.data.assign(tensor.data.size(), value);
  RunConfig setup;
  setup.options.denormals = denormals;
  setup.threads = threads;
  auto compiled = Compiled::compile(oracle->graph, setup.options);
  EXPECT_TRUE(compiled) << str(compiled.errors());
  auto results = execute(**compiled, *oracle, setup);
  // This thread computes as before.
  volatile float tiny = kTiny;
  EXPECT_EQ(tiny + tiny, 2 * kTiny);
  EXPECT_TRUE(results) << str(results.errors());
  return results->begin()->second.data;
}

TEST(Denormals, AreKeptUnlessAsked) {
  for (int threads : {1, 2})
    for (double x : resultOf("Add 64x1024 64x1024", kTiny, "keep", threads))
      ASSERT_EQ(x, 2 * kTiny);
}

TEST(Denormals, AreFlushedByAllThreads) {
  for (int threads : {1, 2})
    for (const char *text : {"Add 64x1024 64x1024", "MatMul 64x64 64x64",
                             "MatMul 64x64 64x64c", "Abs 64x1024"})
      // Abs clears a bit: no arithmetic, but the result may be either.
      for (double x : resultOf(text, kTiny, "flush", threads))
        if (std::string_view(text) != "Abs 64x1024")
          ASSERT_EQ(x, 0) << text;
        else
          ASSERT_TRUE(x == 0 || x == kTiny);
}

TEST(Denormals, ResultsBelowTheSmallestNormalNumberAreFlushed) {
  for (double x : resultOf("Multiply 64x1024 64x1024", 0x1p-70, "flush", 2))
    ASSERT_EQ(x, 0);
  for (double x : resultOf("Multiply 64x1024 64x1024", 0x1p-70, "keep", 2))
    ASSERT_EQ(x, 0x1p-140);
}

TEST(Denormals, NormalNumbersAreTheSameEitherWay) {
  const char *text = "y = MatMul 17x33 33x65c 65c; GELU y mode=gelu_erf";
  EXPECT_EQ(resultOf(text, 0.25, "flush", 2), resultOf(text, 0.25, "keep", 2));
}

/// Compiled with denormals=flush, executed and judged as `tenon check` does.
/// Element `i` of the first input is 2^-(120 + i mod 16), of both signs unless
/// `positive`; all others are `other`.
struct Flushed {
  Oracle oracle;
  Tensors results;

  Flushed(const char *text, bool positive, double other) {
    auto graph = parseGraph(text);
    EXPECT_TRUE(graph) << text << (graph ? "" : str(graph.errors()));
    oracle = *Oracle::unjudged(*graph);
    const std::vector<uint64_t> &ports = oracle.graph.inputPorts;
    for (uint64_t id : ports)
      oracle.inputs.at(id).data.assign(oracle.inputs.at(id).data.size(), other);
    std::vector<double> &data = oracle.inputs.at(ports[0]).data;
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = std::ldexp(positive || i % 3 ? 1.25 : -1.25,
                           -120 - static_cast<int>(i % 16));
    for (auto &[id, tensor] : oracle.inputs)
      reference::roundToDType(tensor);
    RunConfig setup;
    setup.options.denormals = "flush";
    auto compiled = Compiled::compile(oracle.graph, setup.options);
    EXPECT_TRUE(compiled) << text << str(compiled.errors());
    auto executed = execute(**compiled, oracle, setup);
    EXPECT_TRUE(executed) << text << str(executed.errors());
    results = *executed;
  }

  check::CompareResult judge(bool flush) const {
    auto made = check::Reference::create(oracle.graph, oracle.inputs,
                                         {.flushDenormals = flush});
    EXPECT_TRUE(made) << str(made.errors());
    return made->judge(results)->front().result;
  }
};

TEST(Denormals, FlushedResultsAreJudgedByWhatTheOptionAllows) {
  struct Case {
    const char *text;
    bool positive;
    double other;
    /// What element 1 is not.
    double wrong;
  };
  for (const Case &c : std::vector<Case>{
           {"Add 16x16 16x16", false, 0x1p-130, 0x1p-110},
           {"Multiply 16x16 16x16", false, 0.5, 0x1p-110},
           {"Abs 16x16", false, 1, 0x1p-110},
           {"StaticTranspose 16x16 order=1,0", false, 1, 0x1p-110},
           {"m = Multiply 16x16 16x16; Divide m 16x16", false, 0x1p-20, 1},
           {"MatMul 16x16 16x16", false, 0x1p30, 1},
           {"MatMul 16x16/bf16 16x16/bf16", false, 0x1p30, 1},
           {"ReduceSum 16x16 axes=1", false, 1, 0x1p-100},
           // Squares may be lost that are below 2^-126.
           {"ReduceL2 16x16 axes=1", false, 1, 0x1p-50},
           {"LayerNorm 16x16 keep_stats=false use_affine=false epsilon=1e-30",
            false, 1, 1},
           // A divisor that may be 0, or a denormal quotient.
           {"Reciprocal 16x16", true, 1, 1},
           {"r = Reciprocal 16x16; Reciprocal r", true, 1, 1},
           {"d = Divide 16x16 16x16; Log d", true, 4, 1},
           {"Log 16x16", true, 1, 1},
           {"Exp 16x16", false, 1, 2},
           {"Sqrt 16x16", true, 1, 1},
           {"GreaterEqual 16x16 16x16", true, 0x1p-90, 1}}) {
    Flushed flushed(c.text, c.positive, c.other);
    check::CompareResult result = flushed.judge(/*flush=*/true);
    EXPECT_TRUE(result.passed()) << c.text << ": " << result.str();
    flushed.results.begin()->second.data[1] = c.wrong;
    result = flushed.judge(/*flush=*/true);
    EXPECT_EQ(result.mismatches, 1) << c.text << ": " << result.str();
  }
}

TEST(Denormals, TheDefinitionKeepsThem) {
  for (const char *text : {"Add 16x16 16x16", "Reciprocal 16x16"})
    EXPECT_FALSE(Flushed(text, true, 0x1p-130).judge(/*flush=*/false).passed());
}

// Few weights of a million may be denormal.
TEST(Denormals, ConstantsDecide) {
  auto graph = parseGraph("Add 2048 2048");
  ASSERT_TRUE(graph) << str(graph.errors());
  uint64_t id = graph->inputPorts[1];
  std::vector<float> values(2048, -0.0f);
  auto decided = [&](const char *asked, uint64_t of) {
    Constants constants;
    constants.add(of, std::as_bytes(std::span(values)));
    Options options;
    options.denormals = asked;
    return decideDenormals(options, *graph, constants).denormals;
  };
  EXPECT_EQ(decided("auto", id), "keep");
  values[77] = 0x1p-126f;
  EXPECT_EQ(decided("auto", id), "keep");
  values.back() = -0x1p-127f;
  EXPECT_EQ(decided("auto", id), "flush");
  EXPECT_EQ(decided("keep", id), "keep");
  EXPECT_EQ(decided("flush", id), "flush");
  // One that the graph does not read, and one of integers.
  EXPECT_EQ(decided("auto", 12345), "keep");
  graph->tensor(id).dtype = graph::DType::s32;
  EXPECT_EQ(decided("auto", id), "keep");
}

TEST(Denormals, AnotherValueIsRefused) {
  Options options;
  options.denormals = "maybe";
  auto graph = parseGraph("ReLU 4");
  auto compiled = Compiled::compile(*graph, options);
  ASSERT_FALSE(compiled);
  EXPECT_NE(str(compiled.errors()).find("use auto, keep or flush"),
            std::string::npos);
}

} // namespace
