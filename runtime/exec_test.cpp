//===-- exec_test.cpp - sections in every mode ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/TestSupport.h"
#include "runtime/tenon_rt.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace tenon::rt::test;

namespace {

/// out[i] = a rounding-sensitive function of i; counts visits.
struct Work {
  std::vector<float> out;
  std::vector<int> visits;
  explicit Work(int64_t items) : out(items), visits(items) {}
};

void workBody(void *const *args, int64_t begin, int64_t end, void *) {
  auto &work = *static_cast<Work *>(args[0]);
  for (int64_t i = begin; i < end; ++i) {
    float sum = 0;
    for (int k = 1; k < 20; ++k)
      sum += std::sin(float(i * k)) / float(k);
    work.out[i] = sum;
    ++work.visits[i];
  }
}

void addBody(void *const *args, int64_t begin, int64_t end, void *) {
  static_cast<std::atomic<int64_t> *>(args[0])->fetch_add(
      end - begin, std::memory_order_relaxed);
}

TEST(Exec, everyModeComputesTheSame) {
  for (int64_t items : {0, 1, 2, 3, 7, 8, 64, 1001}) {
    Work expected(items);
    void *expectedArgs[] = {&expected};
    workBody(expectedArgs, 0, items, nullptr);
    for (const Mode &mode : allModes()) {
      SCOPED_TRACE(mode.name + ", " + std::to_string(items) + " items");
      ExecPtr exec = makeExec(mode.options);
      for (int repeat = 0; repeat < 3; ++repeat) {
        Work work(items);
        void *args[] = {&work};
        tenon_rt_run_section(exec.get(), workBody, args, items, 0);
        EXPECT_EQ(work.visits, std::vector<int>(items, 1));
        EXPECT_EQ(work.out, expected.out);
      }
      EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_OK);
    }
  }
}

struct Range {
  int64_t begin, end;
  char *scratch;
};
struct Ranges {
  std::mutex mutex;
  std::vector<Range> seen;
  size_t bytes;
};

void recordRange(void *const *args, int64_t begin, int64_t end, void *scratch) {
  auto &ranges = *static_cast<Ranges *>(args[0]);
  if (scratch) {
    // Nobody else may write here while we do.
    char mark = char(begin + 1);
    memset(scratch, mark, ranges.bytes);
    std::this_thread::yield();
    for (size_t i = 0; i < ranges.bytes; ++i)
      ASSERT_EQ(static_cast<char *>(scratch)[i], mark);
  }
  std::lock_guard<std::mutex> lock(ranges.mutex);
  ranges.seen.push_back({begin, end, static_cast<char *>(scratch)});
}

/// How often a range of `size` items is cut by a team: half of what is left,
/// and at most six times.
int64_t piecesOf(int64_t size) {
  int64_t pieces = 0;
  for (; size > 0; size /= 2)
    ++pieces;
  return std::min<int64_t>(pieces, 6);
}

TEST(Exec, callsAreContiguousAndHaveScratchOfTheirOwn) {
  for (const Mode &mode : allModes()) {
    ExecPtr exec = makeExec(mode.options);
    int64_t threads = tenon_exec_concurrency(exec.get());
    bool isTeam = mode.options.threading == TENON_THREADS_TEAM && threads > 1;
    for (size_t bytes : {1, 64, 100, 5000}) {
      for (int64_t items : {1, 2, 5, 23, 1000}) {
        SCOPED_TRACE(mode.name + ", " + std::to_string(items) + " items");
        Ranges ranges;
        ranges.bytes = bytes;
        void *args[] = {&ranges};
        tenon_rt_run_section(exec.get(), recordRange, args, items,
                             int64_t(bytes));
        auto &seen = ranges.seen;
        int64_t parts = std::min(items, threads), calls = 0;
        std::vector<int64_t> starts; // of ranges
        for (int64_t i = 0, at = 0; i < parts; ++i) {
          int64_t size = items / parts + (i < items % parts);
          calls += isTeam ? piecesOf(size) : 1;
          starts.push_back(at);
          at += size;
        }
        EXPECT_EQ(int64_t(seen.size()), calls);
        std::sort(seen.begin(), seen.end(),
                  [](auto &a, auto &b) { return a.begin < b.begin; });
        int64_t at = 0;
        std::set<char *> slices;
        for (const Range &range : seen) {
          EXPECT_EQ(range.begin, at);
          EXPECT_LT(range.begin, range.end);
          at = range.end;
          EXPECT_EQ(uintptr_t(range.scratch) % 64, 0u);
          slices.insert(range.scratch);
          if (!starts.empty() && starts.front() == range.begin)
            starts.erase(starts.begin());
        }
        EXPECT_EQ(at, items);
        EXPECT_TRUE(starts.empty()) << "no call begins where a range does";
        EXPECT_LE(int64_t(slices.size()), parts);
        for (auto i = slices.begin(); std::next(i) != slices.end(); ++i)
          EXPECT_GE(*std::next(i) - *i, ptrdiff_t(bytes));
      }
    }
  }
}

