//===- SelectMatMul.h - how a MatMul is computed ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/layout/Selection.h"

namespace tenon::passes {

/// Replaces `op`, a MatMul, by tile.matmul. `b` stands at `op`.
void selectMatMul(mlir::Operation *op, mlir::OpBuilder &b,
                  Selection &selection);

} // namespace tenon::passes
