//===- LowerBrgemm.h - tile.brgemm to microkernels -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Pass `tenon-lower-brgemm`; see Passes.td. Run it before the strided-metadata
// expansion and the conversions to LLVM: it leaves memref.extract_* at the call
// sites, and scf, arith, vector and llvm operations in the kernels.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Pass/Pass.h"

namespace tenon::microkernel {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "codegen/microkernel/Passes.h.inc"
} // namespace tenon::microkernel
