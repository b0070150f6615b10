//===- TargetMachine.h - LLVM's description of a target --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to codegen/jit.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/jit/Compile.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace tenon::codegen {

/// Makes the code generators known to LLVM. Thread-safe.
void initialiseTargets();

/// Errors: those of checkTarget.
Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const TargetSpec &spec);

} // namespace tenon::codegen
