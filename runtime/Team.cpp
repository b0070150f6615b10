//===-- Team.cpp - the runtime's own threads ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Team.h"

#include <csignal>
#include <cstdio>
#include <new>

using namespace tenon::rt;

// The two places where a thread may fall asleep (waitForEpoch, waitForRange)
// and their wakers follow one scheme: the sleeper announces itself, then looks
// again; the waker changes what the sleeper looks at, then looks for sleepers.
// All four accesses are seq_cst, so at least one of the two sees the other.
static constexpr auto seqCst = std::memory_order_seq_cst;

int32_t tenon_rt_allowed_cpus(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
    return CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? int32_t(online) : 1;
}

bool Team::init(const Allocator &from, int32_t threadCount, int64_t spin) {
  threads = threadCount;
  spinNs = spin;
  crowded = threads > tenon_rt_allowed_cpus();
  generation = forkGeneration();
  // Slots are aligned to two cache lines, the allocator promises one.
  int64_t bytes = int64_t(sizeof(Slot)) * threads + int64_t(alignof(Slot));
  void *memory = from.allocate(bytes);
  if (!memory)
    return false;
  slots = static_cast<Slot *>(memory);
  uintptr_t misfit = uintptr_t(memory) % alignof(Slot);
  if (misfit)
    slots = reinterpret_cast<Slot *>(static_cast<char *>(memory) +
                                     alignof(Slot) - misfit);
  slotMemory = memory;
  for (int32_t i = 0; i < threads; ++i) {
    Slot *slot = new (&slots[i]) Slot;
    slot->index = i;
    slot->team = this;
  }
  return true;
}

