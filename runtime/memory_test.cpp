//===-- memory_test.cpp - allocation, arenas, forks, profiles -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/TestSupport.h"
#include "runtime/tenon_rt.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <map>
#include <sched.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace tenon::rt::test;

// ThreadSanitizer does not follow threads started in a forked child.
#if defined(__SANITIZE_THREAD__)
#define TENON_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TENON_TSAN 1
#endif
#endif

namespace {

void addBody(void *const *args, int64_t begin, int64_t end, void *scratch) {
  if (scratch)
    *static_cast<int64_t *>(scratch) = begin;
  static_cast<std::atomic<int64_t> *>(args[0])->fetch_add(end - begin);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST(Memory, alignmentAndSize) {
  ExecPtr exec = makeExec(singleOptions());
  for (tenon_exec *which : {exec.get(), static_cast<tenon_exec *>(nullptr)}) {
    for (int64_t size : {0, 1, 63, 64, 4097, (2 << 20) - 1, 2 << 20, 5000000}) {
      void *block = tenon_rt_alloc(which, size);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(uintptr_t(block) % (size >= 2 << 20 ? 2 << 20 : 64), 0u);
      memset(block, 1, size_t(size));
      tenon_rt_free(which, block);
    }
    EXPECT_EQ(tenon_rt_alloc(which, -1), nullptr);
    EXPECT_EQ(tenon_rt_alloc(which, INT64_MAX), nullptr);
    EXPECT_EQ(tenon_rt_alloc(which, int64_t(1) << 60), nullptr);
    tenon_rt_free(which, nullptr);
  }
  EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_OK);
}

TEST(Memory, everythingComesFromTheCallbacksAndGoesBack) {
  CountingAllocator allocator;
  tenon_exec_options options = teamOptions(3);
  options.allocator = allocator.callbacks();
  options.profile = 1;
  {
    ExecPtr exec = makeExec(options);
    EXPECT_GT(allocator.alive(), 0);
    std::atomic<int64_t> sum{0};
    void *args[] = {&sum};
    tenon_rt_run_named_section(exec.get(), addBody, args, 3, 100000, "a");
    EXPECT_GE(allocator.largest, 300000u);
    int64_t before = allocator.allocated;
    for (int i = 0; i < 100; ++i)
      tenon_rt_run_named_section(exec.get(), addBody, args, 3, 100000 - i, "a");
    EXPECT_EQ(allocator.allocated, before) << "scratch is kept";
    tenon_rt_run_named_section(exec.get(), addBody, args, 3, 1000000, "a");
    EXPECT_EQ(allocator.allocated, before + 1) << "scratch grows once";
    EXPECT_EQ(allocator.largestAlign, size_t(2 << 20));
    int64_t alive = allocator.alive();
    tenon_exec_trim(exec.get());
    EXPECT_EQ(allocator.alive(), alive - 1);
    tenon_rt_free(exec.get(), tenon_rt_alloc(exec.get(), 10));
    EXPECT_EQ(allocator.alive(), alive - 1);
  }
  EXPECT_EQ(allocator.alive(), 0);
}

TEST(Memory, arenasAreReusedAndNeverShared) {
  CountingAllocator allocator;
  tenon_exec_options options = singleOptions();
  options.allocator = allocator.callbacks();
  {
    ExecPtr exec = makeExec(options);
    int64_t before = allocator.allocated;
    void *first = tenon_rt_arena_acquire(exec.get(), 1000);
    tenon_rt_arena_release(exec.get(), first);
    EXPECT_EQ(tenon_rt_arena_acquire(exec.get(), 900), first);
    EXPECT_EQ(allocator.allocated, before + 1);
    tenon_rt_arena_release(exec.get(), first);
    // More at once than the executor keeps.
    std::set<void *> arenas;
    for (int i = 0; i < 100; ++i) {
      void *arena = tenon_rt_arena_acquire(exec.get(), 100);
      memset(arena, i, 100);
      arenas.insert(arena);
    }
    EXPECT_EQ(arenas.size(), 100u);
    for (void *arena : arenas)
      tenon_rt_arena_release(exec.get(), arena);
    tenon_rt_arena_release(exec.get(), nullptr);
    EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_OK);
    EXPECT_EQ(tenon_rt_arena_acquire(exec.get(), -1), nullptr);
    EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_OUT_OF_MEMORY);
  }
  EXPECT_EQ(allocator.alive(), 0);
}

