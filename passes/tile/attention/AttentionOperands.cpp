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

/// Writes `rows` rows of `width` elements, whose leading indices, and perhaps
/// row, are `at`, to `memory`.
static void emitFused(IndexMath &m, const FusedInput &input, ArrayRef<Index> at,
                      Index rows, Index width, Value memory) {
  SmallVector<Index> starts, acrossRows, alongRows;
  for (const Strided &s : input.sources) {
    starts.push_back(offsetOf(s, at));
    acrossRows.push_back(s.strides[s.rank() - 2]);
    alongRows.push_back(s.strides.back());
  }
  FusedOperand::Loops loops = input.value.loopsFrom(starts);
  input.value.addLoops(loops, /*fromEnd=*/1, rows, acrossRows, width);
  input.value.addLoops(loops, /*fromEnd=*/0, width, alongRows, 1);
  input.value.emitBox(m, loops, memory, 0);
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
    emitFused(m, *problem.fusedValues, head, problem.keys, problem.columns,
              block.scratch.fusedValues);
  });
}

void AttentionOperands::emitQueries(const Block &block) const {
  if (problem.fusedQueries)
    emitFused(m, *problem.fusedQueries, block.at, block.rows, problem.depth,
              block.scratch.fusedQueries);
}

} // namespace tenon::passes
