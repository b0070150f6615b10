//===- Graphviz.cpp - pictures through graphviz ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Graphviz.h.  The program reads and writes unnamed temporary files: with
// pipes both sides could wait for each other.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/Graphviz.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace tenon::cli {

namespace {

struct Close {
  void operator()(FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, Close>;

Error makeError(ErrorCode code, std::string message, std::string hint = {}) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

/// Runs `dot -Tsvg` between two files; 0, or the reason as an errno, or -1
/// when the program failed.
int spawnDot(FILE *in, FILE *out) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
  char name[] = "dot", form[] = "-Tsvg";
  char *const arguments[] = {name, form, nullptr};
  pid_t pid = 0;
  int reason = posix_spawnp(&pid, "dot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (reason != 0)
    return reason;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
  // Where exec fails late, the child ends with 127.
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return ENOENT;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

} // namespace

Expected<std::string> renderSvg(const std::string &dot) {
  File in(std::tmpfile()), out(std::tmpfile());
  if (!in || !out ||
      std::fwrite(dot.data(), 1, dot.size(), in.get()) != dot.size() ||
      std::fflush(in.get()) != 0)
    return makeError(ErrorCode::CannotWrite,
                     std::string("temporary file: ") + std::strerror(errno));
  lseek(fileno(in.get()), 0, SEEK_SET);
  int reason = spawnDot(in.get(), out.get());
  if (reason > 0)
    return makeError(ErrorCode::CannotRead,
                     std::string("the program \"dot\": ") +
                         std::strerror(reason),
                     "install the package graphviz, or use --graph=dot");
  if (reason < 0)
    return makeError(ErrorCode::CannotRead, "the program \"dot\" failed",
                     "--graph=dot shows what it was given");
  lseek(fileno(out.get()), 0, SEEK_SET);
  std::string svg;
  char bytes[4096];
  ssize_t n;
  while ((n = read(fileno(out.get()), bytes, sizeof(bytes))) > 0)
    svg.append(bytes, static_cast<size_t>(n));
  return svg;
}

} // namespace tenon::cli
