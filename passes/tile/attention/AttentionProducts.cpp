//===- AttentionProducts.cpp - q . k and weights . v of a block -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/attention/AttentionProducts.h"

#include "passes/tile/attention/AttentionFused.h"
#include "passes/tile/products/Products.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::passes {

/// scores = q . k of the keys of `part`, a panel after the other.
void AttentionProducts::emitScores(const Block &block, const Keys &part) const {
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
Value AttentionProducts::valuesOf(const Block &block, const Keys &part) const {
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

/// Bounds the sums over keys of unknown number: as many scores have a place.
static void setMostKeys(tile::BrgemmOp product,
                        const AttentionSchedule &schedule) {
  if (ShapedType::isDynamic(product.getAType().getShape().back()))
    product.setMaxTerms(schedule.pitch);
}

/// c += or = a values; without steps it is the result.
void AttentionProducts::emitWeightedSum(const Block &block, Value a,
                                        Value values, Value c, bool accumulate,
                                        bool packed) const {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  if (schedule.online) {
    setMostKeys(
        tile::BrgemmOp::create(b, loc, a, values, c, accumulate, packed),
        schedule);
    return;
  }
  AffineMap perRow =
      tile::getEpilogueMapOf(tile::EpilogueBroadcast::PerRow, b.getContext());
  setMostKeys(tile::BrgemmOp::create(
                  b, loc, a, values, c, numbers(block, block.scratch.sum),
                  perRow, accumulate, packed,
                  [&](OpBuilder &eb, Location l, ValueRange args) -> Value {
                    Value y = args[0];
                    if (!problem.normalized)
                      y = arith::MulFOp::create(eb, l, y, args[1]);
                    return problem.epilogue.apply(eb, l, y, {},
                                                  problem.dst.elementType());
                  }),
              schedule);
}

/// The weighted values of `part`: dst or, where parts are steps, what is added
/// to their sums.
void AttentionProducts::emitProduct(const Block &block, const Keys &part,
                                    bool accumulate) const {
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
void AttentionProducts::emitPanels(const Block &block, const Keys &part) const {
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

/// scores = q . k of the keys of `part`, key by key: each is read once.
void AttentionProducts::emitDots(const Block &block, const Keys &part) const {
  if (problem.fusedKeys)
    return AttentionFused(*this).emitDots(block, part);
  Index n = part.count;
  Index across = problem.k.strides[problem.k.rank() - 2],
        along = problem.k.strides.back();
  Index at =
      offsetOf(problem.k, ArrayRef(block.at).drop_back()) + part.from * along;
  Value keysBox =
      box(m, problem.k.base, at, {problem.depth, n}, {across, along});
  Value scores =
      box(m, block.scratch.scores, 0, {block.rows, n}, {schedule.pitch, 1});
  passes::emitDots(m, queriesOf(block), keysBox, scores);
}

/// result = scores . values of `part`.
void AttentionProducts::emitWeightedInPlace(const Block &block,
                                            const Keys &part,
                                            const RowsAt &to) const {
  if (problem.fusedValues)
    return AttentionFused(*this).emitWeighted(block, part, to);
  OpBuilder &b = m.builder();
  Value result = box(m, to.base, to.offset, {block.rows, problem.columns},
                     {to.across, to.along});
  Index n = part.count;
  Index stride = problem.v.strides[problem.v.rank() - 2];
  Value weights =
      box(m, block.scratch.scores, 0, {block.rows, n}, {schedule.pitch, 1});
  Index at =
      offsetOf(problem.v, ArrayRef(block.at).drop_back()) + part.from * stride;
  Value values = box(m, problem.v.base, at, {n, problem.columns}, {stride, 1});
  if (!block.rows.isConstant(1)) {
    setMostKeys(tile::BrgemmOp::create(b, m.location(), weights, values, result,
                                       /*accumulate=*/false,
                                       /*packed=*/false),
                schedule);
    return;
  }
  AffineExpr row = b.getAffineDimExpr(0), column = b.getAffineDimExpr(1),
             key = b.getAffineDimExpr(2);
  auto map = [&](AffineExpr x, AffineExpr y) {
    return AffineMap::get(3, 0, {x, y}, b.getContext());
  };
  passes::emitSums(m, weights, values, result,
                   {map(row, key), map(key, column), map(row, column)});
}

} // namespace tenon::passes
