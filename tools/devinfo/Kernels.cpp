//===-- Kernels.cpp - loops that reach a machine's limits -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/devinfo/Kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace tenon::devinfo;

//===----------------------------------------------------------------------===//
// Plain: 128-bit vectors, which every target has or imitates
//===----------------------------------------------------------------------===//

namespace {
typedef int64_t Plain __attribute__((vector_size(16), may_alias));
} // namespace

static void readPlain(const char *from, int64_t bytes) {
  const auto *in = reinterpret_cast<const Plain *>(from);
  Plain a{}, b{}, c{}, d{};
  for (int64_t i = 0; i < bytes / 16; i += 4) {
    a |= in[i];
    b |= in[i + 1];
    c |= in[i + 2];
    d |= in[i + 3];
  }
  a |= b | c | d;
  asm volatile("" ::"m"(a));
}

static void writePlain(char *to, int64_t bytes) {
  auto *out = reinterpret_cast<Plain *>(to);
  Plain value{1, 1};
  for (int64_t i = 0; i < bytes / 16; ++i) {
    out[i] = value;
    // Keeps the compiler from calling memset.
    asm volatile("" ::: "memory");
  }
}

static void copyPlain(char *to, const char *from, int64_t bytes) {
  auto *out = reinterpret_cast<Plain *>(to);
  const auto *in = reinterpret_cast<const Plain *>(from);
  for (int64_t i = 0; i < bytes / 16; ++i) {
    out[i] = in[i];
    asm volatile("" ::: "memory");
  }
}

#if defined(__x86_64__)
//===----------------------------------------------------------------------===//
// x86: 256 and 512 bits
//===----------------------------------------------------------------------===//
//
// Twelve sums in flight: latency 4, two units, and some to spare.  The asm
// statements keep the compiler from vectorising across or dropping them.

#define TENON_TWELVE(X)                                                        \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

__attribute__((target("avx2,fma"))) static double fmaYmm(int64_t steps) {
  __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f);
  asm("" : "+x"(factor), "+x"(term));
#define X(i) __m256 sum##i = _mm256_set1_ps(float(i));
  TENON_TWELVE(X)
#undef X
  for (int64_t step = 0; step < steps; ++step) {
#define X(i)                                                                   \
  sum##i = _mm256_fmadd_ps(sum##i, factor, term);                              \
  asm("" : "+x"(sum##i));
    TENON_TWELVE(X)
#undef X
  }
#define X(i) asm volatile("" ::"x"(sum##i));
  TENON_TWELVE(X)
#undef X
  return double(steps) * 12 * 8 * 2;
}

__attribute__((target("avx512f"))) static double fmaZmm(int64_t steps) {
  __m512 factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(0.001f);
  asm("" : "+v"(factor), "+v"(term));
#define X(i) __m512 sum##i = _mm512_set1_ps(float(i));
  TENON_TWELVE(X)
#undef X
  for (int64_t step = 0; step < steps; ++step) {
#define X(i)                                                                   \
  sum##i = _mm512_fmadd_ps(sum##i, factor, term);                              \
  asm("" : "+v"(sum##i));
    TENON_TWELVE(X)
#undef X
  }
#define X(i) asm volatile("" ::"v"(sum##i));
  TENON_TWELVE(X)
#undef X
  return double(steps) * 12 * 16 * 2;
}

#undef TENON_TWELVE

__attribute__((target("avx2"))) static void readYmm(const char *from,
                                                    int64_t bytes) {
  const auto *in = reinterpret_cast<const __m256i *>(from);
  for (int64_t i = 0; i < bytes / 32; i += 8) {
    for (int k = 0; k < 8; ++k) {
      __m256i value = _mm256_load_si256(in + i + k);
      asm volatile("" ::"x"(value));
    }
  }
}

__attribute__((target("avx2"))) static void writeYmm(char *to, int64_t bytes) {
  auto *out = reinterpret_cast<__m256i *>(to);
  __m256i value = _mm256_set1_epi32(1);
  asm("" : "+x"(value));
  for (int64_t i = 0; i < bytes / 32; i += 8) {
    for (int k = 0; k < 8; ++k)
      _mm256_store_si256(out + i + k, value);
    asm volatile("" ::: "memory");
  }
}

__attribute__((target("avx2"))) static void copyYmm(char *to, const char *from,
                                                    int64_t bytes) {
  auto *out = reinterpret_cast<__m256i *>(to);
  const auto *in = reinterpret_cast<const __m256i *>(from);
  for (int64_t i = 0; i < bytes / 32; i += 8) {
    for (int k = 0; k < 8; ++k)
      _mm256_store_si256(out + i + k, _mm256_load_si256(in + i + k));
    asm volatile("" ::: "memory");
  }
}

__attribute__((target("avx512f"))) static void readZmm(const char *from,
                                                       int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 512) {
    for (int k = 0; k < 8; ++k) {
      __m512i value = _mm512_load_si512(from + i + 64 * k);
      asm volatile("" ::"v"(value));
    }
  }
}

__attribute__((target("avx512f"))) static void writeZmm(char *to,
                                                        int64_t bytes) {
  __m512i value = _mm512_set1_epi32(1);
  asm("" : "+v"(value));
  for (int64_t i = 0; i < bytes; i += 512) {
    for (int k = 0; k < 8; ++k)
      _mm512_store_si512(to + i + 64 * k, value);
    asm volatile("" ::: "memory");
  }
}

__attribute__((target("avx512f"))) static void
copyZmm(char *to, const char *from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 512) {
    for (int k = 0; k < 8; ++k)
      _mm512_store_si512(to + i + 64 * k, _mm512_load_si512(from + i + 64 * k));
    asm volatile("" ::: "memory");
  }
}
#endif // __x86_64__

//===----------------------------------------------------------------------===//
// By width
//===----------------------------------------------------------------------===//

double tenon::devinfo::runFma(Width width, int64_t steps) {
#if defined(__x86_64__)
  if (width == Width::Zmm)
    return fmaZmm(steps);
  if (width == Width::Ymm)
    return fmaYmm(steps);
#endif
  return 0;
}

void tenon::devinfo::readAll(Width width, const char *from, int64_t bytes) {
#if defined(__x86_64__)
  if (width == Width::Zmm)
    return readZmm(from, bytes);
  if (width == Width::Ymm)
    return readYmm(from, bytes);
#endif
  readPlain(from, bytes);
}

void tenon::devinfo::writeAll(Width width, char *to, int64_t bytes) {
#if defined(__x86_64__)
  if (width == Width::Zmm)
    return writeZmm(to, bytes);
  if (width == Width::Ymm)
    return writeYmm(to, bytes);
#endif
  writePlain(to, bytes);
}

void tenon::devinfo::copyAll(Width width, char *to, const char *from,
                             int64_t bytes) {
#if defined(__x86_64__)
  if (width == Width::Zmm)
    return copyZmm(to, from, bytes);
  if (width == Width::Ymm)
    return copyYmm(to, from, bytes);
#endif
  copyPlain(to, from, bytes);
}
