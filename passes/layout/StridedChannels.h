//===- StridedChannels.h - convolutions of NCX tensors ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/ops/Packing.h"

namespace tenon::passes {

/// Whether a convolution that reads `src` as it lies, its channels apart, waits
/// for the cache so often that a copy with channels together takes less time.
/// Thresholds: docs/cost-model.md, "Layouts".
bool waitsForChannels(mlir::Value src, mlir::RankedTensorType weights,
                      mlir::RankedTensorType dst, const WindowAttrs &w,
                      const Packing &packing);

/// The convolution `op` of single positions with `weights` [taps.., I, O] as a
/// product whose columns are positions, if its images have channels first:
///
///   Convolution(t(%x [N, I, H, W]), %w)
///       ->  %w as [O, I] times %x as [N, I, H W]
///
/// Every row of it that is read or written is one piece of memory. False, and
/// nothing is done: it is no such convolution.
bool multiplyPlanes(mlir::OpBuilder &b, mlir::Operation *op,
                    mlir::Value weights, const WindowAttrs &w,
                    const Packing &packing);

} // namespace tenon::passes
