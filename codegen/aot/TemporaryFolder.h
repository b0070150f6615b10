//===- TemporaryFolder.h - files that nobody keeps -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/support/Error.h"

#include <memory>
#include <string>
#include <string_view>

namespace tenon::codegen {

/// A new folder in the system's folder for temporary files (TMPDIR), which goes
/// away with all that is in it.
class TemporaryFolder {
public:
  /// Errors: CannotWrite, which names the folder and says why.
  static Expected<std::unique_ptr<TemporaryFolder>> create();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(std::string_view name) const;
  /// The path of a new file with these bytes. Errors: CannotWrite.
  Expected<std::string> write(std::string_view name,
                              std::string_view bytes) const;
  /// Whether the disk has no room for `bytes` more; false when unknown.
  bool isFull(uint64_t bytes) const;

private:
  explicit TemporaryFolder(std::string folder) : folder(std::move(folder)) {}
  std::string folder;
};

} // namespace tenon::codegen
