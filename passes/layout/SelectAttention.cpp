//===- SelectAttention.cpp - keys and values in panels --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   tile.attention %q, %k, %v       %p = tile.pack %k panel 16
//                       ->          tile.attention %q, %p, %v {packed}
//
//===----------------------------------------------------------------------===//
#include "passes/layout/SelectAttention.h"

#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Whether so few queries read each key that packing would cost more than it
/// saves. Heads that share their keys count as rows of one. Queries of narrow
/// floats are widened first, to memory of a known size.
bool readsKeysInPlace(tile::AttentionOp op) {
  constexpr int64_t kFewRows = 8;
  auto rows = rowsOfMatrix(rankedType(op.getDst()), rankedType(op.getK()));
  auto q = rankedType(op.getQ());
  return !op.getFromLeft() && !op.getNormalized() && rows &&
         *rows <= kFewRows &&
         (q.getElementType().isF32() || !q.isDynamicDim(q.getRank() - 1));
}

/// Whether the products of `op` are of narrow floats that the target widens,
/// and meet each of them often.
bool isSlow(tile::AttentionOp op, const Selection &selection) {
  constexpr int64_t kManyQueries = 2 * kUsesToWiden; // four more sections
  auto dst = rankedType(op.getDst());
  Type element = dst.getElementType();
  auto areMany = [](int64_t size) {
    return ShapedType::isDynamic(size) || size >= kManyQueries;
  };
  return !op.getFromLeft() && !op.hasWeights() && isNarrowFloat(op.getDst()) &&
         (selection.packing.target.getBf16DotWidth() == 1 ||
          selection.packing.target.getBf16DotIsSlow() || element.isF16()) &&
         areMany(dst.getDimSize(dst.getRank() - 2)) && areMany(op.getNumKeys());
}

} // namespace

/// Keys change with every execution, but are read once per block of queries;
/// so do values where their type has products of groups.
void selectAttention(tile::AttentionOp op, OpBuilder &b, Selection &selection) {
  auto dst = rankedType(op.getDst());
  Type element = dst.getElementType();
  if (readsKeysInPlace(op))
    return;
  if (isSlow(op, selection)) {
    constexpr unsigned kProductsOf = 3; // q, k, v
    computeInF32(op, op->getOpOperands().take_front(kProductsOf));
    element = b.getF32Type();
  }
  int64_t keys = op.getNumKeys();
  bool isKnown = !ShapedType::isDynamic(keys);
  int64_t v = selection.packing.interleaveFor(
      element, rankedType(op.getQ()).getShape().back());
  if (isKnown)
    v = std::min(v, selection.packing.interleaveFor(element, keys));
  auto pack = [&](OpOperand &operand, int64_t columns, bool whole) {
    int64_t panel =
        selection.packing.panelFor(ShapedType::kDynamic, columns, v, whole);
    operand.assign(tile::PackOp::create(b, op.getLoc(), operand.get(), panel,
                                        std::nullopt, v));
    ++selection.packed;
  };
  // Scores of whole panels are computed.
  pack(op.getKMutable(), keys, /*whole=*/true);
  op.setPacked(true);
  if (v == 1)
    return;
  pack(op.getVMutable(), dst.getShape().back(), /*whole=*/false);
  op.setInterleave(v);
  if (isKnown)
    op.setKeys(keys);
}

} // namespace tenon::passes
