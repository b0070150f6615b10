// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tenon {

static Error cannotRead(const std::string &path, const std::string &why) {
  Error error;
  error.code = ErrorCode::CannotRead;
  error.message = path + ": " + why;
  return error;
}

Expected<std::shared_ptr<const MappedFile>>
MappedFile::open(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return cannotRead(path, std::strerror(errno));
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    return cannotRead(path, "is no regular file");
  }
  auto size = static_cast<size_t>(status.st_size);
  // Nothing can be mapped of an empty file.
  void *data =
      size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  int code = errno;
  close(file);
  if (data == MAP_FAILED)
    return cannotRead(path, std::strerror(code));
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const char *>(data), size));
}

MappedFile::~MappedFile() {
  if (size)
    munmap(const_cast<char *>(data), size);
}

} // namespace tenon
