// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/windows/Windows.h"

#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::passes {

Strided toChannelsLast(const Strided &s, bool ncx) {
  if (!ncx)
    return s;
  SmallVector<int64_t> order{0};
  for (int64_t i = 2; i < s.rank(); ++i)
    order.push_back(i);
  order.push_back(1);
  return transpose(s, order);
}

void addEpilogueOperands(IndexMath &m, ArrayRef<Strided> epilogueOperands,
                         const ColumnRange &range, SmallVectorImpl<Value> &ins,
                         SmallVectorImpl<AffineMap> &maps) {
  MLIRContext *context = m.builder().getContext();
  int64_t columns = range.outer.size() + 1, channels = columns + 1;
  for (const Strided &operand : epilogueOperands) {
    Index at = operand.offset.value_or(0);
    auto move = [&](int64_t dim, Index position) {
      at += position * operand.strides[dim];
    };
    move(0, range.image);
    for (auto [i, position] : llvm::enumerate(range.outer))
      move(i + 1, position);
    move(columns, range.column);
    move(channels, range.channel);
    // An epilogue operand is read along the loops on which it depends.
    SmallVector<Index> sizes, strides;
    SmallVector<AffineExpr> loops;
    auto loop = [&](int64_t number, int64_t dim, Index size) {
      if (operand.strides[dim].isConstant(0))
        return;
      sizes.push_back(size);
      strides.push_back(operand.strides[dim]);
      loops.push_back(getAffineDimExpr(number, context));
    };
    loop(0, columns, range.count);
    if (range.channels)
      loop(1, channels, *range.channels);
    ins.push_back(box(m, operand.base, at, sizes, strides));
    maps.push_back(AffineMap::get(range.channels ? 2 : 1, 0, loops, context));
  }
}

/// Taps of a window that a padding of `pad` positions takes, at most.
static int64_t tapsIn(Index pad, const SizedWindow &d) {
  auto known = pad.constant();
  return known
             ? std::clamp<int64_t>(ceilDiv(*known, d.dilation), 0, d.kernel - 1)
             : 0;
}

SmallVector<KnownTaps> cutBefore(const SizedWindow &d) {
  SmallVector<KnownTaps> ways;
  for (int64_t n = 1; n <= tapsIn(d.pad, d); ++n)
    ways.push_back({n, d.kernel});
  return ways;
}

SmallVector<KnownTaps> cutAfter(const SizedWindow &d) {
  SmallVector<KnownTaps> ways;
  for (int64_t n = 1; n <= tapsIn(d.padEnd, d); ++n)
    ways.push_back({0, d.kernel - n});
  return ways;
}

void withKnownTaps(IndexMath &m, std::pair<Index, Index> taps,
                   ArrayRef<KnownTaps> ways,
                   llvm::function_ref<void(KnownTaps)> body,
                   llvm::function_ref<void()> otherwise) {
  if (ways.empty())
    return otherwise();
  OpBuilder &b = m.builder();
  Location loc = m.location();
  auto equals = [&](Index x, int64_t y) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, m.value(x),
                                 m.value(y));
  };
  Value isFirst =
      arith::AndIOp::create(b, loc, equals(taps.first, ways.front().first),
                            equals(taps.second, ways.front().second));
  auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  body(ways.front());
  b.setInsertionPointToStart(&branch.getElseRegion().front());
  withKnownTaps(m, taps, ways.drop_front(), body, otherwise);
}

double lowestOf(Operation *pool) {
  auto widened = pool->getAttrOfType<TypeAttr>(kWidenedAttr);
  Type element = widened ? widened.getValue()
                         : rankedType(pool->getResult(0)).getElementType();
  return llvm::APFloat::getLargest(cast<FloatType>(element).getFloatSemantics(),
                                   /*Negative=*/true)
      .convertToDouble();
}

PoolDivisor divisorOf(Operation *pool) {
  if (boolAttr(pool, "exclude_pad"))
    return PoolDivisor::elements;
  return stringAttr(pool, "divisor") == "clipped" ? PoolDivisor::clipped
                                                  : PoolDivisor::window;
}

std::pair<Strided, Strided> asRepetition(const Strided &small,
                                         const Strided &big,
                                         ArrayRef<int64_t> times) {
  Strided one, all;
  one.base = small.base;
  all.base = big.base;
  auto dim = [&](Index size, Index stride, Index bigStride) {
    one.sizes.push_back(size);
    one.strides.push_back(stride);
    all.strides.push_back(bigStride);
  };
  bool inside = big.strides.back().isConstant(1);
  dim(big.sizes[0], small.strides[0], big.strides[0]);
  if (!inside)
    dim(big.sizes.back(), small.strides.back(), big.strides.back());
  for (auto [d, n] : llvm::enumerate(times)) {
    Index stride = big.strides[d + 1];
    dim(small.sizes[d + 1], small.strides[d + 1], stride * n);
    dim(n, 0, stride);
  }
  if (inside)
    dim(big.sizes.back(), small.strides.back(), big.strides.back());
  all.sizes = one.sizes;
  return {one, all};
}

ChannelBlocks::ChannelBlocks(Index channels, bool inside, int64_t wanted) {
  auto c = channels.constant();
  // Blocks of equal size, so that the last is not a sliver.
  if (inside && c && *c > wanted) {
    int64_t blocks = ceilDiv(*c, wanted);
    wanted = ceilDiv(*c, blocks);
    wanted = (wanted + 15) / 16 * 16;
  }
  block = inside ? min(channels, wanted) : 1;
  block = max(block, 1);
  count = ceilDiv(channels, block);
}

Index ChannelBlocks::extent(Index channels, Index i) const {
  auto c = channels.constant(), b = block.constant();
  if (c && b && *c % *b == 0)
    return block;
  return min(block, channels - i * block);
}

} // namespace tenon::passes
