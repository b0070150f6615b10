//===-- Constants.cpp - shared packed constants ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Memory.h"
#include "runtime/tenon_rt.h"

#include <new>
#include <pthread.h>

using namespace tenon::rt;

namespace {
struct Entry {
  tenon_constant_key key;
  int64_t size;
  int64_t references;
  void *data;
  bool ready;
  /// Not ready, but some thread is at it.
  bool hasFiller;
  Entry *nextInBucket;
  /// Entries without references, least recently used first.
  Entry *idleBefore;
  Entry *idleAfter;
};

/// A lock for a scope.
class Locked {
public:
  explicit Locked(pthread_mutex_t &mutex) : mutex(mutex) {
    pthread_mutex_lock(&mutex);
  }
  ~Locked() { pthread_mutex_unlock(&mutex); }
  Locked(const Locked &) = delete;
  Locked &operator=(const Locked &) = delete;

private:
  pthread_mutex_t &mutex;
};
} // namespace

struct tenon_constants {
  static constexpr size_t kBuckets = 1024;

  Allocator allocator;
  pthread_mutex_t mutex;
  /// A buffer became ready, or lost its filler.
  pthread_cond_t changed;
  Entry *buckets[kBuckets] = {};
  Entry *idleFirst = nullptr;
  Entry *idleLast = nullptr;
  tenon_constants_stats stats{};

  Entry **findLink(tenon_constant_key key);
  void evictFor(int64_t size);
  void evict(Entry *entry);
  void unlinkIdle(Entry *entry);
  void reference(Entry *entry);
  Entry *insert(tenon_constant_key key, int64_t size);
  void freeEntry(Entry *entry);
};

/// Whatever points to the entry of `key`, or the null link where it would go.
Entry **tenon_constants::findLink(tenon_constant_key key) {
  // Keys are hashes already; fold them in case one half is constant.
  uint64_t hash = key.low ^ key.high * 0x9e3779b97f4a7c15u;
  Entry **link = &buckets[(hash ^ hash >> 32) % kBuckets];
  while (*link &&
         ((*link)->key.low != key.low || (*link)->key.high != key.high))
    link = &(*link)->nextInBucket;
  return link;
}

void tenon_constants::freeEntry(Entry *entry) {
  allocator.release(entry->data);
  allocator.release(entry);
}

void tenon_constants::unlinkIdle(Entry *entry) {
  (entry->idleBefore ? entry->idleBefore->idleAfter : idleFirst) =
      entry->idleAfter;
  (entry->idleAfter ? entry->idleAfter->idleBefore : idleLast) =
      entry->idleBefore;
  entry->idleBefore = entry->idleAfter = nullptr;
}

void tenon_constants::reference(Entry *entry) {
  if (entry->references++ == 0) {
    unlinkIdle(entry);
    stats.bytes_in_use += entry->size;
  }
}

/// Removes an entry that is neither referred to nor in the idle list.
void tenon_constants::evict(Entry *entry) {
  *findLink(entry->key) = entry->nextInBucket;
  stats.bytes -= entry->size;
  --stats.buffers;
  freeEntry(entry);
}

/// Evicts idle entries until `size` more bytes fit or none is left.
void tenon_constants::evictFor(int64_t size) {
  while (idleFirst && size > stats.capacity - stats.bytes) {
    Entry *oldest = idleFirst;
    unlinkIdle(oldest);
    evict(oldest);
    ++stats.evictions;
  }
}

/// A new entry with one reference, its filler's; null without memory.
Entry *tenon_constants::insert(tenon_constant_key key, int64_t size) {
  void *memory = allocator.allocate(sizeof(Entry));
  void *data = memory ? allocator.allocate(size) : nullptr;
  if (!data) {
    allocator.release(memory);
    return nullptr;
  }
  auto *entry = new (memory)
      Entry{key, size, 1, data, false, true, nullptr, nullptr, nullptr};
  *findLink(key) = entry;
  stats.bytes += size;
  stats.bytes_in_use += size;
  ++stats.buffers;
  return entry;
}

//===----------------------------------------------------------------------===//
// C interface
//===----------------------------------------------------------------------===//

static int64_t effectiveCapacity(int64_t capacity) {
  return capacity < 0 ? INT64_MAX : capacity;
}

