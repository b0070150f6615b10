//===- AotPaths.h - where compiled files go ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/driver/Aot.h"

namespace tenon {

struct AotPaths {
  /// An object (.o), a library (.so) or an archive (.a).
  std::string output;
  /// Empty: none; without a file of weights they are part of the output.
  std::string header, weights;
  /// Begins the names of all functions; empty: that of the output, without
  /// "lib".
  std::string name;
};

/// Sets what follows from the paths: `link`, but for its files and linker,
/// `prefix` and `embedWeights`. Called before compiling, which may take
/// minutes. Errors: BadOption; CannotWrite where there is no such folder.
Expected<bool> planFiles(const AotPaths &paths, AotRequest &request);

/// Writes all files, or none. Errors: CannotWrite.
Expected<bool> writeAotFiles(const AotPaths &paths, const AotFiles &files);

} // namespace tenon
