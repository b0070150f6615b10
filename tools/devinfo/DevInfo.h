//===-- DevInfo.h - what this machine is and can do ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Facts from the CPU and the kernel, and measured peaks.  A target for a
// kernel's speed names its bound; these are the bounds.
//
//===----------------------------------------------------------------------===//
#ifndef TENON_TOOLS_DEVINFO_DEVINFO_H
#define TENON_TOOLS_DEVINFO_DEVINFO_H

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace tenon::devinfo {

struct CacheInfo {
  int level = 0;
  /// "data", "instruction" or "unified".
  std::string type;
  int64_t bytes = 0;
  /// 0 when unknown.
  int64_t lineBytes = 0;
  int64_t ways = 0;
  /// Logical CPUs that share one such cache.
  int sharedBy = 1;
};

/// GB/s (10^9 bytes).  A copy counts the bytes read and the bytes written;
/// what the hardware reads before it writes is not counted.  0: not measured.
struct Bandwidth {
  double read = 0;
  double write = 0;
  double copy = 0;
};

struct LevelBandwidth {
  /// "L1", "L2", "L3" or "DRAM".
  std::string level;
  /// Bytes the measurement goes over.
  int64_t bytes = 0;
  int threads = 1;
  Bandwidth gbPerSecond;
};

struct DevInfo {
  std::string cpuName;
  /// Extensions both the CPU and the operating system support, lower case, as
  /// in /proc/cpuinfo ("avx2", "avx512f", "amx_tile", ...).
  std::vector<std::string> isa;
  std::vector<CacheInfo> caches;
  /// Logical CPUs this process may run on.
  int allowedCpus = 1;

  /// One thread's f32 fused multiply-adds, 2 operations each, in 10^9
  /// operations per second; 0 when the CPU cannot.
  double fmaGflopsYmm = 0;
  double fmaGflopsZmm = 0;
  /// One thread per level, then all threads for DRAM if there are several.
  std::vector<LevelBandwidth> bandwidths;
  /// How long measuring took.
  double seconds = 0;

  bool hasIsa(const std::string &name) const;
  /// Size of the data or unified cache of `level`, 0 if there is none.
  int64_t cacheBytes(int level) const;

  void printText(std::ostream &out) const;
  /// One JSON object, keys as the members, ending without a newline.
  std::string toJson() const;
};

/// The facts without the measurements: takes well under a millisecond.
DevInfo describeMachine();

/// Facts and measurements; medians of several runs.  Takes under 2 s, `quick`
/// under 0.5 s, on a machine that is not overloaded.  What cannot be measured
/// for lack of memory stays 0.  Starts threads for the all-threads part.
DevInfo measureMachine(bool quick);

} // namespace tenon::devinfo

#endif // TENON_TOOLS_DEVINFO_DEVINFO_H
