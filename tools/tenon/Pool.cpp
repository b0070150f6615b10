//===- Pool.cpp - a caller's thread pool ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Pool.h.  Plain on purpose: one lock, no spinning.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/Pool.h"

namespace tenon::cli {

Pool::Pool(int threadCount) {
  for (int i = 1; i < threadCount; ++i)
    threads.emplace_back([this] { work(); });
}

Pool::~Pool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void Pool::drain(std::unique_lock<std::mutex> &lock) {
  while (next < count) {
    int64_t index = next++;
    lock.unlock();
    body(arg, index);
    lock.lock();
    if (--unfinished == 0)
      done.notify_all();
  }
}

void Pool::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping) {
    drain(lock);
    wake.wait(lock, [this] { return stopping || next < count; });
  }
}

void Pool::parallelFor(void *pool, int64_t n,
                       void (*body)(void *arg, int64_t i), void *arg) {
  auto *self = static_cast<Pool *>(pool);
  std::unique_lock<std::mutex> lock(self->mutex);
  self->body = body;
  self->arg = arg;
  self->next = 0;
  self->count = self->unfinished = n;
  self->wake.notify_all();
  self->drain(lock);
  self->done.wait(lock, [self] { return self->unfinished == 0; });
}

} // namespace tenon::cli
