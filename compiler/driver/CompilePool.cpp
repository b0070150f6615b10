//===- CompilePool.cpp - threads of one compilation -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/CompilePool.h"

#include "codegen/jit/Guard.h"

#include <algorithm>
#include <system_error>

namespace tenon {

/// More are of no use for the largest models: see kMostParts.
constexpr int64_t kMostByDefault = 8;
/// Each costs a stack and a copy of the passes.
constexpr int64_t kMost = 256;

int64_t CompilePool::threadsFor(int64_t asked) {
  if (asked > 0)
    return std::min(asked, kMost);
  int64_t machine = std::thread::hardware_concurrency();
  return std::clamp<int64_t>(machine, 1, kMostByDefault);
}

CompilePool::~CompilePool() {
  {
    std::unique_lock lock(mutex);
    while (!tasks.empty())
      runOne(lock);
    ending = true;
  }
  changed.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void CompilePool::asyncEnqueue(llvm::unique_function<void()> run,
                               Group *group) {
  {
    std::lock_guard lock(mutex);
    tasks.push_back({std::move(run), group});
    ++unfinished;
    if (group)
      ++pending[group];
    // The thread that waits is one of them.
    if (static_cast<int64_t>(workers.size()) < threads - 1)
      startWorker();
  }
  changed.notify_all();
}

void CompilePool::startWorker() {
  try {
    workers.emplace_back([this] { work(); });
  } catch (const std::system_error &) {
    // No further thread can be created: the existing workers and the caller
    // that waits do the work.
  }
}

void CompilePool::work() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return ending || !tasks.empty(); });
    if (tasks.empty())
      return;
    runOne(lock);
  }
}

void CompilePool::runOne(std::unique_lock<std::mutex> &lock) {
  Task task = std::move(tasks.front());
  tasks.pop_front();
  lock.unlock();
  std::exception_ptr caught;
  try {
    if (auto fatal = codegen::runGuarded([&] { task.run(); }))
      throw FatalInTask(std::move(*fatal));
  } catch (...) {
    caught = std::current_exception();
  }
  task.run = nullptr; // what it holds goes away before anyone stops waiting
  lock.lock();
  if (caught && !thrown)
    thrown = caught;
  --unfinished;
  if (task.group && --pending[task.group] == 0)
    pending.erase(task.group);
  changed.notify_all();
}

void CompilePool::waitFor(Group *group) {
  std::unique_lock lock(mutex);
  while (!isDone(group)) {
    if (!tasks.empty())
      runOne(lock);
    else
      changed.wait(lock, [&] { return isDone(group) || !tasks.empty(); });
  }
  if (std::exception_ptr exception = std::exchange(thrown, nullptr)) {
    lock.unlock();
    std::rethrow_exception(exception);
  }
}

} // namespace tenon
