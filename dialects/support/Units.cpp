//===- Units.cpp - quantities as text -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/Units.h"

#include <cstddef>
#include <cstdio>

namespace tenon {

static std::string scaledText(double value, const char *const *units,
                              const double *factors, size_t count) {
  size_t unit = 0;
  while (unit + 1 < count && value >= factors[unit + 1])
    ++unit;
  char text[48];
  std::snprintf(text, sizeof(text), "%.4g %s", value / factors[unit],
                units[unit]);
  return text;
}

std::string secondsText(double seconds) {
  static constexpr const char *units[] = {"ns", "us", "ms", "s"};
  static constexpr double factors[] = {1e-9, 1e-6, 1e-3, 1};
  return scaledText(seconds, units, factors, 4);
}

std::string bytesText(double bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  static constexpr double factors[] = {1, 0x1p10, 0x1p20, 0x1p30, 0x1p40};
  return scaledText(bytes, units, factors, 5);
}

} // namespace tenon
