//===-- CpuFeatures.cpp - what this CPU can execute -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/tenon_model.h"

#include <cstring>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__x86_64__)
/// The kernel gives the tile registers, 8 KiB that each thread has to save, to
/// processes that ask.
static bool mayUseTiles() {
#ifdef __linux__
  constexpr int requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}
#endif

int32_t tenon_rt_cpu_has(const char *feature) {
  if (!feature)
    return 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
#define TENON_CPU_FEATURE(name, builtin)                                       \
  if (!strcmp(feature, name))                                                  \
    return __builtin_cpu_supports(builtin) &&                                  \
           (strcmp(feature, "amx-tile") || mayUseTiles());
#include "runtime/CpuFeatures.def"
#elif defined(__aarch64__)
  if (!strcmp(feature, "neon"))
    return 1; // Part of the architecture.
#endif
  return 0;
}
