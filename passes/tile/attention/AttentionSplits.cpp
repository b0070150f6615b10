//===- AttentionSplits.cpp - attention of few queries over many keys ------===//
// SPDX-License-Identifier: Apache-2.0
//
// With one query, as when text is generated, keys and values are read once:
// packing keys would move them twice more. They are read where they are, and
// because rows are too few to keep threads busy, keys are cut into splits:
//
//   rt.parallel items(batch x blocks of queries x splits of keys) {
//     S = Q K[split]; max, sum = those of the split; S = exp(S - max)
//     part = S V[split]
//   }
//   rt.parallel items(batch) {
//     factor[p] = exp(max[p] - max); sum = sum of factor[p] sum[p]
//     dst = sum of factor[p] part[p] / sum
//   }
//
// With one split there is no second section. Splits follow from shapes.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/attention/AttentionSplits.h"

#include "passes/ops/ScalarOps.h"
#include "passes/tile/products/Products.h"
#include "passes/tile/windows/Windows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace tenon::passes {

namespace {

constexpr auto kParallel = utils::IteratorType::parallel;
constexpr auto kReduction = utils::IteratorType::reduction;

} // namespace

void AttentionSplits::allocate() {
  if (!schedule.online)
    return;
  auto buffer = [&](Index count) {
    return allocateBetween(m, m.builder().getF32Type(), count);
  };
  Index numbers = schedule.partials;
  partial = {buffer(numbers), buffer(numbers),
             buffer(numbers * problem.columns)};
}

void AttentionSplits::run() const {
  if (problem.keys.constant()) {
    Index full = problem.keys / schedule.splitKeys,
          tail = problem.keys % schedule.splitKeys;
    emitSplits(0, full, schedule.splitKeys);
    if (!tail.isConstant(0))
      emitSplits(full, 1, tail);
  } else {
    emitSplits(0, schedule.splits, schedule.splitKeys);
  }
  if (schedule.online)
    emitMerge();
}

/// A section for splits `first .. first + number - 1` of `count` keys, or the
/// rest of keys of unknown number.
void AttentionSplits::emitSplits(Index first, Index number, Index count) const {
  Grid grid = gridOf(ceilDiv(problem.rows, schedule.blockRows));
  grid.add("split", number);
  emitItems(m, label, grid, schedule.scratch.bytes(),
            [&](const Grid::Item &item, Value memory) {
              Index split = item["split"] + first;
              Block block = blockOf(item, memory);
              placeRows(block, block.at.back());
              operands.emitQueries(block);
              Index from = split * schedule.splitKeys;
              Index keys = problem.keys.constant()
                               ? count
                               : min(count, problem.keys - from);
              emitSplit(block, split, {0, from, keys});
            });
}

/// The number of the first row of `block`, counted over all heads, times the
/// number of splits.
Index AttentionSplits::partialOffset(const Block &block) const {
  Index head = numberOf(block.at, problem.lead);
  return (head * problem.rows + block.at.back()) * schedule.splits;
}

void AttentionSplits::emitSplit(const Block &block, Index split,
                                const Keys &part) const {
  products.emitDots(block, part);
  rows.emitRows(block, part);
  if (!schedule.online) {
    rows.emitSums(block);
    products.emitWeightedInPlace(block, part, sumsAt(block));
    return rows.finishRows(block);
  }
  Index at = partialOffset(block) + split, step = schedule.splits;
  products.emitWeightedInPlace(
      block, part,
      {partial.result, at * problem.columns, step * problem.columns, 1});
  for (auto [from, to] : {std::pair(block.scratch.max, partial.max),
                          std::pair(block.scratch.sum, partial.sum)})
    linalg::CopyOp::create(m.builder(), m.location(), numbers(block, from),
                           box(m, to, at, {block.rows}, {step}));
}

/// max = that of all splits, sum = theirs, partial.max = their factors.
void AttentionSplits::emitFactorsOfSplits(const Block &block) const {
  OpBuilder &b = m.builder();
  Index at = partialOffset(block), step = schedule.splits;
  auto ofSplits = [&](Value buffer) {
    return box(m, buffer, at, {block.rows, step}, {step, 1});
  };
  Value maxima = ofSplits(partial.max), sums = ofSplits(partial.sum);
  Value max = numbers(block, block.scratch.max);
  Value sum = numbers(block, block.scratch.sum);
  AffineMap both = b.getMultiDimIdentityMap(2);
  AffineMap perRow =
      tile::getEpilogueMapOf(tile::EpilogueBroadcast::PerRow, b.getContext());
  fill(m, max, -std::numeric_limits<double>::infinity());
  linalg::GenericOp::create(
      b, m.location(), TypeRange(), maxima, max, {both, perRow},
      {kParallel, kReduction}, [](OpBuilder &nb, Location l, ValueRange args) {
        linalg::YieldOp::create(nb, l, emitGreater(nb, l, args[1], args[0]));
      });
  fill(m, sum, 0);
  linalg::GenericOp::create(
      b, m.location(), TypeRange(), ValueRange{sums, max},
      ValueRange{maxima, sum}, {both, perRow, both, perRow},
      {kParallel, kReduction}, [&](OpBuilder &nb, Location l, ValueRange args) {
        Value factor =
            emitExpOfDifference(nb, l, args[2], rows.guarded(nb, l, args[1]));
        Value total = math::FmaOp::create(nb, l, factor, args[0], args[3]);
        linalg::YieldOp::create(nb, l, ValueRange{factor, total});
      });
}

/// dst from the parts.
void AttentionSplits::emitMerge() const {
  emitItems(m, label, gridOf(ceilDiv(problem.rows, schedule.blockRows)),
            schedule.scratch.bytes(),
            [&](const Grid::Item &item, Value memory) {
              Block block = blockOf(item, memory);
              placeRows(block, block.at.back());
              emitFactorsOfSplits(block);
              rows.emitSums(block);
              emitSumOfSplits(block);
              rows.finishRows(block);
            });
}

void AttentionSplits::emitSumOfSplits(const Block &block) const {
  OpBuilder &b = m.builder();
  Index offset = partialOffset(block);
  Index step = schedule.splits, width = problem.columns;
  Value factors = box(m, partial.max, offset, {block.rows, step}, {step, 1});
  Value parts = box(m, partial.result, offset * width,
                    {block.rows, step, width}, {step * width, width, 1});
  AffineExpr row = b.getAffineDimExpr(0), column = b.getAffineDimExpr(1),
             split = b.getAffineDimExpr(2);
  auto map = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(3, 0, exprs, b.getContext());
  };
  passes::emitSums(
      m, factors, parts, sumsOf(block),
      {map({row, split}), map({row, split, column}), map({row, column})});
}

} // namespace tenon::passes
