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
#include "passes/ops/ScalarOps.h"
#include "passes/tile/attention/AttentionLowering.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/products/Products.h"
#include "passes/tile/windows/Windows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace tenon::tiling {

namespace {

/// Items that keep threads busy.
constexpr int64_t kEnoughItems = 32;
/// Fewer keys are done before another thread has started.
constexpr int64_t kMinSplitKeys = 256;
/// Scores of more keys would leave L1 between the passes over them.
constexpr int64_t kMaxSplitKeys = 4096;
/// Queries of an item.
constexpr int64_t kMaxRows = 8;

constexpr auto kParallel = utils::IteratorType::parallel;
constexpr auto kReduction = utils::IteratorType::reduction;

} // namespace

/// The product of static sizes, or nothing.
static std::optional<int64_t> known(ArrayRef<Ofr> sizes) {
  int64_t product = 1;
  for (Ofr size : sizes) {
    auto c = IndexMath::constant(size);
    if (!c)
      return std::nullopt;
    product *= *c;
  }
  return product;
}

void AttentionLowering::chooseSplits() {
  auto r = IndexMath::constant(rows);
  queries = r ? std::clamp<int64_t>(*r, 1, kMaxRows) : kMaxRows;
  splitKeys = keys;
  std::optional<int64_t> heads = known(lead);
  if (!r || !heads || *heads == 0 || *r == 0)
    return;
  int64_t others = *heads * ((*r + queries - 1) / queries);
  int64_t wanted = std::max((kEnoughItems + others - 1) / others,
                            (keys + kMaxSplitKeys - 1) / kMaxSplitKeys);
  wanted = std::min(wanted, std::max<int64_t>(1, keys / kMinSplitKeys));
  // Equal splits need no section for a shorter last one.
  splitKeys = (keys + wanted - 1) / wanted;
  for (int64_t count = wanted; count < 2 * wanted; ++count)
    if (keys % count == 0) {
      splitKeys = keys / count;
      break;
    }
  splits = (keys + splitKeys - 1) / splitKeys;
}

void AttentionLowering::runInPlace() {
  chooseSplits();
  online = splits > 1;
  pitch = splitKeys;
  if (online) {
    OpBuilder &b = m.builder();
    int64_t numbers = *known(lead) * *IndexMath::constant(rows) * splits;
    auto buffer = [&](int64_t count) -> Value {
      return memref::AllocOp::create(b, m.location(),
                                     MemRefType::get(count, b.getF32Type()));
    };
    partial = {buffer(numbers), buffer(numbers), buffer(numbers * columns)};
  }
  int64_t full = keys / splitKeys, tail = keys % splitKeys;
  emitSplits(0, full, splitKeys);
  if (tail)
    emitSplits(full, 1, tail);
  if (online)
    emitMerge();
}

/// A section for splits `first .. first + number - 1` of `count` keys.
void AttentionLowering::emitSplits(int64_t first, int64_t number,
                                   int64_t count) {
  SmallVector<Ofr> counts(lead);
  counts.append({m.ceilDiv(rows, m.attr(queries)), m.attr(number)});
  emitItems(m, ctx.label, m.product(counts), m.attr(scratchBytes()),
            [&](IndexMath &im, Value item, Value memory) {
              SmallVector<Ofr> at = delinearize(im, item, counts);
              Ofr split = im.add(at.pop_back_val(), im.attr(first));
              Block block{im, at, im.attr(0), scratchOf(im, memory)};
              placeRows(block, block.at.back());
              emitSplit(block, split,
                        {im.attr(0), im.mul(split, im.attr(splitKeys)),
                         im.attr(count)});
            });
}

/// The number of the first row of `block`, counted over all heads, times the
/// number of splits.
Ofr AttentionLowering::partialOffset(Block &block) {
  IndexMath &bm = block.m;
  Ofr number = bm.attr(0);
  for (auto [index, size] : llvm::zip(block.at, lead))
    number = bm.add(bm.mul(number, size), index);
  number = bm.add(bm.mul(number, rows), block.at.back());
  return bm.mul(number, bm.attr(splits));
}

void AttentionLowering::emitSplit(Block &block, Ofr split, const Keys &part) {
  IndexMath &bm = block.m;
  emitDots(block, part);
  emitRows(block, part);
  if (!online) {
    emitSums(block);
    emitWeighted(block, part, sumsOf(block));
    return finishRows(block);
  }
  Ofr at = bm.add(partialOffset(block), split), step = bm.attr(splits);
  emitWeighted(block, part,
               box(bm, partial.result, bm.mul(at, bm.attr(columns)),
                   {block.rows, bm.attr(columns)},
                   {bm.mul(step, bm.attr(columns)), bm.attr(1)}));
  for (auto [from, to] : {std::pair(block.scratch.max, partial.max),
                          std::pair(block.scratch.sum, partial.sum)})
    linalg::CopyOp::create(bm.builder(), bm.location(), numbers(block, from),
                           box(bm, to, at, {block.rows}, {step}));
}