/// Starts the workers.  Those the system refuses are not needed: their ranges
/// are taken over.
void Team::start() {
  started = true;
  // Signals are the host program's business.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int32_t i = 1; i < threads; ++i) {
    Slot &slot = slots[i];
    slot.bornAt = epoch.load(std::memory_order_relaxed);
    if (pthread_create(&slot.thread, nullptr, workerEntry, &slot) != 0)
      break;
    workers = i;
    char name[16];
    snprintf(name, sizeof(name), "tenon-%d", i);
    pthread_setname_np(slot.thread, name);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// In the child of a fork: the workers do not exist here.
void Team::forget() {
  generation = forkGeneration();
  started = false;
  workers = 0;
  callerSleeping.store(0, std::memory_order_relaxed);
  for (int32_t i = 0; i < threads; ++i)
    slots[i].sleeping.store(0, std::memory_order_relaxed);
}

void Team::destroy(const Allocator &from) {
  if (started && generation == forkGeneration()) {
    epoch.store(epochOf({++section, kStop, 0}), seqCst);
    for (int32_t i = 1; i <= workers; ++i)
      if (slots[i].sleeping.exchange(0, seqCst))
        futexWakeOne(slots[i].sleeping);
    for (int32_t i = 1; i <= workers; ++i)
      pthread_join(slots[i].thread, nullptr);
  }
  from.release(slotMemory);
  slots = nullptr;
  slotMemory = nullptr;
}

/// Waits busily, but not for long.  Returns whether `ready()` came true.
template <typename Ready> bool Team::spinUntil(Ready ready) const {
  // Reading the clock costs about as much as a few pauses.
  constexpr int kPausesPerLook = 16;
  if (ready())
    return true;
  if (spinNs <= 0)
    return false;
  int64_t deadline = 0;
  for (;;) {
    for (int i = 0; i < kPausesPerLook; ++i) {
      cpuPause();
      if (ready())
        return true;
    }
    int64_t now = nowNs();
    if (deadline == 0)
      deadline = now + spinNs;
    else if (now >= deadline)
      return false;
    if (crowded)
      sched_yield();
  }
}

/// The worker's wait for a section newer than `seen`.
uint64_t Team::waitForEpoch(Slot &slot, uint64_t seen) {
  for (;;) {
    if (spinUntil(
            [&] { return epoch.load(std::memory_order_acquire) != seen; }))
      return epoch.load(std::memory_order_acquire);
    slot.sleeping.store(1, seqCst);
    while (epoch.load(seqCst) == seen && slot.sleeping.load(seqCst) == 1)
      futexWait(slot.sleeping, 1);
    slot.sleeping.store(0, seqCst);
  }
}

/// The caller's wait for pieces that other threads have claimed.
void Team::waitForRange(Slot &slot, const Cut &cut) {
  const uint64_t wanted = cut.section << kPieceBits | uint64_t(cut.pieces);
  auto isDone = [&] {
    return slot.done.load(std::memory_order_acquire) >= wanted;
  };
  while (!spinUntil(isDone)) {
    callerSleeping.store(1, seqCst);
    while (slot.done.load(seqCst) < wanted && callerSleeping.load(seqCst) == 1)
      futexWait(callerSleeping, 1);
    callerSleeping.store(0, seqCst);
  }
}

/// Counts `by` pieces more of `cut`, and says from which on; -1: all were
/// counted, or a newer section is under way.
int Team::advance(Count &count, const Cut &cut, int by) {
  uint64_t last = count.load(std::memory_order_relaxed);
  for (;;) {
    uint64_t current = cut.section << kPieceBits;
    if (last > current)
      current = last;
    int piece = int(current & ((1 << kPieceBits) - 1));
    if (current >> kPieceBits != cut.section || piece >= cut.pieces)
      return -1;
    if (count.compare_exchange_weak(last, current + uint64_t(by), seqCst,
                                    std::memory_order_relaxed))
      return piece;
  }
}

/// Runs every piece still to be had: of the range of its own, then of those
/// before it, around.  (Workers are woken from the front, the caller is 0.)
void Team::work(const Job &job, const Cut &cut, int64_t self) {
  for (int64_t i = 0; i < cut.ranges; ++i) {
    int64_t range = i <= self ? self - i : self - i + cut.ranges;
    int done = 0;
    for (int piece; (piece = advance(slots[range].claimed, cut, 1)) >= 0;
         ++done) {
      FloatControlScope scope(job.floatControl);
      job.runPiece(range, piece, cut.pieces, self);
    }
    if (done == 0)
      continue;
    advance(slots[range].done, cut, done);
    if (callerSleeping.load(seqCst) && callerSleeping.exchange(0, seqCst))
      futexWakeOne(callerSleeping);
  }
}

uint64_t Team::epochOf(const Cut &cut) {
  return (cut.section << kRangeBits | uint64_t(cut.ranges)) << kPieceBits |
         uint64_t(cut.pieces);
}

Team::Cut Team::cutOf(uint64_t epoch) {
  return {epoch >> (kRangeBits + kPieceBits),
          int64_t(epoch >> kPieceBits & ((1 << kRangeBits) - 1)),
          int(epoch & ((1 << kPieceBits) - 1))};
}

void *Team::workerEntry(void *argument) {
  Slot &slot = *static_cast<Slot *>(argument);
  Team &team = *slot.team;
  uint64_t seen = slot.bornAt;
  for (;;) {
    seen = team.waitForEpoch(slot, seen);
    Cut cut = cutOf(seen);
    if (cut.ranges == kStop)
      return nullptr;
    if (slot.index < cut.ranges)
      team.work(team.job, cut, slot.index);
  }
}

tenon_rt_status Team::run(const Job &newJob) {
  if (generation != forkGeneration())
    forget();
  if (!started)
    start();
  job = newJob;
  // Locals: a fork in a body may use the team before the child gets back here.
  const Cut cut = {++section, newJob.ranges, newJob.pieces()};
  const uint64_t runGeneration = generation;
  epoch.store(epochOf(cut), seqCst);
  for (int64_t i = 1; i < cut.ranges && i <= workers; ++i)
    if (slots[i].sleeping.load(seqCst) && slots[i].sleeping.exchange(0, seqCst))
      futexWakeOne(slots[i].sleeping);
  work(newJob, cut, 0);
  // Pieces claimed by threads that a fork left behind will never be done.
  if (runGeneration != forkGeneration())
    return TENON_RT_FORKED_IN_SECTION;
  for (int64_t i = 0; i < cut.ranges; ++i)
    waitForRange(slots[i], cut);
  return TENON_RT_OK;
}
