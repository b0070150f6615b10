//===- Selection.h - which operation computes a contraction ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The pass tenon-pack-weights replaces each contraction by operations of the
// tile dialect: PackWeights.cpp. Here is what its parts, the files Select*.cpp,
// share.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/ops/Packing.h"
#include "passes/ops/Winograd.h"

namespace tenon::passes {

/// What the target and the options say, and what was done.
struct Selection {
  Packing packing;
  WinogradOptions winograd;

  int64_t packed = 0;   // contractions, and operands of attention
  int64_t filtered = 0; // convolutions by Winograd

  /// Replaces `op` by `product`, which gets the order of its dimensions.
  void replace(mlir::Operation *op, mlir::Value product);
};

/// What a depthwise operation or a transform of Winograd reads: its lanes are
/// channels, so tensors with channels elsewhere are copied, which costs less
/// than gathering each element for every tap. The same for others that would
/// wait for the cache. Returns the copy, or `data` where none is needed.
mlir::Value channelsLast(mlir::OpBuilder &b, mlir::Value data);

/// The sum of `parts` along their first dim.
mlir::Value sumOfParts(mlir::OpBuilder &b, mlir::Value parts);

} // namespace tenon::passes
