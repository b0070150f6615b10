//===- Pool.h - a caller's thread pool --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Stands for the pool of a host program: executing through it shows that
// compiled code needs no threads of its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon::cli {

/// `threads` threads, the calling one included.  parallelFor may be called by
/// one thread at a time.
class Pool {
public:
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  /// As tenon_parallel_for_fn: `pool` is a Pool.
  static void parallelFor(void *pool, int64_t n,
                          void (*body)(void *arg, int64_t i), void *arg);

private:
  void work();
  /// Takes indices of the current job until none is left; holds `lock` between
  /// them.
  void drain(std::unique_lock<std::mutex> &lock);

  std::mutex mutex;
  std::condition_variable wake, done;
  void (*body)(void *, int64_t) = nullptr;
  void *arg = nullptr;
  int64_t next = 0, count = 0, unfinished = 0;
  bool stopping = false;
  std::vector<std::thread> threads;
};

} // namespace tenon::cli
