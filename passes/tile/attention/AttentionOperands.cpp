//===- AttentionOperands.cpp - queries, keys and values -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Read as they lie, packed before, or packed and computed here: keys and values
// by the first block of queries of their head, queries by each block.
//
//===----------------------------------------------------------------------===//
#include "passes/support/GraphAttrs.h"
#include "passes/tile/attention/AttentionLowering.h"
#include "passes/tile/core/WorkItems.h"

using namespace mlir;

namespace tenon::tiling {

/// Writes the box of `sizes` whose leading indices, and perhaps row, are `at`.
static void emitFused(IndexMath &m, const FusedInput &input, ArrayRef<Index> at,
                      ArrayRef<Index> sizes, Value to) {
  SmallVector<FusedOperand::Place> places;
  for (const Strided &s : input.sources)
    places.push_back({offsetOf(s, at),
                      SmallVector<Index>(ArrayRef(s.strides).take_back(2))});
  input.value.emitBox(m, places, sizes, to);
}

/// Keys and values of a head are packed or computed by the first of its blocks.
void AttentionLowering::emitOperands(Block &block, Index item) {
  if (!problem.packedValues && !problem.packedKeys && !problem.fusedValues)
    return;
  ArrayRef<Index> head = ArrayRef(block.at).drop_back();
  auto pack = [&](const std::optional<PackedInput> &input, Value to) {
    if (!input)
      return;
    SmallVector<Index> starts;
    for (const Strided &s : input->sources)
      starts.push_back(offsetOf(s, head));
    input->packing.emitPanels(m, starts, to);
  };
  emitIfFirst(m, item, block.at.back(), [&] {
    pack(problem.packedValues, block.scratch.packedValues);
    pack(problem.packedKeys, block.scratch.packedKeys);
    if (!problem.fusedValues)
      return;
    Index n = problem.keys, e = problem.columns;
    emitFused(m, *problem.fusedValues, head, {n, e},
              box(m, block.scratch.fusedValues, 0, {n, e}, {e, 1}));
  });
}

void AttentionLowering::emitQueries(Block &block) {
  if (problem.fusedQueries)
    emitFused(m, *problem.fusedQueries, block.at, {block.rows, problem.depth},
              queriesOf(block));
}

/// The queries of a block.
Value AttentionLowering::queriesOf(Block &block) {
  if (problem.fusedQueries)
    return box(m, block.scratch.fusedQueries, 0, {block.rows, problem.depth},
               {problem.depth, 1});
  return box(
      m, problem.q.base, offsetOf(problem.q, block.at),
      {block.rows, problem.depth},
      {problem.q.strides[problem.q.rank() - 2], problem.q.strides.back()});
}

/// Where keys or values `s` are.
Value AttentionLowering::baseOf(Block &block, const Strided &s,
                                Value AttentionScratch::*place) const {
  return s.base ? s.base : block.scratch.*place;
}

} // namespace tenon::tiling
