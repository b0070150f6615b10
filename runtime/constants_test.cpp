//===-- constants_test.cpp - the store of packed constants ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/TestSupport.h"
#include "runtime/tenon_rt.h"

#include <gtest/gtest.h>

using namespace tenon::rt::test;

namespace {

struct StoreDeleter {
  void operator()(tenon_constants *store) const {
    tenon_rt_constants_destroy(store);
  }
};
using StorePtr = std::unique_ptr<tenon_constants, StoreDeleter>;

StorePtr makeStore(int64_t capacity, const tenon_allocator *from = nullptr) {
  tenon_constants *store = nullptr;
  EXPECT_EQ(tenon_rt_constants_create(capacity, from, &store), TENON_RT_OK);
  return StorePtr(store);
}

struct Acquired {
  tenon_rt_status status;
  char *data;
  tenon_constant_state state;
};

Acquired acquire(const StorePtr &store, uint64_t key, int64_t size) {
  Acquired result{};
  void *data = nullptr;
  result.status = tenon_rt_constants_acquire(store.get(), {key, key * 3}, size,
                                             &data, &result.state);
  result.data = static_cast<char *>(data);
  return result;
}

tenon_rt_status publish(const StorePtr &store, uint64_t key) {
  return tenon_rt_constants_publish(store.get(), {key, key * 3});
}

tenon_rt_status release(const StorePtr &store, uint64_t key,
                        bool filler = false) {
  return tenon_rt_constants_release(store.get(), {key, key * 3}, filler);
}

tenon_constants_stats stats(const StorePtr &store) {
  tenon_constants_stats result;
  tenon_rt_constants_get_stats(store.get(), &result);
  return result;
}

/// Acquires, fills and publishes a buffer that must be new.
void addNew(const StorePtr &store, uint64_t key, int64_t size) {
  Acquired buffer = acquire(store, key, size);
  ASSERT_EQ(buffer.status, TENON_RT_OK);
  ASSERT_EQ(buffer.state, TENON_CONSTANT_NEW);
  memset(buffer.data, int(key), size_t(size));
  ASSERT_EQ(publish(store, key), TENON_RT_OK);
}

TEST(Constants, sharedUntilReleasedAndKeptAfterwards) {
  StorePtr store = makeStore(-1);
  addNew(store, 1, 1000);
  Acquired again = acquire(store, 1, 1000);
  EXPECT_EQ(again.state, TENON_CONSTANT_READY);
  EXPECT_EQ(again.data[999], 1);
  EXPECT_EQ(uintptr_t(again.data) % 64, 0u);
  EXPECT_EQ(stats(store).bytes_in_use, 1000);
  EXPECT_EQ(release(store, 1), TENON_RT_OK);
  EXPECT_EQ(release(store, 1), TENON_RT_OK);
  EXPECT_EQ(stats(store).bytes_in_use, 0);
  EXPECT_EQ(stats(store).bytes, 1000);
  EXPECT_EQ(release(store, 1), TENON_RT_INVALID_ARGUMENT);
  EXPECT_EQ(acquire(store, 1, 1000).state, TENON_CONSTANT_READY);
  EXPECT_EQ(stats(store).hits, 2u);
  EXPECT_EQ(stats(store).misses, 1u);
  EXPECT_EQ(stats(store).buffers, 1);
}

TEST(Constants, keysDifferInEitherHalf) {
  StorePtr store = makeStore(-1);
  void *data;
  tenon_constant_state state;
  for (tenon_constant_key key :
       {tenon_constant_key{1, 2}, {2, 1}, {1, 1}, {2, 2}}) {
    EXPECT_EQ(tenon_rt_constants_acquire(store.get(), key, 8, &data, &state),
              TENON_RT_OK);
    EXPECT_EQ(state, TENON_CONSTANT_NEW);
  }
  EXPECT_EQ(stats(store).buffers, 4);
}

TEST(Constants, leastRecentlyUsedGoesFirst) {
  StorePtr store = makeStore(300);
  for (uint64_t key : {1, 2, 3}) {
    addNew(store, key, 100);
    release(store, key);
  }
  acquire(store, 1, 100);
  release(store, 1);
  addNew(store, 4, 150); // Evicts 2 and 3, not 1.
  EXPECT_EQ(stats(store).evictions, 2u);
  EXPECT_EQ(stats(store).bytes, 250);
  EXPECT_EQ(acquire(store, 1, 100).state, TENON_CONSTANT_READY);
}

TEST(Constants, refusesWhenEverythingIsInUse) {
  StorePtr store = makeStore(300);
  addNew(store, 1, 200);
  addNew(store, 2, 60);
  release(store, 2);
  EXPECT_EQ(acquire(store, 3, 101).status, TENON_RT_OVER_CAPACITY);
  EXPECT_EQ(stats(store).refusals, 1u);
  EXPECT_EQ(stats(store).bytes, 260) << "nothing evicted in vain";
  addNew(store, 3, 100);
  EXPECT_EQ(stats(store).bytes, 300);
  EXPECT_EQ(acquire(makeStore(0), 1, 0).status, TENON_RT_OVER_CAPACITY);
}

TEST(Constants, capacityCanChange) {
  StorePtr store = makeStore(-1);
  addNew(store, 1, 100);
  addNew(store, 2, 100);
  addNew(store, 3, 100);
  release(store, 3);
  tenon_rt_constants_set_capacity(store.get(), 150);
  EXPECT_EQ(stats(store).bytes, 200) << "only the unused one can go";
  release(store, 1);
  EXPECT_EQ(stats(store).bytes, 100);
  EXPECT_EQ(acquire(store, 2, 100).state, TENON_CONSTANT_READY);
}

TEST(Constants, errors) {
  StorePtr store = makeStore(-1);
  EXPECT_EQ(tenon_rt_constants_create(1, nullptr, nullptr),
            TENON_RT_INVALID_ARGUMENT);
  EXPECT_EQ(acquire(store, 1, -1).status, TENON_RT_INVALID_ARGUMENT);
  EXPECT_EQ(publish(store, 1), TENON_RT_INVALID_ARGUMENT);
  EXPECT_EQ(acquire(store, 1, INT64_MAX).status, TENON_RT_OUT_OF_MEMORY);
  EXPECT_EQ(stats(store).bytes, 0);
  addNew(store, 1, 10);
  EXPECT_EQ(publish(store, 1), TENON_RT_INVALID_ARGUMENT) << "twice";
  EXPECT_EQ(release(store, 1, true), TENON_RT_INVALID_ARGUMENT);
  Acquired other = acquire(store, 1, 11);
  EXPECT_EQ(other.status, TENON_RT_INVALID_ARGUMENT);
  EXPECT_EQ(other.data, nullptr);
  tenon_constant_state state;
  EXPECT_EQ(tenon_rt_constants_wait(store.get(), {9, 9}, &state),
            TENON_RT_INVALID_ARGUMENT);
  tenon_rt_constants_destroy(nullptr);
}

TEST(Constants, abandonedBufferGoesToAWaiterOrAway) {
  StorePtr store = makeStore(-1);
  EXPECT_EQ(acquire(store, 1, 10).state, TENON_CONSTANT_NEW);
  EXPECT_EQ(release(store, 1, true), TENON_RT_OK);
  EXPECT_EQ(stats(store).buffers, 0);

  EXPECT_EQ(acquire(store, 1, 10).state, TENON_CONSTANT_NEW);
  EXPECT_EQ(acquire(store, 1, 10).state, TENON_CONSTANT_PENDING);
  std::thread quitter([&] { release(store, 1, true); });
  tenon_constant_state state;
  EXPECT_EQ(tenon_rt_constants_wait(store.get(), {1, 3}, &state), TENON_RT_OK);
  EXPECT_EQ(state, TENON_CONSTANT_NEW);
  quitter.join();
  EXPECT_EQ(publish(store, 1), TENON_RT_OK);
  EXPECT_EQ(acquire(store, 1, 10).state, TENON_CONSTANT_READY);
}

TEST(Constants, manyThreadsFillEachBufferOnce) {
  CountingAllocator allocator;
  tenon_allocator callbacks = allocator.callbacks();
  {
    StorePtr store = makeStore(40 * 256, &callbacks);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 2000; ++i) {
          uint64_t key = uint64_t(i * 7 + t) % 50;
          Acquired buffer = acquire(store, key, 256);
          if (buffer.status != TENON_RT_OK) {
            ++wrong;
            continue;
          }
          if (buffer.state == TENON_CONSTANT_PENDING)
            tenon_rt_constants_wait(store.get(), {key, key * 3}, &buffer.state);
          if (buffer.state == TENON_CONSTANT_NEW) {
            if (i % 3 == 0) {
              release(store, key, true);
              continue;
            }
            memset(buffer.data, int(key), 256);
            publish(store, key);
          }
          wrong += std::count(buffer.data, buffer.data + 256, char(key)) != 256;
          release(store, key);
        }
      });
    }
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(stats(store).bytes_in_use, 0);
    EXPECT_LE(stats(store).bytes, 40 * 256);
  }
  EXPECT_EQ(allocator.alive(), 0);
}

TEST(Constants, survivesEveryFailedAllocation) {
  for (int64_t granted = 0;; ++granted) {
    CountingAllocator allocator;
    allocator.remaining = granted;
    tenon_allocator callbacks = allocator.callbacks();
    tenon_constants *raw = nullptr;
    tenon_rt_status status = tenon_rt_constants_create(-1, &callbacks, &raw);
    StorePtr store(raw);
    if (status == TENON_RT_OK) {
      status = acquire(store, 1, 100).status;
      if (status == TENON_RT_OK)
        break;
      EXPECT_EQ(stats(store).buffers, 0);
    }
    EXPECT_EQ(status, TENON_RT_OUT_OF_MEMORY);
    store.reset();
    EXPECT_EQ(allocator.alive(), 0);
  }
}

} // namespace
