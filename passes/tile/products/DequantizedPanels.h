//===- DequantizedPanels.h - quantized panels become f32 -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/tile/TileDialect.h"
#include "passes/ops/Costs.h"
#include "passes/support/IndexMath.h"

namespace tenon::passes {

/// Weights as tile.pack_quantized writes them, `k` rows of K, panels of `panel`
/// columns.
struct DequantizedPanels {
  tile::QuantizedWeightsAttr quantized;
  int64_t k, panel;

  /// Bytes from one panel to the next.
  int64_t bytes() const { return quantized.rows(k) * panel; }

  /// Writes rows [from, from + count) of K, whole groups if quantized weights
  /// have scales of their own, of the panel that begins at byte `start` of
  /// `memory` to `to`: f32 [count, panel], dense.
  void emit(IndexMath &m, mlir::Value memory, Index start, int64_t from,
            int64_t count, mlir::Value to) const;
};

/// All of `memory`, dense bytes, as int16 of `type`.
mlir::Value wordsOf(IndexMath &m, mlir::Value memory, mlir::Type type);

} // namespace tenon::passes
