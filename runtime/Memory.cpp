//===-- Memory.cpp - where the runtime's memory comes from ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Memory.h"

#include <cstdlib>
#include <pthread.h>
#include <sys/mman.h>

using namespace tenon::rt;

//===----------------------------------------------------------------------===//
// Forks
//===----------------------------------------------------------------------===//

static constinit std::atomic<uint64_t> generation{0};
static pthread_once_t watchOnce = PTHREAD_ONCE_INIT;

uint64_t tenon::rt::forkGeneration() {
  return generation.load(std::memory_order_relaxed);
}

void tenon::rt::watchForks() {
  pthread_once(&watchOnce, [] {
    pthread_atfork(nullptr, nullptr,
                   [] { generation.fetch_add(1, std::memory_order_relaxed); });
  });
}

//===----------------------------------------------------------------------===//
// Allocator
//===----------------------------------------------------------------------===//

bool Allocator::init(const tenon_allocator &from, bool huge) {
  callbacks = from;
  hugePages = huge;
  return (from.allocate == nullptr) == (from.release == nullptr);
}

void *Allocator::allocate(int64_t size) const {
  // No address space is larger: do not bother the callbacks with such sizes.
  constexpr int64_t kLargest = int64_t(1) << 56;
  if (size < 0 || size > kLargest)
    return nullptr;
  bool large = size >= kHugePage;
  int64_t align = large ? kHugePage : kCacheLine;
  // Large blocks are not rounded up to whole huge pages: the tail would cost
  // memory for nothing.
  int64_t rounded = (size + kCacheLine - 1) & -kCacheLine;
  if (rounded == 0)
    rounded = kCacheLine;
  if (callbacks.allocate)
    return callbacks.allocate(callbacks.context, size_t(rounded),
                              size_t(align));
  void *block = nullptr;
  if (posix_memalign(&block, size_t(align), size_t(rounded)) != 0)
    return nullptr;
  // A hint; a kernel without huge pages refuses and nothing is lost.
  if (large && hugePages)
    (void)madvise(block, size_t(rounded & -kHugePage), MADV_HUGEPAGE);
  return block;
}

void Allocator::release(void *block) const {
  if (!block)
    return;
  if (callbacks.release)
    callbacks.release(callbacks.context, block);
  else
    free(block);
}

//===----------------------------------------------------------------------===//
// BlockCache
//===----------------------------------------------------------------------===//

/// Returns the block of a slot the caller has locked, grown if needed.
void *BlockCache::acquireFrom(Slot &slot, int64_t size) {
  void *data = slot.data.load(std::memory_order_relaxed);
  if (data && slot.size.load(std::memory_order_relaxed) >= size)
    return data;
  // The contents need not survive: free first, so that the peak is low.
  slot.data.store(nullptr, std::memory_order_relaxed);
  slot.size.store(0, std::memory_order_relaxed);
  allocator->release(data);
  data = allocator->allocate(size);
  if (!data)
    return nullptr;
  slot.data.store(data, std::memory_order_relaxed);
  slot.size.store(size, std::memory_order_relaxed);
  return data;
}

void *BlockCache::acquire(int64_t size) {
  // First a block that is large enough, then any to grow.
  for (bool mayGrow : {false, true}) {
    for (Slot &slot : slots) {
      bool fits = slot.data.load(std::memory_order_relaxed) &&
                  slot.size.load(std::memory_order_relaxed) >= size;
      if ((!fits && !mayGrow) || !slot.tryLock())
        continue;
      void *data = acquireFrom(slot, size);
      if (!data)
        slot.unlock();
      return data;
    }
  }
  return allocator->allocate(size);
}

void BlockCache::release(void *block) {
  if (!block)
    return;
  // Only the holder of a block can find it: the other slots' are different.
  for (Slot &slot : slots) {
    if (slot.data.load(std::memory_order_relaxed) == block)
      return slot.unlock();
  }
  allocator->release(block);
}

void BlockCache::trim() {
  for (Slot &slot : slots) {
    if (!slot.tryLock())
      continue;
    // Forgotten before it is freed: another thread may get the same address.
    void *data = slot.data.exchange(nullptr, std::memory_order_relaxed);
    slot.size.store(0, std::memory_order_relaxed);
    allocator->release(data);
    slot.unlock();
  }
}
