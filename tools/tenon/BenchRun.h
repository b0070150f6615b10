//===- BenchRun.h - times of one partition ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Executions and the groups within them, against the peaks of the machine and
// against the same graph without fusion.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/devinfo/Peaks.h"
#include "tools/tenon/Loading.h"

#include <optional>
#include <string>
#include <vector>

namespace tenon::cli {

struct BenchArgs {
  ModelArgs model;
  AotLoadOptions loading;
  ExecArgs exec;
  bool warm = false;
  /// Whether groups are compared with a compilation that fuses nothing.
  bool unfused = true;
  double minSeconds = 1;
  size_t minRuns = 5, maxRuns = 10000;
  int compileRepeat = 1;
  std::string format;
};

using devinfo::Peaks;

/// A group, or several of one label, in one execution.
struct GroupTime {
  std::string label, kind;
  std::vector<size_t> ops;
  double seconds = 0; // median
  double sections = 0;
  /// False: the compiler could not count what follows.
  bool counted = false;
  double flops = 0, bytes = 0;
  /// Seconds at the peaks, and which one is the limit.
  double boundSeconds = 0;
  bool boundByMemory = false;
  /// Of all groups that share operations with this one, fused and not.
  double togetherSeconds = 0;
  std::optional<double> unfusedSeconds;
  /// Slower than unfused in the median and in the best execution.
  bool slower = false;

  double peakPercent() const {
    return seconds > 0 ? 100 * boundSeconds / seconds : 0;
  }
  std::optional<double> ratio() const {
    if (!unfusedSeconds || togetherSeconds <= 0)
      return std::nullopt;
    return *unfusedSeconds / togetherSeconds;
  }
};

/// Fusion must not cost more than this: unfused over fused.
inline constexpr double kLeastRatio = 0.97;

struct BenchResult {
  size_t ops = 0;
  std::string reason;        // why it was not compiled, or empty
  std::vector<double> times; // of executions, sorted
  double flops = 0;
  double ioBytes = 0;
  CompileReport compile; // phases: medians
  bool compiled = false; // now, not from a file
  double bindSeconds = 0;
  std::vector<GroupTime> groups; // the slowest first
  size_t profiledRuns = 0;
  double profiledSeconds = 0; // median
  double betweenSeconds = 0;  // of an execution, in no group; median
  std::optional<double> unfusedSeconds;
  std::string caches;
  bool hasConstants = false;

  double median() const { return times.empty() ? 0 : times[times.size() / 2]; }
  double least() const { return times.empty() ? 0 : times[0]; }
  double p90() const {
    return times.empty() ? 0 : times[(times.size() * 9 + 9) / 10 - 1];
  }
  double gflops() const { return median() > 0 ? 1e-9 * flops / median() : 0; }
  double peakPercent(const Peaks &peaks) const {
    return peaks.flops > 0 ? 1e11 * gflops() / peaks.flops : 0;
  }
};

/// Compiles (or loads `model.file`) and measures. Errors: those of compiling
/// and executing; UnknownShape.
Expected<BenchResult> benchPartition(const LoadedModel &model,
                                     const Prepared &prepared,
                                     const BenchArgs &args, const Peaks &peaks);

// Each prints all of them.
void printBenchTable(const BenchArgs &args, const Peaks &peaks,
                     const std::vector<BenchResult> &results);
void printBenchCsv(const BenchArgs &args, const Peaks &peaks,
                   const std::vector<BenchResult> &results);
void printBenchJson(const BenchArgs &args, const Peaks &peaks,
                    const std::vector<BenchResult> &results);

} // namespace tenon::cli
