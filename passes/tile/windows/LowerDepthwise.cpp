//===- LowerDepthwise.cpp - gradients of depthwise convolutions -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every channel by itself: no products of matrices, but sums over a window
// (by data) or over all positions (by weights), with channels as lanes:
//
//   tile.conv_transpose {depthwise}    dst[q, c] = sum over taps of
//                                        src[q - tap, c] * w[tap, c]
//   tile.conv_weights {depthwise}      dst[tap, c] = sum over positions of
//                                        src[p + tap, c] * diff[p, c]
//
// Each becomes linalg.generics that reduce. The first goes by rows and classes
// of columns as in LowerConvTranspose.cpp; the second takes a few vectors of
// channels at a time and adds rows to each tap, or, with channels apart, takes
// one channel at a time and all its taps.
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

namespace tenon::tiling {

namespace {

/// A box of a tensor under construction; loops are numbered by the caller.
struct Operand {
  const Strided &tensor;
  Ofr offset;
  SmallVector<Ofr> sizes, strides;
  SmallVector<AffineExpr> loops;

  Operand(IndexMath &m, const Strided &tensor)
      : tensor(tensor), offset(tensor.offset.value_or(m.attr(0))) {}

  /// Moves to `position` of dimension `dim`.
  void move(IndexMath &m, int64_t dim, Ofr position) {
    offset = m.add(offset, m.mul(position, tensor.strides[dim]));
  }
  /// Adds a dimension of the box: loop `loop` steps by `step` positions of
  /// dimension `dim`.
  void loop(IndexMath &m, int64_t loop, int64_t dim, Ofr size,
            int64_t step = 1) {
    sizes.push_back(size);
    strides.push_back(m.mul(tensor.strides[dim], m.attr(step)));
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
  Ofr image, channel;
  ArrayRef<Ofr> row; // positions of dst in the outer spatial dims
  SmallVector<TransposedDim::Class> classes;
  SmallVector<std::pair<Ofr, Ofr>> taps; // valid ones of each dim
  Ofr column;                            // class of columns
};

/// Columns [q, q + count) of the class at.column.
void emitColumns(IndexMath &m, const TransposedWindow &s,
                 const DepthwisePosition &at, Ofr q, Ofr count) {
  int64_t n = s.dims.size(), channelDim = n + 1;
  int64_t parallel = s.channelsInside ? 2 : 1;
  Operand x(m, s.src), w(m, s.weights), y(m, s.dst);
  for (Operand *o : {&x, &y}) {
    o->move(m, 0, at.image);
    o->move(m, channelDim, at.channel);
  }
  w.move(m, channelDim, at.channel);
  const TransposedDim &d = s.dims.back();
  y.move(m, n, m.add(at.column, m.mul(q, m.attr(d.stride))));
  x.loop(m, 0, n, count);
  y.loop(m, 0, n, count, d.stride);
  if (s.channelsInside)
    for (Operand *o : {&x, &w, &y})
      o->loop(m, 1, channelDim, s.src.sizes.back());
  for (int64_t i = 0; i < n; ++i) {
    const TransposedDim &dim = s.dims[i];
    const TransposedDim::Class &c = at.classes[i];
    auto [lo, hi] = at.taps[i];
    Ofr position = i == n - 1 ? q : m.floorDiv(at.row[i], m.attr(dim.stride));
    position = m.sub(m.add(position, c.shift), m.mul(lo, m.attr(dim.back)));
    x.move(m, i + 1, position);
    w.move(m, i, m.add(c.first, m.mul(lo, m.attr(dim.step))));
    Ofr taps = m.sub(hi, lo);
    x.loop(m, parallel + i, i + 1, taps, -dim.back);
    w.loop(m, parallel + i, i, taps, dim.step);
    if (i < n - 1)
      y.move(m, i + 1, at.row[i]);
  }
  clear(m, y);
  addSum(m, x, w, y, parallel, parallel + n);
}

/// All columns of one class.
void emitClass(IndexMath &m, const TransposedWindow &s, DepthwisePosition at) {
  const TransposedDim &d = s.dims.back();
  TransposedDim::Class c = d.classOf(m, at.column);
  at.classes.push_back(c);
  at.taps.push_back({m.attr(0), c.taps});
  auto [first, past] = d.interior(m, c);
  emitColumns(m, s, at, first, m.sub(past, first));
  for (auto [from, to] :
       {std::pair(m.attr(0), first), std::pair(past, c.count)})
    emitLoop(m, from, to, [&](IndexMath &em, Ofr q) {
      at.taps.back() = d.validTaps(em, c, q);
      emitColumns(em, s, at, q, em.attr(1));
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
  Ofr channel, count;
  /// Sums of some rows, which are added to dst.
  Totals totals = Totals();

  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }

  Operand boxOf(IndexMath &m, const Strided &tensor) const {
    Operand o(m, tensor);
    o.move(m, last() + 2, channel);
    o.loop(m, 0, last() + 2, count);
    return o;
  }

  /// For all taps of the dims from `i` on, what `boxes` hold of each.
  using TapBody = llvm::function_ref<void(IndexMath &, ArrayRef<Operand>)>;
  void forTaps(IndexMath &m, ArrayRef<Operand> boxes, int64_t i,
               TapBody body) const {
    if (i > last())
      return body(m, boxes);
    emitLoop(m, m.attr(0), m.attr(dims[i].kernel), [&](IndexMath &im, Ofr tap) {
      SmallVector<Operand> inner(boxes);
      for (Operand &o : inner)
        o.move(im, i, tap);
      forTaps(im, inner, i + 1, body);
    });
  }

  /// A total as dst, with the taps of the dims from `i` on.
  Strided asDst(IndexMath &m, Value total, int64_t i) const {
    Strided s;
    s.base = total;
    s.sizes = dst.sizes;
    s.strides.assign(dst.rank(), m.attr(0));
    s.strides.back() = m.attr(1);
    int64_t step = kChannelsOfItem;
    for (int64_t dim = last(); dim >= i; --dim) {
      s.strides[dim] = m.attr(step);
      step *= dims[dim].kernel;
    }
    s.offset = m.sub(m.attr(0), channel);
    return s;
  }

  /// Adds all positions of the spatial dims from `i` on; `fixed` are the taps
  /// of the item, of no or of all outer dims.
  void addRows(IndexMath &m, ArrayRef<Ofr> fixed, Operand x, Operand d,
               Operand y, int64_t i) const {
    const WindowDim &w = dims[i];
    auto at = [&](IndexMath &im, Ofr position, Ofr tap) {
      Ofr start = im.add(im.mul(position, im.attr(w.stride)),
                         im.mul(tap, im.attr(w.dilation)));
      return im.sub(start, im.attr(w.pad));
    };
    auto addColumns = [&](IndexMath &cm, Ofr first, Ofr end) {
      emitLoop(cm, cm.attr(0), cm.attr(w.kernel), [&](IndexMath &im, Ofr tap) {
        auto [from, past] = w.validPositions(im, tap);
        from = im.min(im.max(from, first), end);
        past = im.max(im.min(past, end), from);
        Operand px = x, pd = d, py = y;
        px.move(im, i + 1, at(im, from, tap));
        pd.move(im, i + 1, from);
        py.move(im, i, tap);
        px.loop(im, 1, i + 1, im.sub(past, from), w.stride);
        pd.loop(im, 1, i + 1, im.sub(past, from));
        addSum(im, px, pd, py, 1, 2);
      });
      totals.added(cm, cm.sub(end, first), [&](IndexMath &am, Value total) {
        addToDst(am, fixed, total);
      });
    };
    if (i == last() && w.out <= 2 * kColumnsOfRow)
      return addColumns(m, m.attr(0), m.attr(w.out));
    if (i == last()) {
      Ofr size = m.attr(kColumnsOfRow), out = m.attr(w.out);
      return emitLoop(m, m.attr(0), m.ceilDiv(out, size),
                      [&](IndexMath &im, Ofr block) {
                        Ofr from = im.mul(block, size);
                        addColumns(im, from, im.min(im.add(from, size), out));
                      });
    }
    auto descend = [&](IndexMath &im, Ofr position, Ofr tap) {
      Operand px = x, pd = d, py = y;
      px.move(im, i + 1, at(im, position, tap));
      pd.move(im, i + 1, position);
      py.move(im, i, tap);
      addRows(im, fixed, px, pd, py, i + 1);
    };
    if (!fixed.empty()) {
      auto [from, past] = w.validPositions(m, fixed[i]);
      emitLoop(m, from, past, [&](IndexMath &im, Ofr position) {
        descend(im, position, fixed[i]);
      });
      return;
    }
    emitLoop(m, m.attr(0), m.attr(w.out), [&](IndexMath &im, Ofr position) {
      auto [lo, hi] = w.validTaps(im, im.mul(position, im.attr(w.stride)));
      emitLoop(im, lo, hi,
               [&](IndexMath &tm, Ofr tap) { descend(tm, position, tap); });
    });
  }

  /// dst with the item's taps.
  Operand resultOf(IndexMath &m, ArrayRef<Ofr> fixed) const {
    Operand y = boxOf(m, dst);
    for (auto [i, tap] : llvm::enumerate(fixed))
      y.move(m, i, tap);
    return y;
  }

  void addToDst(IndexMath &m, ArrayRef<Ofr> fixed, Value total) const {
    Strided sums = asDst(m, total, fixed.size());
    forTaps(m, {boxOf(m, sums), resultOf(m, fixed)}, fixed.size(),
            [&](IndexMath &im, ArrayRef<Operand> boxes) {
              addTo(im, boxes[0].build(im), boxes[1].build(im));
            });
  }

  void emit(IndexMath &m, ArrayRef<Ofr> fixed, Value scratch) {
    forTaps(m, resultOf(m, fixed), fixed.size(),
            [](IndexMath &im, ArrayRef<Operand> boxes) {
              clear(im, boxes.front());
            });
    Strided sums = dst;
    if (totals.any()) {
      totals.begin(m, scratch, m.attr(0));
      sums = asDst(m, totals.first(m), fixed.size());
    }
    Operand x = boxOf(m, src), d = boxOf(m, diff), y = boxOf(m, sums);
    emitLoop(m, m.attr(0), src.sizes[0], [&](IndexMath &im, Ofr image) {
      Operand px = x, pd = d;
      px.move(im, 0, image);
      pd.move(im, 0, image);
      addRows(im, fixed, px, pd, y, 0);
    });
    totals.finish(
        m, [&](IndexMath &am, Value total) { addToDst(am, fixed, total); });
  }
};

/// With channels apart: as many taps as registers hold sums of pass over the
/// channel of each image together.
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
  int64_t blocks() const {
    return llvm::divideCeil(dims.front().out, rowsOfBlock());
  }

  bool pays() const {
    return planes.fit() && ChannelPlanes::hasRows(src) &&
           ChannelPlanes::hasRows(diff);
  }

  /// dst[tap, channel], a scalar.
  Value sumOf(IndexMath &m, Ofr channel, int64_t tap) const {
    Operand sum(m, dst);
    sum.move(m, dst.rank() - 1, channel);
    for (int64_t i = static_cast<int64_t>(dims.size()) - 1; i >= 0; --i) {
      sum.move(m, i, m.attr(tap % dims[i].kernel));
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

  /// Of `windows`, the rows of block `block`.
  Value rowsOf(IndexMath &m, Value windows, Ofr block) const {
    if (blocks() == 1)
      return windows;
    auto sizes = memref::getMixedSizes(m.builder(), m.location(), windows);
    SmallVector<Ofr> offsets(sizes.size(), m.attr(0)),
        steps(sizes.size(), m.attr(1));
    Ofr rows = m.attr(rowsOfBlock());
    offsets[0] = m.mul(block, rows);
    sizes[0] = dims.front().out % rowsOfBlock() == 0
                   ? rows
                   : m.min(rows, m.sub(sizes[0], offsets[0]));
    return memref::SubViewOp::create(m.builder(), m.location(), windows,
                                     offsets, sizes, steps);
  }

  /// Adds the rows of a block to the sums of all taps.
  void addBlock(IndexMath &m, Ofr channel, Value plane, Value diffs,
                Ofr block) const {
    // Registers hold 12 sums; of more, fewer in each pass are faster.
    constexpr int64_t kMostSums = 12, kSums = 8;
    int64_t passes =
        planes.taps <= kMostSums ? 1 : (planes.taps + kSums - 1) / kSums;
    Value total = totals.any() ? totals.first(m) : Value();
    Value d = rowsOf(m, diffs, block);
    for (int64_t pass = 0; pass < passes; ++pass) {
      SmallVector<Value> taps, sums;
      int64_t past = planes.taps * (pass + 1) / passes;
      for (int64_t tap = planes.taps * pass / passes; tap < past; ++tap) {
        taps.push_back(rowsOf(m, planes.tapOf(m, plane, tap), block));
        sums.push_back(total ? box(m, total, m.attr(tap), {}, {})
                             : sumOf(m, channel, tap));
      }
      addSums(m, taps, d, sums);
    }
  }

  void emit(IndexMath &m, Ofr channel, Value plane, Value scratch) {
    fill(m, plane, 0);
    for (int64_t tap = 0; tap < planes.taps; ++tap)
      fill(m, sumOf(m, channel, tap), 0);
    if (totals.any())
      totals.begin(m, scratch, m.attr(bytesOfPlane()));
    auto addToDst = [&](IndexMath &am, Value total) {
      for (int64_t tap = 0; tap < planes.taps; ++tap)
        addTo(am, box(am, total, am.attr(tap), {}, {}),
              sumOf(am, channel, tap));
    };
    emitLoop(m, m.attr(0), src.sizes[0], [&](IndexMath &im, Ofr image) {
      planes.read(im, src, ChannelPlanes::start(im, src, image, channel),
                  plane);
      Value d = planes.windowsOf(
          im, diff, ChannelPlanes::start(im, diff, image, channel));
      emitLoop(im, im.attr(0), im.attr(blocks()),
               [&](IndexMath &bm, Ofr block) {
                 addBlock(bm, channel, plane, d, block);
                 totals.added(bm, bm.attr(1), addToDst);
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
  auto srcType = rankedType(op.getSrc()), dstType = rankedType(op.getDst());
  auto weightsType = rankedType(op.getWeights());
  TransposedWindow s{{},
                     ctx.memoryOf(op.getSrc()),
                     ctx.outputs.begin()->second.front(),
                     ctx.memoryOf(op.getWeights()),
                     false};
  for (int64_t i = 0; i < srcType.getRank() - 2; ++i) {
    TransposedDim d(srcType.getDimSize(i + 1), dstType.getDimSize(i + 1),
                    weightsType.getDimSize(i), op.getStrides()[i],
                    op.getPadsBegin()[i], op.getDilations()[i]);
    if (ShapedType::isDynamic(d.in) || ShapedType::isDynamic(d.out) ||
        ShapedType::isDynamic(d.kernel))
      return emitError(op, ErrorCode::UnsupportedForm,
                       "only the batch may be dynamic");
    s.dims.push_back(d);
  }
  s.channelsInside = IndexMath::isConstant(s.dst.strides.back(), 1);
  SmallVector<Ofr> counts{s.src.sizes[0],
                          s.channelsInside ? m.attr(1) : s.src.sizes.back()};
  for (const TransposedDim &d : ArrayRef(s.dims).drop_back())
    counts.push_back(m.attr(d.out));
  int64_t classes = std::min(s.dims.back().stride, s.dims.back().out);
  emitItems(m, ctx.label, m.product(counts), [&](IndexMath &im, Value item) {
    SmallVector<Ofr> at = delinearize(im, item, counts);
    DepthwisePosition place{at[0], at[1], ArrayRef(at).drop_front(2),
                            {},    {},    {}};
    TransposedRow row(im, ArrayRef(s.dims).drop_back(), place.row);
    place.classes = std::move(row.classes);
    place.taps = std::move(row.taps);
    auto emit = [&](IndexMath &em, Ofr c) {
      place.column = c;
      emitClass(em, s, place);
    };
    if (classes == 1)
      emit(im, im.attr(0));
    else
      emitLoop(im, im.attr(0), im.attr(classes), emit);
  });
  return success();
}

LogicalResult lowerDepthwiseWeights(GroupContext &ctx, tile::ConvWeightsOp op) {
  IndexMath &m = ctx.m;
  auto srcType = rankedType(op.getSrc()), diffType = rankedType(op.getDiff());
  auto dstType = rankedType(op.getDst());
  const Strided &src = ctx.memoryOf(op.getSrc());
  const Strided &diff = ctx.memoryOf(op.getDiff());
  const Strided &dst = ctx.outputs.begin()->second.front();
  SmallVector<WindowDim> dims = windowDims(op, srcType, diffType, /*ncx=*/false,
                                           dstType.getShape().drop_back(2));
  for (const WindowDim &d : dims)
    if (!d.isKnown())
      return emitError(op, ErrorCode::UnsupportedForm,
                       "only the batch may be dynamic");
  Ofr channels = src.sizes.back(), size = m.attr(kChannelsOfItem);
  ChannelPlanes planes(dims);
  if (PlanesItem item{planes, src, diff, dst, dims};
      !IndexMath::isConstant(src.strides.back(), 1) && item.pays()) {
    auto images = IndexMath::constant(src.sizes.front());
    item.totals =
        Totals(planes.taps,
               images ? std::optional(*images * item.blocks()) : std::nullopt);
    emitItems(m, ctx.label, channels,
              m.attr(item.bytesOfPlane() + item.totals.bytes()),
              [&](IndexMath &im, Value channel, Value scratch) {
                Value plane =
                    scratchView(im, scratch, im.builder().getF32Type(),
                                im.attr(0), im.attr(planes.elements));
                item.emit(im, channel, plane, scratch);
              });
    return success();
  }
  Ofr blocks = m.ceilDiv(channels, size);
  SmallVector<Ofr> counts{blocks};
  if (op.getGroups() < kBlocksEnough * kChannelsOfItem)
    for (const WindowDim &d : ArrayRef(dims).drop_back())
      counts.push_back(m.attr(d.kernel));
  int64_t taps = 1, positions = 1;
  for (const WindowDim &d : ArrayRef(dims).drop_front(counts.size() - 1))
    taps *= d.kernel;
  for (const WindowDim &d : dims)
    positions *= d.out;
  auto images = IndexMath::constant(src.sizes.front());
  Totals totals(taps * kChannelsOfItem,
                images ? std::optional(*images * positions) : std::nullopt);
  emitItems(m, ctx.label, m.product(counts), m.attr(totals.bytes()),
            [&](IndexMath &im, Value item, Value scratch) {
              SmallVector<Ofr> at = delinearize(im, item, counts);
              Ofr channel = im.mul(at[0], size);
              Ofr count = im.min(size, im.sub(channels, channel));
              WeightsItem{src, diff, dst, dims, channel, count, totals}.emit(
                  im, ArrayRef(at).drop_front(), scratch);
            });
  return success();
}

} // namespace tenon::tiling
