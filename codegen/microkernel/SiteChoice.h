//===- SiteChoice.h - the kernel that a product is made with ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/microkernel/KernelCache.h"
#include "codegen/microkernel/TileChoice.h"

#include <optional>

namespace tenon::microkernel {

/// What is decided about a tile.brgemm before anything is built for it.
struct SiteChoice {
  /// `unroll`: steps of k per iteration; 0: what pays.
  SiteChoice(tile::BrgemmOp op, KernelCache &cache, tile::TargetAttr target,
             int64_t unroll);

  KernelSpec spec;
  RegisterTile full; // Of the blocks away from the edges.
  std::optional<int64_t> staticM, staticN;
  /// With a matrix unit: there is nothing else to do with its sums.
  bool sumsGoToC = false;
  /// Where there are kernels for any number of rows: they leave their sums,
  /// which are so long that finishing them apart takes no time beside them.
  bool finishesApart = false;

private:
  void chooseTotals(tile::BrgemmOp op, std::optional<int64_t> terms);
  void shapeLoop(tile::BrgemmOp op, VectorIsa isa, int64_t unroll);
};

} // namespace tenon::microkernel
