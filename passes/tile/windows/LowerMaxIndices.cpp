//===- LowerMaxIndices.cpp - MaxPool that says where maxima are -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Items are rows of dst. For each row of src that the windows of one meet,
// vectors hold the greatest element so far of each window, and where it is,
// counted from the window's first element, be it padding or not:
//
//   for tap: best, at = src[tap] greater than best ? src[tap], tap : best, at
//
// Taps of the last dim are written out if they are few; columns whose windows
// are cut by padding take them one by one. At last the position of the window
// is added.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/core/Lines.h"
#include "passes/tile/windows/LowerWindow.h"
#include "passes/tile/windows/MaxSearch.h"
#include "passes/tile/windows/Windows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::passes {

namespace {

class MaxIndices {
public:
  MaxIndices(GroupContext &ctx, graph::MaxPoolOp op)
      : ctx(ctx), m(ctx.m), b(m.builder()), loc(m.location()),
        ncx(isNcx(op, rankedType(op.getSrc()).getRank())),
        src(toChannelsLast(ctx.memoryOf(op.getSrc()), ncx)),
        dims(windowDims(op, op.getSrc().getType(), op.getDst().getType(), ncx,
                        intsAttr(op, "kernel"))),
        search{boolAttr(op, "propagate_nan"), lowestOf(op)},
        dst(output(op.getDst())), indices(output(op.getIndices())) {
    steps.assign(dims.size(), 1);
    for (int64_t d = last(); d > 0; --d)
      steps[d - 1] = steps[d] * sizeOf(d);
    counter = b.getIntegerType(steps[0] * sizeOf(0) >> 31 ? 64 : 32);
    channelsInside =
        src.strides.back().isConstant(1) && !src.sizes.back().isConstant(1);
  }

  void emit() {
    int64_t columns = std::max<int64_t>(dims.back().out, 1);
    int64_t most = std::max(kScratch / (columns * kBytes), kMinChannels);
    ChannelBlocks blocks(src.sizes.back(), channelsInside, most);
    Grid grid{{"image", src.sizes[0]}, {"channels", blocks.count}};
    for (int64_t d = 0; d < last(); ++d)
      grid.add("row", dims[d].out);
    emitItems(m, ctx.label, grid, blocks.block * (columns * kBytes),
              [&](const Grid::Item &at, Value scratch) {
                Row row{at["image"],
                        at["channels"] * blocks.block,
                        at.all("row"),
                        std::nullopt,
                        {},
                        {}};
                Index channels = 1;
                if (channelsInside)
                  row.channels = channels =
                      blocks.extent(src.sizes.back(), at["channels"]);
                Index count = channels * columns;
                row.at = scratchView(m, scratch, counter, 0, count);
                row.best = scratchView(m, scratch, b.getF32Type(),
                                       count * kCounterBytes, count);
                emitRow(row);
              });
  }

private:
  /// One row of dst, in some of its channels.
  struct Row {
    Index image, channel;
    ArrayRef<Index> outer;
    std::optional<Index> channels; // none: there is one
    Value at, best;                // in scratch memory
  };

  static constexpr int64_t kScratch = 24 << 10, kMinChannels = 16;
  static constexpr int64_t kCounterBytes = 8,
                           kBytes = kCounterBytes + sizeof(float);

  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }
  int64_t sizeOf(int64_t d) const { return *src.sizes[d + 1].constant(); }

  std::optional<Strided> output(Value result) {
    const Strided *memory = outputOf(ctx, result);
    return memory ? std::optional(toChannelsLast(*memory, ncx)) : std::nullopt;
  }

  Value asCounter(Index i) {
    return arith::IndexCastOp::create(b, loc, counter, m.value(i));
  }

  /// `count` columns of `base`, and the channels of the row, from `offset` on.
  Value columns(const Row &row, Value base, Index offset, Index count,
                Index stride, Index channelStride) {
    SmallVector<Index> sizes{count}, strides{stride};
    if (row.channels) {
      sizes.push_back(*row.channels);
      strides.push_back(channelStride);
    }
    return box(m, base, offset, sizes, strides);
  }
  Value inScratch(const Row &row, Value base, Index column, Index count) {
    Index channels = row.channels.value_or(1);
    return columns(row, base, column * channels, count, channels, 1);
  }

  void emitRow(const Row &row) {
    int64_t count = dims.back().out;
    Value best = inScratch(row, row.best, 0, count),
          at = inScratch(row, row.at, 0, count);
    fill(m, best, search.start());
    fill(m, at, -1);
    Index from = src.offset.value_or(0) + row.image * src.strides[0] +
                 row.channel * src.strides.back();
    emitTaps(row, 0, from, 0);
    if (dst)
      pointwise(m, best, outOf(row, *dst),
                [](OpBuilder &, Location, ValueRange x) { return x[0]; });
    if (indices)
      emitIndices(row, at);
  }

  Value outOf(const Row &row, const Strided &s) {
    Index offset = s.offset.value_or(0) + row.image * s.strides[0] +
                   row.channel * s.strides.back();
    for (auto [d, position] : llvm::enumerate(row.outer))
      offset += position * s.strides[d + 1];
    return columns(row, s.base, offset, dims.back().out, s.strides[dims.size()],
                   s.strides.back());
  }

