//===- Dropout.h - the arithmetic of Dropout -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Random numbers are Philox4x32-10, a function of seed, offset and the number
// of the element (docs/ops.md): no state, so items may be computed in any
// order, by any number of threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"

namespace tenon::passes {

/// The 32-bit random number of element `element`, in an i64; all operands are
/// i64.
mlir::Value emitDropoutRandom(mlir::OpBuilder &b, mlir::Location loc,
                              mlir::Value seed, mlir::Value offset,
                              mlir::Value element);

/// Whether an element with this random number is kept: one byte, 0 or 1.
/// `probability` is an f32; NaN keeps nothing.
mlir::Value emitDropoutMask(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value random, mlir::Value probability);

/// mask ? x / (1 - probability) : 0.
mlir::Value emitDropoutResult(mlir::OpBuilder &b, mlir::Location loc,
                              mlir::Value x, mlir::Value mask,
                              mlir::Value probability);

} // namespace tenon::passes
