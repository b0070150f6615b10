//===- Progress.h - signs of life -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tenon::cli {

/// One line on stderr that is rewritten; nothing unless that is a terminal.
class Progress {
public:
  Progress();
  ~Progress() { clear(); }

  /// At most ten times a second.
  void show(int64_t done, int64_t total, const std::string &what);
  /// Removes the line, for other output to follow.
  void clear();

private:
  bool isTerminal;
  bool isShown = false;
  double last = 0;
};

} // namespace tenon::cli
