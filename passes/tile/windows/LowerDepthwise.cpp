//===- LowerDepthwise.cpp - gradients of depthwise convolutions -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Channels do not mix, so these are no matrix products but sums over a window
// (the gradient by data) or over all positions (the gradient by weights), with
// channels as lanes:
//
//   tile.conv_transpose {depthwise}    dst[q, c] = sum over taps of
//                                        src[q - tap, c] * w[tap, c]
//   tile.conv_weights {depthwise}      dst[tap, c] = sum over positions of
//                                        src[p + tap, c] * diff[p, c]
//
// Each becomes linalg.generics that reduce. The first one computes rows, and in
// them classes of columns, as in LowerConvTranspose.cpp. The second one takes a
// few vectors of channels at a time and adds rows to each tap or, with channels
// first, takes one channel at a time and all its taps.
//
//===----------------------------------------------------------------------===//
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/core/Totals.h"
#include "passes/tile/windows/ChannelPlanes.h"
#include "passes/tile/windows/Windows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// A box of a tensor under construction; loops are numbered by the caller.
struct Operand {
  const Strided &tensor;
  Index offset;
  SmallVector<Index> sizes, strides;
  SmallVector<AffineExpr> loops;

  Operand(const Strided &tensor)
      : tensor(tensor), offset(tensor.offset.value_or(0)) {}

  /// Moves to `position` of dimension `dim`.
  void move(int64_t dim, Index position) {
    offset += position * tensor.strides[dim];
  }
  /// Adds a dimension of the box: loop `loop` steps by `step` positions of
  /// dimension `dim`.
  void loop(IndexMath &m, int64_t loop, int64_t dim, Index size,
            int64_t step = 1) {
    sizes.push_back(size);
    strides.push_back(tensor.strides[dim] * step);
    loops.push_back(getAffineDimExpr(loop, m.builder().getContext()));
  }
  Value build(IndexMath &m) const {
    return box(m, tensor.base, offset, sizes, strides);
  }
};

/// out += sum of x * y over the loops that out does not have: those from
/// `parallel` on.
void addSum(IndexMath &m, const Operand &x, const Operand &y,
            const Operand &out, int64_t parallel, int64_t loops) {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  Value dst = out.build(m);
  SmallVector<AffineMap> maps;
  for (const Operand *o : {&x, &y, &out})
    maps.push_back(AffineMap::get(loops, 0, o->loops, b.getContext()));
  SmallVector<utils::IteratorType> iterators(loops,
                                             utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), parallel, utils::IteratorType::parallel);
  linalg::GenericOp::create(
      b, loc, TypeRange{}, ValueRange{x.build(m), y.build(m)}, dst, maps,
      iterators, [](OpBuilder &nb, Location nl, ValueRange args) {
        Value product = arith::MulFOp::create(nb, nl, args[0], args[1]);
        Value sum = arith::AddFOp::create(nb, nl, args[2], product);
        linalg::YieldOp::create(nb, nl, sum);
      });
}

/// out = 0.
void clear(IndexMath &m, const Operand &out) {
  OpBuilder &b = m.builder();
  Value zero = arith::ConstantOp::create(b, m.location(), b.getF32FloatAttr(0));
  linalg::FillOp::create(b, m.location(), zero, out.build(m));
}

//===----------------------------------------------------------------------===//
// By data
//===----------------------------------------------------------------------===//

struct TransposedWindow {
  SmallVector<TransposedDim> dims;
  Strided src, dst, weights; // weights: [taps.., 1, C]
  bool channelsInside;       // channels are contiguous: part of a range

  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }
};

struct DepthwisePosition {
  Index image, channel;
  ArrayRef<Index> row; // positions of dst in the outer spatial dims
  SmallVector<TransposedDim::Class> classes;
  SmallVector<std::pair<Index, Index>> taps; // valid ones of each dim
  Index column;                              // class of columns
};

