//===- TemporaryFolder.cpp - files that nobody keeps ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/aot/TemporaryFolder.h"

#include "dialects/support/Fail.h"
#include "dialects/support/WriteFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace tenon::codegen {

static Error withHint(Error error) {
  error.hint = "TMPDIR names another folder for temporary files";
  return error;
}

Expected<std::unique_ptr<TemporaryFolder>> TemporaryFolder::create() {
  llvm::SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("tenon", folder)) {
    llvm::SmallString<128> parent;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, parent);
    return withHint(fail(ErrorCode::CannotWrite, "no new folder in " +
                                                     parent.str().str() + ": " +
                                                     error.message()));
  }
  return std::unique_ptr<TemporaryFolder>(
      new TemporaryFolder(folder.str().str()));
}

TemporaryFolder::~TemporaryFolder() {
  llvm::sys::fs::remove_directories(folder);
}

std::string TemporaryFolder::file(std::string_view name) const {
  return folder + "/" + std::string(name);
}

Expected<std::string> TemporaryFolder::write(std::string_view name,
                                             std::string_view bytes) const {
  std::string path = file(name);
  if (auto written = writeFile(path, bytes); !written)
    return withHint(written.errors().front());
  return path;
}

bool TemporaryFolder::isFull(uint64_t bytes) const {
  auto space = llvm::sys::fs::disk_space(folder);
  return space && space->available < bytes;
}

} // namespace tenon::codegen
