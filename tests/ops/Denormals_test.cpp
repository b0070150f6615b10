// The option `denormals`: numbers below 2^-126 are kept, or read and written as
// zero, by every thread that computes, and the caller's mode stays as it was.
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

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

TEST(Denormals, AnotherValueIsRefused) {
  Options options;
  options.denormals = "maybe";
  auto graph = parseGraph("ReLU 4");
  auto compiled = Compiled::compile(*graph, options);
  ASSERT_FALSE(compiled);
  EXPECT_NE(str(compiled.errors()).find("use keep or flush"),
            std::string::npos);
}

} // namespace
