// SPDX-License-Identifier: Apache-2.0
#include "passes/layout/StridedChannels.h"

#include "passes/ops/Costs.h"
#include "passes/ops/WindowGeometry.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include <numeric>

using namespace mlir;

namespace tenon::passes {

/// Lines of which each begins `bytes` after the one before that L1 holds: of
/// 64 sets, 8 lines each, as x86-64 has at least.
static int64_t linesInL1(int64_t bytes) {
  constexpr int64_t kSets = 64, kWays = 8;
  if (bytes % kLineBytes)
    return kSets * kWays;
  return kSets / std::gcd(bytes / kLineBytes, kSets) * kWays;
}

/// Lines, on average, in which a block of rows of a kernel finds one channel.
static double linesOfBlock(int64_t bytesBetweenRows) {
  constexpr int64_t kRows = 6;
  return 1 + static_cast<double>((kRows - 1) * bytesBetweenRows) / kLineBytes;
}

bool waitsForChannels(Value src, RankedTensorType weights, RankedTensorType dst,
                      const WindowAttrs &w, const Packing &packing) {
  constexpr int64_t kMinPositions = 256, kMinReads = 8;
  constexpr double kShareOfL1 = 0.75; // panels of weights pass by
  auto type = rankedType(src);
  ArrayRef<int64_t> from = type.getShape().drop_front(),
                    to = dst.getShape().drop_front().drop_back();
  if (orderOf(src).empty() || !type.getElementType().isF32() ||
      w.groups.getInt() != 1 || ShapedType::isDynamicShape(from) ||
      ShapedType::isDynamicShape(to) ||
      ShapedType::isDynamicShape(weights.getShape()))
    return false;
  auto strides = callerStrides(skipTransposes(src));
  int64_t apart = strides.empty() ? ShapedType::getNumElements(from.drop_back())
                                  : strides.back();
  apart *= sizeof(float);
  int64_t taps = 1, steps = 1;
  bool overlap = false;
  for (auto [kernel, stride] :
       llvm::zip(weights.getShape(), w.strides.asArrayRef())) {
    taps *= kernel;
    steps *= stride;
    overlap |= kernel > stride;
  }
  if (overlap && apart % kBadStride == 0 &&
      ShapedType::getNumElements(to) >= kMinPositions)
    return true;
  if (taps * steps == 1) // a product, which copies blocks of rows itself
    return false;
  int64_t n = weights.getShape().back();
  int64_t panels = ceilDiv(n, packing.panelFor(to.back(), n));
  // A copy reads every position once, a panel every `steps`-th for each tap.
  double lines = static_cast<double>(from.back()) *
                 linesOfBlock(w.strides.asArrayRef().back() *
                              static_cast<int64_t>(sizeof(float)));
  return panels * taps >= kMinReads * steps &&
         lines > kShareOfL1 * static_cast<double>(linesInL1(apart));
}

/// The matrix [O, I] of weights [taps.., I, O] with one tap, as a view.
static Value matrixOf(OpBuilder &b, Location loc, Value weights) {
  int64_t rank = rankedType(weights).getRank();
  ArrayRef<int64_t> shape = rankedType(weights).getShape();
  Transposed from = skipTransposes(weights);
  int64_t in = shape[rank - 2], out = shape[rank - 1];
  if (from.order[rank - 1] < from.order[rank - 2])
    return buildReshape(b, loc, from.source, {out, in});
  return swapLastTwo(b, buildReshape(b, loc, from.source, {in, out}));
}

bool multiplyPlanes(OpBuilder &b, Operation *op, Value weights,
                    const WindowAttrs &w, const Packing &packing) {
  constexpr int64_t kMinPositions = 192;
  auto dst = rankedType(op->getResult(0));
  int64_t rank = dst.getRank();
  Order toLast = orderInto(Channels::last, rank),
        toFirst = orderInto(Channels::first, rank);
  Transposed image = skipTransposes(op->getOperand(0));
  auto from = rankedType(image.source), type = rankedType(weights);
  ArrayRef<int64_t> positions = dst.getShape().drop_front().drop_back();
  if (!isPointwise(type.getShape().drop_back(2), w.strides, w.padsBegin,
                   w.padsEnd, w.groups.getInt()) ||
      op->hasAttr(kOrderAttr) || !from.getElementType().isF32() ||
      !type.getElementType().isF32() || !dst.hasStaticShape() ||
      !from.hasStaticShape() || !type.hasStaticShape() ||
      image.order != toLast || !callerStrides(image).empty() ||
      from.getShape().drop_front(2) != positions ||
      ShapedType::getNumElements(positions) < kMinPositions)
    return false;
  auto isFirst = [&](Operation *user) {
    return user->getNumResults() == 1 && orderOf(user->getResult(0)) == toFirst;
  };
  if (!llvm::all_of(op->getUsers(), isFirst))
    return false;
  Location loc = op->getLoc();
  int64_t n = dst.getDimSize(0), out = type.getShape().back();
  int64_t all = ShapedType::getNumElements(positions);
  Value planes =
      buildReshape(b, loc, image.source, {n, from.getDimSize(1), all});
  Value product = packing.buildMatMul(
      b, loc, RankedTensorType::get({n, out, all}, dst.getElementType()),
      matrixOf(b, loc, weights), planes);
  product = buildReshape(b, loc, product, permuted(dst.getShape(), toFirst));
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    user->getResult(0).replaceAllUsesWith(product);
    user->erase();
  }
  op->erase();
  return true;
}

} // namespace tenon::passes
