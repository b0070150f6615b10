//===-- Peaks.cpp - what a machine does at best ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/devinfo/Peaks.h"

#include <algorithm>

using namespace tenon::devinfo;

Peaks Peaks::of(const DevInfo &machine, int threads) {
  Peaks peaks;
  int used = std::min(threads, machine.allowedCpus);
  peaks.flops =
      1e9 * std::max(machine.fmaGflopsYmm, machine.fmaGflopsZmm) * used;
  for (const LevelBandwidth &b : machine.bandwidths) {
    if (b.gbPerSecond.read <= 0 || b.gbPerSecond.write <= 0)
      continue;
    double rate = 1e9;
    double holds = 1e300;
    if (b.level != "DRAM") {
      // Measured by one thread. The last level is shared.
      rate *= used;
      holds = static_cast<double>(machine.cacheBytes(b.level[1] - '0')) *
              (b.level == "L3" ? 1 : used);
    } else if (b.threads > 1 && used == 1) {
      continue;
    } else if (b.threads > 1 && !peaks.levels.empty() &&
               peaks.levels.back().name == "DRAM") {
      peaks.levels.pop_back(); // what one thread gets
    }
    peaks.levels.push_back({b.level, holds, rate * b.gbPerSecond.read,
                            rate * b.gbPerSecond.write});
  }
  return peaks;
}

const Peaks::Level &Peaks::levelFor(double bytes) const {
  for (const Level &level : levels)
    if (bytes <= level.holds)
      return level;
  return levels.back();
}

double Peaks::moveSeconds(double bytesRead, double bytesWritten) const {
  if (levels.empty())
    return 0;
  return levelFor(bytesRead + bytesWritten).seconds(bytesRead, bytesWritten);
}
