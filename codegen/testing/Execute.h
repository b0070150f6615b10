//===- Execute.h - run MLIR text in a test ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/jit/Jit.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tenon::codegen::testing {

/// Compiles `text`, a module of functions with `llvm.emit_c_interface`, through
/// the textual pass pipeline `passes` (of a module; may be empty) and
/// the lowering to LLVM, for this machine. `target`: parameters of
/// `#tile.target` for the passes.
Expected<std::unique_ptr<Jit>> compileText(const std::string &text,
                                           const std::string &passes,
                                           const std::string &target = "");

/// Memory that ends at a page nobody may touch and starts after a filled zone:
/// a read or write past the end faults, one before the start is noticed by
/// startIsIntact().
class GuardedBuffer {
public:
  explicit GuardedBuffer(size_t bytes);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer &operator=(const GuardedBuffer &) = delete;
  void *data() const { return start; }
  bool startIsIntact() const;

private:
  char *mapping = nullptr;
  size_t mapped = 0;
  char *start = nullptr;
};

/// The descriptor a function with llvm.emit_c_interface takes for a memref:
/// two pointers, offset, sizes, strides.
std::vector<int64_t> makeDescriptor(void *data, int64_t offset,
                                    const std::vector<int64_t> &sizes,
                                    const std::vector<int64_t> &strides);

} // namespace tenon::codegen::testing
