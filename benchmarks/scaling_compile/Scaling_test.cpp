// SPDX-License-Identifier: Apache-2.0
// The work of compiling grows linearly with the number of operations. It is
// counted and not timed: allocations of all that compiles, functions and code.
// scaling_compile measures times.
#include "benchmarks/scaling_compile/Chains.h"
#include "dialects/support/Counting.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace tenon;
using namespace tenon::benchmarks;
using tenon::test::Cost;
using tenon::test::costOf;

namespace {

/// Allocations for each operation, those of MLIR and LLVM, too; negative when
/// compiling fails.
double allocationsPerOp(graph::Graph (*make)(int64_t), int64_t ops) {
  graph::Graph chain = make(ops);
  Options options;
  options.compileThreads = 1; // the calling thread, whose work is counted
  bool compiles = false;
  Cost cost = costOf([&] {
    auto model = Compiled::compile(chain, options);
    compiles = bool(model);
    EXPECT_TRUE(model) << ops << " operations: " << str(model.errors());
  });
  return compiles ? double(cost.allocations) / double(ops) : -1;
}

void expectLinear(graph::Graph (*make)(int64_t)) {
  allocationsPerOp(make, 10); // what only the first compilation does
  double few = allocationsPerOp(make, 100);
  double many = allocationsPerOp(make, 1000);
  // Fails where nothing is counted, too.
  EXPECT_GT(few, 100);
  EXPECT_LT(many, 1.25 * few);
}

/// Operations of the largest function that LLVM gets, each a line of text.
int64_t largestFunction(const graph::Graph &chain) {
  auto text = lowerToPhase(*graph::prepareGraph(chain), Options(), "llvm");
  if (!text)
    return -1;
  int64_t largest = 0, count = 0;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line); ++count)
    if (line.starts_with("  llvm.func"))
      count = 0;
    else if (line == "  }")
      largest = std::max(largest, count);
  return largest;
}

/// The sizes of the caller's tensors are not known.
graph::Graph gruOfAnyBatch(int64_t steps) {
  graph::Graph g = gruChain(steps);
  for (auto &[id, tensor] : g.tensors)
    if (tensor.property != graph::PropertyType::constant)
      tensor.shape->front() = graph::kUnknownDim;
  return g;
}

TEST(CompileTime, NoFunctionGrowsWithTheNumberOfGroups) {
  for (auto make : {gruChain, gruOfAnyBatch, matmulChain}) {
    int64_t few = largestFunction(make(300)),
            many = largestFunction(make(1200));
    ASSERT_GT(few, 0);
    EXPECT_LT(many, few + few / 4) << "functions of " << few << " operations";
  }
}

TEST(CompileTime, WeightsOfManyStepsAreOneBuffer) {
  for (int64_t steps : {2, 40}) {
    auto result = compileChain(gruChain(steps));
    ASSERT_TRUE(result) << str(result.errors());
    // Three gates with two matrices each; their copies would be others.
    EXPECT_EQ(result->report.foldGroups.size(), 6u) << steps << " steps";
  }
}

TEST(CompileTime, CodeOfAGroupDoesNotGrow) {
  auto few = compileChain(gruChain(100)), many = compileChain(gruChain(400));
  ASSERT_TRUE(few && many);
  auto perGroup = [](const ChainResult &result) {
    return double(result.report.codeBytes) / double(result.report.groups);
  };
  EXPECT_LT(perGroup(*many), perGroup(*few) * 1.1);
  EXPECT_EQ(many->report.groupFunctions, few->report.groupFunctions);
}

TEST(CompileTime, ElementwiseChainIsLinear) { expectLinear(elementwiseChain); }
TEST(CompileTime, MatMulChainIsLinear) { expectLinear(matmulChain); }

} // namespace