TEST(Memory, arenasFromManyThreads) {
  ExecPtr exec = makeExec(singleOptions());
  std::vector<std::thread> threads;
  std::atomic<int> clashes{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        int64_t size = 64 + (i % 7) * 300;
        auto *arena =
            static_cast<char *>(tenon_rt_arena_acquire(exec.get(), size));
        memset(arena, t, size_t(size));
        clashes += std::count(arena, arena + size, char(t)) != size;
        tenon_rt_arena_release(exec.get(), arena);
        if (i % 50 == 0)
          tenon_exec_trim(exec.get());
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(clashes, 0);
}

TEST(Memory, creationFailsCleanlyAtEveryAllocation) {
  int64_t granted = 0;
  for (;; ++granted) {
    CountingAllocator allocator;
    allocator.remaining = granted;
    tenon_exec_options options = teamOptions(4);
    options.allocator = allocator.callbacks();
    tenon_exec *exec = nullptr;
    tenon_rt_status status = tenon_exec_create(&options, &exec);
    tenon_exec_destroy(exec);
    EXPECT_EQ(allocator.alive(), 0);
    if (status == TENON_RT_OK)
      break;
    EXPECT_EQ(status, TENON_RT_OUT_OF_MEMORY);
    EXPECT_EQ(exec, nullptr);
  }
  EXPECT_GE(granted, 2);
}

TEST(Memory, scarceScratchMeansFewerRangesThenAnError) {
  for (const Mode &mode : allModes()) {
    SCOPED_TRACE(mode.name);
    CountingAllocator allocator;
    tenon_exec_options options = mode.options;
    options.allocator = allocator.callbacks();
    ExecPtr exec = makeExec(options);
    std::atomic<int64_t> sum{0};
    void *args[] = {&sum};
    allocator.limit = 100000;
    tenon_rt_run_section(exec.get(), addBody, args, 8, 90000);
    EXPECT_EQ(sum.load(), 8) << "one slice is enough";
    EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_OK);
    tenon_rt_run_section(exec.get(), addBody, args, 8, 110000);
    EXPECT_EQ(sum.load(), 8) << "must not run";
    EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_OUT_OF_MEMORY);
    tenon_exec_clear_status(exec.get());
    allocator.limit = SIZE_MAX;
    tenon_rt_run_section(exec.get(), addBody, args, 8, 110000);
    EXPECT_EQ(sum.load(), 16) << "recovers";
    EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_OK);
  }
}

//===----------------------------------------------------------------------===//
// Forks
//===----------------------------------------------------------------------===//

/// Runs `body` in a forked child; its exit code, or -1 if it hung or crashed.
template <typename Body> int inChild(Body body) {
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Fork, childAndParentBothGoOn) {
#ifdef TENON_TSAN
  GTEST_SKIP() << "ThreadSanitizer forbids threads in a forked child";
#endif
  for (bool usedBefore : {false, true}) {
    ExecPtr exec = makeExec(teamOptions(3));
    std::atomic<int64_t> sum{0};
    void *args[] = {&sum};
    auto run = [&] {
      sum = 0;
      for (int i = 0; i < 100; ++i)
        tenon_rt_run_section(exec.get(), addBody, args, 3, 64);
      return sum == 300 && tenon_exec_status(exec.get()) == TENON_RT_OK;
    };
    if (usedBefore)
      EXPECT_TRUE(run());
    EXPECT_EQ(inChild([&] {
                bool good = run();
                int grandchild = inChild([&] { return run() ? 5 : 6; });
                tenon_exec_destroy(exec.release());
                return good && grandchild == 5 ? 7 : 8;
              }),
              7);
    EXPECT_TRUE(run());
  }
}

