//===- AttentionBlock.cpp - a block of queries and its boxes --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/attention/AttentionBlock.h"

using namespace mlir;

namespace tenon::passes {

/// Items are so many blocks of queries of each head.
Grid AttentionEmitter::gridOf(Index blocks) const {
  Grid grid;
  grid.add("block", problem.lead);
  grid.add("block", blocks);
  return grid;
}

/// The block of an item; its rows are still to be placed.
AttentionEmitter::Block AttentionEmitter::blockOf(const Grid::Item &item,
                                                  Value memory) const {
  return {SmallVector<Index>(item.all("block")), 0,
          schedule.scratch.at(m, memory)};
}

/// Makes `block` the `number`-th block of queries.
void AttentionEmitter::placeRows(Block &block, Index number) const {
  Index first = number * schedule.blockRows;
  block.at.back() = first;
  auto r = problem.rows.constant();
  block.rows = r && *r % schedule.queries == 0
                   ? schedule.blockRows
                   : min(schedule.blockRows, problem.rows - first);
}

/// Rows of dst that a block computes; `from_left`: its whole matrix.
Value AttentionEmitter::output(const Block &block) const {
  ArrayRef<Index> at(block.at);
  bool fromLeft = problem.fromLeft;
  Index width = fromLeft ? problem.keys : problem.columns;
  return box(m, problem.dst.base,
             offsetOf(problem.dst, fromLeft ? at.drop_back() : at),
             {fromLeft ? problem.columns : block.rows, width},
             {problem.dst.strides[problem.dst.rank() - 2], 1});
}

/// A block's rows of `scratch`, as wide as those of dst.
Value AttentionEmitter::result(const Block &block, Value scratch) const {
  return box(m, scratch, 0, {block.rows, problem.columns},
             {problem.columns, 1});
}

/// What steps add up.
Value AttentionEmitter::sumsOf(const Block &block) const {
  return schedule.sumsApart ? result(block, block.scratch.result)
                            : output(block);
}

/// A row of scores after the other; of `rows` and of the keys of `part`.
Value AttentionEmitter::scoresOf(const Block &block, const Rows &rows,
                                 const Keys &part) const {
  return box(m, block.scratch.scores, rows.first * schedule.pitch,
             {rows.count, part.count}, {schedule.pitch, 1});
}

/// Where their weights go: they replace scores or, in another type, lie beside
/// them.
Value AttentionEmitter::weightsOf(const Block &block, const Rows &rows,
                                  const Keys &part) const {
  if (!problem.isNarrow())
    return scoresOf(block, rows, part);
  return box(m, block.scratch.weights, rows.first * schedule.weightPitch,
             {rows.count, part.count}, {schedule.weightPitch, 1});
}

/// The numbers in `scratch`, one for each row of the block.
Value AttentionEmitter::numbers(const Block &block, Value scratch) const {
  return box(m, scratch, 0, {block.rows}, {1});
}

/// Where that is; not `from_left`.
AttentionEmitter::RowsAt AttentionEmitter::sumsAt(const Block &block) const {
  if (schedule.sumsApart)
    return {block.scratch.result, 0, problem.columns, 1};
  return {problem.dst.base, offsetOf(problem.dst, block.at),
          problem.dst.strides[problem.dst.rank() - 2], 1};
}

/// The queries of a block.
AttentionEmitter::RowsAt AttentionEmitter::queriesAt(const Block &block) const {
  if (problem.fusedQueries)
    return {block.scratch.fusedQueries, 0, problem.depth, 1};
  return {problem.q.base, offsetOf(problem.q, block.at),
          problem.q.strides[problem.q.rank() - 2], problem.q.strides.back()};
}

Value AttentionEmitter::queriesOf(const Block &block) const {
  RowsAt q = queriesAt(block);
  return box(m, q.base, q.offset, {block.rows, problem.depth},
             {q.across, q.along});
}

/// Where keys or values `s` are.
Value AttentionEmitter::baseOf(const Block &block, const Strided &s,
                               Value AttentionScratch::*place) const {
  return s.base ? s.base : block.scratch.*place;
}

} // namespace tenon::passes
