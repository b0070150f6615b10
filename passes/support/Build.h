//===- Build.h - building graph operations ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tenon::passes {

/// `graph.<kind>` with one result.
mlir::Value buildGraphOp(mlir::OpBuilder &b, mlir::Location loc,
                         llvm::StringRef kind, mlir::ValueRange operands,
                         mlir::RankedTensorType type,
                         llvm::ArrayRef<mlir::NamedAttribute> attrs = {});

/// StaticTranspose: dim i of the result is dim order[i] of `src`.
mlir::Value buildTranspose(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value src, llvm::ArrayRef<int64_t> order);

/// The transpose of the last two dims of `src`.
mlir::Value swapLastTwo(mlir::OpBuilder &b, mlir::Value src);

/// StaticReshape; at most one dim of `shape` is dynamic, or all that are have
/// the size of the same dim of `src`.
mlir::Value buildReshape(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value src, llvm::ArrayRef<int64_t> shape);

/// TypeCast of `src` to elements of type `element`; `src` if it has those.
mlir::Value buildCast(mlir::OpBuilder &b, mlir::Location loc, mlir::Value src,
                      mlir::Type element);

/// An implicit rounding cast of `src` to `element`: a TypeCast marked
/// kImplicitCastAttr, which rounds only where a group stores its result, since
/// the user did not ask for a rounding.
mlir::Value buildImplicitCast(mlir::OpBuilder &b, mlir::Location loc,
                              mlir::Value src, mlir::Type element);

/// Puts casts around `op`, so that its narrow `operands` and results are f32.
/// Implicit rounding casts give the results their type again, which
/// kWidenedAttr of `op` names.
void computeInF32(mlir::Operation *op,
                  llvm::MutableArrayRef<mlir::OpOperand> operands);

/// Whether elements of `v` are bf16 or f16.
bool isNarrowFloat(mlir::Value v);

/// Numpy-broadcasting binary operation; the result type is computed.
mlir::Value buildBinary(mlir::OpBuilder &b, mlir::Location loc,
                        llvm::StringRef kind, mlir::Value x, mlir::Value y);

/// A rank-0 f32 constant.
mlir::Value buildScalar(mlir::OpBuilder &b, mlir::Location loc, double value);

/// Erases operations inside `root` whose results nobody reads, and what only
/// they read. (CSE, in one walk forwards, leaves the latter.)
void eraseDeadOps(mlir::Operation *root);

} // namespace tenon::passes
