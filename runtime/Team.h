//===-- Team.h - the runtime's own threads ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A section is cut into ranges, one per member of the team, and each range into
// pieces that halve: half of it, a quarter, an eighth.  A piece is *claimed*
// before it runs: each member takes those of its own range first, then what is
// left of others'.  So a section never waits for a thread to wake up, nor long
// for one that lost its CPU for a time, and a team with more threads than CPUs
// loses little.
//
// Why reading the job is safe: the caller publishes a section by one store to
// `epoch` and does not return before every piece of it is claimed and done.  So
// a successful claim for a section proves that this section is not over, and
// that the job stays as it is until the claimer has counted it as done.  A
// thread that arrives late finds all pieces claimed and touches nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TENON_RUNTIME_TEAM_H
#define TENON_RUNTIME_TEAM_H

#include "runtime/Memory.h"

#include <bit>
#include <pthread.h>

namespace tenon::rt {

/// One section: what is called, and how it is cut.
struct Job {
  /// The last piece of a range is a 32nd of it.
  static constexpr int kMaxPieces = 6;

  tenon_section_fn fn;
  void *const *args;
  int64_t items;
  int64_t ranges;
  /// `ranges` slices of `scratchStride` bytes, or null.
  char *scratch;
  int64_t scratchStride;
  uint32_t floatControl;

  int64_t first(int64_t range) const {
    // The first `extra` ranges have one item more.
    int64_t share = items / ranges, extra = items % ranges;
    return range * share + (range < extra ? range : extra);
  }

  /// So many pieces are in the largest range.
  int pieces() const {
    int bits = std::bit_width(uint64_t((items + ranges - 1) / ranges));
    return bits < kMaxPieces ? bits : kMaxPieces;
  }

  /// Items [begin, end), with slice `slice` of the scratch memory.
  void run(int64_t begin, int64_t end, int64_t slice) const {
    if (begin < end)
      fn(args, begin, end, scratch ? scratch + slice * scratchStride : nullptr);
  }

  void runRange(int64_t range) const {
    run(first(range), first(range + 1), range);
  }

  /// Piece `piece` of `count`; where a range has fewer, the last are empty.
  void runPiece(int64_t range, int piece, int count, int64_t slice) const {
    int64_t end = first(range + 1), size = end - first(range);
    // `size >> p` items are left after p pieces.
    run(end - (size >> piece),
        piece + 1 < count ? end - (size >> (piece + 1)) : end, slice);
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
  /// How a section is cut, as far as threads need it to claim pieces.
  struct Cut {
    uint64_t section;
    int64_t ranges;
    int pieces;
  };

  /// How many pieces of a range were claimed, or are done, in the newest
  /// section that says so: section << kPieceBits | pieces.
  using Count = std::atomic<uint64_t>;

  /// One per range; the worker of the same index sleeps on it.
  struct alignas(128) Slot {
    Count claimed{0};
    Count done{0};
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
  void work(const Job &job, const Cut &cut, int64_t self);
  uint64_t waitForEpoch(Slot &slot, uint64_t seen);
  void waitForRange(Slot &slot, const Cut &cut);
  template <typename Ready> bool spinUntil(Ready ready) const;

  static constexpr int kPieceBits = 3, kRangeBits = 11;
  static_assert(Job::kMaxPieces < 1 << kPieceBits &&
                TENON_RT_MAX_THREADS < (1 << kRangeBits) - 1);
  /// So many ranges mean: end.
  static constexpr int64_t kStop = (1 << kRangeBits) - 1;
  static uint64_t epochOf(const Cut &cut);
  static Cut cutOf(uint64_t epoch);
  static int advance(Count &count, const Cut &cut, int by);

  alignas(128) std::atomic<uint64_t> epoch{0};
  alignas(128) std::atomic<uint32_t> callerSleeping{0};
  alignas(128) Job job{};
  Slot *slots = nullptr;
  /// What `slots` was carved out of.
  void *slotMemory = nullptr;
  uint64_t section = 0; // the newest
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
