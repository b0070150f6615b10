//===-- Measure.cpp - a machine's measured peaks --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/devinfo/DevInfo.h"
#include "tools/devinfo/Kernels.h"

#include "runtime/tenon_rt.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

using namespace tenon::devinfo;

namespace {
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct BlockDeleter {
  void operator()(char *block) const { tenon_rt_free(nullptr, block); }
};
using Block = std::unique_ptr<char, BlockDeleter>;

struct ExecDeleter {
  void operator()(tenon_exec *exec) const { tenon_exec_destroy(exec); }
};
using Exec = std::unique_ptr<tenon_exec, ExecDeleter>;

/// How long and how often to measure.
class Measurer {
public:
  explicit Measurer(bool quick)
      : begin(Clock::now()), runs(quick ? 3 : 7),
        runSeconds(quick ? 0.0015 : 0.006), deadline(quick ? 0.4 : 1.7) {}

  /// Calls `work(times)`, which does its thing `times` times and returns how
  /// much that was; the median rate per second in 10^9.
  template <typename Work> double rate(Work work) const {
    work(1); // Warms caches, wakes threads.
    int64_t times = 1;
    double seconds = timeOf(work, times);
    while (seconds < runSeconds / 2 && times < int64_t(1) << 40) {
      double factor = seconds > 0 ? runSeconds / seconds : 1000.0;
      times = int64_t(double(times) * std::clamp(factor, 2.0, 1000.0));
      seconds = timeOf(work, times);
    }
    std::vector<double> rates;
    for (int run = 0; run < runs; ++run) {
      Clock::time_point start = Clock::now();
      double amount = work(times);
      rates.push_back(amount / std::max(secondsSince(start), 1e-9) * 1e-9);
      // On a busy machine fewer runs must do.
      if (elapsed() > deadline)
        break;
    }
    auto middle = rates.begin() + ptrdiff_t(rates.size() / 2);
    std::nth_element(rates.begin(), middle, rates.end());
    return *middle;
  }

  double elapsed() const { return secondsSince(begin); }

private:
  template <typename Work> static double timeOf(Work &work, int64_t times) {
    Clock::time_point start = Clock::now();
    work(times);
    return secondsSince(start);
  }

  Clock::time_point begin;
  int runs;
  double runSeconds;
  /// Seconds after which each measurement makes do with one run.
  double deadline;
};

enum class Traffic { Read, Write, Copy };

/// One pass over memory, as a section: items are chunks.
struct Pass {
  Traffic traffic;
  Width width;
  char *memory;
  int64_t bytes;
  int64_t chunks;

  static void run(void *const *args, int64_t begin, int64_t end, void *) {
    static_cast<const Pass *>(args[0])->runChunks(begin, end);
  }

  void runChunks(int64_t begin, int64_t end) const {
    // A copy reads the second half and writes the first.
    int64_t size = traffic == Traffic::Copy ? bytes / 2 : bytes;
    int64_t from = chunkStart(begin, size), to = chunkStart(end, size);
    switch (traffic) {
    case Traffic::Read:
      return readAll(width, memory + from, to - from);
    case Traffic::Write:
      return writeAll(width, memory + from, to - from);
    case Traffic::Copy:
      return copyAll(width, memory + from, memory + size + from, to - from);
    }
  }

private:
  int64_t chunkStart(int64_t chunk, int64_t size) const {
    return size / chunks * chunk & -int64_t(512);
  }
};
} // namespace

/// Rate of going over the first `bytes` of `memory` on the threads of `exec`.
static Bandwidth measureBandwidth(const Measurer &measurer, tenon_exec *exec,
                                  Width width, char *memory, int64_t bytes) {
  auto measure = [&](Traffic traffic) {
    Pass pass{traffic, width, memory, bytes, tenon_exec_concurrency(exec)};
    void *args[] = {&pass};
    return measurer.rate([&](int64_t times) {
      for (int64_t i = 0; i < times; ++i)
        tenon_rt_run_section(exec, Pass::run, args, pass.chunks, 0);
      return double(bytes) * double(times);
    });
  };
  Bandwidth result;
  result.read = measure(Traffic::Read);
  result.write = measure(Traffic::Write);
  result.copy = measure(Traffic::Copy);
  return result;
}

/// Null if there is no memory for it.
static Exec makeExec(int threads) {
  tenon_exec_options options;
  tenon_exec_options_init(&options);
  options.threading = TENON_THREADS_TEAM;
  options.threads = std::min(threads, TENON_RT_MAX_THREADS);
  tenon_exec *exec = nullptr;
  (void)tenon_exec_create(&options, &exec);
  return Exec(exec);
}

/// What to go over so that it fits `level` and not the level before.
static int64_t workingSet(const DevInfo &info, int level, bool quick) {
  constexpr int64_t kMega = 1 << 20;
  if (level < 4) {
    // Half of it: the rest is for the neighbours on a shared cache.
    int64_t half = info.cacheBytes(level) / 2;
    return std::min(half, 16 * kMega) & -int64_t(4096);
  }
  int64_t last = std::max(info.cacheBytes(3), info.cacheBytes(2));
  return std::clamp(last * (quick ? 2 : 4), 64 * kMega,
                    (quick ? 128 : 256) * kMega) &
         -int64_t(4096);
}

static void measureMemory(const Measurer &measurer, DevInfo &info, Width width,
                          bool quick) {
  const char *names[] = {"", "L1", "L2", "L3", "DRAM"};
  int64_t largest = workingSet(info, 4, quick);
  Block memory(static_cast<char *>(tenon_rt_alloc(nullptr, largest)));
  Exec one = makeExec(1), all = makeExec(info.allowedCpus);
  if (!memory || !one || !all)
    return;
  // Fault all pages in before any of them is measured.
  memset(memory.get(), 1, size_t(largest));
  for (int level = 1; level <= 4; ++level) {
    int64_t bytes = workingSet(info, level, quick);
    if (bytes == 0)
      continue;
    info.bandwidths.push_back(
        {names[level], bytes, 1,
         measureBandwidth(measurer, one.get(), width, memory.get(), bytes)});
  }
  if (info.allowedCpus > 1)
    info.bandwidths.push_back(
        {"DRAM", largest, tenon_exec_concurrency(all.get()),
         measureBandwidth(measurer, all.get(), width, memory.get(), largest)});
}

static double measureFma(const Measurer &measurer, Width width) {
  constexpr int64_t kSteps = 1000;
  return measurer.rate(
      [&](int64_t times) { return runFma(width, times * kSteps); });
}

DevInfo tenon::devinfo::measureMachine(bool quick) {
  DevInfo info = describeMachine();
  Measurer measurer(quick);
  Width width = Width::Plain;
  if (info.hasIsa("avx2") && info.hasIsa("fma")) {
    width = Width::Ymm;
    info.fmaGflopsYmm = measureFma(measurer, width);
  }
  if (info.hasIsa("avx512f")) {
    width = Width::Zmm;
    info.fmaGflopsZmm = measureFma(measurer, width);
  }
  measureMemory(measurer, info, width, quick);
  info.seconds = measurer.elapsed();
  return info;
}
