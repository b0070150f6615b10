//===- Children.h - work that may crash or hang -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs functions in forked processes: a fault, endless loop or exhausted
// memory ends one piece of work, not the whole job.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tenon::cli {

struct ChildOptions {
  int jobs = 1;           // at the same time
  double timeout = 0;     // seconds; 0: none
  uint64_t memory = 0;    // address space in bytes; 0: no limit
  bool inProcess = false; // one after the other, unprotected
  /// Unless empty: called ten times a second while work goes on, with what one
  /// of the children noted last.
  std::function<void(const std::string &note)> waiting = {};
  /// Seconds of the clock that timeouts go by; null: those of the machine.
  std::function<double()> clock;
};

struct ChildResult {
  enum class State { finished, crashed, timedOut } state = State::finished;
  /// What the work returned; when it crashed, what it had sent is lost.
  std::string output;
  /// Name of the signal or exit code of a crash.
  std::string reason;
  /// What the work noted last: where it was when it ended.
  std::string note;
};

/// Lets work say what it is about to do, in one line.
using Note = std::function<void(const std::string &)>;
/// A piece of work: its number to its result.
using Work = std::function<std::string(size_t, const Note &)>;

/// Calls `work(i, note)` for each i below `count`, each in a process of its
/// own, and `done(i, result)` in this process, in the order in which they end.
/// The calling process has no other threads.  A process that cannot be created
/// counts as crashed.
void runInChildren(
    size_t count, const ChildOptions &options, const Work &work,
    const std::function<void(size_t, const ChildResult &)> &done);

} // namespace tenon::cli