/// Columns [q, q + count) of the class at.column.
void emitColumns(IndexMath &m, const TransposedWindow &s,
                 const DepthwisePosition &at, Index q, Index count) {
  int64_t n = s.dims.size(), channelDim = n + 1;
  int64_t parallel = s.channelsInside ? 2 : 1;
  Operand x(s.src), w(s.weights), y(s.dst);
  for (Operand *o : {&x, &y}) {
    o->move(0, at.image);
    o->move(channelDim, at.channel);
  }
  w.move(channelDim, at.channel);
  const TransposedDim &d = s.dims.back();
  y.move(n, at.column + q * d.stride);
  x.loop(m, 0, n, count);
  y.loop(m, 0, n, count, d.stride);
  if (s.channelsInside)
    for (Operand *o : {&x, &w, &y})
      o->loop(m, 1, channelDim, s.src.sizes.back());
  for (int64_t i = 0; i < n; ++i) {
    const TransposedDim &dim = s.dims[i];
    const TransposedDim::Class &c = at.classes[i];
    auto [lo, hi] = at.taps[i];
    Index position = i == n - 1 ? q : at.row[i] / dim.stride;
    position = position + c.shift - lo * dim.back;
    x.move(i + 1, position);
    w.move(i, c.first + lo * dim.step);
    Index taps = hi - lo;
    x.loop(m, parallel + i, i + 1, taps, -dim.back);
    w.loop(m, parallel + i, i, taps, dim.step);
    if (i < n - 1)
      y.move(i + 1, at.row[i]);
  }
  clear(m, y);
  addSum(m, x, w, y, parallel, parallel + n);
}

/// All columns of one class.
void emitClass(IndexMath &m, const TransposedWindow &s, DepthwisePosition at) {
  const TransposedDim &d = s.dims.back();
  TransposedDim::Class c = d.classOf(at.column);
  at.classes.push_back(c);
  at.taps.push_back({0, c.taps});
  auto [first, past] = d.interior(c);
  emitColumns(m, s, at, first, past - first);
  for (auto [from, to] : {std::pair(Index(0), first), {past, c.count}})
    emitLoop(m, from, to, [&](Index q) {
      at.taps.back() = d.validTaps(c, q);
      emitColumns(m, s, at, q, 1);
    });
}

//===----------------------------------------------------------------------===//
// By weights
//===----------------------------------------------------------------------===//

/// Channels of an item: a few vectors, whose sums stay in registers.
constexpr int64_t kChannelsOfItem = 32;
/// Positions of a row that are summed in one chain; longer rows are cut.
constexpr int64_t kColumnsOfRow = 256;
/// From this many blocks of channels on, an item has all taps of its channels:
/// src and diff are read once. With fewer the outer taps are items, too.
constexpr int64_t kBlocksEnough = 8;

