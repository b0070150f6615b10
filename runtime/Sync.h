//===-- Sync.h - locks, waiting and time for the runtime -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Small pieces on top of Linux and the compiler's atomics: nothing here needs
// the C++ library at link time.
//
//===----------------------------------------------------------------------===//
#ifndef TENON_RUNTIME_SYNC_H
#define TENON_RUNTIME_SYNC_H

#include <atomic>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tenon::rt {

/// Number of fork()s between the first process and this one, as far as the
/// runtime was in use before them.  Locks and teams of an older generation have
/// no living owner.
uint64_t forkGeneration();

/// Starts counting forks.  Cheap when repeated; call before the first thread.
void watchForks();

inline int64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

inline void cpuPause() {
#if defined(__SSE2__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// The floating-point control register: rounding and denormal handling.
inline uint32_t readFloatControl() {
#if defined(__SSE2__)
  // The low six bits are sticky exception flags, not control.
  return _mm_getcsr() & ~0x3fu;
#elif defined(__aarch64__)
  uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return uint32_t(control);
#else
  return 0;
#endif
}

/// `control` with denormal numbers read and written as 0.
inline uint32_t flushingDenormals(uint32_t control) {
#if defined(__SSE2__)
  return control | 0x8000u | 0x0040u; // FTZ, DAZ
#elif defined(__aarch64__)
  return control | 1u << 24; // FZ
#else
  return control;
#endif
}

inline void writeFloatControl(uint32_t control) {
#if defined(__SSE2__)
  _mm_setcsr(control);
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(uint64_t(control)));
#else
  (void)control;
#endif
}

/// Sleeps while `word` is `expected`; may return for no reason.
inline void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  static_assert(sizeof(word) == sizeof(uint32_t));
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE,
          expected, nullptr, nullptr, 0);
}

/// Wakes one thread that sleeps on `word`.
inline void futexWakeOne(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, 1,
          nullptr, nullptr, 0);
}

/// A lock that is free again in the child of a fork.
class GenLock {
public:
  bool tryLock() {
    uint64_t mine = forkGeneration() + 1;
    uint64_t owner = word.load(std::memory_order_relaxed);
    return owner != mine &&
           word.compare_exchange_strong(owner, mine, std::memory_order_acquire,
                                        std::memory_order_relaxed);
  }

  /// For critical sections of nanoseconds only.
  void lock() {
    for (int spins = 0; !tryLock(); ++spins)
      spins < 64 ? cpuPause() : (void)sched_yield();
  }

  void unlock() { word.store(0, std::memory_order_release); }

private:
  /// 0 when free, else the owner's fork generation plus one.
  std::atomic<uint64_t> word{0};
};

} // namespace tenon::rt

#endif // TENON_RUNTIME_SYNC_H
