//===- Literals.h - literals of several values as memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/tile/core/Strided.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace tenon::passes {

/// `value` in the constant data of the module: equal values
/// share one memref.global.
Strided literalMemory(IndexMath &m, mlir::DenseElementsAttr value);

} // namespace tenon::passes