/// Adds the positions of one block of channels, row by row: a row of src and
/// diff stays in L1 while the taps pass over it.
struct WeightsItem {
  const Strided &src, &diff, &dst;
  ArrayRef<WindowDim> dims;
  Index channel, count;
  /// Sums of some rows, which are added to dst.
  Totals totals = Totals();

  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }

  Operand boxOf(IndexMath &m, const Strided &tensor) const {
    Operand o(tensor);
    o.move(last() + 2, channel);
    o.loop(m, 0, last() + 2, count);
    return o;
  }

  /// For all taps of the dims from `i` on, what `boxes` hold of each.
  using TapBody = llvm::function_ref<void(ArrayRef<Operand>)>;
  void forTaps(IndexMath &m, ArrayRef<Operand> boxes, int64_t i,
               TapBody body) const {
    if (i > last())
      return body(boxes);
    emitLoop(m, 0, dims[i].kernel, [&](Index tap) {
      SmallVector<Operand> inner(boxes);
      for (Operand &o : inner)
        o.move(i, tap);
      forTaps(m, inner, i + 1, body);
    });
  }

  /// A total as dst, with the taps of the dims from `i` on.
  Strided asDst(Value total, int64_t i) const {
    Strided s;
    s.base = total;
    s.sizes = dst.sizes;
    s.strides.assign(dst.rank(), 0);
    s.strides.back() = 1;
    int64_t step = kChannelsOfItem;
    for (int64_t dim = last(); dim >= i; --dim) {
      s.strides[dim] = step;
      step *= dims[dim].kernel;
    }
    s.offset = 0 - channel;
    return s;
  }

  /// Adds all positions of the spatial dims from `i` on; `fixed` are the taps
  /// of the item, of no or of all outer dims.
  void addRows(IndexMath &m, ArrayRef<Index> fixed, Operand x, Operand d,
               Operand y, int64_t i) const {
    const WindowDim &w = dims[i];
    auto at = [&](Index position, Index tap) {
      Index start = position * w.stride + tap * w.dilation;
      return start - w.pad;
    };
    auto addColumns = [&](Index first, Index end) {
      emitLoop(m, 0, w.kernel, [&](Index tap) {
        auto [from, past] = w.validPositions(tap);
        from = min(max(from, first), end);
        past = max(min(past, end), from);
        Operand px = x, pd = d, py = y;
        px.move(i + 1, at(from, tap));
        pd.move(i + 1, from);
        py.move(i, tap);
        px.loop(m, 1, i + 1, past - from, w.stride);
        pd.loop(m, 1, i + 1, past - from);
        addSum(m, px, pd, py, 1, 2);
      });
      totals.added(m, end - first,
                   [&](Value total) { addToDst(m, fixed, total); });
    };
    if (i == last() && w.out <= 2 * kColumnsOfRow)
      return addColumns(0, w.out);
    if (i == last()) {
      Index size = kColumnsOfRow, out = w.out;
      return emitLoop(m, 0, ceilDiv(out, size), [&](Index block) {
        Index from = block * size;
        addColumns(from, min(from + size, out));
      });
    }
    auto descend = [&](Index position, Index tap) {
      Operand px = x, pd = d, py = y;
      px.move(i + 1, at(position, tap));
      pd.move(i + 1, position);
      py.move(i, tap);
      addRows(m, fixed, px, pd, py, i + 1);
    };
    if (!fixed.empty()) {
      auto [from, past] = w.validPositions(fixed[i]);
      emitLoop(m, from, past,
               [&](Index position) { descend(position, fixed[i]); });
      return;
    }
    emitLoop(m, 0, w.out, [&](Index position) {
      auto [lo, hi] = w.validTaps(position * w.stride);
      emitLoop(m, lo, hi, [&](Index tap) { descend(position, tap); });
    });
  }

  /// dst with the item's taps.
  Operand resultOf(IndexMath &m, ArrayRef<Index> fixed) const {
    Operand y = boxOf(m, dst);
    for (auto [i, tap] : llvm::enumerate(fixed))
      y.move(i, tap);
    return y;
  }

  void addToDst(IndexMath &m, ArrayRef<Index> fixed, Value total) const {
    Strided sums = asDst(total, fixed.size());
    forTaps(m, {boxOf(m, sums), resultOf(m, fixed)}, fixed.size(),
            [&](ArrayRef<Operand> boxes) {
              addTo(m, boxes[0].build(m), boxes[1].build(m));
            });
  }

  void emit(IndexMath &m, ArrayRef<Index> fixed, Value scratch) {
    forTaps(m, resultOf(m, fixed), fixed.size(),
            [&](ArrayRef<Operand> boxes) { clear(m, boxes.front()); });
    Strided sums = dst;
    if (totals.any()) {
      totals.begin(m, scratch, 0);
      sums = asDst(totals.first(m), fixed.size());
    }
    Operand x = boxOf(m, src), d = boxOf(m, diff), y = boxOf(m, sums);
    emitLoop(m, 0, src.sizes[0], [&](Index image) {
      Operand px = x, pd = d;
      px.move(0, image);
      pd.move(0, image);
      addRows(m, fixed, px, pd, y, 0);
    });
    totals.finish(m, [&](Value total) { addToDst(m, fixed, total); });
  }
};

/// The gradient by weights with channels first. One pass over a channel of an
/// image computes as many taps as registers can hold sums of.
struct PlanesItem {
  const ChannelPlanes &planes;
  const Strided &src, &diff, &dst;
  ArrayRef<WindowDim> dims;
  /// Sums of some blocks of rows, one for each tap, which are added to dst.
  Totals totals = Totals();

  /// Rows whose sums begin anew: chains are a lane each.
  int64_t rowsOfBlock() const {
    constexpr int64_t kElementsOfBlock = 2048;
    int64_t row = planes.windows / std::max<int64_t>(dims.front().out, 1);
    return std::max<int64_t>(kElementsOfBlock / std::max<int64_t>(row, 1), 1);
  }
  int64_t blocks() const { return ceilDiv(dims.front().out, rowsOfBlock()); }

  bool pays() const {
    return planes.fit() && ChannelPlanes::hasRows(src) &&
           ChannelPlanes::hasRows(diff);
  }

