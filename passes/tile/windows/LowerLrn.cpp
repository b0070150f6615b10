//===- LowerLrn.cpp - LRN, LRNBackward across channels --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An item is some positions with all their channels. Squares go to rows of
// scratch with zeros between them, as many as a window reaches to a side, so
// that every window is a few loads of neighbours:
//
//   scratch   0 0 | s0^2 s1^2 .. | 0 0 | s0^2 s1^2 .. | 0 0
//   w       = k + alpha / n * (scratch[c] + .. + scratch[c + 2h])
//   dst[c]  = s[c] * w^-beta
//
// The gradient goes through this twice. w^-beta * diff_dst is the first term of
// diff_src; the second term sums this product times s / w over neighbours.
//
// Where channels are apart in memory (NCX) scratch is stored like src, and
// vectors run along positions. Wide windows are summed by a loop first.
// Windows within a channel have become AvgPool in DecomposeGraph.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/OpFacts.h"
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/windows/Windows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Elements of one row of scratch values that an item works on: 16 KiB.
constexpr int64_t kItemElements = 4096;
constexpr int64_t kMinPositions = 16; // where vectors run along positions
/// Taps that are read at once; more are summed by a loop before.
constexpr int64_t kMaxInlineTaps = 9;

struct Lrn {
  GroupContext &ctx;
  Strided src, diffDst, dst; // positions.., channels; diffDst: backward only
  bool backward;
  double alpha, beta, k; // alpha: divided by n
  int64_t channels, reach;
  bool channelsInside; // contiguous

  int64_t taps() const { return 2 * reach + 1; }

  /// Rows of scratch: `positions` of them, with zeros around channels.
  struct Scratch {
    Value memory;
    Index position, channel; // strides
    /// All channels, seen from tap `tap`; the middle tap is the channel itself.
    Value at(IndexMath &m, Index positions, int64_t channels,
             int64_t tap) const {
      return box(m, memory, tap * channel, {positions, channels},
                 {position, channel});
    }
  };

  struct Item {
    Index positions; // number of them
    Value src, diffDst, dst;
    Scratch padded, sums; // sums: wide windows only
  };

