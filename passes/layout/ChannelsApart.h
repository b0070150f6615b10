//===- ChannelsApart.h - convolutions of NCX tensors ------------*- C++ -*-===//
#pragma once

#include "passes/layout/Packing.h"

namespace tenon {

/// Whether a convolution that reads `src` as it lies, its channels apart, waits
/// for the cache so often that a copy with channels together takes less time.
/// Thresholds: docs/cost-model.md, "Layouts".
bool waitsForChannels(mlir::Value src, mlir::RankedTensorType weights,
                      mlir::RankedTensorType dst, const WindowAttrs &w,
                      const Packing &packing);

} // namespace tenon
