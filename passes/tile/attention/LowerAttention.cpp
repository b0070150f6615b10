//===- LowerAttention.cpp - attention, a block of queries at a time -------===//
// SPDX-License-Identifier: Apache-2.0
//
//   rt.parallel items(batch x blocks of queries) scratch(S, max, sum) {
//     for each panel of keys:  S[:, panel] = tile.brgemm Q, K[panel]
//     for each row r:          S[r] = score(S[r]); max[r] = max(S[r])
//                              S[r] = exp(S[r] - max[r]); sum[r] = sum(S[r])
//     sum = 1 / sum
//     dst = tile.brgemm S, V  epilogue { acc * sum[row] }
//   }
//
// While whole rows of scores stay in L2 with the keys and values of their head,
// nothing is computed twice and the order of summation is that of the plain
// graph. Dividing rows of dst instead of rows of S saves a pass.
//
// Longer rows are walked in steps, and S holds those of one step (online
// softmax). Maxima and sums are those so far: when a maximum grows, what was
// summed with the old one shrinks.
//
//     max, sum, dst = -inf, 0, 0
//     for each step: for each panel of it:  S[:, panel] = tile.brgemm Q,
//     K[panel]
//                    old = max; S = score(S); max = max(old, S)
//                    factor = exp(old - max); S = exp(S - max)
//                    sum = sum * factor + sum(S); dst = dst * factor
//                    dst += tile.brgemm S, V[step]
//     dst = dst / sum
//
// Where a causal mask replaces scores (CausalMask.h), keys that no row of a
// block sees have no scores computed, and take no part in sums. That changes
// nothing where their weights are 0, which the largest scores show, and 0 times
// their values is 0, which those show. Otherwise all scores are computed:
//
//     for n of {keys that rows see, all keys}:
//       the above with n keys, until all exp(masked - max) are 0 and no value
//       of the other keys is infinite or NaN
//
// In bf16 scores and sums are f32 all the same; weights are rounded to bf16
// beside the scores, and sums over steps stay in scratch until the last. Where
// products take neighbours of K in groups, k and v are packed so, and rows of
// weights meet one panel of v after the other.
//
// `from_left` sums over the queries: each has its own divisor, so rows of S are
// divided, and blocks of queries follow each other within an item.
//
//     dst = 0
//     for each block of queries: S as above; S[r] = S[r] / sum[r]
//                                dst += tile.brgemm V[:, block], S
//
//===----------------------------------------------------------------------===//
#include "passes/support/GraphAttrs.h"
#include "passes/tile/attention/AttentionLowering.h"
#include "passes/tile/core/WorkItems.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;

