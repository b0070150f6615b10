//===-- CpuFeatures.cpp - what this CPU can execute -----------------------===//
#include "runtime/tenon_model.h"

#include <cstring>

int32_t tenon_rt_cpu_has(const char *feature) {
  if (!feature)
    return 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
#define TENON_CPU_FEATURE(name, builtin)                                       \
  if (!strcmp(feature, name))                                                  \
    return __builtin_cpu_supports(builtin) != 0;
#include "runtime/CpuFeatures.def"
#elif defined(__aarch64__)
  if (!strcmp(feature, "neon"))
    return 1; // Part of the architecture.
#endif
  return 0;
}
