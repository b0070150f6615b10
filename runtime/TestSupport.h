//===-- TestSupport.h - executors for the runtime's tests ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_RUNTIME_TESTSUPPORT_H
#define TENON_RUNTIME_TESTSUPPORT_H

#include "runtime/tenon_rt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tenon::rt::test {

struct ExecDeleter {
  void operator()(tenon_exec *exec) const { tenon_exec_destroy(exec); }
};
using ExecPtr = std::unique_ptr<tenon_exec, ExecDeleter>;

inline ExecPtr makeExec(const tenon_exec_options &options) {
  tenon_exec *exec = nullptr;
  EXPECT_EQ(tenon_exec_create(&options, &exec), TENON_RT_OK);
  return ExecPtr(exec);
}

inline tenon_exec_options singleOptions() {
  tenon_exec_options options;
  tenon_exec_options_init(&options);
  return options;
}

inline tenon_exec_options teamOptions(int threads) {
  tenon_exec_options options = singleOptions();
  options.threading = TENON_THREADS_TEAM;
  options.threads = threads;
  return options;
}

/// A pool of the plainest kind: fresh threads that share out the indices.
inline void threadedFor(void *, int64_t n, void (*body)(void *, int64_t),
                        void *arg) {
  std::atomic<int64_t> next{0};
  auto run = [&] {
    for (int64_t i; (i = next.fetch_add(1)) < n;)
      body(arg, i);
  };
  std::thread helper(run);
  run();
  helper.join();
}

/// A pool that does everything itself, backwards.
inline void backwardFor(void *, int64_t n, void (*body)(void *, int64_t),
                        void *arg) {
  for (int64_t i = n; i-- > 0;)
    body(arg, i);
}

struct Mode {
  std::string name;
  tenon_exec_options options;
};

inline std::vector<Mode> allModes() {
  std::vector<Mode> modes = {{"single", singleOptions()}};
  for (int threads : {1, 2, 3, 8})
    modes.push_back(
        {"team of " + std::to_string(threads), teamOptions(threads)});
  Mode pool{"threaded pool of 4", singleOptions()};
  pool.options.threading = TENON_THREADS_POOL;
  pool.options.concurrency = 4;
  pool.options.parallel_for = threadedFor;
  modes.push_back(pool);
  pool.name = "backward pool of 5";
  pool.options.concurrency = 5;
  pool.options.parallel_for = backwardFor;
  modes.push_back(pool);
  return modes;
}

/// An allocator that counts, checks and, when told to, fails.
struct CountingAllocator {
  std::atomic<int64_t> allocated{0};
  std::atomic<int64_t> released{0};
  std::atomic<size_t> largest{0};
  std::atomic<size_t> largestAlign{0};
  /// Allocations of more bytes than this fail.
  std::atomic<size_t> limit{SIZE_MAX};
  /// So many allocations succeed, the rest fails.
  std::atomic<int64_t> remaining{INT64_MAX};

  tenon_allocator callbacks() {
    return {[](void *self, size_t size, size_t align) {
              return static_cast<CountingAllocator *>(self)->get(size, align);
            },
            [](void *self, void *block) {
              ++static_cast<CountingAllocator *>(self)->released;
              free(block);
            },
            this};
  }

  int64_t alive() const { return allocated.load() - released.load(); }

private:
  void *get(size_t size, size_t align) {
    if (size > limit.load() || remaining.fetch_sub(1) <= 0)
      return nullptr;
    void *block = nullptr;
    if (posix_memalign(&block, align, size) != 0)
      return nullptr;
    ++allocated;
    largest = std::max(largest.load(), size);
    largestAlign = std::max(largestAlign.load(), align);
    return block;
  }
};

} // namespace tenon::rt::test

#endif // TENON_RUNTIME_TESTSUPPORT_H
