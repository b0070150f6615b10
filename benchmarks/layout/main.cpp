// SPDX-License-Identifier: Apache-2.0
// Convolutions of NCX tensors, cut in the middle by an operation that the
// program executes: with plain edges at the cut, and with edges whose layout
// the compiler chooses. Tells the copies in another order with what they cost,
// and medians of executions in turn, one thread: of its CPU time, since others
// may be busy on the machine.
//
//   layout_bench [CHANNELS,SIZE,CONVOLUTIONS ...]
#include "benchmarks/layout/Chain.h"
#include "benchmarks/layout/EdgeOrders.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <exception>

using namespace tenon;
using namespace tenon::benchmarks;

namespace {

constexpr double kSeconds = 4;
constexpr int kMinRounds = 51;

double now(clockid_t clock) {
  timespec t = {};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double cpuNow() { return now(CLOCK_THREAD_CPUTIME_ID); }

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void printOrders(const char *edges, const Chain &chain,
                 const report::MoveTime &moveTime) {
  std::printf("  %s edges\n", edges);
  size_t copies = 0;
  for (const std::string &graph : chain.graphs()) {
    auto orders = edgeOrders(graph, moveTime);
    if (!orders)
      throw std::runtime_error(str(orders.errors()));
    for (const EdgeOrder &order : *orders) {
      if (order.order.info.when == ReorderInfo::When::bind)
        continue;
      std::printf("    %s: %s\n", order.edge.c_str(), order.order.text.c_str());
      copies += order.order.info.when == ReorderInfo::When::run &&
                order.port != Chain::kInput && order.port != Chain::kOutput;
    }
  }
  std::printf("    %zu copies inside in every execution\n", copies);
}

void compare(const ChainShape &shape, const report::MoveTime &moveTime) {
  std::printf("%lld channels, %lldx%lld, %lld convolutions on each side\n",
              static_cast<long long>(shape.channels),
              static_cast<long long>(shape.size),
              static_cast<long long>(shape.size),
              static_cast<long long>(shape.convolutions));
  Chain plain(shape, Edges::plain), any(shape, Edges::any);
  printOrders("plain", plain, moveTime);
  printOrders("any", any, moveTime);
  plain.run();
  any.run();
  float largest = 0;
  for (size_t i = 0; i < plain.result().size(); ++i)
    largest = std::max(largest, std::abs(plain.result()[i] - any.result()[i]));
  std::vector<double> plainTimes, anyTimes, ratios;
  double end = now(CLOCK_MONOTONIC) + kSeconds;
  for (int round = 0; round < kMinRounds || now(CLOCK_MONOTONIC) < end;
       ++round) {
    double start = cpuNow();
    plain.run();
    double between = cpuNow();
    any.run();
    plainTimes.push_back(between - start);
    anyTimes.push_back(cpuNow() - between);
    ratios.push_back(plainTimes.back() / anyTimes.back());
  }
  std::printf("  plain %.3f ms, any %.3f ms, plain by any %.3f (medians of %zu "
              "executions in turn, CPU time; least %.3f and %.3f ms); results "
              "differ by "
              "at most %g\n",
              1e3 * median(plainTimes), 1e3 * median(anyTimes), median(ratios),
              ratios.size(),
              1e3 * *std::min_element(plainTimes.begin(), plainTimes.end()),
              1e3 * *std::min_element(anyTimes.begin(), anyTimes.end()),
              static_cast<double>(largest));
}

} // namespace

int main(int argc, char **argv) try {
  std::vector<ChainShape> shapes;
  for (int i = 1; i < argc; ++i) {
    long long channels = 0, size = 0, convolutions = 0;
    if (std::sscanf(argv[i], "%lld,%lld,%lld", &channels, &size,
                    &convolutions) != 3 ||
        channels < 1 || size < 1 || convolutions < 1) {
      std::fprintf(stderr, "%s is not CHANNELS,SIZE,CONVOLUTIONS\n", argv[i]);
      return 1;
    }
    shapes.push_back({channels, size, convolutions});
  }
  if (shapes.empty())
    shapes = {{64, 56, 1}, {64, 56, 2}, {128, 28, 1}, {128, 28, 2}};
  report::MoveTime moveTime = measuredMoveTime();
  for (const ChainShape &shape : shapes)
    compare(shape, moveTime);
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "layout_bench: %s\n", e.what());
  return 1;
}