  Value power(OpBuilder &b, Location loc, Value w, double exponent) const {
    auto c = [&](double v) -> Value {
      return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(v));
    };
    auto inverse = [&](Value x) -> Value {
      return arith::DivFOp::create(b, loc, c(1), x);
    };
    auto root = [&](Value x) -> Value {
      return math::SqrtOp::create(b, loc, x);
    };
    // The common exponents are exact to two roundings.
    if (exponent == 0.75) {
      Value r = root(w);
      return inverse(arith::MulFOp::create(b, loc, r, root(r)));
    }
    if (exponent == 0.5)
      return inverse(root(w));
    if (exponent == 1)
      return inverse(w);
    if (exponent == 0)
      return c(1);
    return math::PowFOp::create(b, loc, w, c(-exponent));
  }

  /// The windows' sums in the scratch rows: operands to add up.
  SmallVector<Value> windows(IndexMath &m, const Item &item) const {
    SmallVector<Value> ins;
    if (taps() <= kMaxInlineTaps) {
      for (int64_t t = 0; t < taps(); ++t)
        ins.push_back(item.padded.at(m, item.positions, channels, t));
      return ins;
    }
    Value sums = item.sums.at(m, item.positions, channels, 0);
    fill(m, sums, 0);
    OpBuilder &b = m.builder();
    Value all =
        box(m, item.padded.memory, 0, {item.positions, channels, taps()},
            {item.padded.position, item.padded.channel, item.padded.channel});
    SmallVector<AffineMap> maps{b.getMultiDimIdentityMap(3),
                                b.getMultiDimIdentityMap(3).getMajorSubMap(2)};
    using utils::IteratorType;
    linalg::GenericOp::create(b, m.location(), TypeRange{}, all, sums, maps,
                              {IteratorType::parallel, IteratorType::parallel,
                               IteratorType::reduction},
                              [](OpBuilder &nb, Location loc, ValueRange v) {
                                Value sum =
                                    arith::AddFOp::create(nb, loc, v[1], v[0]);
                                linalg::YieldOp::create(nb, loc, sum);
                              });
    ins.push_back(sums);
    return ins;
  }

  static Value total(OpBuilder &b, Location loc, ValueRange parts) {
    Value sum = parts[0];
    for (Value v : parts.drop_front())
      sum = arith::AddFOp::create(b, loc, sum, v);
    return sum;
  }

  /// k + alpha * (sum of parts).
  Value weight(OpBuilder &b, Location loc, ValueRange parts) const {
    Value a = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(alpha));
    Value base = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(k));
    Value scaled = arith::MulFOp::create(b, loc, a, total(b, loc, parts));
    return arith::AddFOp::create(b, loc, base, scaled);
  }

  /// Zeros before, between and after the rows.
  void clearBorders(IndexMath &m, const Item &item) const {
    if (reach == 0)
      return;
    if (channelsInside) {
      Index rows = item.positions + 1;
      fill(m,
           box(m, item.padded.memory, 0, {rows, reach},
               {item.padded.position, 1}),
           0);
      return;
    }
    for (int64_t first : {int64_t(0), reach + channels})
      fill(m,
           box(m, item.padded.memory, first * item.padded.channel,
               {reach, item.positions}, {item.padded.channel, 1}),
           0);
  }

  void forwardItem(IndexMath &m, const Item &item) const {
    square(m, item);
    SmallVector<Value> ins = windows(m, item);
    ins.push_back(item.src);
    pointwise(m, ins, item.dst,
              [&](OpBuilder &b, Location loc, ValueRange v) -> Value {
                Value w = weight(b, loc, v.drop_back(2));
                return arith::MulFOp::create(b, loc, v.drop_back().back(),
                                             power(b, loc, w, beta));
              });
  }

  void square(IndexMath &m, const Item &item) const {
    pointwise(m, item.src, item.padded.at(m, item.positions, channels, reach),
              [](OpBuilder &b, Location loc, ValueRange v) -> Value {
                return arith::MulFOp::create(b, loc, v[0], v[0]);
              });
  }

  void backwardItem(IndexMath &m, const Item &item, const Item &shares) const {
    square(m, item);
    SmallVector<Value> ins = windows(m, item);
    ins.append({item.src, item.diffDst});
    Value own = shares.padded.at(m, item.positions, channels, reach);
    pointwise(m, ins, {item.dst, own},
              [&](OpBuilder &b, Location loc, ValueRange v) {
                ValueRange in = v.drop_back(2);
                Value s = in.drop_back().back(), d = in.back();
                Value w = weight(b, loc, in.drop_back(2));
                Value first =
                    arith::MulFOp::create(b, loc, d, power(b, loc, w, beta));
                Value share = arith::MulFOp::create(b, loc, s, first);
                share = arith::DivFOp::create(b, loc, share, w);
                return SmallVector<Value>{first, share};
              });
    ins = windows(m, shares);
    ins.push_back(item.src);
    pointwise(m, ins, item.dst,
              [&](OpBuilder &b, Location loc, ValueRange v) -> Value {
                Value factor = arith::ConstantOp::create(
                    b, loc, b.getF32FloatAttr(-2 * alpha * beta));
                Value s =
                    arith::MulFOp::create(b, loc, factor, v.drop_back().back());
                Value sum = total(b, loc, v.drop_back(2));
                sum = arith::MulFOp::create(b, loc, s, sum);
                return arith::AddFOp::create(b, loc, v.back(), sum);
              });
  }

  /// How positions are cut into items, and the scratch of an item.
  struct Plan {
    Strided operands[3]; // src, diff_dst, dst without channels
    Index channelStride[3];
    SmallVector<Index> sizes; // of positions
    Grid grid;                // items
    Index chunk;              // positions of an item, along the last dim
    Index padded, summed;     // elements; summed: wide windows only
  };

  Plan plan() const {
    // Positions: all dims but channels, merged where memory allows it.
    Plan p{{src, diffDst, dst}, {}, {}, {}, {}, {}, {}};
    SmallVector<Strided *> used;
    p.sizes.assign(src.sizes.begin(), src.sizes.end() - 1);
    for (auto [i, s] : llvm::enumerate(p.operands)) {
      if (!s.base)
        continue;
      p.channelStride[i] = s.strides.back();
      s.sizes.pop_back();
      s.strides.pop_back();
      used.push_back(&s);
    }
    SmallVector<int> classes(p.sizes.size(), 0);
    coalesce(p.sizes, classes, used);
    if (p.sizes.empty()) {
      p.sizes.push_back(1);
      for (Strided *s : used)
        s->strides.push_back(0);
    }
    int64_t pitch = channels + reach;
    int64_t most = std::max<int64_t>(kItemElements / pitch,
                                     channelsInside ? 1 : kMinPositions);
    if (auto known = p.sizes.back().constant())
      most = std::max<int64_t>(1, std::min(*known, most));
    p.chunk = most;
    p.grid.add("position", ArrayRef(p.sizes).drop_back());
    p.grid.add("position", ceilDiv(p.sizes.back(), p.chunk));
    p.padded = channelsInside ? most * pitch + reach : most * (pitch + reach);
    p.summed = taps() > kMaxInlineTaps ? most * channels : 0;
    return p;
  }

  /// `count` elements of scratch from `next` on, which moves after them.
  Scratch take(IndexMath &m, const Plan &p, Value memory, Index &next,
               Index count, int64_t pitch) const {
    Value view =
        scratchView(m, memory, m.builder().getF32Type(), next * 4, count);
    next += count;
    if (channelsInside)
      return {view, pitch, 1};
    return {view, 1, p.chunk};
  }

  void emitItem(IndexMath &m, const Plan &p, const Grid::Item &item,
                Value memory) const {
    SmallVector<Index> at(item.all("position"));
    at.back() = at.back() * p.chunk;
    Item it;
    auto size = p.sizes.back().constant();
    it.positions = size && *size % *p.chunk.constant() == 0
                       ? p.chunk
                       : min(p.chunk, p.sizes.back() - at.back());
    auto boxOf = [&](int i) -> Value {
      const Strided &s = p.operands[i];
      if (!s.base)
        return {};
      Index offset = s.offset.value_or(0);
      for (auto [position, stride] : llvm::zip(at, s.strides))
        offset += position * stride;
      return box(m, s.base, offset, {it.positions, channels},
                 {s.strides.back(), p.channelStride[i]});
    };
    it.src = boxOf(0);
    it.diffDst = boxOf(1);
    it.dst = boxOf(2);
    Index next = 0;
    it.padded = take(m, p, memory, next, p.padded, channels + reach);
    if (taps() > kMaxInlineTaps)
      it.sums = take(m, p, memory, next, p.summed, channels);
    clearBorders(m, it);
    if (!backward)
      return forwardItem(m, it);
    Item shares = it;
    shares.padded = take(m, p, memory, next, p.padded, channels + reach);
    clearBorders(m, shares);
    backwardItem(m, it, shares);
  }

  void emit() const {
    IndexMath &m = ctx.m;
    Plan p = plan();
    // Padded rows and, for wide windows, sums; rows twice for backward.
    Index elements = p.padded * (backward ? 2 : 1) + p.summed;
    emitItems(m, ctx.label, p.grid, elements * 4,
              [&](const Grid::Item &item, Value memory) {
                emitItem(m, p, item, memory);
              });
  }
};

} // namespace

