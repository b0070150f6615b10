//===-- Team.h - the runtime's own threads ---------------------*- C++ -*-===//
//
// A section is cut into ranges, one per member of the team.  A range is
// *claimed* before it runs, normally by its own worker, but whoever is idle
// claims the ranges of late workers: a section never waits for a thread to wake
// up, and a team with more threads than CPUs loses little.
//
// Why reading the job is safe: the caller publishes a section by one store to
// `epoch` and does not return before every range of it is claimed and done.  So
// a successful claim for a section proves that this section is not over, and
// that the job stays as it is until the claimer says `done`.  A thread that
// arrives late finds all ranges claimed and touches nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TENON_RUNTIME_TEAM_H
#define TENON_RUNTIME_TEAM_H

#include "runtime/Memory.h"

#include <pthread.h>

namespace tenon::rt {

/// One section: what is called, and how it is cut.
struct Job {
  tenon_section_fn fn;
  void *const *args;
  int64_t items;
  int64_t ranges;
  /// `ranges` slices of `scratchStride` bytes, or null.
  char *scratch;
  int64_t scratchStride;
  uint32_t floatControl;

  void runRange(int64_t range) const {
    // The first `extra` ranges have one item more.
    int64_t share = items / ranges, extra = items % ranges;
    int64_t begin = range * share + (range < extra ? range : extra);
    int64_t end = begin + share + (range < extra);
    fn(args, begin, end, scratch ? scratch + range * scratchStride : nullptr);
  }
};

/// Computes with the caller's floating-point control in a foreign thread.
class FloatControlScope {
public:
  explicit FloatControlScope(uint32_t wanted) : before(readFloatControl()) {
    if ((changed = before != wanted))
      writeFloatControl(wanted);
  }
  ~FloatControlScope() {
    if (changed)
      writeFloatControl(before);
  }
  FloatControlScope(const FloatControlScope &) = delete;
  FloatControlScope &operator=(const FloatControlScope &) = delete;

private:
  uint32_t before;
  bool changed;
};

class Team {
public:
  /// `threads` >= 2 counts the caller.  Starts nothing.  False: no memory.
  bool init(const Allocator &from, int32_t threads, int64_t spinNs);

  /// Runs all ranges (2 .. threads) of `job`.  One caller at a time.
  tenon_rt_status run(const Job &job);

  /// Ends and joins the workers, frees the team's memory.
  void destroy(const Allocator &from);

private:
  /// One per range; the worker of the same index sleeps on it.
  struct alignas(128) Slot {
    /// The newest section whose range of this index was claimed, or is done.
    std::atomic<uint64_t> claimed{0};
    std::atomic<uint64_t> done{0};
    std::atomic<uint32_t> sleeping{0};
    int32_t index = 0;
    /// The epoch when the worker was started: not its to work on.
    uint64_t bornAt = 0;
    Team *team = nullptr;
    pthread_t thread{};
  };

  static void *workerEntry(void *slot);
  void start();
  void forget();
  bool claim(int64_t range, uint64_t section);
  void work(int64_t first, uint64_t section, int64_t ranges);
  uint64_t waitForEpoch(Slot &slot, uint64_t seen);
  void waitForRange(Slot &slot, uint64_t section);
  template <typename Ready> bool spinUntil(Ready ready) const;

  /// An epoch is section number << kRangeBits | ranges; kStop ranges: end.
  static constexpr int kRangeBits = 16;
  static constexpr uint64_t kStop = (1 << kRangeBits) - 1;

  alignas(128) std::atomic<uint64_t> epoch{0};
  alignas(128) std::atomic<uint32_t> callerSleeping{0};
  alignas(128) Job job{};
  Slot *slots = nullptr;
  /// What `slots` was carved out of.
  void *slotMemory = nullptr;
  uint64_t section = 0;
  int64_t spinNs = 0;
  uint64_t generation = 0;
  int32_t threads = 0;
  /// Workers that really started: slots 1 .. workers.
  int32_t workers = 0;
  bool started = false;
  /// More threads than CPUs: give the CPU away while waiting.
  bool crowded = false;
};

} // namespace tenon::rt

#endif // TENON_RUNTIME_TEAM_H
