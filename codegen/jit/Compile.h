//===- Compile.h - LLVM dialect to machine code ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The one way from an LLVM-dialect module to an object file.  The JIT, the
// cache and ahead-of-time compilation all load, keep or write these bytes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/support/Error.h"

#include <functional>
#include <memory>
#include <string>

namespace llvm {
class MemoryBuffer;
class Module;
} // namespace llvm
namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tenon::codegen {

/// What code is generated for.  A value; cheap to copy.
struct TargetSpec {
  /// LLVM triple, e.g. "x86_64-pc-linux-gnu".
  std::string triple;
  /// LLVM CPU name, e.g. "znver5", "x86-64-v3".
  std::string cpu;
  /// Additional features of LLVM's, "+avx2,-avx512f"; often empty.
  std::string features;

  /// The machine this process runs on, with its exact feature list.
  static TargetSpec host();
  /// `cpu` for the triple of this process; "host" means host().
  static TargetSpec forCpu(const std::string &cpu);
};

/// Whether there is code for `target`: x86-64 or little-endian AArch64, Linux
/// with glibc, ELF, a CPU with a 64-bit mode and features that LLVM knows. LLVM
/// itself answers some of these with a warning or the end of the process.
/// Thread-safe.  Errors: UnsupportedTarget.
Expected<bool> checkTarget(const TargetSpec &target);

struct CompileOptions {
  /// Code model for position-independent shared objects is always on; this adds
  /// frame pointers, so that perf and gdb can walk the stack.
  bool framePointers = true;
  /// When set, receives the optimised LLVM IR / the assembly.
  std::string *llvmIR = nullptr;
  std::string *assembly = nullptr;
  /// When set, may add to the optimised module before code is emitted; with
  /// parts, to the one that holds what nobody in the module calls.
  std::function<void(llvm::Module &)> finish;
  /// A large module may become an archive of several objects, compiled at once
  /// by the threads of its context. Not when text is wanted.
  bool inParts = false;
};

/// Seconds spent in the three steps of one compilation, in all threads.
struct CompileTimes {
  double translate = 0;
  double optimize = 0;
  double emit = 0;
};

/// Compiles `module`, which must hold only LLVM-dialect operations and belong
/// to a context with registerLLVMTranslations() done, to a relocatable object
/// file; in parts, to one or to an archive of several.  The bytes depend on the
/// arguments, not on the number of threads.  Errors: those of checkTarget;
/// Internal for IR that does not translate or verify, and where LLVM's code
/// generator cannot go on, which leaks what it worked on.
/// Thread-safe for distinct contexts.
Expected<std::unique_ptr<llvm::MemoryBuffer>>
compileToObject(mlir::ModuleOp module, const TargetSpec &target,
                const CompileOptions &options = {},
                CompileTimes *times = nullptr);

} // namespace tenon::codegen
