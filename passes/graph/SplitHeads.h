//===- SplitHeads.h - products over columns of several heads ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace tenon::passes {

/// Rewrites the products before and after `softmax` where these compute all
/// heads as columns of one matrix; true if they did.
bool splitHeads(mlir::Operation *softmax);

} // namespace tenon::passes
