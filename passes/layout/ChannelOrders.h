//===- ChannelOrders.h - operations with channels first or last -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Most operations on images can be computed with channels in either place.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/support/Permutations.h"

#include "mlir/IR/Builders.h"

namespace tenon::passes {

/// Whether `op` is a transpose from one of the two orders into the other, and
/// its operand has channels at `from`.
bool movesChannels(mlir::Operation *op, Channels from);

/// Results and operands of a convolution that have channels, not weights: they
/// are last. Empty: `op` is no convolution.
llvm::SmallVector<mlir::Value> imagesOfConvolution(mlir::Operation *op);

/// Results and operands of an operation that have their channels all in one
/// place, wherever that is.
llvm::SmallVector<mlir::Value> imagesOf(mlir::Operation *op);

/// Whether `op`, with channels of its images at `at`, can be computed with
/// channels in the other place.
bool isMovable(mlir::Operation *op, Channels at);

/// Operands that are no images, whose elements have to be copied into another
/// order if `op` is moved.
llvm::SmallVector<mlir::Value> copiedBesides(mlir::Operation *op, Channels at);

/// `op` with channels of images in the other place than `at`, for which `moved`
/// gives an image in that order.
mlir::Operation *buildMoved(mlir::OpBuilder &b, mlir::Operation *op,
                            Channels at,
                            llvm::function_ref<mlir::Value(mlir::Value)> moved);

} // namespace tenon::passes
