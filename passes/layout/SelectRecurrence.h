//===- SelectRecurrence.h - weights of recurrences -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/layout/Selection.h"

namespace tenon::passes {

/// Packs the weights of all stages that have products.
void selectRecurrence(tile::RecurrenceOp op, mlir::OpBuilder &b,
                      Selection &selection);

} // namespace tenon::passes
