//===- Timing.h - repeated measurements -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

namespace tenon::cli {

inline double secondsNow() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Calls `prepare(i)` and, timed, `run(i)` for i = 0, 1, ... until both
/// `minRuns` and `minSeconds` of timed work are done or `maxRuns` are; what is
/// prepared may take far longer than what is timed, and 10 times `minSeconds`
/// in all do as well.  Stops when `run` returns false.  Seconds of each run.
template <typename Prepare, typename Run>
std::vector<double> measure(size_t minRuns, size_t maxRuns, double minSeconds,
                            Prepare prepare, Run run) {
  std::vector<double> times;
  double sum = 0;
  const double end = secondsNow() + 10 * minSeconds;
  while (times.size() < maxRuns &&
         (times.size() < minRuns || (sum < minSeconds && secondsNow() < end))) {
    prepare(times.size());
    double start = secondsNow();
    bool good = run(times.size());
    double seconds = secondsNow() - start;
    if (!good)
      break;
    times.push_back(seconds);
    sum += seconds;
  }
  return times;
}

} // namespace tenon::cli
