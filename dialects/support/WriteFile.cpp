//===- WriteFile.cpp - files, whole or not at all -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/WriteFile.h"

#include "dialects/support/Fail.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace tenon {

namespace {

namespace fs = std::filesystem;

Error cannotWrite(std::string_view path, int reason) {
  return fail(ErrorCode::CannotWrite,
              std::string(path) + ": " + std::strerror(reason));
}

/// While it lives, the calling thread gets EFBIG from a write after the limit
/// of the size of files, and not the signal, which would end the process.
class SizeLimitAsError {
public:
  SizeLimitAsError() {
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
  }
  ~SizeLimitAsError() {
    if (sigismember(&before, SIGXFSZ))
      return;
    timespec now = {0, 0};
    while (sigtimedwait(&signals, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  SizeLimitAsError(const SizeLimitAsError &) = delete;
  SizeLimitAsError &operator=(const SizeLimitAsError &) = delete;

private:
  sigset_t signals, before;
};

/// Writes and closes; 0, or the reason as an errno.
int writeAll(int file, std::string_view bytes) {
  SizeLimitAsError limit;
  int reason = 0;
  while (!bytes.empty() && !reason) {
    ssize_t written = write(file, bytes.data(), bytes.size());
    if (written > 0)
      bytes.remove_prefix(static_cast<size_t>(written));
    else if (written == 0 || errno != EINTR)
      reason = written == 0 ? EIO : errno;
  }
  // Some file systems tell only now that the disk is full.
  if (close(file) != 0 && !reason)
    reason = errno;
  return reason;
}

/// A new file in `folder`; negative when there is none, for the reason errno.
int createBeside(const fs::path &folder, std::string &path) {
  static std::atomic<unsigned> count{0};
  int file = -1;
  do {
    path = folder / (".tenon-" + std::to_string(getpid()) + "-" +
                     std::to_string(count.fetch_add(1)));
    file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file < 0 && (errno == EEXIST || errno == EINTR));
  return file;
}

/// One file of several: complete under another name until commit().
class Staged {
public:
  explicit Staged(const FileContent &content)
      : shown(content.path), bytes(content.bytes) {}
  ~Staged() {
    if (!temporary.empty())
      unlink(temporary.c_str());
  }
  Staged(Staged &&) = delete;

  /// 0, or the reason as an errno.
  int stage() {
    target = shown;
    struct stat about;
    bool exists = stat(target.c_str(), &about) == 0;
    if (exists && S_ISDIR(about.st_mode))
      return EISDIR;
    if (exists && access(target.c_str(), W_OK) != 0)
      return errno;
    if (exists && !S_ISREG(about.st_mode)) {
      inPlace = true;
      return 0;
    }
    std::error_code missing, code;
    if (fs::is_symlink(target, missing))
      target = fs::weakly_canonical(target, code);
    if (code)
      return code.value();
    fs::path folder = target.parent_path();
    std::string name;
    int file = createBeside(folder.empty() ? "." : folder, name);
    if (file < 0)
      return errno;
    temporary = name;
    if (exists)
      (void)!fchmod(file, about.st_mode & 07777);
    return writeAll(file, bytes);
  }

  int commit() {
    if (inPlace) {
      int file = open(target.c_str(), O_WRONLY | O_CLOEXEC);
      return file < 0 ? errno : writeAll(file, bytes);
    }
    if (std::rename(temporary.c_str(), target.c_str()) != 0)
      return errno;
    temporary.clear();
    return 0;
  }

  std::string_view path() const { return shown; }

private:
  std::string_view shown, bytes;
  fs::path target;
  std::string temporary; // there while it is not empty
  bool inPlace = false;
};

} // namespace

Expected<bool> writeFiles(std::span<const FileContent> files) {
  std::vector<std::unique_ptr<Staged>> all;
  for (const FileContent &content : files) {
    all.push_back(std::make_unique<Staged>(content));
    if (int reason = all.back()->stage())
      return cannotWrite(content.path, reason);
  }
  for (const auto &file : all)
    if (int reason = file->commit())
      return cannotWrite(file->path(), reason);
  return true;
}

Expected<bool> writeFile(std::string_view path, std::string_view bytes) {
  FileContent file = {path, bytes};
  return writeFiles({&file, 1});
}

} // namespace tenon
