//===- LowerToLLVM.h - the last MLIR pipeline ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace tenon::codegen {

/// Appends the passes that take a module of func, scf, cf, arith, math,
/// memref, vector, affine.apply, index and ub operations to the LLVM dialect.
/// Runs on builtin.module.  Linalg and tensor operations must be gone.
/// Transcendental math operations must have been expanded: what is left (sqrt,
/// fma, rounding, abs, ...) maps to instructions.
void buildLowerToLLVMPipeline(mlir::OpPassManager &pm);

/// Registers what translation of the result to LLVM IR needs.
void registerLLVMTranslations(mlir::DialectRegistry &registry);

} // namespace tenon::codegen