tenon_rt_status tenon_rt_constants_create(int64_t capacity,
                                          const tenon_allocator *callbacks,
                                          tenon_constants **out) {
  if (!out)
    return TENON_RT_INVALID_ARGUMENT;
  *out = nullptr;
  Allocator allocator;
  if (!allocator.init(callbacks ? *callbacks : tenon_allocator{},
                      /*huge=*/true))
    return TENON_RT_INVALID_ARGUMENT;
  void *memory = allocator.allocate(sizeof(tenon_constants));
  if (!memory)
    return TENON_RT_OUT_OF_MEMORY;
  auto *store = new (memory) tenon_constants;
  store->allocator = allocator;
  store->stats.capacity = effectiveCapacity(capacity);
  // With default attributes these cannot fail on Linux.
  pthread_mutex_init(&store->mutex, nullptr);
  pthread_cond_init(&store->changed, nullptr);
  *out = store;
  return TENON_RT_OK;
}

void tenon_rt_constants_destroy(tenon_constants *store) {
  if (!store)
    return;
  for (Entry *entry : store->buckets) {
    while (entry) {
      Entry *next = entry->nextInBucket;
      store->freeEntry(entry);
      entry = next;
    }
  }
  pthread_mutex_destroy(&store->mutex);
  pthread_cond_destroy(&store->changed);
  Allocator allocator = store->allocator;
  store->~tenon_constants();
  allocator.release(store);
}

tenon_rt_status tenon_rt_constants_acquire(tenon_constants *store,
                                           tenon_constant_key key, int64_t size,
                                           void **data,
                                           tenon_constant_state *state) {
  *data = nullptr;
  *state = TENON_CONSTANT_NEW;
  if (size < 0)
    return TENON_RT_INVALID_ARGUMENT;
  Locked locked(store->mutex);
  if (Entry *entry = *store->findLink(key)) {
    if (entry->size != size)
      return TENON_RT_INVALID_ARGUMENT;
    ++store->stats.hits;
    store->reference(entry);
    *data = entry->data;
    *state = entry->ready ? TENON_CONSTANT_READY : TENON_CONSTANT_PENDING;
    return TENON_RT_OK;
  }
  ++store->stats.misses;
  const tenon_constants_stats &stats = store->stats;
  if (stats.capacity == 0 || size > stats.capacity - stats.bytes_in_use) {
    ++store->stats.refusals;
    return TENON_RT_OVER_CAPACITY;
  }
  store->evictFor(size);
  Entry *entry = store->insert(key, size);
  if (!entry)
    return TENON_RT_OUT_OF_MEMORY;
  *data = entry->data;
  return TENON_RT_OK;
}

tenon_rt_status tenon_rt_constants_publish(tenon_constants *store,
                                           tenon_constant_key key) {
  Locked locked(store->mutex);
  Entry *entry = *store->findLink(key);
  if (!entry || !entry->hasFiller)
    return TENON_RT_INVALID_ARGUMENT;
  entry->hasFiller = false;
  entry->ready = true;
  pthread_cond_broadcast(&store->changed);
  return TENON_RT_OK;
}

tenon_rt_status tenon_rt_constants_wait(tenon_constants *store,
                                        tenon_constant_key key,
                                        tenon_constant_state *state) {
  Locked locked(store->mutex);
  Entry *entry = *store->findLink(key);
  if (!entry || entry->references == 0)
    return TENON_RT_INVALID_ARGUMENT;
  // The caller's reference keeps the entry where it is.
  while (!entry->ready && entry->hasFiller)
    pthread_cond_wait(&store->changed, &store->mutex);
  *state = entry->ready ? TENON_CONSTANT_READY : TENON_CONSTANT_NEW;
  if (!entry->ready)
    entry->hasFiller = true;
  return TENON_RT_OK;
}

tenon_rt_status tenon_rt_constants_release(tenon_constants *store,
                                           tenon_constant_key key,
                                           int32_t filler) {
  Locked locked(store->mutex);
  Entry *entry = *store->findLink(key);
  if (!entry || entry->references == 0 || (filler && !entry->hasFiller))
    return TENON_RT_INVALID_ARGUMENT;
  if (filler) {
    entry->hasFiller = false;
    pthread_cond_broadcast(&store->changed);
  }
  if (--entry->references > 0)
    return TENON_RT_OK;
  store->stats.bytes_in_use -= entry->size;
  if (!entry->ready) {
    store->evict(entry);
    return TENON_RT_OK;
  }
  entry->idleBefore = store->idleLast;
  (store->idleLast ? store->idleLast->idleAfter : store->idleFirst) = entry;
  store->idleLast = entry;
  // The capacity may have shrunk while the buffer was in use.
  store->evictFor(0);
  return TENON_RT_OK;
}

void tenon_rt_constants_set_capacity(tenon_constants *store, int64_t capacity) {
  Locked locked(store->mutex);
  store->stats.capacity = effectiveCapacity(capacity);
  // What is in use stays even above the capacity.
  store->evictFor(0);
}

void tenon_rt_constants_get_stats(tenon_constants *store,
                                  tenon_constants_stats *stats) {
  Locked locked(store->mutex);
  *stats = store->stats;
}