namespace tenon::tiling {

AttentionScratch AttentionLowering::scratchOf(Value memory) const {
  int64_t at = 0;
  AttentionScratch scratch;
  OpBuilder &b = m.builder();
  for (const ScratchPlan::Buffer &buffer : schedule.scratch.buffers) {
    auto type = MemRefType::get(buffer.elements, buffer.type);
    scratch.*buffer.place = memref::ViewOp::create(
        b, m.location(), type, memory, m.value(at), ValueRange());
    at += buffer.bytes();
  }
  return scratch;
}

/// Items are so many blocks of queries of each head.
Grid AttentionLowering::gridOf(Index blocks) const {
  Grid grid;
  grid.add("block", problem.lead);
  grid.add("block", blocks);
  return grid;
}

/// The block of an item; its rows are still to be placed.
AttentionLowering::Block AttentionLowering::blockOf(const Grid::Item &item,
                                                    Value memory) const {
  return {SmallVector<Index>(item.all("block")), 0, scratchOf(memory)};
}

/// Makes `block` the `number`-th block of queries.
void AttentionLowering::placeRows(Block &block, Index number) {
  Index first = number * schedule.queries;
  block.at.back() = first;
  auto r = problem.rows.constant();
  block.rows = r && *r % schedule.queries == 0
                   ? schedule.queries
                   : min(schedule.queries, problem.rows - first);
}

void AttentionLowering::run() {
  if (problem.inPlace)
    return runInPlace();
  bool fromLeft = problem.fromLeft;
  Grid grid = gridOf(fromLeft ? 1 : ceilDiv(problem.rows, schedule.queries));
  emitItems(m, ctx.label, grid, schedule.scratch.bytes(),
            [&](const Grid::Item &item, Value memory) {
              Block block = blockOf(item, memory);
              emitOperands(block, item.number);
              if (fromLeft)
                return emitFromLeft(block);
              placeRows(block, block.at.back());
              placeMask(block);
              emitQueries(block);
              if (schedule.online)
                emitSteps(block);
              else
                emitWhole(block);
            });
}

/// Rows of dst that a block computes; `from_left`: its whole matrix.
Value AttentionLowering::output(Block &block) {
  ArrayRef<Index> at(block.at);
  bool fromLeft = problem.fromLeft;
  Index width = fromLeft ? problem.keys : problem.columns;
  return box(m, problem.dst.base,
             offsetOf(problem.dst, fromLeft ? at.drop_back() : at),
             {fromLeft ? problem.columns : block.rows, width},
             {problem.dst.strides[problem.dst.rank() - 2], 1});
}

/// A block's rows of `scratch`, as wide as those of dst.
Value AttentionLowering::result(Block &block, Value scratch) {
  return box(m, scratch, 0, {block.rows, problem.columns},
             {problem.columns, 1});
}

/// What steps add up.
Value AttentionLowering::sumsOf(Block &block) {
  return schedule.sumsApart ? result(block, block.scratch.result)
                            : output(block);
}

/// dst from sums.
void AttentionLowering::finishRows(Block &block) {
  if (schedule.sumsApart)
    storeSums(block);
  else
    scaleRows(output(block), numbers(block, block.scratch.sum));
}

void AttentionLowering::emitWhole(Block &block) {
  Keys all{0, 0, problem.keys};
  Keys seen = emitVisible(block, all, [&](Block &inner, const Keys &part) {
    emitScores(inner, part);
    emitRows(inner, part);
  });
  emitSums(block);
  if (problem.normalized)
    emitNormalized(block, seen);
  emitProduct(block, seen, /*accumulate=*/false);
}

void AttentionLowering::emitSteps(Block &block) {
  OpBuilder &b = m.builder();
  double inf = std::numeric_limits<double>::infinity();
  for (auto [start, buffer] :
       {std::pair(-inf, numbers(block, block.scratch.max)),
        std::pair(0.0, numbers(block, block.scratch.sum)),
        std::pair(0.0, sumsOf(block))}) {
    Value value =
        arith::ConstantOp::create(b, m.location(), b.getF32FloatAttr(start));
    linalg::FillOp::create(b, m.location(), value, buffer);
  }
  int64_t full = problem.keys / schedule.span,
          tail = problem.keys % schedule.span;
  emitLoop(m, 0, full, [&](Index step) {
    Block inner = block;
    emitStep(inner, {step * (schedule.span / problem.panel),
                     step * schedule.span, schedule.span});
  });
  if (tail)
    emitStep(block, {full * schedule.span / problem.panel, full * schedule.span,
                     tail});
  emitSums(block);
  finishRows(block);
}

void AttentionLowering::emitStep(Block &block, const Keys &part) {
  OpBuilder &b = m.builder();
  linalg::CopyOp::create(b, m.location(), numbers(block, block.scratch.max),
                         numbers(block, block.scratch.factor));
  Rows all{0, block.rows};
  Keys seen = emitVisible(block, part, [&](Block &inner, const Keys &keys) {
    emitScores(inner, keys);
    emitScoreRegion(inner, all, keys);
  });
  auto addVisible = [&](Block &inner) {
    emitFactors(inner);
    emitExponentials(inner, all, seen);
    if (problem.isNarrow()) {
      emitProduct(inner, seen, /*accumulate=*/false);
      return addStep(inner);
    }
    scaleRows(sumsOf(inner), numbers(inner, inner.scratch.factor));
    emitProduct(inner, seen, /*accumulate=*/true);
  };
  if (!schedule.mask)
    return addVisible(block);
  Value some = arith::CmpIOp::create(b, m.location(), arith::CmpIPredicate::ne,
                                     m.value(seen.count), m.value(0));
  auto branch = scf::IfOp::create(b, m.location(), some, /*else=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  addVisible(block);
}

void AttentionLowering::emitFromLeft(Block &outer) {
  OpBuilder &b = m.builder();
  Value zero = arith::ConstantOp::create(b, m.location(), b.getF32FloatAttr(0));
  Value c = output(outer);
  linalg::FillOp::create(b, m.location(), zero, c);
  Index blocks = ceilDiv(problem.rows, schedule.queries);
  emitLoop(m, 0, blocks, [&](Index number) {
    Block block = outer;
    placeRows(block, number);
    Keys all{0, 0, problem.keys};
    emitScores(block, all);
    emitRows(block, all);
    emitSums(block);
    Value p = box(m, block.scratch.scores, 0, {block.rows, problem.keys},
                  {schedule.pitch, 1});
    scaleRows(p, numbers(block, block.scratch.sum));
    Index across = problem.v.strides.back();
    Index at = offsetOf(problem.v, ArrayRef(block.at).drop_back()) +
               block.at.back() * across;
    Value a = box(m, problem.v.base, at, {problem.columns, block.rows},
                  {problem.v.strides[problem.v.rank() - 2], across});
    tile::BrgemmOp::create(b, m.location(), a, p, c, /*accumulate=*/true,
                           /*packed=*/false);
  });
}

