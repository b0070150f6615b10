//===- TileChoice.h - how a product is cut for the registers ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/microkernel/TargetIsa.h"

namespace tenon::microkernel {

/// Columns of b, as far as they are known.
int64_t panelWidth(tile::BrgemmOp op);

/// What decides how large the blocks are that kernels compute.
struct TileChoice {
  /// Made in tiles of the matrix unit; `tile` is then of the kernels that take
  /// its sums over.
  bool matrixUnit = false;
  RegisterTile tile; // Of the blocks away from the edges.
  /// Vectors of the tile, and the registers that are left for it.
  VectorIsa isa;
};

/// The choice that is written in `op`, else the one that is expected to be the
/// fastest.
TileChoice chooseTile(tile::BrgemmOp op, tile::TargetAttr target);

/// Writes the choice into `op`: matrix_unit, or register_tile.
void writeTile(tile::BrgemmOp op, tile::TargetAttr target);

/// Why `target` cannot compute `op` as is written in it; empty: it can.
std::string whyNoSuchTile(tile::BrgemmOp op, tile::TargetAttr target);

} // namespace tenon::microkernel
