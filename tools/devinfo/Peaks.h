//===-- Peaks.h - what a machine does at best ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_TOOLS_DEVINFO_PEAKS_H
#define TENON_TOOLS_DEVINFO_PEAKS_H

#include "tools/devinfo/DevInfo.h"

namespace tenon::devinfo {

/// What the machine can do at best, with the threads in use.
struct Peaks {
  double flops = 0; // per second
  struct Level {
    std::string name;           // "L1" to "L3", "DRAM"
    double holds = 0;           // bytes
    double read = 0, write = 0; // bytes per second

    double seconds(double bytesRead, double bytesWritten) const {
      return bytesRead / read + bytesWritten / write;
    }
  };
  std::vector<Level> levels; // the smallest first

  static Peaks of(const DevInfo &machine, int threads);
  /// The smallest level that holds `bytes`; there has to be one.
  const Level &levelFor(double bytes) const;
  /// Seconds that moving so much takes from and to the smallest level that
  /// holds all of it; 0: nothing was measured.
  double moveSeconds(double bytesRead, double bytesWritten) const;
};

} // namespace tenon::devinfo

#endif // TENON_TOOLS_DEVINFO_PEAKS_H
