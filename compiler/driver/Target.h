//===- Target.h - what code is generated for -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/jit/Compile.h"
#include "compiler/driver/Options.h"

#include <vector>

namespace tenon {

/// A machine as the passes see it. There are only resolved ones: what takes a
/// target knows that its options are good.
struct Target {
  codegen::TargetSpec spec;
  int64_t vectorBits = 256;
  int64_t numVectorRegisters = 16;
  /// Products of bf16, and of bytes, that one instruction adds up in vectors of
  /// the schedule; 1: there is none.
  int64_t bf16DotWidth = 1;
  int64_t int8DotWidth = 1;
  /// Whether the instruction for products of bf16 is slower than those for f32
  /// that do the same work.
  bool bf16DotIsSlow = false;
  /// Whether products of bf16 and of bytes have a matrix unit (AMX).
  bool matrixUnit = false;
  /// L2 of a core: the least that cores with these instructions have.
  int64_t l2Bytes = 512 << 10;
  /// Products with up to so many rows wait for weights and little else, and
  /// fetch these so many bytes ahead.
  int64_t fewRows = 5;
  int64_t fewRowsAhead = 1024;
  /// Fewer rows of f32 leave that to the hardware.
  int64_t leastRows = 1;
  /// "avx512", "avx2", "generic": the tiling in use.
  std::string schedule;
  /// What the code may use and a loader without LLVM can check: names of
  /// runtime/CpuFeatures.def.
  std::vector<std::string> features;
  /// Whether this process can execute the code, and if not, the features that
  /// this machine lacks, separated by commas.
  bool executable = true;
  std::string missingFeature;

  /// Errors: UnsupportedTarget, BadOption.
  static Expected<Target> resolve(const Options &options);
  /// One that this process can execute code for. Errors: the same.
  static Expected<Target> resolveExecutable(const Options &options);
  /// `cpu` instead of that of the options, of the machine that LLVM calls
  /// `triple`. Code uses only what a loader can check. Errors: the same.
  static Expected<Target> resolveAhead(const Options &options,
                                       const std::string &cpu,
                                       const std::string &triple);

private:
  Target() = default;
  static Expected<Target> resolveAArch64(const Options &options,
                                         const std::string &cpu,
                                         const std::string &triple);
};

} // namespace tenon
