//===- Progress.cpp - signs of life ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/Progress.h"

#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace tenon::cli {

Progress::Progress() : isTerminal(isatty(STDERR_FILENO)) {}

void Progress::show(int64_t done, int64_t total, const std::string &what) {
  if (!isTerminal)
    return;
  double now = std::chrono::duration<double>(
                   std::chrono::steady_clock::now().time_since_epoch())
                   .count();
  if (now - last < 0.1)
    return;
  last = now;
  isShown = true;
  std::fprintf(stderr, "\r\033[K[%lld/%lld] %.100s",
               static_cast<long long>(done), static_cast<long long>(total),
               what.c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  if (isShown)
    std::fprintf(stderr, "\r\033[K");
  isShown = false;
}

} // namespace tenon::cli
