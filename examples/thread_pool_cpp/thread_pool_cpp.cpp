// SPDX-License-Identifier: Apache-2.0
// Execution on a pool of threads that the program has already: the library
// starts none. A stream is given a function that runs n tasks.
#include "examples/check.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <tenon.hpp>
#include <thread>

namespace {

/// A plain pool: threads take indices of the current job until none is left.
class Pool {
public:
  explicit Pool(int threads) {
    for (int i = 0; i < threads; ++i)
      workers.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    wake.notify_all();
    for (std::thread &t : workers)
      t.join();
  }

  /// A tenon_parallel_for_fn: the caller takes part and waits for the others.
  static void parallelFor(void *pool, int64_t n,
                          void (*body)(void *arg, int64_t i), void *arg) {
    static_cast<Pool *>(pool)->run(n, body, arg);
  }

  int64_t tasksRun() const { return tasks; }

private:
  void run(int64_t n, void (*body)(void *, int64_t), void *arg) {
    std::unique_lock lock(mutex);
    job = {n, 0, n, body, arg};
    wake.notify_all();
    while (takeOne(lock)) {
    }
    done.wait(lock, [this] { return job.unfinished == 0; });
  }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [this] { return stopping || job.next < job.count; });
      if (stopping)
        return;
      takeOne(lock);
    }
  }

  /// Runs one index, without the lock; false if there was none.
  bool takeOne(std::unique_lock<std::mutex> &lock) {
    if (job.next >= job.count)
      return false;
    int64_t i = job.next++;
    auto [body, arg] = std::pair(job.body, job.arg);
    lock.unlock();
    body(arg, i);
    ++tasks;
    lock.lock();
    if (--job.unfinished == 0)
      done.notify_all();
    return true;
  }

  struct Job {
    int64_t count = 0, next = 0, unfinished = 0;
    void (*body)(void *, int64_t) = nullptr;
    void *arg = nullptr;
  };
  std::mutex mutex; // of job and stopping
  std::condition_variable wake, done;
  Job job;
  bool stopping = false;
  std::atomic<int64_t> tasks{0};
  std::vector<std::thread> workers;
};

void run() {
  using namespace tenon;
  constexpr int64_t kRows = 256, kColumns = 512;
  LogicalTensor x(0, TENON_F32, {kRows, kColumns}),
      y(1, TENON_F32, {kRows, kColumns});
  Op softmax(0, tenon_op_softmax, "softmax");
  softmax.attr("axis", 1).input(x).output(y);

  Pool pool(3);
  tenon_exec_options options;
  tenon_exec_options_init(&options);
  options.threading = TENON_THREADS_POOL;
  options.concurrency = 4;
  options.parallel_for = Pool::parallelFor;
  options.pool = &pool;
  Engine engine;
  Stream stream(engine, options);
  auto compiled = Partition(softmax).compile(engine, {x}, {y});

  std::vector<float> in(kRows * kColumns), out(in.size());
  Tensor tx(x, engine, in.data()), ty(y, engine, out.data());
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    fill(in.data(), in.size(), seed);
    compiled.execute(stream, {&tx}, {&ty});
    for (int64_t r = 0; r < kRows; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < kColumns; ++c)
        sum += std::exp(double(in[r * kColumns + c]));
      for (int64_t c = 0; c < kColumns; ++c)
        EXPECT(is_near(out[r * kColumns + c],
                       std::exp(double(in[r * kColumns + c])) / sum));
    }
  }
  printf("the program's own pool ran %lld tasks\n",
         static_cast<long long>(pool.tasksRun()));
  EXPECT(pool.tasksRun() >= 20);
}

} // namespace

int main() { return run_example(run); }
