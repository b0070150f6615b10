//===- AttentionOperands.cpp - queries, keys and values -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Read as they lie, packed before, or packed and computed here: keys and values
// by the first block of queries of their head, queries by each block.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/attention/AttentionOperands.h"

using namespace mlir;

namespace tenon::passes {

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
void AttentionOperands::emitOperands(const Block &block, Index item) const {
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

void AttentionOperands::emitQueries(const Block &block) const {
  if (problem.fusedQueries)
    emitFused(m, *problem.fusedQueries, block.at, {block.rows, problem.depth},
              queriesOf(block));
}

} // namespace tenon::passes
