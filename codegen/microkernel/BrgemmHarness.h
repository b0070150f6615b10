//===- BrgemmHarness.h - compile and call brgemm in tests ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From the text of a module with tile.brgemm to callable functions, and the
// memrefs to call them with. For tests and benchmarks only.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/jit/Jit.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::microkernel::testing {

struct HarnessOptions {
  int64_t vectorBits = 256;
  int64_t numVectorRegisters = 16;
  int64_t unrollK = 0;
  bool matrixUnit = false;
  std::string cpu = "host";
};

/// What became of a module; `jit` is null and `error` set when it failed.
struct Compiled {
  std::unique_ptr<codegen::Jit> jit;
  std::string error;
  std::string assembly;
  double seconds = 0; // From the lowering pass to the object file.
  int64_t numKernels = 0;
  int64_t numMatrixKernels = 0;

  /// The C interface (pointers to descriptors) of function `name`, or null.
  void *lookup(const std::string &name);
};

/// `link` false stops at the assembly: for code this machine cannot run.
Compiled compileBrgemm(const std::string &module,
                       const HarnessOptions &options = {}, bool link = true);

/// A memref descriptor as MLIR lays it out: for up to six dimensions.
struct Descriptor {
  void *allocated = nullptr, *aligned = nullptr;
  int64_t offset = 0;
  /// `rank` sizes, then `rank` strides.
  int64_t sizesAndStrides[12] = {};
};
Descriptor describe(void *data, const std::vector<int64_t> &sizes,
                    const std::vector<int64_t> &strides);

/// Floats that end where unreadable memory begins.
class GuardedFloats {
public:
  explicit GuardedFloats(size_t count, float fill = 0);
  ~GuardedFloats();
  GuardedFloats(const GuardedFloats &) = delete;
  GuardedFloats &operator=(const GuardedFloats &) = delete;
  float *data() const { return first; }
  size_t size() const { return count; }
  float &operator[](size_t i) const { return first[i]; }

private:
  void *pages = nullptr;
  size_t bytes = 0, count = 0;
  float *first = nullptr;
};

} // namespace tenon::microkernel::testing
