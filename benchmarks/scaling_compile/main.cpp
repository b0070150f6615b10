// How compile time and memory grow with the number of operations.
//
//   scaling_compile [--phases]
#include "benchmarks/scaling_compile/Chains.h"

#include <cstdio>
#include <string_view>

using namespace tenon;
using namespace tenon::benchmarks;

int main(int argc, char **argv) {
  bool phases = argc > 1 && std::string_view(argv[1]) == "--phases";
  struct Chain {
    const char *name;
    graph::Graph (*make)(int64_t ops);
    int64_t ops;
  };
  static const Chain chains[] = {
      {"elementwise", elementwiseChain, 10},
      {"elementwise", elementwiseChain, 100},
      {"elementwise", elementwiseChain, 1000},
      {"elementwise", elementwiseChain, 5000},
      {"matmul+relu", matmulChain, 10},
      {"matmul+relu", matmulChain, 100},
      {"matmul+relu", matmulChain, 1000},
  };
  // What the first compilation sets up is no cost of its graph.
  if (auto warm = compileChain(elementwiseChain(1)); !warm) {
    std::fprintf(stderr, "%s\n", str(warm.errors()).c_str());
    return 1;
  }
  std::printf("%-12s %6s %10s %12s %12s %8s %10s\n", "chain", "ops", "seconds",
              "ms per op", "peak MB", "groups", "code KB");
  for (const Chain &chain : chains) {
    auto result = compileChain(chain.make(chain.ops));
    if (!result) {
      std::fprintf(stderr, "%s of %lld: %s\n", chain.name,
                   static_cast<long long>(chain.ops),
                   str(result.errors()).c_str());
      return 1;
    }
    std::printf("%-12s %6lld %10.3f %12.3f %+12.1f %8lld %10.1f\n", chain.name,
                static_cast<long long>(chain.ops), result->seconds,
                result->seconds * 1e3 / double(chain.ops),
                double(result->peakGrowth) / 1e6,
                static_cast<long long>(result->report.groups),
                double(result->report.codeBytes) / 1e3);
    if (phases)
      for (const PhaseTime &phase : result->report.phases)
        std::printf("    %-20s %8.3f s\n", phase.name.c_str(), phase.seconds);
    std::fflush(stdout);
  }
  return 0;
}