/// Whoever has item 0 waits until all items outside its call are done.
struct Straggler {
  std::atomic<int64_t> done{0};
  int64_t items = 0;
  std::atomic<int64_t> mine{0};
};

void straggle(void *const *args, int64_t begin, int64_t end, void *) {
  auto &work = *static_cast<Straggler *>(args[0]);
  if (begin == 0) {
    work.mine = end - begin;
    while (work.done.load() + work.mine != work.items)
      std::this_thread::yield();
  }
  work.done += end - begin;
}

TEST(Exec, threadsTakeOverWhatALateOneHasNotBegun) {
  for (int threads : {2, 3, 8}) {
    ExecPtr exec = makeExec(teamOptions(threads));
    for (int64_t items : {threads, 5 * threads, 1000}) {
      Straggler work;
      work.items = items;
      void *args[] = {&work};
      tenon_rt_run_section(exec.get(), straggle, args, items, 0);
      EXPECT_EQ(work.done, items);
      // Half of a range, no more, is lost to it.
      EXPECT_LE(work.mine, (items / threads + 2) / 2);
    }
  }
}

TEST(Exec, scratchIsNullUnlessAskedFor) {
  ExecPtr exec = makeExec(teamOptions(2));
  Ranges ranges;
  void *args[] = {&ranges};
  tenon_rt_run_section(exec.get(), recordRange, args, 2, 0);
  ASSERT_EQ(ranges.seen.size(), 2u);
  EXPECT_EQ(ranges.seen[0].scratch, nullptr);
}

TEST(Exec, concurrentCallersShareOneExecutor) {
  for (const Mode &mode : allModes()) {
    SCOPED_TRACE(mode.name);
    ExecPtr exec = makeExec(mode.options);
    constexpr int kCallers = 8, kSections = 1000, kItems = 9;
    std::vector<std::thread> callers;
    std::vector<std::atomic<int64_t>> sums(kCallers);
    for (int caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&, caller] {
        void *args[] = {&sums[caller]};
        for (int i = 0; i < kSections; ++i)
          tenon_rt_run_section(exec.get(), addBody, args, kItems, 128);
      });
    }
    for (std::thread &thread : callers)
      thread.join();
    for (auto &sum : sums)
      EXPECT_EQ(sum.load(), kSections * kItems);
    EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_OK);
  }
}

struct Nest {
  tenon_exec *exec;
  std::atomic<int64_t> sum{0};
};

void nestBody(void *const *args, int64_t begin, int64_t end, void *scratch) {
  auto &nest = *static_cast<Nest *>(args[0]);
  memset(scratch, int(begin), 256);
  for (int64_t i = begin; i < end; ++i) {
    void *inner[] = {&nest.sum};
    tenon_rt_run_section(nest.exec, addBody, inner, 10, 256);
  }
  // The inner section had scratch of its own.
  for (int i = 0; i < 256; ++i)
    ASSERT_EQ(static_cast<char *>(scratch)[i], char(begin));
}

TEST(Exec, nestedSectionsRunInline) {
  for (const Mode &mode : allModes()) {
    SCOPED_TRACE(mode.name);
    ExecPtr exec = makeExec(mode.options);
    Nest nest;
    nest.exec = exec.get();
    void *args[] = {&nest};
    for (int repeat = 0; repeat < 20; ++repeat)
      tenon_rt_run_section(exec.get(), nestBody, args, 17, 256);
    EXPECT_EQ(nest.sum.load(), 20 * 17 * 10);
  }
}

