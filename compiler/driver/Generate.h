//===- Generate.h - a graph through all phases -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/jit/ModelInfo.h"
#include "compiler/driver/Session.h"

#include <functional>

#include "llvm/Support/MemoryBuffer.h"

namespace llvm {
class Module;
} // namespace llvm

namespace tenon {

/// The tensors of a graph that was prepared. Names are those of the operations
/// that write outputs and first read inputs.
codegen::ModelInfo describeModel(const graph::Graph &graph);

/// The code of a graph, and what is known about it.
struct Generated {
  std::unique_ptr<llvm::MemoryBuffer> object;
  /// Inputs that may share memory with outputs, by id.
  std::vector<std::pair<uint64_t, uint64_t>> inPlace;
};

/// Adds to the module that holds the functions of `code`.
using FinishCode =
    std::function<void(llvm::Module &module, codegen::CodeInfo &code)>;

/// Compiles for `target`, which `options` was resolved to; `inParts` allows an
/// archive of objects. An internal error leaves a reproducer.
Expected<Generated> generateCode(const graph::PreparedGraph &graph,
                                 const Options &options, const Target &target,
                                 const FinishCode &finish,
                                 CompileReport &report, bool inParts);

} // namespace tenon
