//===- WriteFile.h - files, whole or not at all ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// No MLIR, no LLVM.  All functions may be called from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/support/Error.h"

#include <span>
#include <string>
#include <string_view>

namespace tenon {

/// What a file is to hold; both are the caller's.
struct FileContent {
  std::string_view path, bytes;
};

/// Writes all files, or none.  Each is written under another name in its folder
/// and renamed when all of them are complete: on a full disk, existing files
/// stay as they were, and no new one appears.  A file that is replaced passes
/// on its permissions; a symbolic link stays, and what it names is written.
/// What is no regular file, such as a pipe, is written in place.  A limit of
/// the size of files (RLIMIT_FSIZE) is an error, not a signal.
/// Errors: CannotWrite, which names the file and says why.
Expected<bool> writeFiles(std::span<const FileContent> files);

/// The same for one file.
Expected<bool> writeFile(std::string_view path, std::string_view bytes);

} // namespace tenon
