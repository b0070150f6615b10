// SPDX-License-Identifier: Apache-2.0
// How compile time and memory grow with the number of operations.
//
//   scaling_compile [--phases] [CHAIN SIZE]
//
// CHAIN is elementwise, matmul, gru or distinct, SIZE what Chains.h counts.
// Without them all of a list are compiled, one behind the other: peak memory is
// exact for the first of a process only.
#include "benchmarks/scaling_compile/Chains.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

using namespace tenon;
using namespace tenon::benchmarks;

namespace {

struct Kind {
  std::string_view name;
  graph::Graph (*make)(int64_t size);
  std::vector<int64_t> sizes; // without arguments
};

const std::vector<Kind> &kinds() {
  static const std::vector<Kind> list = {
      {"elementwise", elementwiseChain, {10, 100, 1000, 5000}},
      {"matmul", matmulChain, {10, 100, 1000}},
      {"gru", gruChain, {10, 100, 400, 800}},
      {"distinct", distinctChain, {10, 100, 1000}},
  };
  return list;
}

/// Compiles and prints a line; false after an error.
bool measure(const Kind &kind, int64_t size, bool phases) {
  auto result = compileChain(kind.make(size));
  if (!result) {
    std::fprintf(stderr, "%s of %lld: %s\n", kind.name.data(),
                 static_cast<long long>(size), str(result.errors()).c_str());
    return false;
  }
  const CompileReport &report = result->report;
  std::printf("%-12s %6lld %8lld %8lld %10.3f %12.3f %+12.1f %10.1f\n",
              kind.name.data(), static_cast<long long>(size),
              static_cast<long long>(report.ops),
              static_cast<long long>(report.groups), result->seconds,
              result->seconds * 1e3 / double(report.groups),
              double(result->peakGrowth) / 1e6, double(report.codeBytes) / 1e3);
  if (phases)
    for (const PhaseTime &phase : report.phases)
      std::printf("    %-20s %8.3f s\n", phase.name.c_str(), phase.seconds);
  std::fflush(stdout);
  return true;
}

int usage() {
  std::fprintf(stderr, "usage: scaling_compile [--phases] [CHAIN SIZE]\n");
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  bool phases = argc > 1 && std::string_view(argv[1]) == "--phases";
  std::vector<std::string_view> args(argv + 1 + phases, argv + argc);
  const Kind *only = nullptr;
  int64_t size = 0;
  if (!args.empty()) {
    for (const Kind &kind : kinds())
      if (kind.name == args[0])
        only = &kind;
    size = args.size() == 2 ? std::atoll(args[1].data()) : 0;
    if (!only || size <= 0)
      return usage();
  }
  // What the first compilation sets up is no cost of its graph.
  if (auto warm = compileChain(elementwiseChain(1)); !warm) {
    std::fprintf(stderr, "%s\n", str(warm.errors()).c_str());
    return 1;
  }
  std::printf("%-12s %6s %8s %8s %10s %12s %12s %10s\n", "chain", "size", "ops",
              "groups", "seconds", "ms per group", "peak MB", "code KB");
  if (only)
    return measure(*only, size, phases) ? 0 : 1;
  for (const Kind &kind : kinds())
    for (int64_t each : kind.sizes)
      if (!measure(kind, each, phases))
        return 1;
  return 0;
}