LogicalResult lowerLrn(GroupContext &ctx) {
  Operation *op = ctx.ops().front();
  auto type = rankedType(op->getOperand(0));
  bool backward = graph::isBackward(op), ncx = isNcx(op, type.getRank());
  int64_t channels = type.getDimSize(ncx ? 1 : type.getRank() - 1);
  if (ShapedType::isDynamic(channels))
    return emitError(op, ErrorCode::UnsupportedForm,
                     "the number of channels must be static");
  if (!type.getElementType().isF32())
    return emitError(op, ErrorCode::UnsupportedForm, "LRN is lowered for f32");
  if (stringAttr(op, "algorithm") == "within_channel")
    return emitError(op, ErrorCode::UnsupportedForm,
                     "windows within a channel are decomposed first");
  int64_t size = intAttr(op, "size");
  Lrn lrn{ctx,
          toChannelsLast(ctx.memoryOf(op->getOperand(0)), ncx),
          {},
          toChannelsLast(ctx.result(), ncx),
          backward,
          floatAttr(op, "alpha") / static_cast<double>(size),
          floatAttr(op, "beta"),
          floatAttr(op, "k"),
          channels,
          // A window that holds every channel holds no more.
          std::min((size - 1) / 2, std::max<int64_t>(channels - 1, 0)),
          false};
  if (backward)
    lrn.diffDst = toChannelsLast(ctx.memoryOf(op->getOperand(1)), ncx);
  lrn.channelsInside = lrn.dst.strides.back().isConstant(1);
  if (channels > 0)
    lrn.emit();
  return success();
}

} // namespace tenon::passes
