//===-- Describe.cpp - facts about the machine ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/devinfo/DevInfo.h"

#include "runtime/tenon_rt.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace tenon::devinfo;

bool DevInfo::hasIsa(const std::string &name) const {
  return std::find(isa.begin(), isa.end(), name) != isa.end();
}

int64_t DevInfo::cacheBytes(int level) const {
  for (const CacheInfo &cache : caches)
    if (cache.level == level && cache.type != "instruction")
      return cache.bytes;
  return 0;
}

//===----------------------------------------------------------------------===//
// CPUID
//===----------------------------------------------------------------------===//

#if defined(__x86_64__)
namespace {
enum Register { EAX, EBX, ECX, EDX };

struct CpuidLeaf {
  unsigned reg[4] = {};
  CpuidLeaf(unsigned leaf, unsigned subleaf) {
    // Leaves the CPU does not have read as zero.
    __get_cpuid_count(leaf, subleaf, &reg[EAX], &reg[EBX], &reg[ECX],
                      &reg[EDX]);
  }
};

/// What the operating system must save for an extension to be usable.
enum OsState : uint64_t {
  None = 0,
  Avx = 0x6,
  Avx512 = 0xe6,
  Amx = 0x60000,
};

struct IsaFlag {
  const char *name;
  unsigned leaf, subleaf;
  Register reg;
  unsigned bit;
  OsState needs;
};
} // namespace

static constexpr IsaFlag kIsaFlags[] = {
    {"sse2", 1, 0, EDX, 26, None},
    {"sse3", 1, 0, ECX, 0, None},
    {"ssse3", 1, 0, ECX, 9, None},
    {"sse4_1", 1, 0, ECX, 19, None},
    {"sse4_2", 1, 0, ECX, 20, None},
    {"avx", 1, 0, ECX, 28, Avx},
    {"f16c", 1, 0, ECX, 29, Avx},
    {"fma", 1, 0, ECX, 12, Avx},
    {"bmi2", 7, 0, EBX, 8, None},
    {"avx2", 7, 0, EBX, 5, Avx},
    {"avx_vnni", 7, 1, EAX, 4, Avx},
    {"avx_vnni_int8", 7, 1, EDX, 4, Avx},
    {"avx_vnni_int16", 7, 1, EDX, 10, Avx},
    {"avx_ne_convert", 7, 1, EDX, 5, Avx},
    {"avx512f", 7, 0, EBX, 16, Avx512},
    {"avx512dq", 7, 0, EBX, 17, Avx512},
    {"avx512cd", 7, 0, EBX, 28, Avx512},
    {"avx512bw", 7, 0, EBX, 30, Avx512},
    {"avx512vl", 7, 0, EBX, 31, Avx512},
    {"avx512_vbmi", 7, 0, ECX, 1, Avx512},
    {"avx512_vbmi2", 7, 0, ECX, 6, Avx512},
    {"avx512_vnni", 7, 0, ECX, 11, Avx512},
    {"avx512_bf16", 7, 1, EAX, 5, Avx512},
    {"avx512_fp16", 7, 0, EDX, 23, Avx512},
    {"amx_tile", 7, 0, EDX, 24, Amx},
    {"amx_int8", 7, 0, EDX, 25, Amx},
    {"amx_bf16", 7, 0, EDX, 22, Amx},
    {"amx_fp16", 7, 1, EAX, 21, Amx},
};

/// The register state the operating system saves (XCR0).
static uint64_t savedState() {
  constexpr unsigned kOsxsave = 27;
  if (!(CpuidLeaf(1, 0).reg[ECX] >> kOsxsave & 1))
    return 0;
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

static void describeCpu(DevInfo &info) {
  constexpr unsigned kNameLeaf = 0x80000002;
  char name[3 * 16 + 1] = {};
  for (unsigned i = 0; i < 3; ++i)
    memcpy(name + 16 * i, CpuidLeaf(kNameLeaf + i, 0).reg, 16);
  info.cpuName = name;
  uint64_t state = savedState();
  for (const IsaFlag &flag : kIsaFlags) {
    CpuidLeaf leaf(flag.leaf, flag.subleaf);
    if (leaf.reg[flag.reg] >> flag.bit & 1 &&
        (state & flag.needs) == flag.needs)
      info.isa.push_back(flag.name);
  }
}
#else
static void describeCpu(DevInfo &info) {}
#endif

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

/// The first line of a small file, empty if there is none.
static std::string readLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "32K" or "8M" in bytes, 0 if it is no size.
static int64_t parseSize(const std::string &text) {
  char *end = nullptr;
  int64_t value = strtoll(text.c_str(), &end, 10);
  if (value <= 0 || value > (int64_t(1) << 40))
    return 0;
  return *end == 'K' ? value << 10 : *end == 'M' ? value << 20 : value;
}

/// Number of CPUs in a list such as "0-3,8".
static int countCpuList(const std::string &text) {
  int count = 0;
  for (const char *at = text.c_str(); *at;) {
    char *end = nullptr;
    long first = strtol(at, &end, 10), last = first;
    if (end == at)
      break;
    if (*end == '-')
      last = strtol(end + 1, &end, 10);
    count += int(std::clamp(last - first + 1, 1l, 1l << 16));
    at = *end == ',' ? end + 1 : end;
  }
  return std::max(count, 1);
}

static void addCachesFromSysfs(DevInfo &info) {
  for (int index = 0; index < 16; ++index) {
    std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" +
                         std::to_string(index) + "/";
    CacheInfo cache;
    cache.level = atoi(readLine(folder + "level").c_str());
    cache.bytes = parseSize(readLine(folder + "size"));
    if (cache.level <= 0 || cache.bytes <= 0)
      break;
    cache.type = readLine(folder + "type");
    std::transform(cache.type.begin(), cache.type.end(), cache.type.begin(),
                   [](unsigned char c) { return char(tolower(c)); });
    cache.lineBytes = parseSize(readLine(folder + "coherency_line_size"));
    cache.ways = parseSize(readLine(folder + "ways_of_associativity"));
    cache.sharedBy = countCpuList(readLine(folder + "shared_cpu_list"));
    info.caches.push_back(cache);
  }
}

/// For containers that hide /sys.
static void addCachesFromLibc(DevInfo &info) {
  struct {
    int name, level;
    const char *type;
  } known[] = {{_SC_LEVEL1_DCACHE_SIZE, 1, "data"},
               {_SC_LEVEL2_CACHE_SIZE, 2, "unified"},
               {_SC_LEVEL3_CACHE_SIZE, 3, "unified"}};
  for (auto &entry : known) {
    CacheInfo cache;
    cache.level = entry.level;
    cache.type = entry.type;
    cache.bytes = sysconf(entry.name);
    if (cache.bytes > 0)
      info.caches.push_back(cache);
  }
}

DevInfo tenon::devinfo::describeMachine() {
  DevInfo info;
  describeCpu(info);
  if (info.cpuName.empty())
    info.cpuName = "unknown";
  addCachesFromSysfs(info);
  if (info.caches.empty())
    addCachesFromLibc(info);
  info.allowedCpus = tenon_rt_allowed_cpus();
  return info;
}
