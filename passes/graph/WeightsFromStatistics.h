//===- WeightsFromStatistics.h - a softmax computed again ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Operation.h"

namespace tenon::passes {

/// `v` without operations that pass it on unchanged.
mlir::Value skipIdentities(mlir::Value v);
/// Whether one of them is the other with its last two dimensions exchanged.
bool areTransposes(mlir::Value x, mlir::Value y);

/// Where attention and its gradient are in one graph, gives the gradient
/// weights that are computed again, so that those of the softmax need not be
/// kept. True if `softmaxBackward` is gone; the block is to be sorted then.
bool computeWeightsAgain(mlir::Operation *softmaxBackward);

} // namespace tenon::passes
