//===- SelectAttention.h - what attention reads ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/layout/Selection.h"

namespace tenon::passes {

/// Packs the keys that `op` reads, and its values, where that pays; widens its
/// operands where the target is slow with their type. `b` stands at `op`.
void selectAttention(tile::AttentionOp op, mlir::OpBuilder &b,
                     Selection &selection);

} // namespace tenon::passes
