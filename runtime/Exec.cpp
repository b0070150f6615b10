//===-- Exec.cpp - executors and sections ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Exec.h"
#include "runtime/Memory.h"
#include "runtime/Profile.h"
#include "runtime/Team.h"
#include "runtime/tenon_rt.h"

#include <new>

using namespace tenon::rt;

struct tenon_exec {
  Allocator allocator;
  tenon_threading threading;
  int32_t concurrency;
  tenon_parallel_for_fn parallelFor;
  void *pool;
  std::atomic<bool> profiling{false};
  /// Packed, so that nobody sees one change without the other: the status in
  /// the lowest byte, what failed last in the next one, the number of failures
  /// above.
  std::atomic<uint64_t> failures{0};
  /// Who holds it may use the team or the pool.
  GenLock workersLock;
  BlockCache scratch;
  BlockCache arenas;
  Profile profile;
  std::atomic<const tenon_observer *> observer{nullptr};
  Team team;
  /// What tenon_exec_create allocated; may begin before the object.
  void *memory = nullptr;
};

//===----------------------------------------------------------------------===//
// Life cycle
//===----------------------------------------------------------------------===//

static constexpr int64_t kDefaultSpinNs = 50000;

const char *tenon_rt_status_string(tenon_rt_status status) {
  switch (status) {
  case TENON_RT_OK:
    return "ok";
  case TENON_RT_OUT_OF_MEMORY:
    return "memory is exhausted";
  case TENON_RT_INVALID_ARGUMENT:
    return "argument out of range";
  case TENON_RT_OVER_CAPACITY:
    return "constant store is full of buffers in use";
  case TENON_RT_POOL_MISBEHAVED:
    return "parallel_for did not run every index exactly once";
  case TENON_RT_FORKED_IN_SECTION:
    return "process forked inside a section";
  case TENON_RT_FOREIGN_MODEL:
    return "made by another version of the compiler, or no model";
  case TENON_RT_UNSUPPORTED_CPU:
    return "this CPU lacks instructions that the code needs";
  case TENON_RT_CANNOT_READ:
    return "file cannot be read";
  case TENON_RT_DAMAGED:
    return "content differs from what was written";
  case TENON_RT_BAD_VALUE:
    return "an element of an operand is outside of its range";
  }
  return "unknown status";
}

void tenon_exec_options_init(tenon_exec_options *options) {
  *options = tenon_exec_options{};
  options->struct_size = sizeof(tenon_exec_options);
  options->spin_ns = -1;
  options->huge_pages = 1;
}

/// Sets the number of ranges; false if the options make no sense.
static bool chooseConcurrency(tenon_exec &exec,
                              const tenon_exec_options &options) {
  int32_t count = 1;
  switch (options.threading) {
  case TENON_THREADS_SINGLE:
    break;
  case TENON_THREADS_TEAM:
    count = options.threads;
    if (count == 0) {
      count = tenon_rt_allowed_cpus();
      count = count < TENON_RT_MAX_THREADS ? count : TENON_RT_MAX_THREADS;
    }
    break;
  case TENON_THREADS_POOL:
    count = options.concurrency;
    if (!options.parallel_for)
      return false;
    break;
  default:
    return false;
  }
  exec.concurrency = count;
  return count >= 1 && count <= TENON_RT_MAX_THREADS;
}

tenon_rt_status tenon_exec_create(const tenon_exec_options *given,
                                  tenon_exec **out) {
  if (!out)
    return TENON_RT_INVALID_ARGUMENT;
  *out = nullptr;
  tenon_exec_options options;
  tenon_exec_options_init(&options);
  if (given) {
    if (given->struct_size != sizeof(options))
      return TENON_RT_INVALID_ARGUMENT;
    options = *given;
  }
  Allocator allocator;
  if (!allocator.init(options.allocator, options.huge_pages != 0))
    return TENON_RT_INVALID_ARGUMENT;

  watchForks();
  constexpr size_t align = alignof(tenon_exec);
  void *memory = allocator.allocate(int64_t(sizeof(tenon_exec) + align));
  if (!memory)
    return TENON_RT_OUT_OF_MEMORY;
  size_t misfit = uintptr_t(memory) % align;
  auto *exec = new (static_cast<char *>(memory) + (misfit ? align - misfit : 0))
      tenon_exec;
  exec->memory = memory;
  exec->allocator = allocator;
  exec->threading = options.threading;
  exec->parallelFor = options.parallel_for;
  exec->pool = options.pool;
  exec->scratch.init(&exec->allocator);
  exec->arenas.init(&exec->allocator);
  exec->profile.init(&exec->allocator);
  exec->profiling.store(options.profile != 0, std::memory_order_relaxed);
  int64_t spin = options.spin_ns < 0 ? kDefaultSpinNs : options.spin_ns;

  tenon_rt_status status = TENON_RT_OK;
  if (!chooseConcurrency(*exec, options))
    status = TENON_RT_INVALID_ARGUMENT;
  else if (exec->threading == TENON_THREADS_TEAM && exec->concurrency > 1 &&
           !exec->team.init(exec->allocator, exec->concurrency, spin))
    status = TENON_RT_OUT_OF_MEMORY;
  if (status != TENON_RT_OK) {
    allocator.release(memory);
    return status;
  }
  *out = exec;
  return TENON_RT_OK;
}

