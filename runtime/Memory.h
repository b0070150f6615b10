//===-- Memory.h - where the runtime's memory comes from -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_RUNTIME_MEMORY_H
#define TENON_RUNTIME_MEMORY_H

#include "runtime/Sync.h"
#include "runtime/tenon_rt.h"

namespace tenon::rt {

inline constexpr int64_t kCacheLine = 64;
inline constexpr int64_t kHugePage = 2 << 20;

/// The callbacks, or the C library when there are none.  Thread-safe.
class Allocator {
public:
  /// Returns false if only one of the two callbacks is given.
  bool init(const tenon_allocator &callbacks, bool hugePages);

  /// Null if there is no memory or `size` is negative.  A multiple of the
  /// alignment is reserved, so whole vectors may be read at the end.
  void *allocate(int64_t size) const;
  void release(void *block) const;

private:
  tenon_allocator callbacks{};
  bool hugePages = true;
};

/// Blocks that are kept when released and handed out again.  Thread-safe and
/// lock-free: a block in use is simply skipped.
class BlockCache {
public:
  void init(const Allocator *from) { allocator = from; }

  /// Null if there is no memory; `size` >= 0.
  void *acquire(int64_t size);
  void release(void *block);
  /// Frees the blocks that are not in use.
  void trim();

private:
  struct Slot {
    /// Whether the block is in use.  Stays so in the child of a fork, where the
    /// user may be the surviving thread.
    std::atomic<bool> busy{false};
    /// Written by the holder of `busy` only; others read them as hints.
    std::atomic<void *> data{nullptr};
    std::atomic<int64_t> size{0};

    bool tryLock() { return !busy.exchange(true, std::memory_order_acquire); }
    void unlock() { busy.store(false, std::memory_order_release); }
  };
  void *acquireFrom(Slot &slot, int64_t size);

  static constexpr int kSlots = 16;
  const Allocator *allocator = nullptr;
  Slot slots[kSlots];
};

} // namespace tenon::rt

#endif // TENON_RUNTIME_MEMORY_H
