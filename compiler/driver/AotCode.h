//===- AotCode.h - code for a file, before it is one -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/aot/Stubs.h"
#include "compiler/driver/Aot.h"
#include "compiler/driver/Target.h"

#include "llvm/Support/MemoryBuffer.h"

namespace tenon {

/// One version of a model, or the model itself, for one target.
struct AotCode {
  Target target;
  /// Of its tenon_model_code in `object`.
  std::string symbol;
  codegen::CodeInfo info;
  std::unique_ptr<llvm::MemoryBuffer> object;
};

/// For each target, most demanding first.
using AotCodes = std::vector<AotCode>;

/// Gives `about` the constants of the request: packed where that is asked for
/// and possible, as they were given where some code reads them so. `codes` are
/// those of the versions, then of the model itself. The result, when it is not
/// empty, says why constants are packed only when the file is loaded. Errors:
/// those of linking and executing code; BadOption where packing is asked for
/// that is not possible.
Expected<std::string> addConstants(const AotRequest &request,
                                   const std::vector<AotCodes> &codes,
                                   const graph::Graph &graph,
                                   codegen::AotInterface &about);

} // namespace tenon
