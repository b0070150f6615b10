//===- GroupNorms.h - GroupNorm of channels last ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Operation.h"

namespace tenon::passes {

/// Whether `norm`, a GroupNorm without gamma and beta, costs less by channels
/// where channels are last: its rows are short pieces there. Says nothing of
/// the order that it has.
bool isCheaperByChannels(mlir::Operation *norm);

/// Replaces a GroupNorm of channels last, for which that holds, by statistics
/// of channels and elementwise operations.
void decomposeByChannels(mlir::Operation *norm);

} // namespace tenon::passes