void tenon_exec_destroy(tenon_exec *exec) {
  if (!exec)
    return;
  exec->team.destroy(exec->allocator);
  exec->scratch.trim();
  exec->arenas.trim();
  exec->profile.reset();
  Allocator allocator = exec->allocator;
  void *memory = exec->memory;
  exec->~tenon_exec();
  allocator.release(memory);
}

int32_t tenon_exec_concurrency(const tenon_exec *exec) {
  return exec->concurrency;
}

static constexpr uint64_t kStatusMask = 0xff;
static constexpr int kLastShift = 8, kCountShift = 16;

tenon_rt_status tenon_exec_status(const tenon_exec *exec) {
  return failuresOf(*exec).status;
}

void tenon_exec_clear_status(tenon_exec *exec) {
  exec->failures.fetch_and(~kStatusMask, std::memory_order_acq_rel);
}

void tenon_rt_fail(tenon_exec *exec, tenon_rt_status status) {
  uint64_t seen = exec->failures.load(std::memory_order_relaxed), next;
  do {
    uint64_t first = seen & kStatusMask;
    next = ((seen >> kCountShift) + 1) << kCountShift |
           uint64_t(status) << kLastShift | (first ? first : uint64_t(status));
  } while (!exec->failures.compare_exchange_weak(seen, next,
                                                 std::memory_order_acq_rel));
}

void tenon_rt_require(tenon_exec *exec, int32_t holds) {
  if (!holds)
    tenon_rt_fail(exec, TENON_RT_BAD_VALUE);
}

