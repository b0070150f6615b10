//===- Children_test.cpp - work that may crash or hang --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/Children.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <unistd.h>

namespace tenon::cli {
namespace {

using State = ChildResult::State;

std::map<size_t, ChildResult> runAll(size_t count, const ChildOptions &options,
                                     const Work &work) {
  std::map<size_t, ChildResult> results;
  runInChildren(count, options, work, [&](size_t i, const ChildResult &result) {
    EXPECT_TRUE(results.emplace(i, result).second);
  });
  EXPECT_EQ(results.size(), count);
  return results;
}

// What children note is heard while they work.
TEST(Children, WaitingHearsNotes) {
  ChildOptions options;
  std::string heard;
  std::string release = testing::TempDir() + "/children_release";
  std::remove(release.c_str());
  options.waiting = [&](const std::string &note) {
    heard = note;
    if (note == "busy")
      std::ofstream(release) << "go";
  };
  auto results = runAll(1, options, [&](size_t, const Note &note) {
    note("busy");
    while (!std::ifstream(release))
      usleep(1000);
    return std::string("done");
  });
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(heard, "busy");
}

TEST(Children, EveryResultArrivesOnce) {
  ChildOptions options;
  options.jobs = 3;
  // Longer than a pipe holds.
  auto results = runAll(7, options, [](size_t i, const Note &) {
    return std::to_string(i) + std::string(200000, 'x');
  });
  for (auto &[i, result] : results) {
    EXPECT_EQ(result.state, State::finished);
    EXPECT_EQ(result.output, std::to_string(i) + std::string(200000, 'x'));
  }
}

TEST(Children, ProcessesAreSeparate) {
  int calls = 0;
  auto results = runAll(
      3, {}, [&](size_t, const Note &) { return std::to_string(++calls); });
  for (auto &[i, result] : results)
    EXPECT_EQ(result.output, "1");
  EXPECT_EQ(calls, 0);
}

TEST(Children, CrashesAndExitsAreNoticed) {
  auto results = runAll(4, {}, [](size_t i, const Note &) -> std::string {
    if (i == 1)
      raise(SIGKILL);
    if (i == 2)
      _exit(7);
    return "good";
  });
  EXPECT_EQ(results[0].output, "good");
  EXPECT_EQ(results[1].state, State::crashed);
  EXPECT_EQ(results[1].reason, "SIGKILL");
  EXPECT_EQ(results[2].state, State::crashed);
  EXPECT_EQ(results[2].reason, "exit code 7");
  EXPECT_EQ(results[3].output, "good");
}

TEST(Children, NotesTellWhereItEnded) {
  auto results = runAll(3, {}, [](size_t i, const Note &note) -> std::string {
    note("first");
    note("second\nthird");
    if (i == 1)
      _exit(1);
    return i == 2 ? "" : "nothing";
  });
  for (auto &[i, result] : results)
    EXPECT_EQ(result.note, "second");
  EXPECT_EQ(results[0].output, "nothing");
  EXPECT_EQ(results[1].state, State::crashed);
  EXPECT_EQ(results[2].output, "");
}

TEST(Children, EndlessWorkIsStopped) {
  // Time stands still until the others have ended, however busy the machine is.
  ChildOptions options;
  options.timeout = 1;
  options.jobs = 2;
  size_t ended = 0;
  options.clock = [&] { return ended == 2 ? 1e9 : 0.; };
  std::map<size_t, ChildResult> results;
  runInChildren(
      3, options,
      [](size_t i, const Note &) -> std::string {
        while (i == 1)
          pause();
        return "good";
      },
      [&](size_t i, const ChildResult &result) {
        results[i] = result;
        ++ended;
      });
  EXPECT_EQ(results[0].state, State::finished);
  EXPECT_EQ(results[1].state, State::timedOut);
  EXPECT_EQ(results[2].state, State::finished);
}

TEST(Children, InProcessSharesMemory) {
  ChildOptions options;
  options.inProcess = true;
  int calls = 0;
  auto results = runAll(3, options, [&](size_t, const Note &) {
    return std::to_string(++calls);
  });
  EXPECT_EQ(results[2].output, "3");
  EXPECT_EQ(calls, 3);
}

} // namespace
} // namespace tenon::cli
