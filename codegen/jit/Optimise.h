//===- Optimise.h - LLVM's optimiser, as much of it as pays -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The pipeline is short on purpose.  Our code arrives with loops already
// vectorised, unrolled and blocked: LLVM has to clean up addresses and hoist
// invariants, and must not unroll or vectorise anything again.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tenon::codegen {

/// Optimises the functions of `module` but those that say `optnone`, strength
/// reduction included, which the code generator need not repeat.
void optimise(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace tenon::codegen
