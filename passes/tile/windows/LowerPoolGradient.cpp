//===- LowerPoolGradient.cpp - MaxPoolBackward, AvgPoolBackward -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Windows overlap, so an item owns whole images: the channels of one block, or
// one channel. It clears diff_src in step with the windows, then takes the
// windows row by row. For each tap the windows of a row read, and add to,
// positions that differ: every step is one linalg.generic over columns and
// channels.
//
//   MaxPoolBackward, per row        AvgPoolBackward, per row
//     best = lowest; at = -1          share = diff_dst / count
//     for tap: at = tap where         for tap: diff_src[tap] += share
//       src[tap] > best
//     for tap: diff_src[tap] +=
//       at == tap ? diff_dst : 0
//
// With channels apart, maxima are taken a channel at a time (ChannelPlanes).
// Averages of windows that are next to each other are one loop over diff_src.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/loops/LoopProgram.h"
#include "passes/tile/windows/ChannelPlanes.h"
#include "passes/tile/windows/MaxSearch.h"
#include "passes/tile/windows/Windows.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// v = (selected tap, gradient, sum): the sum, with the gradient if that tap is
/// number `tap`.
Value addIfSelected(OpBuilder &b, Location loc, Value tap, ValueRange v) {
  Value here =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, v[0], tap);
  // A select, not a product: the gradient may be infinite.
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  Value share = arith::SelectOp::create(b, loc, here, v[1], zero);
  return arith::AddFOp::create(b, loc, v[2], share);
}

/// The gradient of a maximum with channels apart: each has a plane of src and
/// one of diff_src.
struct MaxPlanes {
  GroupContext &ctx;
  ChannelPlanes planes;
  const Strided &src, &diffDst, &diffSrc; // channels last
  MaxSearch search;

  bool pays() const {
    return planes.fit() && llvm::all_of(ArrayRef{&src, &diffDst, &diffSrc},
                                        [](const Strided *s) {
                                          return ChannelPlanes::hasRows(*s);
                                        });
  }

  /// which = the first tap with the greatest element of each window, or -1.
  void select(IndexMath &m, Value plane, Value which) const {
    SmallVector<Value> ins;
    for (int64_t tap = 0; tap < planes.taps; ++tap)
      ins.push_back(planes.tapOf(m, plane, tap));
    pointwise(m, ins, which, [&](OpBuilder &b, Location loc, ValueRange v) {
      Value best =
          arith::ConstantOp::create(b, loc, b.getF32FloatAttr(search.start()));
      Value where = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(-1));
      for (auto [tap, x] : llvm::enumerate(v.drop_back())) {
        Value greater = search.takes(b, loc, x, best, where);
        Value here = arith::ConstantOp::create(
            b, loc, b.getI32IntegerAttr(static_cast<int32_t>(tap)));
        where = arith::SelectOp::create(b, loc, greater, here, where);
        best = arith::SelectOp::create(b, loc, greater, x, best);
      }
      return where;
    });
  }

  /// plane[tap] += diff_dst where the tap is the selected one.
  void add(IndexMath &m, Value which, Value gradient, Value plane) const {
    for (int64_t tap = 0; tap < planes.taps; ++tap)
      pointwise(m, {which, gradient}, planes.tapOf(m, plane, tap),
                [&](OpBuilder &b, Location loc, ValueRange v) -> Value {
                  Value number = arith::ConstantOp::create(
                      b, loc, b.getI32IntegerAttr(static_cast<int32_t>(tap)));
                  return addIfSelected(b, loc, number, v);
                });
  }

  void emit() const {
    IndexMath &m = ctx.m;
    Grid grid{{"image", diffSrc.sizes[0]}, {"channel", diffSrc.sizes.back()}};
    int64_t elements = planes.elements, windows = planes.windows;
    auto body = [&](const Grid::Item &at, Value scratch) {
      OpBuilder &b = m.builder();
      auto startOf = [&](const Strided &s) {
        return ChannelPlanes::start(s, at["image"], at["channel"]);
      };
      auto take = [&](Type type, int64_t offset, int64_t count) {
        return scratchView(m, scratch, type, 4 * offset, count);
      };
      Value values = take(b.getF32Type(), 0, elements);
      Value sums = take(b.getF32Type(), elements, elements);
      Value gradient = planes.windowsOf(m, diffDst, startOf(diffDst));
      Value which =
          planes.windowsOf(m, take(b.getI32Type(), 2 * elements, windows));
      fill(m, values, std::numeric_limits<float>::lowest());
      planes.read(m, src, startOf(src), values);
      select(m, values, which);
      fill(m, sums, 0);
      add(m, which, gradient, sums);
      planes.write(m, diffSrc, startOf(diffSrc), sums);
    };
    emitItems(m, ctx.label, grid, 4 * (2 * elements + windows), body);
  }
};

