//===- Guard.h - what LLVM does not return from ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// LLVM ends the process where it cannot go on: an instruction that the CPU
// lacks, a relocation that does not fit, an allocation that fails.  Tenon is a
// library in processes of others, so such calls are made under a guard.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/support/Error.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace tenon::codegen {

/// Calls `work`.  Where LLVM reports a fatal error or an allocation that failed
/// in the calling thread, the work is left at once, as by longjmp and as in
/// llvm::CrashRecoveryContext, and the error comes back with the code Internal
/// or OutOfMemory.  No destructor between here and LLVM is called then: what
/// `work` had on its stack leaks, and what LLVM worked on must not be used or
/// destroyed any more.
///
/// Exceptions of `work` pass.  Guards nest; each thread that calls LLVM needs
/// one of its own.  Outside of all guards LLVM's fatal errors end the process
/// as ever, and failed allocations throw std::bad_alloc.  The first call
/// installs LLVM's handlers of the whole process.
[[nodiscard]] std::optional<Error> runGuarded(llvm::function_ref<void()> work);

} // namespace tenon::codegen
