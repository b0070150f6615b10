//===- Dropout.h - random numbers and Dropout -------------------*- C++ -*-===//
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
/// i64. By the rule for an offset that is not 0.
mlir::Value emitRandom(mlir::OpBuilder &b, mlir::Location loc, mlir::Value seed,
                       mlir::Value offset, mlir::Value element);

/// The same, by the older rule where the offset is 0.
mlir::Value emitDropoutRandom(mlir::OpBuilder &b, mlir::Location loc,
                              mlir::Value seed, mlir::Value offset,
                              mlir::Value element);

/// Whether an element with this random number is kept: one byte, 0 or 1.
/// `probability` is an f32; NaN keeps nothing.
mlir::Value emitDropoutMask(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value random, mlir::Value probability);

/// The upper 24 bits of a random number as an f32 from 0 to 1, without 1.
mlir::Value emitUniform(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::Value random);

/// mask ? x / (1 - probability) : 0.
mlir::Value emitDropoutResult(mlir::OpBuilder &b, mlir::Location loc,
                              mlir::Value x, mlir::Value mask,
                              mlir::Value probability);

} // namespace tenon::passes