  /// dst[tap, channel], a scalar.
  Value sumOf(IndexMath &m, Index channel, int64_t tap) const {
    Operand sum(dst);
    sum.move(dst.rank() - 1, channel);
    for (int64_t i = static_cast<int64_t>(dims.size()) - 1; i >= 0; --i) {
      sum.move(i, tap % dims[i].kernel);
      tap /= dims[i].kernel;
    }
    return sum.build(m);
  }

  /// sums += of all windows, x * d.
  static void addSums(IndexMath &m, ArrayRef<Value> taps, Value d,
                      ArrayRef<Value> sums) {
    OpBuilder &b = m.builder();
    int64_t loops = cast<MemRefType>(d.getType()).getRank();
    SmallVector<Value> ins(taps);
    ins.push_back(d);
    SmallVector<AffineMap> maps(ins.size(), b.getMultiDimIdentityMap(loops));
    maps.append(sums.size(), AffineMap::get(loops, 0, b.getContext()));
    SmallVector<utils::IteratorType> iterators(loops,
                                               utils::IteratorType::reduction);
    linalg::GenericOp::create(
        b, m.location(), TypeRange{}, ins, ValueRange(sums), maps, iterators,
        [&](OpBuilder &nb, Location nl, ValueRange args) {
          SmallVector<Value> results;
          Value gradient = args[taps.size()];
          for (size_t i = 0; i < taps.size(); ++i) {
            Value product = arith::MulFOp::create(nb, nl, args[i], gradient);
            results.push_back(arith::AddFOp::create(
                nb, nl, args[taps.size() + 1 + i], product));
          }
          linalg::YieldOp::create(nb, nl, results);
        });
  }

  /// The rows of `windows` that block `block` has.
  Value rowsOf(IndexMath &m, Value windows, Index block) const {
    if (blocks() == 1)
      return windows;
    auto sizes = m(memref::getMixedSizes(m.builder(), m.location(), windows));
    SmallVector<Index> offsets(sizes.size(), 0);
    Index rows = rowsOfBlock();
    offsets[0] = block * rows;
    sizes[0] = dims.front().out % rowsOfBlock() == 0
                   ? rows
                   : min(rows, sizes[0] - offsets[0]);
    return subBox(m, windows, offsets, sizes);
  }

  /// Adds the rows of a block to the sums of all taps.
  void addBlock(IndexMath &m, Index channel, Value plane, Value diffs,
                Index block) const {
    // Registers hold 12 sums; of more, fewer in each pass are faster.
    constexpr int64_t kMostSums = 12, kSums = 8;
    int64_t passes = planes.taps <= kMostSums ? 1 : ceilDiv(planes.taps, kSums);
    Value total = totals.any() ? totals.first(m) : Value();
    Value d = rowsOf(m, diffs, block);
    for (int64_t pass = 0; pass < passes; ++pass) {
      SmallVector<Value> taps, sums;
      int64_t past = planes.taps * (pass + 1) / passes;
      for (int64_t tap = planes.taps * pass / passes; tap < past; ++tap) {
        taps.push_back(rowsOf(m, planes.tapOf(m, plane, tap), block));
        sums.push_back(total ? box(m, total, tap, {}, {})
                             : sumOf(m, channel, tap));
      }
      addSums(m, taps, d, sums);
    }
  }

  void emit(IndexMath &m, Index channel, Value plane, Value scratch) {
    fill(m, plane, 0);
    for (int64_t tap = 0; tap < planes.taps; ++tap)
      fill(m, sumOf(m, channel, tap), 0);
    if (totals.any())
      totals.begin(m, scratch, bytesOfPlane());
    auto addToDst = [&](Value total) {
      for (int64_t tap = 0; tap < planes.taps; ++tap)
        addTo(m, box(m, total, tap, {}, {}), sumOf(m, channel, tap));
    };
    emitLoop(m, 0, src.sizes[0], [&](Index image) {
      planes.read(m, src, ChannelPlanes::start(src, image, channel), plane);
      Value d =
          planes.windowsOf(m, diff, ChannelPlanes::start(diff, image, channel));
      emitLoop(m, 0, blocks(), [&](Index block) {
        addBlock(m, channel, plane, d, block);
        totals.added(m, 1, addToDst);
      });
    });
    totals.finish(m, addToDst);
  }

  int64_t bytesOfPlane() const { return roundUp(4 * planes.elements, 8); }
};

} // namespace

