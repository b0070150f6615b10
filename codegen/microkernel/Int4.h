//===- Int4.h - numbers of 4 bits ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Builders.h"

namespace tenon::microkernel {

/// The lower (`part` 0) or upper half of a byte that was extended to i32, or of
/// each in a vector, as a number with or without a sign.
mlir::Value halfOfByte(mlir::OpBuilder &b, mlir::Location loc, mlir::Value byte,
                       bool isSigned, int64_t part);

} // namespace tenon::microkernel