/// Elements of a row that an item works on at a time: with scratch for two
/// values each they stay in L1.
constexpr int64_t kRowElements = 2048;
constexpr int64_t kMaxColumns = 128;
constexpr int64_t kMinChannels = 16;

struct PoolGradient {
  GroupContext &ctx;
  bool isMax;
  SmallVector<WindowDim> dims;
  SmallVector<int64_t> sizes;    // of diff_src, also where windows see less
  Strided src, diffDst, diffSrc; // channels last; src for max only
  PoolDivisor divisor = PoolDivisor::window;
  MaxSearch search = {false};
  bool channelsInside = true; // channels are contiguous: part of a row

  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }
  const WindowDim &row() const { return dims[last()]; }

  /// What is worked on: a range of a row of windows, of some channels.
  struct Row {
    Index image, channel, channels; // channels [channel, channel + channels)
    SmallVector<Index> outer;       // position in all spatial dims but the last
    Index column, columns;
    Index pitch;    // of scratch rows
    Value best, at; // scratch; average: only best
  };
  /// One tap in the windows of a row, and the columns where it is in src.
  struct Tap {
    SmallVector<Index> outer;
    Index inner, first, past;
    Value number; // in window order
  };
  using TapBody = llvm::function_ref<void(const Tap &)>;

  Value scratchBox(IndexMath &m, const Row &r, Value base, Index first,
                   Index past) const {
    return box(m, base, (first - r.column) * r.pitch,
               {past - first, r.channels}, {r.pitch, 1});
  }

  Index start(const Row &r, const Strided &s) const {
    return r.image * s.strides[0] + r.channel * s.strides.back();
  }

  /// diff_dst[first, past) of the row.
  Value smallBox(IndexMath &m, const Row &r, Index first, Index past) const {
    Index at = start(r, diffDst);
    for (auto [i, position] : llvm::enumerate(r.outer))
      at += position * diffDst.strides[i + 1];
    Index step = diffDst.strides[dims.size()];
    at += first * step;
    return box(m, diffDst.base, at, {past - first, r.channels},
               {step, diffDst.strides.back()});
  }

  /// What `tap` of the row's windows sees of `s`, src or diff_src.
  Value bigBox(IndexMath &m, const Row &r, const Strided &s,
               const Tap &tap) const {
    Index at = start(r, s);
    for (int64_t i = 0; i <= last(); ++i) {
      const WindowDim &d = dims[i];
      Index position = i == last() ? tap.first : r.outer[i];
      Index k = i == last() ? tap.inner : tap.outer[i];
      Index x = position * d.stride + k * d.dilation;
      at += (x - d.pad) * s.strides[i + 1];
    }
    return box(m, s.base, at, {tap.past - tap.first, r.channels},
               {s.strides[dims.size()] * row().stride, s.strides.back()});
  }

  /// Loops over the taps of the row's windows that meet src, in window order.
  void forTaps(IndexMath &m, const Row &r, TapBody body) const {
    forOuterTaps(m, r, {}, 0, body);
  }
  void forOuterTaps(IndexMath &m, const Row &r, ArrayRef<Index> outer,
                    Index number, TapBody body) const {
    int64_t i = outer.size();
    number *= dims[i].kernel;
    if (i < last()) {
      Index at = r.outer[i] * dims[i].stride;
      auto [lo, hi] = dims[i].validTaps(at);
      emitLoop(m, lo, hi, [&](Index k) {
        SmallVector<Index> taps(outer);
        taps.push_back(k);
        forOuterTaps(m, r, taps, number + k, body);
      });
      return;
    }
    auto [lo, hi] = usefulTaps(row());
    emitLoop(m, lo, hi, [&](Index k) {
      auto [first, past] = row().validPositions(k);
      Tap tap{SmallVector<Index>(outer), k, max(first, r.column),
              min(past, r.column + r.columns), Value()};
      tap.past = max(tap.first, tap.past);
      tap.number = arith::IndexCastOp::create(m.builder(), m.location(),
                                              m.builder().getI32Type(),
                                              m.value(number + k));
      body(tap);
    });
  }

  void maxRow(IndexMath &m, const Row &r) const {
    Index end = r.column + r.columns;
    fill(m, scratchBox(m, r, r.best, r.column, end), search.start());
    fill(m, scratchBox(m, r, r.at, r.column, end), -1);
    forTaps(m, r, [&](const Tap &tap) {
      Value best = scratchBox(m, r, r.best, tap.first, tap.past);
      Value at = scratchBox(m, r, r.at, tap.first, tap.past);
      Value x = bigBox(m, r, src, tap);
      pointwise(
          m, x, {at, best}, [&](OpBuilder &b, Location loc, ValueRange v) {
            Value greater = search.takes(b, loc, v[0], v[2], v[1]);
            // Numbers grow: the latest is the greatest. Selecting the
            // stored value itself would become a masked store, for which
            // the load of the next tap has to wait.
            Value none =
                arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(-1));
            Value where =
                arith::SelectOp::create(b, loc, greater, tap.number, none);
            where = arith::MaxSIOp::create(b, loc, v[1], where);
            Value most = arith::SelectOp::create(b, loc, greater, v[0], v[2]);
            return SmallVector<Value>{where, most};
          });
    });
    forTaps(m, r, [&](const Tap &tap) {
      Value at = scratchBox(m, r, r.at, tap.first, tap.past);
      Value gradient = smallBox(m, r, tap.first, tap.past);
      pointwise(m, {at, gradient}, bigBox(m, r, diffSrc, tap),
                [&](OpBuilder &b, Location loc, ValueRange v) -> Value {
                  return addIfSelected(b, loc, tap.number, v);
                });
    });
  }

  /// share[first, past) = diff_dst / count, for columns of equal count.
  void emitShare(IndexMath &m, const Row &r, Index first, Index past,
                 Index count) const {
    OpBuilder &b = m.builder();
    Value n = m.value(max(count, 1));
    n = arith::IndexCastOp::create(b, m.location(), b.getI64Type(), n);
    n = arith::SIToFPOp::create(b, m.location(), b.getF32Type(), n);
    pointwise(m, smallBox(m, r, first, past),
              scratchBox(m, r, r.best, first, past),
              [&](OpBuilder &nb, Location loc, ValueRange v) -> Value {
                return arith::DivFOp::create(nb, loc, v[0], n);
              });
  }

  /// Elements that an average counts along `d` of the window at `position`.
  Index countOf(const WindowDim &d, Index position) const {
    Index start = position * d.stride;
    if (divisor == PoolDivisor::clipped)
      return d.paddedTaps(start);
    if (divisor == PoolDivisor::window)
      return d.kernel;
    auto [lo, hi] = d.validTaps(start);
    return hi - lo;
  }

  void averageRow(IndexMath &m, const Row &r) const {
    Index end = r.column + r.columns, count = 1;
    for (auto [i, position] : llvm::enumerate(r.outer)) {
      count *= countOf(dims[i], position);
    }
    auto [first, past] = row().interior();
    Index full = count * row().kernel;
    if (divisor == PoolDivisor::window) {
      emitShare(m, r, r.column, end, full);
    } else {
      // Windows at the ends of a row have counts of their own.
      Index from = min(max(first, r.column), end);
      Index to = max(min(past, end), from);
      emitShare(m, r, from, to, full);
      for (auto [begin, stop] : {std::pair(r.column, from), {to, end}})
        emitLoop(m, begin, stop, [&](Index c) {
          emitShare(m, r, c, c + 1, count * countOf(row(), c));
        });
    }
    forTaps(m, r, [&](const Tap &tap) {
      pointwise(m, scratchBox(m, r, r.best, tap.first, tap.past),
                bigBox(m, r, diffSrc, tap),
                [](OpBuilder &b, Location loc, ValueRange v) -> Value {
                  return arith::AddFOp::create(b, loc, v[1], v[0]);
                });
    });
  }

  /// Rows [from, to) of the first spatial dim of diff_src = 0.
  void clear(IndexMath &m, const Row &r, Index from, Index to) const {
    SmallVector<Index> extent{max(to - from, 0)}, strides;
    for (int64_t i = 1; i <= last(); ++i)
      extent.push_back(sizes[i]);
    extent.push_back(r.channels);
    llvm::append_range(strides, ArrayRef(diffSrc.strides).drop_front());
    Index at = start(r, diffSrc) + from * diffSrc.strides[1];
    fill(m, box(m, diffSrc.base, at, extent, strides), 0);
  }

  void emitColumns(IndexMath &m, Row r, int64_t columns) const {
    int64_t out = row().out;
    emitLoop(m, 0, ceilDiv(out, columns), [&](Index chunk) {
      r.column = out == columns ? 0 : chunk * columns;
      r.columns = out % columns == 0 ? columns : min(columns, out - r.column);
      isMax ? maxRow(m, r) : averageRow(m, r);
    });
  }

  void emitRows(IndexMath &m, Row r, int64_t columns) const {
    int64_t i = r.outer.size();
    if (i == last())
      return emitColumns(m, r, columns);
    emitLoop(m, 0, dims[i].out, [&](Index p) {
      Row inner = r;
      inner.outer.push_back(p);
      if (i == 0)
        clear(m, r, cleared(p), cleared(p + 1));
      emitRows(m, inner, columns);
    });
  }

  /// Rows of diff_src that windows before position `p` of dim 0 may touch.
  Index cleared(Index p) const {
    const WindowDim &d = dims[0];
    // (p - 1) * stride - pad + extent, within [0, in].
    Index bound = p * d.stride + ((d.kernel - 1) * d.dilation + 1);
    bound -= (d.stride + d.pad);
    return max(min(bound, sizes[0]), 0);
  }

  bool seesAll() const {
    return llvm::all_of(llvm::zip(dims, sizes), [](auto both) {
      return std::get<0>(both).in == std::get<1>(both);
    });
  }

  /// Whether windows are next to each other and meet all of diff_src once: each
  /// element is a share of one of diff_dst.
  bool repeats() const {
    return seesAll() && llvm::all_of(dims, [](const WindowDim &d) {
             return d.pad == 0 && d.dilation == 1 && d.kernel * d.out == d.in &&
                    (d.out == 1 || d.stride == d.kernel);
           });
  }

  void emitShares() const {
    SmallVector<int64_t> times;
    int64_t elements = 1;
    for (const WindowDim &d : dims) {
      times.push_back(d.kernel);
      elements *= d.kernel;
    }
    auto [from, to] = asRepetition(diffDst, diffSrc, times);
    LoopProgram program(ctx.m, ctx.label, ctx.target.getL2Bytes(), to.sizes,
                        SmallVector<bool>(to.rank(), false));
    LoopProgram::Node share = program.compute(
        program.input(from), to.elementType(),
        [elements](OpBuilder &b, Location loc, ValueRange v) -> Value {
          Value n = arith::ConstantOp::create(
              b, loc, b.getF32FloatAttr(static_cast<float>(elements)));
          return arith::DivFOp::create(b, loc, v[0], n);
        });
    program.output(share, to);
    program.emit();
  }

  void emit() const {
    if (!isMax && repeats())
      return emitShares();
    // A plane's margins are lower than any number, but not than -inf.
    bool fitsPlanes = !search.propagatesNan || meetSrc(dims, /*whole=*/true);
    if (isMax && !channelsInside && seesAll() && fitsPlanes)
      if (MaxPlanes planes{ctx, ChannelPlanes(dims), src, diffDst, diffSrc,
                           search};
          planes.pays())
        return planes.emit();
    IndexMath &m = ctx.m;
    int64_t columns = std::max<int64_t>(
        1, std::min(row().out, channelsInside ? kMaxColumns : kRowElements));
    int64_t wanted = std::max(kMinChannels, kRowElements / columns / 16 * 16);
    Index channels = diffSrc.sizes.back();
    ChannelBlocks blocks(channels, channelsInside, wanted);
    Index elements = blocks.block * columns;
    Index bytes = elements * (isMax ? 8 : 4);
    Grid grid{{"image", diffSrc.sizes[0]}, {"channels", blocks.count}};
    auto body = [&](const Grid::Item &at, Value scratch) {
      Row r;
      r.image = at["image"];
      r.channel = at["channels"] * blocks.block;
      r.channels = blocks.extent(channels, at["channels"]);
      r.pitch = blocks.block;
      OpBuilder &b = m.builder();
      r.best = scratchView(m, scratch, b.getF32Type(), 0, elements);
      if (isMax)
        r.at = scratchView(m, scratch, b.getI32Type(), elements * 4, elements);
      bool rows = last() > 0;
      Index all = sizes[0];
      // Before the first window and after the last.
      clear(m, r, 0, rows ? cleared(0) : all);
      emitRows(m, r, columns);
      if (rows)
        clear(m, r, cleared(dims[0].out), all);
    };
    emitItems(m, ctx.label, grid, bytes, body);
  }
};

} // namespace

