//===- ScalarOps.h - elementwise operations on scalars ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The one place that says how an elementwise graph operation is computed: a
// table from kind to the arith/math code for one element.  Group loops, the
// epilogues of contractions and the fold function all build their bodies here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"

namespace tenon::passes {

/// Whether `op` computes each element of its result from one element of each
/// operand (with broadcasting): it has a row in the table. What also depends on
/// the index (graph::isIndexed) has none; loops compute it.
bool isScalarOp(mlir::Operation *op);

/// Code for one element of `op`.  `operands` have the storage types of the
/// operands, or are f32 where those are narrower floats; the result has the
/// computed type of the result.
mlir::Value emitScalar(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Operation *op, mlir::ValueRange operands);

/// The type in which values of `elementType` pass from one operation of a group
/// to the next: f32 for narrower floats, which are rounded when they are stored
/// (or cast), else the storage type.
mlir::Type computedType(mlir::Type elementType);

/// TypeCast: `value`, of the storage type of `from`, as the storage type of
/// `to`. Both are element types of graph tensors, which know their sign.
mlir::Value castScalar(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value value, mlir::Type from, mlir::Type to);

/// The greater one, `y` where one is NaN: one instruction, where a maximum that
/// keeps every NaN takes three to five.
mlir::Value emitGreater(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                        mlir::Value y);

/// exp(x), or 0 where that is smaller than any normal number: for terms of a
/// sum that has larger ones. A denormal number costs more than a hundred cycles
/// where it is computed, and again where it is multiplied. `isFinite`: no x
/// is so large that the result would be infinite.
mlir::Value emitExpOrZero(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                          bool isFinite = false);
/// exp(x - y), y the largest x of a sum: likewise. How far it may be off beside
/// what the difference lost in rounding: `ExpUse` in
/// codegen/math/MathFunctions.h.
mlir::Value emitExpOfDifference(mlir::OpBuilder &b, mlir::Location loc,
                                mlir::Value x, mlir::Value y);
/// 1 / (1 + exp(-x)).
mlir::Value emitLogistic(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);

/// Conversions between storage types, without saturation; `fromSigned` tells
/// how integers extend (those of 32 bits and more are signed).
mlir::Value convertScalar(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::Value value, mlir::Type to,
                          bool fromSigned = true);

} // namespace tenon::passes
