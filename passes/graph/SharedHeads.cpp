//===- SharedHeads.cpp - heads that share keys and values -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Models with fewer heads of keys than of queries often repeat the keys:
//
//   [B, H/g, N, D] -> [B, H/g, 1, N, D] -> [B, H/g, g, N, D] -> [B, H, N, D]
//
// No strides show the last as the first, so it would be a copy, g times as
// large as the keys. With the heads of the queries as two dimensions, of which
// keys are broadcast along the second, nothing is repeated.
//
//===----------------------------------------------------------------------===//
#include "passes/graph/SharedHeads.h"

#include "dialects/graph/GraphDialect.h"
#include "passes/graph/ScoreRegion.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Dimensions of a matrix, which are behind that of the heads.
constexpr int64_t kMatrixDims = 2;

/// Keys or values [.., H, N, D] that repeat each head several times.
struct RepeatedHeads {
  Value heads; // [.., H / times, 1, N, D]
  int64_t times = 0;
};

/// What `v` repeats; the last two dimensions may be exchanged after it. None if
/// it is not a repetition of heads.
std::optional<RepeatedHeads> repeatedHeads(OpBuilder &b, Value v) {
  Operation *def = v.getDefiningOp();
  bool swaps = def && swapsLastTwo(def);
  if (swaps)
    def = def->getOperand(0).getDefiningOp();
  if (!def || !isa<graph::StaticReshapeOp, tile::ReshapeOp>(def))
    return std::nullopt;
  auto expand = def->getOperand(0).getDefiningOp<tile::ExpandOp>();
  if (!expand)
    return std::nullopt;
  auto merged = rankedType(def->getResult(0)),
       whole = rankedType(expand.getDst()), from = rankedType(expand.getSrc());
  int64_t rank = merged.getRank(), head = rank - 1 - kMatrixDims;
  if (head < 0 || whole.getRank() != rank + 1 || from.getRank() != rank + 1)
    return std::nullopt;
  int64_t count = whole.getDimSize(head), times = whole.getDimSize(head + 1);
  // The sizes around the heads stay, also where they are not known: the product
  // of all is the same, and two unknown ones of a reshape have names.
  for (int64_t d = 0; d <= rank; ++d) {
    if (d == head + 1)
      continue;
    if (from.getDimSize(d) != whole.getDimSize(d) ||
        (d != head &&
         whole.getDimSize(d) != merged.getDimSize(d < head ? d : d - 1)))
      return std::nullopt;
  }
  if (ShapedType::isDynamic(count) || ShapedType::isDynamic(times) ||
      from.getDimSize(head + 1) != 1 || times < 2 ||
      merged.getDimSize(head) != count * times)
    return std::nullopt;
  Value heads = expand.getSrc();
  return RepeatedHeads{swaps ? swapLastTwo(b, heads) : heads, times};
}

/// `v` with `before` dimensions from `dim` on reshaped to `sizes`. They are
/// brought to the end for that and back again: others, of which several may be
/// unknown, stay where they are in the reshape.
Value reshapeLast(OpBuilder &b, Value v, int64_t dim, int64_t before,
                  ArrayRef<int64_t> sizes) {
  Location loc = v.getLoc();
  auto type = rankedType(v);
  int64_t rank = type.getRank(), after = sizes.size();
  SmallVector<int64_t> toEnd, back;
  for (int64_t d = 0; d < rank; ++d)
    if (d < dim || d >= dim + before)
      toEnd.push_back(d);
  int64_t others = toEnd.size();
  for (int64_t d = 0; d < before; ++d)
    toEnd.push_back(dim + d);
  Value last = buildTranspose(b, loc, v, toEnd);
  SmallVector<int64_t> shape(rankedType(last).getShape().take_front(others));
  shape.append(sizes.begin(), sizes.end());
  Value reshaped = buildReshape(b, loc, last, shape);
  for (int64_t d = 0; d < dim; ++d)
    back.push_back(d);
  for (int64_t d = 0; d < after; ++d)
    back.push_back(others + d);
  for (int64_t d = dim; d < others; ++d)
    back.push_back(d);
  return buildTranspose(b, loc, reshaped, back);
}

/// `v` [.., H, M, N], or with 1 for H, as [.., H / times, times, M, N], or with
/// ones; `v` itself if it has fewer than three dimensions. Its elements stay
/// where they are.
Value splitHeads(OpBuilder &b, Value v, int64_t times) {
  auto type = rankedType(v);
  int64_t head = type.getRank() - 1 - kMatrixDims;
  if (head < 0)
    return v;
  int64_t size = type.getDimSize(head);
  if (size == 1)
    times = 1;
  return reshapeLast(b, v, head, /*before=*/1, {size / times, times});
}

/// The type of [.., H, M, N] with its heads split.
Type splitType(Value v, int64_t times) {
  auto type = rankedType(v);
  SmallVector<int64_t> shape(type.getShape());
  int64_t head = type.getRank() - 1 - kMatrixDims;
  shape[head] /= times;
  shape.insert(shape.begin() + head + 1, times);
  return RankedTensorType::get(shape, type.getElementType());
}

/// The reverse of splitHeads.
Value mergeHeads(OpBuilder &b, Value v) {
  auto type = rankedType(v);
  int64_t head = type.getRank() - 2 - kMatrixDims;
  return reshapeLast(b, v, head, /*before=*/2,
                     {type.getDimSize(head) * type.getDimSize(head + 1)});
}

} // namespace

void shareHeads(tile::AttentionOp op) {
  OpBuilder b(op);
  auto keys = repeatedHeads(b, op.getK()), values = repeatedHeads(b, op.getV());
  if (!keys || !values || keys->times != values->times || op.getFromLeft() ||
      rankedType(op.getQ()).getRank() != rankedType(op.getDst()).getRank())
    return;
  int64_t times = keys->times;
  SmallVector<Value> operands;
  for (Value operand : op.getEpilogueOperands())
    operands.push_back(splitHeads(b, operand, times));
  Type stats;
  if (op.getStats())
    stats = splitType(op.getStats(), times);
  auto shared = tile::AttentionOp::create(
      b, op.getLoc(), splitType(op.getDst(), times), stats,
      splitHeads(b, op.getQ(), times), keys->heads, values->heads, operands,
      op.getPacked(), op.getInfAsZero(), op.getFromLeft(), op.getNormalized(),
      op.getInterleave(), op.getKeysAttr());
  shared.getScore().takeBody(op.getScore());
  if (op.hasWeights())
    shared.getWeights().takeBody(op.getWeights());
  op.getDst().replaceAllUsesWith(mergeHeads(b, shared.getDst()));
  if (op.getStats())
    op.getStats().replaceAllUsesWith(mergeHeads(b, shared.getStats()));
  op.erase();
}

} // namespace tenon::passes
