//===- SiteChoice.h - the kernel that a product is made with ---*- C++ -*-===//
#pragma once

#include "codegen/microkernel/KernelCache.h"
#include "dialects/tile/TileDialect.h"

#include <optional>

namespace tenon::microkernel {

/// Columns of b, as far as they are known.
int64_t panelWidth(tile::BrgemmOp op);

/// What kernels are made for.
struct KernelTarget {
  VectorIsa isa;
  bool matrixUnit = false;
  int64_t unroll = 0; // Steps of k per iteration; 0: what pays.
  /// Up to so many rows fetch a plain distance ahead.
  int64_t fewRows = 0, fewRowsAhead = 0; // In bytes.
  int64_t leastRows = 1;                 // Fewer of f32 fetch nothing.
};

/// What is decided about a tile.brgemm before anything is built for it.
struct SiteChoice {
  SiteChoice(tile::BrgemmOp op, KernelCache &cache, const KernelTarget &target);

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
