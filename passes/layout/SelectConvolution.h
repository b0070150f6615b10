//===- SelectConvolution.h - how a convolution is computed -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/layout/Selection.h"

namespace tenon::passes {

/// Replace `op`, a Convolution or a ConvTranspose in the normal form of
/// tenon-decompose-graph, by operations of the tile dialect. `b` stands at
/// `op`.
void selectConvolution(mlir::Operation *op, mlir::OpBuilder &b,
                       Selection &selection);
void selectConvTranspose(mlir::Operation *op, mlir::OpBuilder &b,
                         Selection &selection);

} // namespace tenon::passes
