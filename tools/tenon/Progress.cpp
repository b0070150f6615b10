//===- Progress.cpp - signs of life ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/Progress.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace tenon::cli {

static double secondsNow() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool showsProgress() {
  const char *terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) && terminal &&
         std::string_view(terminal) != "dumb";
}

/// A line of its own on most terminals, with the time behind it.
static constexpr size_t kLongest = 68;

static void writeLine(const std::string &text) {
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

Progress::Progress() : start(secondsNow()), last(start) {}

void Progress::show(int64_t done, int64_t total, const std::string &what) {
  double now = secondsNow();
  if (now - start < 1 || now - last < 0.1 || !showsProgress())
    return;
  last = now;
  isShown = true;
  std::string count =
      "[" + std::to_string(done) + "/" + std::to_string(total) + "] ";
  writeLine((total > 1 ? count : "") + what.substr(0, kLongest) + ", " +
            std::to_string(static_cast<int64_t>(now - start)) + " s");
}

void Progress::clear() {
  if (isShown)
    writeLine("");
  isShown = false;
}

Busy::Busy(std::string text, double delay) : what(std::move(text)) {
  if (showsProgress())
    thread = std::thread([this, delay] { run(delay); });
}

Busy::~Busy() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    isDone = true;
  }
  changed.notify_one();
  thread.join();
}

void Busy::now(std::string text) {
  std::lock_guard lock(mutex);
  part = std::move(text);
}

void Busy::run(double delay) {
  using Seconds = std::chrono::duration<double>;
  constexpr double kTick = 0.2;
  double start = secondsNow();
  bool isShown = false;
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, Seconds(isShown ? kTick : delay),
                           [this] { return isDone; })) {
    isShown = true;
    std::string text = what + (part.empty() ? "" : ": ") + part;
    writeLine(text.substr(0, kLongest) + ", " +
              std::to_string(static_cast<int64_t>(secondsNow() - start)) +
              " s");
  }
  if (isShown)
    writeLine("");
}

} // namespace tenon::cli
