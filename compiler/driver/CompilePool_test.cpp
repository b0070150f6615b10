// SPDX-License-Identifier: Apache-2.0
// The threads of a compilation: all tasks run, those who wait work too, and
// what a task throws reaches the one who waits.
#include "compiler/driver/CompilePool.h"

#include "llvm/Support/ErrorHandling.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>

using namespace tenon;

namespace {

TEST(CompilePoolTest, RunsEveryTask) {
  for (int64_t threads : {1, 2, 5}) {
    std::atomic<int> sum = 0;
    CompilePool pool(threads);
    EXPECT_EQ(pool.getMaxConcurrency(), threads);
    llvm::ThreadPoolTaskGroup group(pool);
    for (int i = 1; i <= 100; ++i)
      group.async([&, i] { sum += i; });
    group.wait();
    EXPECT_EQ(sum, 5050);
    pool.async([&] { sum = 7; });
    pool.wait();
    EXPECT_EQ(sum, 7);
  }
}

TEST(CompilePoolTest, OneThreadIsTheOneThatWaits) {
  CompilePool pool(1);
  std::set<std::thread::id> ids;
  for (int i = 0; i < 10; ++i)
    pool.async([&] { ids.insert(std::this_thread::get_id()); });
  EXPECT_TRUE(ids.empty());
  pool.wait();
  EXPECT_EQ(ids, std::set{std::this_thread::get_id()});
}

TEST(CompilePoolTest, WorksOnSeveralTasksAtOnce) {
  CompilePool pool(3);
  std::atomic<int> here = 0;
  for (int i = 0; i < 3; ++i)
    pool.async([&] {
      ++here;
      while (here < 3) // nobody leaves before the last one has come
        std::this_thread::yield();
    });
  pool.wait();
  EXPECT_EQ(here, 3);
}

TEST(CompilePoolTest, TasksWaitForTasksOfTheirOwn) {
  CompilePool pool(2);
  std::atomic<int> done = 0;
  llvm::ThreadPoolTaskGroup outer(pool);
  for (int i = 0; i < 8; ++i)
    outer.async([&] {
      llvm::ThreadPoolTaskGroup inner(pool);
      for (int j = 0; j < 8; ++j)
        inner.async([&] { ++done; });
      inner.wait();
    });
  outer.wait();
  EXPECT_EQ(done, 64);
}

TEST(CompilePoolTest, FatalErrorsOfTasksReachTheOneWhoWaits) {
  for (int64_t threads : {1, 3})
    for (bool memory : {false, true}) {
      CompilePool pool(threads);
      std::atomic<int> done = 0;
      for (int i = 0; i < 5; ++i)
        pool.async([&, i] {
          if (i == 2 && memory)
            llvm::report_bad_alloc_error("malloc");
          if (i == 2)
            llvm::report_fatal_error("no such luck");
          ++done;
        });
      try {
        pool.wait();
        ADD_FAILURE() << "nothing came out";
      } catch (const FatalInTask &fatal) {
        EXPECT_EQ(fatal.error.code,
                  memory ? ErrorCode::OutOfMemory : ErrorCode::Internal);
      }
      EXPECT_EQ(done, 4);
    }
}

TEST(CompilePoolTest, LeavesNothingUndone) {
  std::atomic<int> done = 0;
  {
    CompilePool pool(2);
    for (int i = 0; i < 20; ++i)
      pool.async([&] { ++done; });
  }
  EXPECT_EQ(done, 20);
}

TEST(CompilePoolTest, ZeroThreadsAreThoseOfTheMachine) {
  EXPECT_EQ(CompilePool::threadsFor(3), 3);
  int64_t found = CompilePool::threadsFor(0);
  EXPECT_GE(found, 1);
  EXPECT_LE(found, 8);
}

} // namespace
