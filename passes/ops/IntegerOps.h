//===- IntegerOps.h - elementwise operations on integers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Builders.h"

namespace tenon::passes {

/// Code for one element of `op`, whose first data operand has the integer (or
/// boolean) element type `element` of a graph tensor, which knows its sign.
/// `operands` have storage types: a boolean is a byte, of which any but 0 is
/// true. Comparisons give a byte, 0 or 1; all others the type of the operands.
/// Null for kinds that have no integers.
mlir::Value emitIntegerScalar(mlir::OpBuilder &b, mlir::Location loc,
                              mlir::Operation *op, mlir::Type element,
                              mlir::ValueRange operands);

} // namespace tenon::passes
