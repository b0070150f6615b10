//===- MlirFlags.h - MLIR's own flags in tenon ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace tenon::cli {

/// `--mlir-timing`, `--mlir-print-ir-after-all` and their like, as in mlir-opt,
/// for every compilation while it lives. Times are printed at its end.
class MlirFlags {
public:
  MlirFlags();
  ~MlirFlags();

  /// Takes the arguments that begin with `--mlir-` out of `arguments`; values
  /// are given with `=`. Errors: BadOption.
  Expected<bool> take(std::vector<std::string> &arguments);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tenon::cli