LogicalResult lowerPoolGradient(GroupContext &ctx) {
  Operation *op = ctx.ops().front();
  bool max = isa<graph::MaxPoolBackwardOp>(op);
  Value diffDst = op->getOperand(max ? 1 : 0);
  auto big = rankedType(op->getResult(0)), small = rankedType(diffDst);
  bool ncx = isNcx(op, big.getRank());
  PoolGradient g{ctx, max, {}, {}, {}, {}, {}};
  g.dims = windowDims(op, big, small, ncx, intsAttr(op, "kernel"));
  for (int64_t i = 0, e = big.getRank() - 2; i < e; ++i)
    g.sizes.push_back(big.getDimSize(ncx ? i + 2 : i + 1));
  for (const WindowDim &d : g.dims)
    if (ShapedType::isDynamic(d.in) || ShapedType::isDynamic(d.out))
      return emitError(op, ErrorCode::UnsupportedForm,
                       "spatial dimensions must be static");
  if (!big.getElementType().isF32())
    return emitError(op, ErrorCode::UnsupportedForm,
                     "windows are lowered for f32");
  if (max)
    g.src = toChannelsLast(ctx.memoryOf(op->getOperand(0)), ncx);
  g.diffDst = toChannelsLast(ctx.memoryOf(diffDst), ncx);
  g.diffSrc = toChannelsLast(ctx.result(), ncx);
  g.divisor = divisorOf(op);
  g.search = {boolAttr(op, "propagate_nan")};
  g.channelsInside = g.diffSrc.strides.back().isConstant(1);
  g.emit();
  return success();
}

} // namespace tenon::passes