TEST(Exec, moreThreadsThanCpus) {
  // Well under a second; a lost wake-up would take forever.
  ExecPtr exec = makeExec(teamOptions(8));
  std::atomic<int64_t> sum{0};
  void *args[] = {&sum};
  constexpr int kSections = 10000;
  for (int i = 0; i < kSections; ++i)
    tenon_rt_run_section(exec.get(), addBody, args, 8, 0);
  EXPECT_EQ(sum.load(), kSections * 8);
}

TEST(Exec, sleepsAndWakesWithoutSpinning) {
  tenon_exec_options options = teamOptions(4);
  options.spin_ns = 0;
  ExecPtr exec = makeExec(options);
  std::atomic<int64_t> sum{0};
  void *args[] = {&sum};
  for (int i = 0; i < 2000; ++i) {
    tenon_rt_run_section(exec.get(), addBody, args, 4, 0);
    if (i % 100 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(sum.load(), 2000 * 4);
}

/// The threads that were inside a section at the same time.
struct Meeting {
  std::mutex mutex;
  std::set<std::thread::id> present;
  size_t expected;

  /// Comes back when everybody is there.
  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    present.insert(std::this_thread::get_id());
    changed.notify_all();
    changed.wait(lock, [this] { return present.size() >= expected; });
  }

private:
  std::condition_variable changed;
};

/// Stays until everybody expected is there, so that no one can do the work of
/// two.  (Real bodies never wait for each other.)
void meetBody(void *const *args, int64_t, int64_t, void *) {
  static_cast<Meeting *>(args[0])->wait();
}

TEST(Exec, teamReallyUsesItsThreads) {
  ExecPtr exec = makeExec(teamOptions(3));
  Meeting meeting;
  meeting.expected = 3;
  void *args[] = {&meeting};
  tenon_rt_run_section(exec.get(), meetBody, args, 3, 0);
  EXPECT_EQ(meeting.present.size(), 3u);
  EXPECT_EQ(meeting.present.count(std::this_thread::get_id()), 1u);
}

TEST(Exec, sleepingWorkersAreWoken) {
  tenon_exec_options options = teamOptions(3);
  options.spin_ns = 0;
  ExecPtr exec = makeExec(options);
  for (int round = 0; round < 10; ++round) {
    Meeting meeting;
    meeting.expected = 3;
    void *args[] = {&meeting};
    tenon_rt_run_section(exec.get(), meetBody, args, 3, 0);
    EXPECT_EQ(meeting.present.size(), 3u);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST(Exec, singleUsesTheCallingThreadOnly) {
  ExecPtr exec = makeExec(singleOptions());
  Meeting meeting;
  meeting.expected = 1;
  void *args[] = {&meeting};
  tenon_rt_run_section(exec.get(), meetBody, args, 3, 0);
  EXPECT_EQ(meeting.present,
            std::set<std::thread::id>{std::this_thread::get_id()});
}

/// Records whether additions are rounded up.
void recordRounding(void *const *args, int64_t begin, int64_t end, void *) {
  // Each thread takes one range.
  static_cast<Meeting *>(args[1])->wait();
  volatile float one = 1, tiny = 1e-10f;
  for (int64_t i = begin; i < end; ++i)
    static_cast<int *>(args[0])[i] = one + tiny > 1;
}

TEST(Exec, workersUseTheCallersRounding) {
#if !defined(__SSE2__)
  GTEST_SKIP() << "not implemented for this CPU";
#endif
  ExecPtr exec = makeExec(teamOptions(2));
  // The worker starts while rounding is up, and must follow the change.
  for (int upward : {1, 0, 1}) {
    int roundsUp[2] = {-1, -1};
    Meeting meeting;
    meeting.expected = 2;
    void *args[] = {roundsUp, &meeting};
    fesetround(upward ? FE_UPWARD : FE_TONEAREST);
    tenon_rt_run_section(exec.get(), recordRounding, args, 2, 0);
    fesetround(FE_TONEAREST);
    EXPECT_EQ(roundsUp[0], upward);
    EXPECT_EQ(roundsUp[1], upward);
  }
}

TEST(Exec, createAndDestroyWithoutUse) {
  for (int i = 0; i < 20; ++i)
    for (const Mode &mode : allModes())
      makeExec(mode.options);
  tenon_exec_destroy(nullptr);
}

TEST(Exec, destroyWhileWorkersAreAwakeOrAsleep) {
  for (int i = 0; i < 50; ++i) {
    ExecPtr exec = makeExec(teamOptions(4));
    std::atomic<int64_t> sum{0};
    void *args[] = {&sum};
    tenon_rt_run_section(exec.get(), addBody, args, 4, 0);
    if (i % 5 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(sum.load(), 4);
  }
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(ExecErrors, badOptionsAreRefused) {
  tenon_exec *exec = nullptr;
  EXPECT_EQ(tenon_exec_create(nullptr, nullptr), TENON_RT_INVALID_ARGUMENT);
  auto refuse = [&](auto change) {
    tenon_exec_options options = singleOptions();
    change(options);
    EXPECT_EQ(tenon_exec_create(&options, &exec), TENON_RT_INVALID_ARGUMENT);
    EXPECT_EQ(exec, nullptr);
  };
  using Options = tenon_exec_options;
  refuse([](Options &o) { o.struct_size = 3; });
  refuse([](Options &o) { o.threading = tenon_threading(3); });
  for (int threads : {-1, TENON_RT_MAX_THREADS + 1})
    refuse([=](Options &o) {
      o.threading = TENON_THREADS_TEAM;
      o.threads = threads;
    });
  refuse([](Options &o) {
    o.threading = TENON_THREADS_POOL;
    o.concurrency = 2;
  });
  refuse([](Options &o) {
    o.threading = TENON_THREADS_POOL;
    o.parallel_for = [](void *, int64_t, void (*)(void *, int64_t), void *) {};
  });
  refuse([](Options &o) {
    o.allocator.allocate = [](void *, size_t, size_t) -> void * {
      return nullptr;
    };
  });
}

TEST(ExecErrors, negativeSizesAreRecordedAndStopSections) {
  for (const Mode &mode : allModes()) {
    ExecPtr exec = makeExec(mode.options);
    std::atomic<int64_t> sum{0};
    void *args[] = {&sum};
    tenon_rt_run_section(exec.get(), addBody, args, -1, 0);
    EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_INVALID_ARGUMENT);
    tenon_rt_run_section(exec.get(), addBody, args, 5, 0);
    EXPECT_EQ(sum.load(), 0);
    tenon_exec_clear_status(exec.get());
    tenon_rt_run_section(exec.get(), addBody, args, 5, -1);
    EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_INVALID_ARGUMENT);
    tenon_exec_clear_status(exec.get());
    tenon_rt_run_section(exec.get(), addBody, args, 5, INT64_MAX);
    EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_OUT_OF_MEMORY);
    tenon_exec_clear_status(exec.get());
    tenon_rt_run_section(exec.get(), addBody, args, 5, 0);
    EXPECT_EQ(sum.load(), 5);
  }
}

TEST(ExecErrors, firstFailureIsKept) {
  ExecPtr exec = makeExec(singleOptions());
  tenon_rt_fail(exec.get(), TENON_RT_POOL_MISBEHAVED);
  tenon_rt_fail(exec.get(), TENON_RT_OUT_OF_MEMORY);
  EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_POOL_MISBEHAVED);
  EXPECT_STRNE(tenon_rt_status_string(TENON_RT_POOL_MISBEHAVED),
               tenon_rt_status_string(TENON_RT_OUT_OF_MEMORY));
}

TEST(ExecErrors, poolThatSkipsInventsOrRepeatsIndices) {
  using Body = void (*)(void *, int64_t);
  tenon_parallel_for_fn skips = [](void *, int64_t n, Body body, void *arg) {
    for (int64_t i = 1; i < n; ++i)
      body(arg, i);
  };
  tenon_parallel_for_fn invents = [](void *, int64_t n, Body body, void *arg) {
    for (int64_t i = -1; i <= n; ++i)
      body(arg, i);
  };
  tenon_parallel_for_fn repeats = [](void *, int64_t n, Body body, void *arg) {
    for (int64_t i = 0; i < n; ++i)
      body(arg, 0);
  };
  for (tenon_parallel_for_fn bad : {skips, invents, repeats}) {
    tenon_exec_options options = singleOptions();
    options.threading = TENON_THREADS_POOL;
    options.concurrency = 4;
    options.parallel_for = bad;
    ExecPtr exec = makeExec(options);
    std::atomic<int64_t> sum{0};
    void *args[] = {&sum};
    tenon_rt_run_section(exec.get(), addBody, args, 4, 0);
    EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_POOL_MISBEHAVED);
  }
}

} // namespace
