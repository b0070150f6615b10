//===- CompilePool.h - threads of one compilation --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/support/Error.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/ThreadPool.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon {

/// What LLVM could not go on with in a task.
struct FatalInTask : std::exception {
  explicit FatalInTask(Error error) : error(std::move(error)) {}
  const char *what() const noexcept override { return error.message.c_str(); }
  Error error;
};

/// As many threads as asked for, the one that waits included: nothing is
/// started before there is a task, and where the system gives no more threads,
/// fewer do the work.  LLVM's own pool ends the process then.
class CompilePool final : public llvm::ThreadPoolInterface {
public:
  /// `threads` >= 1.
  explicit CompilePool(int64_t threads) : threads(threads) {}
  ~CompilePool() override;

  /// What `asked`, the option compile-threads, means on this machine.
  static int64_t threadsFor(int64_t asked);

  /// Both work on tasks while they wait. What a task has thrown comes out of
  /// here; a fatal error of LLVM's as FatalInTask.
  void wait() override { waitFor(nullptr); }
  void wait(llvm::ThreadPoolTaskGroup &group) override { waitFor(&group); }
  unsigned getMaxConcurrency() const override {
    return static_cast<unsigned>(threads);
  }

private:
  using Group = llvm::ThreadPoolTaskGroup;
  struct Task {
    llvm::unique_function<void()> run;
    Group *group;
  };

  void asyncEnqueue(llvm::unique_function<void()> run, Group *group) override;
  void startWorker();
  void work();
  void waitFor(Group *group);
  /// Takes the first task; the lock is released while it runs.
  void runOne(std::unique_lock<std::mutex> &lock);
  bool isDone(Group *group) const {
    return group ? pending.lookup(group) == 0 : unfinished == 0;
  }

  const int64_t threads;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  llvm::DenseMap<Group *, int64_t> pending; // queued or running
  int64_t unfinished = 0;                   // of all groups and of none
  std::exception_ptr thrown;
  bool ending = false;
  std::vector<std::thread> workers;
};

} // namespace tenon
