//===- SelectMatMul.h - how a MatMul is computed ---------------*- C++ -*-===//
#pragma once

#include "passes/layout/Selection.h"

namespace tenon {

/// Replaces `op`, a MatMul, by tile.matmul. `b` stands at `op`.
void selectMatMul(mlir::Operation *op, mlir::OpBuilder &b,
                  Selection &selection);

} // namespace tenon