/// scores = q . k of the keys of `part`, key by key: each is read once.
void AttentionLowering::emitDots(Block &block, const Keys &part) {
  IndexMath &bm = block.m;
  Ofr n = part.count;
  Ofr across = k.strides[k.rank() - 2], along = k.strides.back();
  Value queriesBox =
      box(bm, q.base, offsetOf(bm, q, block.at), {block.rows, depth},
          {q.strides[q.rank() - 2], q.strides.back()});
  Ofr at = bm.add(offsetOf(bm, k, ArrayRef(block.at).drop_back()),
                  bm.mul(part.from, along));
  Value keysBox = box(bm, k.base, at, {depth, n}, {across, along});
  Value scores = box(bm, block.scratch.scores, bm.attr(0), {block.rows, n},
                     {bm.attr(pitch), bm.attr(1)});
  tiling::emitDots(bm, queriesBox, keysBox, scores);
}

/// result = scores . values of `part`.
void AttentionLowering::emitWeighted(Block &block, const Keys &part,
                                     Value result) {
  IndexMath &bm = block.m;
  OpBuilder &b = bm.builder();
  Ofr one = bm.attr(1), n = part.count;
  Ofr stride = v.strides[v.rank() - 2];
  Value weights = box(bm, block.scratch.scores, bm.attr(0), {block.rows, n},
                      {bm.attr(pitch), one});
  Ofr at = bm.add(offsetOf(bm, v, ArrayRef(block.at).drop_back()),
                  bm.mul(part.from, stride));
  Value values = box(bm, v.base, at, {n, bm.attr(columns)}, {stride, one});
  if (!IndexMath::isConstant(block.rows, 1)) {
    tile::BrgemmOp::create(b, bm.location(), weights, values, result,
                           /*accumulate=*/false, /*packed=*/false);
    return;
  }
  AffineExpr row = b.getAffineDimExpr(0), column = b.getAffineDimExpr(1),
             key = b.getAffineDimExpr(2);
  auto map = [&](AffineExpr x, AffineExpr y) {
    return AffineMap::get(3, 0, {x, y}, b.getContext());
  };
  tiling::emitSums(bm, weights, values, result,
                   {map(row, key), map(key, column), map(row, column)});
}

/// max = that of all splits, sum = theirs, partial.max = their factors.
void AttentionLowering::emitFactorsOfSplits(Block &block) {
  IndexMath &bm = block.m;
  OpBuilder &b = bm.builder();
  Ofr at = partialOffset(block), step = bm.attr(splits), one = bm.attr(1);
  auto ofSplits = [&](Value buffer) {
    return box(bm, buffer, at, {block.rows, step}, {step, one});
  };
  Value maxima = ofSplits(partial.max), sums = ofSplits(partial.sum);
  Value max = numbers(block, block.scratch.max);
  Value sum = numbers(block, block.scratch.sum);
  AffineMap both = b.getMultiDimIdentityMap(2);
  AffineMap perRow =
      tile::getEpilogueMapOf(tile::EpilogueBroadcast::PerRow, b.getContext());
  fill(bm, max, -std::numeric_limits<double>::infinity());
  linalg::GenericOp::create(
      b, bm.location(), TypeRange(), maxima, max, {both, perRow},
      {kParallel, kReduction}, [](OpBuilder &nb, Location l, ValueRange args) {
        linalg::YieldOp::create(nb, l, emitGreater(nb, l, args[1], args[0]));
      });
  fill(bm, sum, 0);
  linalg::GenericOp::create(
      b, bm.location(), TypeRange(), ValueRange{sums, max},
      ValueRange{maxima, sum}, {both, perRow, both, perRow},
      {kParallel, kReduction}, [&](OpBuilder &nb, Location l, ValueRange args) {
        Value factor =
            emitExpOfDifference(nb, l, args[2], guarded(nb, l, args[1]));
        Value total = math::FmaOp::create(nb, l, factor, args[0], args[3]);
        linalg::YieldOp::create(nb, l, ValueRange{factor, total});
      });
}

/// dst from the parts.
void AttentionLowering::emitMerge() {
  SmallVector<Ofr> counts(lead);
  counts.push_back(m.ceilDiv(rows, m.attr(queries)));
  emitItems(m, ctx.label, m.product(counts), m.attr(scratchBytes()),
            [&](IndexMath &im, Value item, Value memory) {
              Block block{im, delinearize(im, item, counts), im.attr(0),
                          scratchOf(im, memory)};
              placeRows(block, block.at.back());
              emitFactorsOfSplits(block);
              emitSums(block);
              emitSumOfSplits(block);
              finishRows(block);
            });
}

void AttentionLowering::emitSumOfSplits(Block &block) {
  IndexMath &bm = block.m;
  OpBuilder &b = bm.builder();
  Ofr offset = partialOffset(block), one = bm.attr(1);
  Ofr step = bm.attr(splits), width = bm.attr(columns);
  Value factors = box(bm, partial.max, offset, {block.rows, step}, {step, one});
  Value parts =
      box(bm, partial.result, bm.mul(offset, width), {block.rows, step, width},
          {bm.mul(step, width), width, one});
  AffineExpr row = b.getAffineDimExpr(0), column = b.getAffineDimExpr(1),
             split = b.getAffineDimExpr(2);
  auto map = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(3, 0, exprs, b.getContext());
  };
  tiling::emitSums(
      bm, factors, parts, sumsOf(block),
      {map({row, split}), map({row, split, column}), map({row, column})});
}

} // namespace tenon::tiling