TEST(Fork, childOfABusyParent) {
#ifdef TENON_TSAN
  GTEST_SKIP() << "ThreadSanitizer forbids threads in a forked child";
#endif
  // Another thread is inside a section at the moment of the fork.
  ExecPtr exec = makeExec(teamOptions(2));
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    std::atomic<int64_t> sum{0};
    void *args[] = {&sum};
    while (!stop)
      tenon_rt_run_section(exec.get(), addBody, args, 2, 64);
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(inChild([&] {
                std::atomic<int64_t> sum{0};
                void *args[] = {&sum};
                for (int k = 0; k < 10; ++k)
                  tenon_rt_run_section(exec.get(), addBody, args, 2, 64);
                return sum == 20 ? 7 : 8;
              }),
              7);
  }
  stop = true;
  busy.join();
}

/// A fork while another thread is in the same section.
struct Forked {
  std::atomic<bool> otherIsInside{false}, done{false};
  pid_t child = -1;
};

void forkBody(void *const *args, int64_t begin, int64_t, void *) {
  auto &forked = *static_cast<Forked *>(args[0]);
  if (begin == 0) {
    while (!forked.otherIsInside)
      sched_yield();
    forked.child = fork();
    forked.done = true;
  } else {
    forked.otherIsInside = true;
    while (!forked.done)
      sched_yield();
  }
}