  /// The taps of dim `d` and those after it. `from`: where the row begins in
  /// src, `place`: of the taps of the dims before.
  void emitTaps(const Row &row, int64_t d, Index from, Index place) {
    const WindowDim &w = dims[d];
    if (d == last())
      return emitColumns(row, from, place);
    Index start = row.outer[d] * w.stride;
    auto [lo, hi] = w.validTaps(start);
    emitLoop(m, lo, hi, [&, start = start](Index k) {
      Index reach = k * w.dilation;
      emitTaps(row, d + 1, from + (start + reach - w.pad) * src.strides[d + 1],
               place + reach * steps[d]);
    });
  }

  void emitColumns(const Row &row, Index from, Index place) {
    const WindowDim &w = dims.back();
    if (w.kernel > kMaxWritten) {
      emitLoop(m, 0, w.kernel, [&](Index k) {
        auto [first, past] = w.validPositions(k);
        emitStep(row, from, place, first, past - first, k, 1);
      });
      return;
    }
    auto [inside, outside] = w.interior();
    if (outside > inside)
      emitStep(row, from, place, inside, outside - inside, 0, w.kernel);
    for (auto [begin, end] :
         {std::pair(int64_t(0), inside), std::pair(outside, w.out)})
      for (int64_t k = 0; k < w.kernel; ++k) {
        auto [first, past] = w.validPositions(k);
        int64_t f = std::max(*first.constant(), begin),
                p = std::min(*past.constant(), end);
        if (f < p)
          emitStep(row, from, place, f, p - f, k, 1);
      }
  }

  /// `count` columns from `column` on meet `taps` taps from `tap` on.
  void emitStep(const Row &row, Index from, Index place, Index column,
                Index count, Index tap, int64_t taps) {
    const WindowDim &w = dims.back();
    Index stride = src.strides[dims.size()];
    SmallVector<Value> ins, places;
    for (int64_t t = 0; t < taps; ++t) {
      Index reach = (tap + t) * w.dilation;
      places.push_back(asCounter(place + reach));
      ins.push_back(columns(row, src.base,
                            from + (column * w.stride + reach - w.pad) * stride,
                            count, stride * w.stride, src.strides.back()));
    }
    pointwise(m, ins,
              {inScratch(row, row.best, column, count),
               inScratch(row, row.at, column, count)},
              [&](OpBuilder &nb, Location l, ValueRange x) {
                Value best = x[taps], at = x[taps + 1];
                for (int64_t t = 0; t < taps; ++t)
                  std::tie(best, at) = step(nb, l, x[t], places[t], best, at);
                return SmallVector<Value>{best, at};
              });
  }

  /// best, at with the element `x` at `place`.
  std::pair<Value, Value> step(OpBuilder &nb, Location l, Value x, Value place,
                               Value best, Value at) {
    Value wins = search.takes(nb, l, x, best, at);
    best = arith::SelectOp::create(nb, l, wins, x, best);
    // The first element is where the maximum is if none is greater.
    Value moves = wins;
    if (!search.propagatesNan)
      moves = arith::OrIOp::create(nb, l, wins, MaxSearch::isNone(nb, l, at));
    return {best, arith::SelectOp::create(nb, l, moves, place, at)};
  }

  void emitIndices(const Row &row, Value at) {
    const WindowDim &w = dims.back();
    Index begin = -w.pad;
    for (auto [d, position] : llvm::enumerate(row.outer))
      begin += (position * dims[d].stride - dims[d].pad) * steps[d];
    Value first = asCounter(begin), stride = asCounter(w.stride),
          zero = asCounter(0);
    pointwise(m, at, outOf(row, *indices),
              [&](OpBuilder &nb, Location l, ValueRange x) -> Value {
                Value column = arith::IndexCastOp::create(
                    nb, l, counter, linalg::IndexOp::create(nb, l, 0));
                Value window = arith::AddIOp::create(
                    nb, l, first, arith::MulIOp::create(nb, l, column, stride));
                Value index = arith::SelectOp::create(
                    nb, l, MaxSearch::isNone(nb, l, x[0]), zero,
                    arith::AddIOp::create(nb, l, window, x[0]));
                return resized(nb, l, index, x[1].getType());
              });
  }

  Value resized(OpBuilder &nb, Location l, Value v, Type to) {
    unsigned from = v.getType().getIntOrFloatBitWidth(),
             width = to.getIntOrFloatBitWidth();
    if (from == width)
      return v;
    return from < width ? arith::ExtSIOp::create(nb, l, to, v).getResult()
                        : arith::TruncIOp::create(nb, l, to, v).getResult();
  }

  GroupContext &ctx;
  IndexMath &m;
  OpBuilder &b;
  Location loc;
  bool ncx;
  Strided src; // channels last, as are the results
  SmallVector<WindowDim> dims;
  MaxSearch search;
  std::optional<Strided> dst, indices; // none: nobody reads it
  SmallVector<int64_t> steps; // elements of src between neighbours of a dim
  IntegerType counter;        // of positions
  bool channelsInside;        // channels are contiguous
};

} // namespace

void lowerMaxIndices(GroupContext &ctx, Operation *op) {
  MaxIndices(ctx, cast<graph::MaxPoolOp>(op)).emit();
}

} // namespace tenon::passes
