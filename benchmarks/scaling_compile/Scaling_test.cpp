// Compile time grows linearly with the number of operations: an operation of a
// chain of 1,000 costs less than 3 times one of a chain of 100.
#include "benchmarks/scaling_compile/Chains.h"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(CompileTime, ElementwiseChainIsLinear) { expectLinear(elementwiseChain); }
TEST(CompileTime, MatMulChainIsLinear) { expectLinear(matmulChain); }

} // namespace
