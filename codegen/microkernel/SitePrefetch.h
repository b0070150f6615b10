//===- SitePrefetch.h - what kernels of a site prefetch --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/microkernel/SiteChoice.h"
#include "codegen/microkernel/SiteMath.h"

namespace tenon::microkernel {

/// A tile.brgemm, and what its hints make kernels prefetch: the next panel, the
/// next rows of A or the memory it names, whichever comes first.
class SitePrefetch : protected SiteMath, protected SiteChoice {
public:
  /// As for SiteChoice.
  SitePrefetch(tile::BrgemmOp op, KernelCache &cache, tile::TargetAttr target,
               int64_t unroll);

protected:
  /// Where a kernel with `rows` rows from `row` begins to prefetch, and how far
  /// it goes with each iteration.
  void setPrefetch(KernelOperands &operands, Value row, Value rows);
  /// The same for a kernel of the matrix unit, whose first row is `row`.
  void setPrefetch(MatrixKernelSpec &unit, MatrixKernelOperands &operands,
                   Value row);

  tile::BrgemmOp op;
  View a, b, c;

private:
  // The next panel.
  std::optional<Value> getPanelSize();
  bool isSmallPanel();
  int64_t bytesOfRowOfB();
  int64_t linesPerStep(int64_t rows, int64_t groups);
  int64_t minRowsToPrefetch() const;
  int64_t elementsAhead();
  Value shareOfNextPanel(Value row);
  void setPanelPrefetch(KernelOperands &operands, Value row, Value rows);
  // The next rows of A.
  bool prefetchesRows();
  int64_t bytesPerRowStep();
  void setRowPrefetch(KernelOperands &operands, Value row, Value rows);
  // Other memory.
  int64_t bytesOfMemory();
  int64_t linesOfMemory();
  void setMemoryPrefetch(KernelOperands &operands, Value row, Value rows);

  int64_t fewRows, fewRowsAhead, leastRows;
  std::optional<Value> panelSize; // i64; set when the next one is prefetched
};

} // namespace tenon::microkernel