TEST(Fork, insideASectionIsReportedNotHung) {
#ifdef TENON_TSAN
  GTEST_SKIP() << "ThreadSanitizer forbids threads in a forked child";
#endif
  ExecPtr exec = makeExec(teamOptions(2));
  Forked forked;
  void *args[] = {&forked};
  tenon_rt_run_section(exec.get(), forkBody, args, 2, 0);
  if (forked.child == 0) {
    bool told = tenon_exec_status(exec.get()) == TENON_RT_FORKED_IN_SECTION;
    _exit(told ? 7 : 8);
  }
  EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_OK);
  int status = 0;
  waitpid(forked.child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

//===----------------------------------------------------------------------===//
// Profile
//===----------------------------------------------------------------------===//

void sleepBody(void *const *, int64_t, int64_t, void *) { usleep(3000); }
void emptyBody(void *const *, int64_t, int64_t, void *) {}

TEST(Profile, countsAndTimesByName) {
  ExecPtr exec = makeExec(singleOptions());
  tenon_rt_run_named_section(exec.get(), emptyBody, nullptr, 1, 0, "off");
  EXPECT_EQ(tenon_exec_profile_read(exec.get(), nullptr, 0), 0u);
  tenon_exec_profile_enable(exec.get(), 1);
  {
    // Names are copied and compared by content.
    std::string slow = "slow", alsoSlow = "slow";
    tenon_rt_run_named_section(exec.get(), sleepBody, nullptr, 3, 0,
                               slow.c_str());
    tenon_rt_run_named_section(exec.get(), sleepBody, nullptr, 4, 0,
                               alsoSlow.c_str());
  }
  for (int i = 0; i < 5; ++i)
    tenon_rt_run_named_section(exec.get(), emptyBody, nullptr, 1, 0, "quick");
  tenon_rt_run_section(exec.get(), emptyBody, nullptr, 1, 0);

  tenon_profile_entry entries[4];
  ASSERT_EQ(tenon_exec_profile_read(exec.get(), entries, 4), 3u);
  // The longest first; which that is depends on what else the machine does.
  EXPECT_GE(entries[0].total_ns, entries[1].total_ns);
  EXPECT_GE(entries[1].total_ns, entries[2].total_ns);
  std::map<std::string, tenon_profile_entry> named;
  for (int i = 0; i < 3; ++i)
    named[entries[i].name] = entries[i];
  ASSERT_TRUE(named.count("slow") && named.count("quick") &&
              named.count("(unnamed)"));
  const tenon_profile_entry &slow = named["slow"];
  EXPECT_EQ(slow.count, 2u);
  EXPECT_EQ(slow.items, 7u);
  EXPECT_GE(slow.min_ns, 3000000u);
  EXPECT_GE(slow.max_ns, slow.min_ns);
  EXPECT_EQ(slow.total_ns, slow.min_ns + slow.max_ns);
  EXPECT_EQ(named["quick"].count, 5u);
  tenon_profile_entry longest;
  ASSERT_EQ(tenon_exec_profile_read(exec.get(), &longest, 1), 3u);
  EXPECT_STREQ(longest.name, entries[0].name);

  tenon_exec_profile_enable(exec.get(), 0);
  tenon_rt_run_named_section(exec.get(), emptyBody, nullptr, 1, 0, "off");
  EXPECT_EQ(tenon_exec_profile_read(exec.get(), nullptr, 0), 3u);
  tenon_exec_profile_reset(exec.get());
  EXPECT_EQ(tenon_exec_profile_read(exec.get(), nullptr, 0), 0u);
}

TEST(Observer, isToldOfSectionsUntilItIsReplaced) {
  ExecPtr exec = makeExec(singleOptions());
  std::vector<std::string> seen;
  tenon_observer observer = {
      [](void *context, const char *name) {
        static_cast<std::vector<std::string> *>(context)->push_back(name);
      },
      [](void *context) {
        static_cast<std::vector<std::string> *>(context)->push_back("end");
      },
      &seen};
  tenon_exec_observe(exec.get(), &observer);
  tenon_rt_run_named_section(exec.get(), emptyBody, nullptr, 1, 0, "first");
  tenon_rt_run_section(exec.get(), emptyBody, nullptr, 1, 0);
  tenon_exec_observe(exec.get(), nullptr);
  tenon_rt_run_named_section(exec.get(), emptyBody, nullptr, 1, 0, "unseen");
  EXPECT_EQ(seen,
            (std::vector<std::string>{"first", "end", "(unnamed)", "end"}));
}

TEST(Profile, manyNamesFromManyThreads) {
  tenon_exec_options options = teamOptions(2);
  options.profile = 1;
  ExecPtr exec = makeExec(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 600; ++i)
        tenon_rt_run_named_section(exec.get(), emptyBody, nullptr, 2, 0,
                                   ("section " + std::to_string(i)).c_str());
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  std::vector<tenon_profile_entry> entries(1000);
  ASSERT_EQ(tenon_exec_profile_read(exec.get(), entries.data(), 1000), 600u);
  for (size_t i = 0; i < 600; ++i) {
    EXPECT_EQ(entries[i].count, 4u);
    EXPECT_EQ(entries[i].items, 8u);
    if (i > 0)
      EXPECT_LE(entries[i].total_ns, entries[i - 1].total_ns);
  }
}

TEST(Profile, withoutMemoryNamesAreDropped) {
  CountingAllocator allocator;
  tenon_exec_options options = singleOptions();
  options.allocator = allocator.callbacks();
  options.profile = 1;
  ExecPtr exec = makeExec(options);
  std::atomic<int64_t> sum{0};
  void *args[] = {&sum};
  allocator.remaining = 1 + 10; // The table and ten names.
  for (int i = 0; i < 100; ++i)
    tenon_rt_run_named_section(exec.get(), addBody, args, 1, 0,
                               std::to_string(i).c_str());
  EXPECT_EQ(sum.load(), 100);
  EXPECT_EQ(tenon_exec_status(exec.get()), TENON_RT_OK);
  EXPECT_EQ(tenon_exec_profile_read(exec.get(), nullptr, 0), 10u);
}

} // namespace