LogicalResult lowerDepthwiseTranspose(GroupContext &ctx,
                                      tile::ConvTransposeOp op) {
  IndexMath &m = ctx.m;
  auto weightsType = rankedType(op.getWeights());
  TransposedWindow s{{},
                     ctx.memoryOf(op.getSrc()),
                     ctx.result(),
                     ctx.memoryOf(op.getWeights()),
                     false};
  for (int64_t i = 0; i < weightsType.getRank() - 2; ++i)
    s.dims.emplace_back(ctx.sizes[op.getSrc()][i + 1],
                        ctx.sizes[op.getDst()][i + 1],
                        weightsType.getDimSize(i), op.getStrides()[i],
                        op.getPadsBegin()[i], op.getDilations()[i]);
  s.channelsInside = s.dst.strides.back().isConstant(1);
  Grid grid{{"image", s.src.sizes[0]},
            {"channel", s.channelsInside ? 1 : s.src.sizes.back()}};
  for (const TransposedDim &d : ArrayRef(s.dims).drop_back())
    grid.add("row", d.out);
  Index classes = min(s.dims.back().stride, s.dims.back().out);
  emitItems(m, ctx.label, grid, [&](const Grid::Item &at) {
    DepthwisePosition place{at["image"], at["channel"], at.all("row"), {}, {},
                            {}};
    TransposedRow row(ArrayRef(s.dims).drop_back(), place.row);
    place.classes = std::move(row.classes);
    place.taps = std::move(row.taps);
    auto body = [&](Index c) {
      place.column = c;
      emitClass(m, s, place);
    };
    if (auto count = classes.constant())
      emitLoop(m, *count, body);
    else
      emitLoop(m, 0, classes, body);
  });
  return success();
}

LogicalResult lowerDepthwiseWeights(GroupContext &ctx, tile::ConvWeightsOp op) {
  IndexMath &m = ctx.m;
  auto srcType = rankedType(op.getSrc()), diffType = rankedType(op.getDiff());
  auto dstType = rankedType(op.getDst());
  const Strided &src = ctx.memoryOf(op.getSrc());
  const Strided &diff = ctx.memoryOf(op.getDiff());
  const Strided &dst = ctx.result();
  SmallVector<WindowDim> dims = windowDims(op, srcType, diffType, /*ncx=*/false,
                                           dstType.getShape().drop_back(2));
  for (const WindowDim &d : dims)
    if (!d.isKnown())
      return emitError(op, ErrorCode::UnsupportedForm,
                       "only the batch may be dynamic");
  Index channels = src.sizes.back(), size = kChannelsOfItem;
  ChannelPlanes planes(dims);
  if (PlanesItem item{planes, src, diff, dst, dims};
      !src.strides.back().isConstant(1) && item.pays()) {
    auto images = src.sizes.front().constant();
    item.totals =
        Totals(planes.taps,
               images ? std::optional(*images * item.blocks()) : std::nullopt);
    emitItems(m, ctx.label, channels, item.bytesOfPlane() + item.totals.bytes(),
              [&](Index channel, Value scratch) {
                Value plane = scratchView(m, scratch, m.builder().getF32Type(),
                                          0, planes.elements);
                item.emit(m, channel, plane, scratch);
              });
    return success();
  }
  Index blocks = ceilDiv(channels, size);
  // With few channels the outer taps are items, too.
  Grid grid{{"channels", blocks}};
  int64_t taps = 1, positions = 1;
  for (auto [i, d] : llvm::enumerate(dims))
    if (op.getGroups() < kBlocksEnough * kChannelsOfItem && i + 1 < dims.size())
      grid.add("tap", d.kernel);
    else
      taps *= d.kernel;
  for (const WindowDim &d : dims)
    positions *= d.out;
  auto images = src.sizes.front().constant();
  Totals totals(taps * kChannelsOfItem,
                images ? std::optional(*images * positions) : std::nullopt);
  emitItems(m, ctx.label, grid, totals.bytes(),
            [&](const Grid::Item &at, Value scratch) {
              Index channel = at["channels"] * size;
              Index count = min(size, channels - channel);
              WeightsItem{src, diff, dst, dims, channel, count, totals}.emit(
                  m, at.all("tap"), scratch);
            });
  return success();
}

} // namespace tenon::passes
