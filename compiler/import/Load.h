//===- Load.h - models from files -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/Graph.h"

#include <string>

namespace tenon {

struct LoadOptions {
  /// Larger files are refused, in bytes.
  uint64_t maxFileSize = uint64_t(1) << 30;
  /// As JsonOptions::strict.
  bool strict = false;
};

/// Reads the file at `path` whole.  Errors: CannotRead (missing, no
/// permission, a directory), TooLarge.
Expected<std::string> readTextFile(const std::string &path,
                                   uint64_t maxFileSize);

/// Reads a graph in the format that the extension of `path` names: ".json".
/// Errors: CannotRead, TooLarge, and those of the format's reader.
Expected<graph::Graph> loadModel(const std::string &path,
                                 const LoadOptions &options = {});

} // namespace tenon
