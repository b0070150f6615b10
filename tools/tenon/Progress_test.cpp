//===- Progress_test.cpp - signs of life on a terminal --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/Progress.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace tenon::cli {
namespace {

/// Standard error is a terminal, or a pipe, while this lives.
class OtherStderr {
public:
  explicit OtherStderr(bool isTerminal) : saved(dup(STDERR_FILENO)) {
    setenv("TERM", "xterm", 1);
    int other = -1;
    if (isTerminal) {
      end = posix_openpt(O_RDWR | O_NOCTTY);
      EXPECT_TRUE(grantpt(end) == 0 && unlockpt(end) == 0);
      other = open(ptsname(end), O_RDWR | O_NOCTTY);
    } else {
      int ends[2];
      EXPECT_EQ(pipe2(ends, O_NONBLOCK), 0);
      end = ends[0];
      other = ends[1];
    }
    dup2(other, STDERR_FILENO);
    close(other);
  }
  ~OtherStderr() {
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(end);
  }
  std::string read() const {
    char bytes[4096];
    ssize_t n = ::read(end, bytes, sizeof bytes);
    return {bytes, n > 0 ? static_cast<size_t>(n) : 0};
  }

private:
  int saved, end;
};

TEST(Progress, ATerminalShowsWhatIsDone) {
  OtherStderr terminal(true);
  std::string shown;
  {
    Busy busy("reading x", 0);
    busy.now("a part");
    while (shown.find("reading x: a part, 0 s") == shown.npos)
      shown += terminal.read();
  }
  // The line is gone at the end.
  while (!shown.ends_with("\r\033[K"))
    shown += terminal.read();
}

TEST(Progress, NothingElseDoes) {
  OtherStderr pipe(false);
  {
    Busy busy("reading x", 0);
    busy.now("a part");
    Progress progress;
    progress.show(1, 2, "work");
  }
  EXPECT_EQ(pipe.read(), "");
}

} // namespace
} // namespace tenon::cli
