// SPDX-License-Identifier: Apache-2.0
// Recurrent operations with all options drawn at random, alone or with their
// gradients, compiled and held against the evaluator; the same bits for any
// number of threads.
//
// TENON_RECURRENT_CASES=N draws N graphs (200), from number
// TENON_RECURRENT_FIRST on (0).
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"
#include "tests/ops/RecurrentText.h"

#include <cstdlib>

using namespace tenon;
using namespace tenon::test;

namespace {

uint64_t numberOf(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Results of one and of several threads, judged by the evaluator.
void checkChoice(const graph::Graph &graph, const char *schedule,
                 uint64_t number) {
  auto oracle = Oracle::make(graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  RunConfig config;
  config.options.schedule = schedule;
  auto model = Compiled::compile(graph, config.options);
  ASSERT_TRUE(model) << str(model.errors());
  auto one = execute(**model, *oracle, config);
  ASSERT_TRUE(one) << str(one.errors());
  EXPECT_TRUE(agrees(*oracle, *one, /*fastMath=*/false, /*conditioned=*/true));
  config.threads = 2 + static_cast<int>(number % 2);
  config.pool = number % 3 == 0;
  auto more = execute(**model, *oracle, config);
  ASSERT_TRUE(more) << str(more.errors());
  EXPECT_EQ(bitsOf(*one), bitsOf(*more)) << config.threads << " threads";
}

TEST(RecurrentRandom, AgreesWithTheEvaluator) {
  uint64_t first = numberOf("TENON_RECURRENT_FIRST", 0);
  uint64_t count = numberOf("TENON_RECURRENT_CASES", 200);
  for (uint64_t i = first; i < first + count && !HasFatalFailure(); ++i) {
    std::string text = textOf(randomChoice(i));
    SCOPED_TRACE("number " + std::to_string(i) + ": " + text);
    auto graph = parseGraph(text);
    ASSERT_TRUE(graph) << str(graph.errors());
    checkChoice(*graph, i % 2 ? "avx2" : "avx512", i);
  }
}

} // namespace
