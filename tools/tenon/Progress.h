//===- Progress.h - signs of life -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// One line on stderr that is rewritten, from one second after the start; where
// stderr is no terminal, nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace tenon::cli {

/// Whether people see stderr as it is written.
bool showsProgress();

/// Of many pieces of work.
class Progress {
public:
  Progress();
  ~Progress() { clear(); }

  /// At most ten times a second.
  void show(int64_t done, int64_t total, const std::string &what);
  /// Removes the line, for other output to follow.
  void clear();

private:
  bool isShown = false;
  double start, last;
};

/// What the process is busy with while this lives, and for how long. Nothing
/// else writes to the terminal meanwhile, and one lives at a time. There is a
/// thread on terminals: a process that is forked then executes another program.
class Busy {
public:
  /// `delay`: seconds before it is shown.
  explicit Busy(std::string what, double delay = 1);
  ~Busy();
  Busy(const Busy &) = delete;
  Busy &operator=(const Busy &) = delete;

  /// The same work, another part of it.
  void now(std::string part);

private:
  void run(double delay);

  std::string what, part;
  bool isDone = false;
  std::mutex mutex; // of the above
  std::condition_variable changed;
  std::thread thread; // none without a terminal
};

/// Busy with compiling the file `what`; the parts are the phases.
class BusyCompiling {
public:
  explicit BusyCompiling(const std::string &what);
  ~BusyCompiling();

private:
  Busy busy;
};

} // namespace tenon::cli
