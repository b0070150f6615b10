//===- SiteChoice.h - the kernel that a product is made with ---*- C++ -*-===//
#pragma once

#include "codegen/microkernel/KernelCache.h"
#include "codegen/microkernel/TargetIsa.h"

#include <optional>

namespace tenon::microkernel {

/// Columns of b, as far as they are known.
int64_t panelWidth(tile::BrgemmOp op);

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

private:
  bool fitsMatrixUnit(tile::BrgemmOp op) const;
  void chooseMatrixTile(tile::BrgemmOp op);
  void chooseTile(tile::BrgemmOp op, VectorIsa isa);
  RegisterTile ofWholeLines(tile::BrgemmOp op, RegisterTile tile,
                            int64_t registers) const;
  void chooseTotals(tile::BrgemmOp op);
  void shapeLoop(tile::BrgemmOp op, VectorIsa isa, int64_t unroll);
};

} // namespace tenon::microkernel