Failures tenon::rt::failuresOf(const tenon_exec &exec) {
  uint64_t all = exec.failures.load(std::memory_order_acquire);
  return {tenon_rt_status(all & kStatusMask),
          tenon_rt_status(all >> kLastShift & kStatusMask), all >> kCountShift};
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

namespace {
/// What a caller's pool gets as `arg`.
struct PoolCall {
  const Job *job;
  std::atomic<int64_t> finished{0};
  std::atomic<bool> misused{false};
  /// A bit for each range that was begun.
  std::atomic<uint64_t> begun[TENON_RT_MAX_THREADS / 64] = {};

  bool begin(int64_t range) {
    uint64_t bit = uint64_t(1) << range % 64;
    return !(begun[range / 64].fetch_or(bit, std::memory_order_relaxed) & bit);
  }
};
} // namespace

static void runPoolRange(void *argument, int64_t index) {
  auto &call = *static_cast<PoolCall *>(argument);
  if (index < 0 || index >= call.job->ranges || !call.begin(index)) {
    call.misused.store(true, std::memory_order_relaxed);
    return;
  }
  FloatControlScope scope(call.job->floatControl);
  call.job->runRange(index);
  call.finished.fetch_add(1, std::memory_order_acq_rel);
}

static tenon_rt_status runOnPool(tenon_exec &exec, const Job &job) {
  PoolCall call;
  call.job = &job;
  exec.parallelFor(exec.pool, job.ranges, runPoolRange, &call);
  bool complete = call.finished.load(std::memory_order_acquire) == job.ranges &&
                  !call.misused.load(std::memory_order_relaxed);
  return complete ? TENON_RT_OK : TENON_RT_POOL_MISBEHAVED;
}

/// Finds scratch for the job, with fewer ranges if memory is short.
static bool provideScratch(tenon_exec &exec, Job &job, int64_t bytes) {
  if (bytes == 0)
    return true;
  constexpr int64_t kLargest = INT64_MAX / (2 * TENON_RT_MAX_THREADS);
  if (bytes > kLargest)
    return false;
  job.scratchStride = (bytes + kCacheLine - 1) & -kCacheLine;
  void *block = exec.scratch.acquire(job.scratchStride * job.ranges);
  if (!block && job.ranges > 1) {
    job.ranges = 1;
    block = exec.scratch.acquire(job.scratchStride);
  }
  job.scratch = static_cast<char *>(block);
  return block != nullptr;
}

static void runSection(tenon_exec &exec, tenon_section_fn fn, void *const *args,
                       int64_t items, int64_t scratch) {
  if (exec.failures.load(std::memory_order_relaxed) & kStatusMask)
    return;
  if (items < 0 || scratch < 0)
    return tenon_rt_fail(&exec, TENON_RT_INVALID_ARGUMENT);
  if (items == 0)
    return;
  int64_t ranges = items < exec.concurrency ? items : exec.concurrency;
  // Somebody else has the workers, perhaps the section we are called from.
  bool ownsWorkers = ranges > 1 && exec.workersLock.tryLock();
  if (!ownsWorkers)
    ranges = 1;
  Job job{fn, args, items, ranges, nullptr, 0, readFloatControl()};
  tenon_rt_status status = TENON_RT_OK;
  if (!provideScratch(exec, job, scratch))
    status = TENON_RT_OUT_OF_MEMORY;
  else if (job.ranges == 1)
    job.runRange(0);
  else if (exec.threading == TENON_THREADS_TEAM)
    status = exec.team.run(job);
  else
    status = runOnPool(exec, job);
  if (job.scratch)
    exec.scratch.release(job.scratch);
  if (ownsWorkers)
    exec.workersLock.unlock();
  if (status != TENON_RT_OK)
    tenon_rt_fail(&exec, status);
}

void tenon_rt_run_section(tenon_exec *exec, tenon_section_fn fn,
                          void *const *args, int64_t items, int64_t scratch) {
  tenon_rt_run_named_section(exec, fn, args, items, scratch, nullptr);
}

void tenon_rt_run_named_section(tenon_exec *exec, tenon_section_fn fn,
                                void *const *args, int64_t items,
                                int64_t scratch, const char *name) {
  bool isProfiling = exec->profiling.load(std::memory_order_relaxed);
  const tenon_observer *observer =
      exec->observer.load(std::memory_order_acquire);
  if (!isProfiling && !observer) [[likely]]
    return runSection(*exec, fn, args, items, scratch);
  if (observer)
    observer->begin(observer->context, name ? name : "(unnamed)");
  int64_t begin = nowNs();
  runSection(*exec, fn, args, items, scratch);
  if (isProfiling)
    exec->profile.record(name, items, nowNs() - begin);
  if (observer)
    observer->end(observer->context);
}

//===----------------------------------------------------------------------===//
// Profile and memory
//===----------------------------------------------------------------------===//

void tenon_exec_profile_enable(tenon_exec *exec, int32_t enable) {
  exec->profiling.store(enable != 0, std::memory_order_relaxed);
}

size_t tenon_exec_profile_read(tenon_exec *exec, tenon_profile_entry *entries,
                               size_t capacity) {
  return exec->profile.read(entries, entries ? capacity : 0);
}

void tenon_exec_profile_reset(tenon_exec *exec) { exec->profile.reset(); }

void tenon_exec_observe(tenon_exec *exec, const tenon_observer *observer) {
  exec->observer.store(observer, std::memory_order_release);
}

/// The C library's memory, for calls without an executor.
static Allocator defaultAllocator() {
  Allocator allocator;
  (void)allocator.init(tenon_allocator{}, /*huge=*/true);
  return allocator;
}

void *tenon_rt_alloc(tenon_exec *exec, int64_t size) {
  return exec ? exec->allocator.allocate(size)
              : defaultAllocator().allocate(size);
}

void tenon_rt_free(tenon_exec *exec, void *block) {
  exec ? exec->allocator.release(block) : defaultAllocator().release(block);
}

void *tenon_rt_arena_acquire(tenon_exec *exec, int64_t size) {
  void *arena = size < 0 ? nullptr : exec->arenas.acquire(size);
  if (!arena)
    tenon_rt_fail(exec, TENON_RT_OUT_OF_MEMORY);
  return arena;
}

void tenon_rt_arena_release(tenon_exec *exec, void *arena) {
  exec->arenas.release(arena);
}

void tenon_exec_trim(tenon_exec *exec) {
  exec->scratch.trim();
  exec->arenas.trim();
}
