// Compile time grows linearly with the number of operations: an operation of a
// chain of 1,000 costs less than 3 times one of a chain of 100. What would make
// it grow faster is counted, too.
#include "benchmarks/scaling_compile/Chains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

using namespace tenon;
using namespace tenon::benchmarks;

namespace {

/// Seconds per operation, the best of `runs`; negative when compiling fails.
double secondsPerOp(graph::Graph (*make)(int64_t), int64_t ops, int runs) {
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    auto result = compileChain(make(ops));
    if (!result) {
      ADD_FAILURE() << ops << " operations: " << str(result.errors());
      return -1;
    }
    best = std::min(best, result->seconds / double(ops));
  }
  return best;
}

void expectLinear(graph::Graph (*make)(int64_t)) {
  double few = secondsPerOp(make, 100, 3);
  double many = secondsPerOp(make, 1000, 2);
  std::printf("ms per operation: %.3f of 100, %.3f of 1000\n", few * 1e3,
              many * 1e3);
  EXPECT_LT(many, 3 * few);
}

/// Operations of the largest function that LLVM gets, each a line of text.
int64_t largestFunction(const graph::Graph &chain) {
  auto text = lowerToPhase(chain, Options(), "llvm");
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
