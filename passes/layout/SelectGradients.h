//===- SelectGradients.h - how gradients of weights are computed *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/layout/Selection.h"

namespace tenon::passes {

/// Replaces `op`, a ConvolutionBackwardWeights in the normal form of
/// tenon-decompose-graph, by tile.conv_weights. `b` stands at `op`. (Gradients
/// of data are convolutions in that form.)
void selectConvWeights(mlir::Operation *op, mlir::OpBuilder &b,
                       Selection &selection);

} // namespace tenon::passes