void AttentionLowering::emitScores(Block &block, const Keys &part) {
  Value a = queriesOf(block);
  Index keysOffset = offsetOf(problem.k, ArrayRef(block.at).drop_back());
  Index panels = ceilDiv(part.count, problem.panel);
  emitLoop(m, 0, panels, [&](Index p) {
    Index width = problem.panel;
    Index number = part.panel + p;
    Index at = keysOffset + number * panelSize(problem.depth, problem.panel,
                                               problem.interleave);
    Value b =
        panelBox(m, baseOf(block, problem.k, &AttentionScratch::packedKeys), at,
                 {}, {}, problem.depth, problem.panel, problem.interleave);
    Value c = box(m, block.scratch.scores, p * width, {block.rows, width},
                  {schedule.pitch, 1});
    auto product = tile::BrgemmOp::create(m.builder(), m.location(), a, b, c);
    // It is in L2, and only tiles are fast enough to wait for it.
    product.setPrefetchNext(schedule.inTiles);
  });
}

/// The values of `part` as they lie, or a copy.
Value AttentionLowering::valuesOf(Block &block, const Keys &part) {
  Index n = part.count, e = problem.columns;
  Index stride = problem.v.strides[problem.v.rank() - 2];
  Index at =
      offsetOf(problem.v, ArrayRef(block.at).drop_back()) + part.from * stride;
  Value values =
      box(m, baseOf(block, problem.v, &AttentionScratch::fusedValues), at,
          {n, e}, {stride, 1});
  if (!schedule.copiesValues)
    return values;
  Value copy = box(m, block.scratch.values, 0, {n, e}, {e, 1});
  linalg::CopyOp::create(m.builder(), m.location(), values, copy);
  return copy;
}

/// c += or = a values; without steps it is the result.
void AttentionLowering::emitWeightedSum(Block &block, Value a, Value values,
                                        Value c, bool accumulate, bool packed) {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  if (schedule.online) {
    tile::BrgemmOp::create(b, loc, a, values, c, accumulate, packed);
    return;
  }
  AffineMap perRow =
      tile::getEpilogueMapOf(tile::EpilogueBroadcast::PerRow, b.getContext());
  tile::BrgemmOp::create(
      b, loc, a, values, c, numbers(block, block.scratch.sum), perRow,
      accumulate, packed,
      [&](OpBuilder &eb, Location l, ValueRange args) -> Value {
        Value y = args[0];
        if (!problem.normalized)
          y = arith::MulFOp::create(eb, l, y, args[1]);
        return problem.epilogue.apply(eb, l, y, {}, problem.dst.elementType());
      });
}

/// The weighted values of `part`: dst or, where parts are steps, what is added
/// to their sums.
void AttentionLowering::emitProduct(Block &block, const Keys &part,
                                    bool accumulate) {
  if (problem.interleave > 1)
    return emitPanels(block, part);
  Value weights =
      box(m, problem.isNarrow() ? block.scratch.weights : block.scratch.scores,
          0, {block.rows, part.count}, {schedule.weightPitch, 1});
  Value c = !schedule.online     ? output(block)
            : problem.isNarrow() ? result(block, block.scratch.step)
                                 : sumsOf(block);
  emitWeightedSum(block, weights, valuesOf(block, part), c, accumulate,
                  /*packed=*/false);
}

/// The same, one panel of values after the other.
void AttentionLowering::emitPanels(Block &block, const Keys &part) {
  Index count = part.count;
  Value weights = box(m, block.scratch.weights, 0, {block.rows, count},
                      {schedule.weightPitch, 1});
  Index first = offsetOf(problem.v, ArrayRef(block.at).drop_back()) +
                part.from * problem.valuePanel;
  Index dstOffset = offsetOf(problem.dst, block.at);
  for (int64_t column = 0; column < problem.columns;
       column += problem.valuePanel) {
    Index number = column / problem.valuePanel, at = column;
    Index width = std::min(problem.valuePanel, problem.columns - column);
    Value values =
        panelBox(m, baseOf(block, problem.v, &AttentionScratch::packedValues),
                 first + number * panelSize(problem.keys, problem.valuePanel,
                                            problem.interleave),
                 {}, {}, count, problem.valuePanel, problem.interleave);
    Value c =
        schedule.online
            ? box(m, block.scratch.step, at, {block.rows, width},
                  {problem.columns, 1})
            : box(m, problem.dst.base, dstOffset + at, {block.rows, width},
                  {problem.dst.strides[problem.dst.rank() - 2], 1});
    emitWeightedSum(block, weights, values, c, /*accumulate=*/false,
                    /*packed=*/true);
  }
}

LogicalResult lowerAttention(GroupContext &ctx) {
  auto op = *ctx.group.getOps<tile::AttentionOp>().begin();
  AttentionLowering(ctx, op).run();
  return success();
}

} // namespace tenon::tiling
