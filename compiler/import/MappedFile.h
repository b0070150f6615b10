//===- MappedFile.h - the bytes of a file, not copied ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/support/Error.h"

#include <memory>
#include <string>
#include <string_view>

namespace tenon {

/// A file in memory, which the system reads as its bytes are used. It must not
/// become shorter meanwhile: reading beyond its end ends the process.
class MappedFile {
public:
  /// Errors: CannotRead (missing, no permission, no regular file, ...).
  static Expected<std::shared_ptr<const MappedFile>>
  open(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::string_view bytes() const { return {data, size}; }

private:
  MappedFile(const char *data, size_t size) : data(data), size(size) {}

  const char *data;
  size_t size;
};

} // namespace tenon
