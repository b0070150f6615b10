//===- Children.cpp - work that may crash or hang -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Children.h.  A child sends its result through a pipe and ends without
// running destructors: they are the parent's.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/Children.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace tenon::cli {

namespace {

// What a child sends starts with one of these.
constexpr char kNoteMark = 'n', kOutputMark = 'o';

struct Child {
  size_t index;
  pid_t pid;
  int pipe;
  double start; // by the clock of the options
  std::string received;
};

[[noreturn]] void beChild(size_t index, int pipe, const ChildOptions &options,
                          const Work &work) {
  // Nobody would read the result of an orphan.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Crashes are counted, not kept: a core file each would fill the disk.
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (options.memory) {
    rlimit memory = {options.memory, options.memory};
    setrlimit(RLIMIT_AS, &memory);
  }
  // What crashes complain about is not part of the report.
  if (int null = open("/dev/null", O_WRONLY); null >= 0) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
  auto send = [pipe](const std::string &bytes) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      ssize_t n = write(pipe, bytes.data() + sent, bytes.size() - sent);
      if (n < 0 && errno != EINTR)
        _exit(1);
      sent += n > 0 ? static_cast<size_t>(n) : 0;
    }
  };
  std::string output = work(index, [&](const std::string &text) {
    send(kNoteMark + text.substr(0, text.find('\n')) + "\n");
  });
  send(kOutputMark + output);
  _exit(0);
}

/// `received`: lines of notes, then the output, each after its mark.
ChildResult resultOf(int status, std::string_view received, bool timedOut) {
  ChildResult result;
  while (!received.empty() && received[0] == kNoteMark) {
    size_t end = received.find('\n');
    result.note = received.substr(1, end == received.npos ? end : end - 1);
    received.remove_prefix(end == received.npos ? received.size() : end + 1);
  }
  if (!received.empty())
    result.output = received.substr(1);
  if (timedOut) {
    result.state = ChildResult::State::timedOut;
  } else if (WIFSIGNALED(status)) {
    result.state = ChildResult::State::crashed;
    const char *name = sigabbrev_np(WTERMSIG(status));
    result.reason = name ? std::string("SIG") + name : "a signal";
  } else if (WEXITSTATUS(status) != 0) {
    result.state = ChildResult::State::crashed;
    result.reason = "exit code " + std::to_string(WEXITSTATUS(status));
  }
  return result;
}

class Nursery {
public:
  Nursery(const ChildOptions &options, const Work &work,
          const std::function<void(size_t, const ChildResult &)> &done)
      : options(options), work(work), done(done) {}

  size_t size() const { return children.size(); }

  void start(size_t index) {
    int ends[2];
    ChildResult failed;
    failed.state = ChildResult::State::crashed;
    if (pipe2(ends, O_CLOEXEC) != 0) {
      failed.reason = std::strerror(errno);
      return done(index, failed);
    }
    std::fflush(nullptr);
    pid_t pid = fork();
    if (pid == 0) {
      close(ends[0]);
      beChild(index, ends[1], options, work);
    }
    int reason = errno;
    close(ends[1]);
    if (pid < 0) {
      close(ends[0]);
      failed.reason = std::strerror(reason);
      return done(index, failed);
    }
    children.push_back({index, pid, ends[0], now(), {}});
  }

  /// Waits for something to happen.
  void poll() {
    std::vector<pollfd> fds;
    for (const Child &child : children)
      fds.push_back({child.pipe, POLLIN, 0});
    constexpr int kTick = 100; // milliseconds, between looks at timeouts
    bool hasTick = options.timeout > 0 || options.waiting;
    ::poll(fds.data(), fds.size(), hasTick ? kTick : -1);
    if (options.waiting)
      options.waiting(resultOf(0, children.front().received, false).note);
    for (size_t i = fds.size(); i-- > 0;) {
      bool ended = fds[i].revents && !receive(children[i]);
      double age = now() - children[i].start;
      bool late = options.timeout > 0 && age > options.timeout;
      if (ended || late)
        finish(i, !ended);
    }
  }

private:
  double now() const {
    if (options.clock)
      return options.clock();
    auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(time).count();
  }

  /// False at the end of the stream.
  bool receive(Child &child) {
    char bytes[4096];
    ssize_t n = read(child.pipe, bytes, sizeof(bytes));
    if (n > 0)
      child.received.append(bytes, static_cast<size_t>(n));
    return n > 0 || (n < 0 && errno == EINTR);
  }

  void finish(size_t i, bool timedOut) {
    Child child = std::move(children[i]);
    children.erase(children.begin() + static_cast<ptrdiff_t>(i));
    if (timedOut)
      kill(child.pid, SIGKILL);
    int status = 0;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR)
      ;
    close(child.pipe);
    done(child.index, resultOf(status, child.received, timedOut));
  }

  const ChildOptions &options;
  const Work &work;
  const std::function<void(size_t, const ChildResult &)> &done;
  std::vector<Child> children;
};

} // namespace

void runInChildren(
    size_t count, const ChildOptions &options, const Work &work,
    const std::function<void(size_t, const ChildResult &)> &done) {
  if (options.inProcess) {
    for (size_t i = 0; i < count; ++i) {
      ChildResult result;
      result.output = work(i, [](const std::string &) {});
      done(i, result);
    }
    return;
  }
  Nursery nursery(options, work, done);
  size_t next = 0;
  while (next < count || nursery.size() > 0) {
    while (next < count && nursery.size() < static_cast<size_t>(options.jobs))
      nursery.start(next++);
    if (nursery.size() > 0)
      nursery.poll();
  }
}

} // namespace tenon::cli
