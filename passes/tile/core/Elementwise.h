//===- Elementwise.h - elementwise operations on buffers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/support/IndexMath.h"

namespace tenon::passes {

using ElementBody = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;
using ElementsBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// outs = body(ins.., outs..): one linalg.generic over memrefs of one shape.
mlir::Operation *pointwise(IndexMath &m, mlir::ValueRange ins,
                           mlir::ValueRange outs, ElementsBody body);
/// out = body(ins.., out).
mlir::Operation *pointwise(IndexMath &m, mlir::ValueRange ins, mlir::Value out,
                           ElementBody body);
/// out = in, of floats, in the element type of out.
void convert(IndexMath &m, mlir::Value in, mlir::Value out);
/// out = value.
void fill(IndexMath &m, mlir::Value out, double value);

} // namespace tenon::passes
