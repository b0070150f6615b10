//===- Jit.h - object code in this process ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/jit/Compile.h"

#include "llvm/ExecutionEngine/SectionMemoryManager.h"

#include <memory>
#include <string_view>

namespace tenon::codegen {

struct JitOptions {
  /// Write a jitdump file for `perf inject --jit` (~/.debug/jit/...).
  bool perf = false;
  /// Tell an attached gdb about the code.
  bool gdb = true;
  /// Where memory comes from, alive as long as the code; null: the system.
  llvm::SectionMemoryManager::MemoryMapper *mapper = nullptr;
};

/// Owns code linked into this process.  Symbols stay valid until destruction.
/// Undefined symbols of the objects resolve against what defineSymbol() added,
/// the process, and the libraries that the one with this code depends on.
/// Nothing is printed: errors say what LLVM complained about.
/// lookup() may be called from several threads; addObject() may not.
class Jit {
public:
  /// Errors: Internal; CannotWrite when there is no place for the dump for
  /// perf.
  static Expected<std::unique_ptr<Jit>> create(const JitOptions &options = {});
  ~Jit();
  Jit(const Jit &) = delete;
  Jit &operator=(const Jit &) = delete;

  /// Links what compileToObject() made for this machine.  Objects of
  /// one Jit share one name space; a symbol defined twice is an error.
  Expected<bool> addObject(std::unique_ptr<llvm::MemoryBuffer> object);

  /// Makes `name` resolve to `address` in objects not yet looked up.
  Expected<bool> defineSymbol(std::string_view name, void *address);

  /// Address of a global symbol; error when absent or when linking fails.
  Expected<void *> lookup(std::string_view name);

  struct State;

private:
  explicit Jit(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace tenon::codegen
