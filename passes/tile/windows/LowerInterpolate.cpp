//===- LowerInterpolate.cpp - Interpolate, InterpolateBackward ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Position x of dst lies at a coordinate of src, which is blended from its two
// neighbours in each spatial dim, or from more, or taken from the nearest.
// Coordinates and weights are computed where they are needed: a division per
// position and dim.
//
// Nearest interpolation that repeats each position of src is a copy; its
// gradient is a sum of a few elements.
//
// Channels last: an item is a row of dst (in the gradient, some channels of an
// image, since positions overlap). Each position is one linalg.generic over
// channels with a weight per corner. The gradient with channels first goes
// through single positions.
//
// Channels first: an item is a band of rows of a channel. The band is
// transposed, so that its rows are vector lanes while it is blended along the
// last dim; then it is transposed back, and rows are blended with each other.
// If dst uses little of a band, one linalg.generic along a row of dst loads the
// corners by computed indices instead.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/OpFacts.h"
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/loops/LoopProgram.h"
#include "passes/tile/windows/InterpolationTaps.h"
#include "passes/tile/windows/Windows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <cmath>

using namespace mlir;

namespace tenon::passes {

namespace {

constexpr int64_t kChannelBlock = 64; // backward

/// Elements of diff_dst that are added up where they are read.
constexpr int64_t kMaxSummed = 64;

/// Rows of src in a band, which are lanes; with fewer, vectors are not full.
constexpr int64_t kMinRows = 4, kMinLanes = 8, kMaxLanes = 64;
/// Rows of src in a band where their number is not known.
constexpr int64_t kUnknownLanes = 32;
/// A band and what is made of it stay in L2; those of long rows are larger.
constexpr int64_t kBandBytes = 256 << 10, kMaxBytes = 4 * kBandBytes;
/// Where dst skips rows of src, most of a band would be blended in vain.
constexpr int64_t kMaxStep = 2;

struct Interpolation {
  GroupContext &ctx;
  Sampling sampling;
  SmallVector<SizedDim> dims;
  Strided small, big; // of src's sizes, of dst's sizes; channels last
  bool backward;
  SmallVector<Fraction> fractions; // of sizes; see fractionsOf

  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }

  InterpolationTap tapAt(IndexMath &m, int64_t d, Index at) const {
    return tapOf(m, sampling, dims[d], at);
  }

  /// Element of `small` at a corner of `taps`, from its offset `at`.
  Index cornerOffset(ArrayRef<InterpolationTap> taps, int64_t corner,
                     Index at) const {
    for (auto [d, tap] : llvm::enumerate(taps)) {
      int64_t element = elementAt(taps, static_cast<int64_t>(d), corner);
      at += tap.index[element] * small.strides[d + 1];
    }
    return at;
  }

  /// Offsets of an image and its first channel.
  static Index start(const Strided &s, Index image, Index channel) {
    return image * s.strides[0] + channel * s.strides.back();
  }

  /// dst[column, channels] from the corners, or added to them backward.
  void position(IndexMath &m, ArrayRef<InterpolationTap> taps, Index smallAt,
                Index bigAt, Index channels) const {
    Value outside = box(m, big.base, bigAt, {channels}, {big.strides.back()});
    auto corner = [&](int64_t i) {
      return box(m, small.base, cornerOffset(taps, i, smallAt), {channels},
                 {small.strides.back()});
    };
    if (!backward) {
      SmallVector<Value> ins;
      for (int64_t i = 0; i < cornersOf(taps); ++i)
        ins.push_back(corner(i));
      pointwise(m, ins, outside,
                [&](OpBuilder &b, Location loc, ValueRange v) -> Value {
                  return blend(b, loc, taps, v.drop_back());
                });
      return;
    }
    // Corners may be one and the same element: one after the other.
    for (int64_t i = 0; i < cornersOf(taps); ++i) {
      Value weight = cornerWeight(m.builder(), m.location(), taps, i);
      pointwise(m, outside, corner(i),
                [&](OpBuilder &b, Location loc, ValueRange v) -> Value {
                  if (!weight)
                    return arith::AddFOp::create(b, loc, v[1], v[0]);
                  return arith::AddFOp::create(b, loc, v[1],
                                               weighted(b, loc, weight, v[0]));
                });
    }
  }

  /// Walks the positions of dims `taps.size()` and later.
  void positions(IndexMath &m, ArrayRef<InterpolationTap> taps, Index smallAt,
                 Index bigAt, Index channels) const {
    int64_t d = taps.size();
    if (d > last())
      return position(m, taps, smallAt, bigAt, channels);
    emitLoop(m, 0, dims[d].out, [&](Index p) {
      SmallVector<InterpolationTap> all(taps);
      all.push_back(tapAt(m, d, p));
      positions(m, all, smallAt, bigAt + p * big.strides[d + 1], channels);
    });
  }

  /// A row of dst of one channel: vectors along it, corners by index.
  void planarRow(IndexMath &m, ArrayRef<InterpolationTap> outer, Index smallAt,
                 Index bigAt) const {
    int64_t d = last();
    Value out = box(m, big.base, bigAt, {dims[d].out}, {big.strides[d + 1]});
    // The rows of src that meet here, one per corner of the outer dims.
    SmallVector<Value> rows;
    int64_t outerCorners = cornersOf(outer);
    for (int64_t i = 0; i < outerCorners; ++i)
      rows.push_back(box(m, small.base, cornerOffset(outer, i, smallAt),
                         {dims[d].in}, {small.strides[d + 1]}));
    pointwise(m, {}, out, [&](OpBuilder &b, Location loc, ValueRange) -> Value {
      Value x = linalg::IndexOp::create(b, loc, 0);
      SmallVector<InterpolationTap> taps(outer);
      taps.push_back(tapAt(m, d, m(x)));
      SmallVector<Value> parts;
      for (int64_t i = 0; i < cornersOf(taps); ++i)
        parts.push_back(memref::LoadOp::create(
            b, loc, rows[i % outerCorners],
            m.value(taps.back().index[i / outerCorners])));
      return blend(b, loc, taps, parts);
    });
  }

  /// Bands of the rows of a channel: `rows` of dst, which read `lanes` of src.
  struct Bands {
    Index rows, lanes;
    Index narrow, wide; // columns of src and of dst
    int64_t lanePitch;
    Index widePitch;
    bool blends; // rows of outer dims, before anything else

    Index bandElements() const { return narrow * lanePitch; }
    Index turnedElements() const { return wide * lanePitch; }
    Index bytes() const {
      return (bandElements() + turnedElements() + lanes * widePitch +
              (blends ? lanes * narrow : Index(0))) *
             4;
    }
  };

  /// Whether rows of outer dims are blended.
  bool blendsOuter() const {
    return llvm::any_of(ArrayRef(dims).drop_back(2), [&](const SizedDim &d) {
      return d.facts.taps(sampling) > 1;
    });
  }

  /// Rows of src that `rows` of dst may read beyond `rows` times the step:
  /// positions p and q are |p - q| * step apart, at most; the floors of both
  /// add 1, what clamping and scales round another, and each has its taps.
  static int64_t reachOf(const SampledDim &column, const Sampling &sampling) {
    return std::max<int64_t>(column.taps(sampling), 2) + 1 + bool(column.scale);
  }

  /// Of sizes that are not known: none if dst skips too many rows. Rows may
  /// turn out to be too long.
  std::optional<Bands> sizedBands() const {
    const SizedDim &column = dims[last() - 1], &row = dims[last()];
    double step = 0, scale = 0;
    if (column.facts.isKnown()) {
      step = column.facts.step();
      scale = 1 / step;
    } else if (column.facts.scale) {
      // Where there are more rows than lanes; fewer are one band.
      scale = static_cast<double>(*column.facts.scale);
      constexpr double lanes = kUnknownLanes;
      step = std::max(1 / scale, lanes / (lanes * scale - 2));
    }
    int64_t reach = reachOf(column.facts, sampling);
    if (scale * kMaxStep < 1 || reach >= kUnknownLanes / 2)
      return std::nullopt;
    Bands b;
    b.rows = static_cast<int64_t>((kUnknownLanes - reach) / step) + 1;
    b.lanes = min(column.in, kUnknownLanes);
    b.narrow = row.in;
    b.wide = row.out;
    b.lanePitch = oddPitch(kUnknownLanes, sizeof(float));
    Index lines = ceilDiv(row.out, kLineBytes / sizeof(float));
    b.widePitch = (lines / 2 * 2 + 1) * (kLineBytes / sizeof(float));
    b.blends = blendsOuter();
    return b;
  }

  /// None: rows are too few or too long, or dst skips too many of them.
  std::optional<Bands> bands() const {
    if (dims.size() < 2)
      return std::nullopt;
    if (!llvm::all_of(dims,
                      [](const SizedDim &d) { return d.facts.isKnown(); }))
      return sizedBands();
    const SampledDim &column = dims[last() - 1].facts;
    int64_t in = column.in, out = column.out;
    int64_t narrow = dims[last()].facts.in, wide = dims[last()].facts.out;
    if (in < kMinRows || in > kMaxStep * out || wide == 0)
      return std::nullopt;
    int64_t laneBytes = 4 * (2 * narrow + 2 * wide);
    int64_t most = std::clamp(kBandBytes / laneBytes, kMinLanes, kMaxLanes);
    double step = column.step();
    int64_t reach = reachOf(column, sampling);
    int64_t lanes = std::min(in, most), rows = out;
    if (lanes < in)
      rows =
          static_cast<int64_t>(std::max<int64_t>(lanes - reach, 0) / step) + 1;
    int64_t planes = 1;
    for (Index size : {big.sizes[0], big.sizes.back()})
      planes *= size.constant().value_or(1);
    for (const SizedDim &d : ArrayRef(dims).drop_back(2))
      planes *= d.facts.out;
    rows = shareRows(out, std::min(rows, out), planes, kMaxLanes / 4);
    auto needed = static_cast<int64_t>(std::ceil((rows - 1) * step)) + reach;
    Bands b;
    b.rows = rows;
    b.lanes = std::min(lanes, roundUp(needed, kMinRows));
    b.narrow = narrow;
    b.wide = wide;
    b.lanePitch = oddPitch(*b.lanes.constant(), 4);
    b.widePitch = oddPitch(wide, 4);
    b.blends = blendsOuter();
    return *b.bytes().constant() <= kMaxBytes ? std::optional(b) : std::nullopt;
  }

  /// to = from, a transposition: one has contiguous rows, the other columns.
  static void transpose(IndexMath &m, Value from, Value to) {
    pointwise(m, from, to,
              [](OpBuilder &, Location, ValueRange v) { return v.front(); });
  }

  /// out = the blend of one of `parts` per corner of `taps`.
  void blendInto(IndexMath &m, ArrayRef<InterpolationTap> taps,
                 ArrayRef<Value> parts, Value out) const {
    pointwise(m, parts, out, [&](OpBuilder &b, Location loc, ValueRange v) {
      return blend(b, loc, taps, v.drop_back());
    });
  }

  /// Rows [from, past) of dst, at `bigAt` without them, of one channel.
  void planarBand(IndexMath &m, const Bands &bands, Value scratch,
                  ArrayRef<InterpolationTap> outer, Index from, Index past,
                  Index smallAt, Index bigAt) const {
    OpBuilder &b = m.builder();
    int64_t d = last() - 1;
    Index lanes = bands.lanes, lanePitch = bands.lanePitch,
          widePitch = bands.widePitch, narrow = bands.narrow, wide = bands.wide;
    Index used = 0;
    auto take = [&](Index elements) {
      Value view = scratchView(m, scratch, b.getF32Type(), used * 4, elements);
      used += elements;
      return view;
    };
    Index rowStride = small.strides[d + 1], columnStride = small.strides[d + 2];
    Index first = min(tapAt(m, d, from).index[0], dims[d].in - bands.lanes);
    Index at = smallAt + first * rowStride;
    Value base = small.base;
    if (!bands.blends) {
      at = cornerOffset(outer, 0, at);
    } else {
      Value blended = take(bands.lanes * bands.narrow);
      SmallVector<Value> parts;
      for (int64_t i = 0; i < cornersOf(outer); ++i)
        parts.push_back(box(m, base, cornerOffset(outer, i, at),
                            {lanes, narrow}, {rowStride, columnStride}));
      blendInto(m, outer, parts,
                box(m, blended, 0, {lanes, narrow}, {narrow, 1}));
      base = blended;
      at = 0;
      rowStride = narrow;
      columnStride = 1;
    }
    Value band = take(bands.bandElements());
    transpose(m, box(m, base, at, {narrow, lanes}, {columnStride, rowStride}),
              box(m, band, 0, {narrow, lanes}, {lanePitch, 1}));
    Value turned = take(bands.turnedElements());
    auto laneBox = [&](Value of, Index column) {
      return box(m, of, column * lanePitch, {lanes}, {1});
    };
    emitLoop(m, 0, wide, [&](Index x) {
      InterpolationTap tap = tapAt(m, d + 1, x);
      SmallVector<Value> parts;
      for (int64_t i = 0; i < cornersOf(tap); ++i)
        parts.push_back(laneBox(band, tap.index[i]));
      blendInto(m, tap, parts, laneBox(turned, x));
    });
    Value rows = take(bands.lanes * bands.widePitch);
    transpose(m, box(m, turned, 0, {lanes, wide}, {1, lanePitch}),
              box(m, rows, 0, {lanes, wide}, {widePitch, 1}));
    emitLoop(m, from, past, [&](Index y) {
      InterpolationTap tap = tapAt(m, d, y);
      SmallVector<Value> parts;
      for (int64_t i = 0; i < cornersOf(tap); ++i)
        parts.push_back(
            box(m, rows, (tap.index[i] - first) * widePitch, {wide}, {1}));
      Index to = bigAt + y * big.strides[d + 1];
      blendInto(m, tap, parts,
                box(m, big.base, to, {wide}, {big.strides[d + 2]}));
    });
  }

  /// Takes channels that have one row each as the rows of a single channel, of
  /// which none is blended with another.
  void takeChannelsAsRows(int64_t channels) {
    dims.insert(dims.begin(),
                {{channels, channels, std::nullopt, true}, channels, channels});
    for (Strided *s : {&small, &big}) {
      std::swap(s->sizes[1], s->sizes[2]);
      std::swap(s->strides[1], s->strides[2]);
      s->sizes.push_back(1);
      s->strides.push_back(0);
    }
  }

  /// `times`: 1, or 0 where there are no items.
  void emitBands(const Bands &bands, Index times) const {
    IndexMath &m = ctx.m;
    Index rows = dims[last() - 1].out;
    Grid grid{{"image", big.sizes[0] * times}, {"channel", big.sizes.back()}};
    for (int64_t d = 0; d < last() - 1; ++d)
      grid.add("row", dims[d].out);
    grid.add("band", ceilDiv(rows, bands.rows));
    emitItems(m, ctx.label, grid, bands.bytes(),
              [&](const Grid::Item &at, Value scratch) {
                Index to = start(big, at["image"], at["channel"]);
                SmallVector<InterpolationTap> outer;
                for (auto [d, p] : llvm::enumerate(at.all("row"))) {
                  outer.push_back(tapAt(m, d, p));
                  to += p * big.strides[d + 1];
                }
                Index from = at["band"] * bands.rows;
                Index past = min(from + bands.rows, rows);
                planarBand(m, bands, scratch, outer, from, past,
                           start(small, at["image"], at["channel"]), to);
              });
  }

  /// How often dst repeats each position of src along each dim; empty where it
  /// does something else.
  SmallVector<int64_t> repeats() const {
    SmallVector<int64_t> times;
    for (auto [i, d] : llvm::enumerate(dims)) {
      // Channels taken as rows come first.
      size_t more = dims.size() - fractions.size();
      bool follows = !fractions.empty() && i >= more;
      times.push_back(
          d.facts.repeats(sampling, follows ? std::optional(fractions[i - more])
                                            : std::nullopt));
      if (times.back() == 0)
        return {};
    }
    return times;
  }

  /// Backward: elements of diff_dst that each position of diff_src adds up, in
  /// one pass over it.
  void emitSums(ArrayRef<int64_t> times) const {
    IndexMath &m = ctx.m;
    auto [to, parts] = asRepetition(small, big, times);
    // Where the elements of a sum begin, which is one element per repetition.
    SmallVector<Index> starts{0};
    for (int64_t d = 0; d < to.rank(); ++d) {
      auto count = to.sizes[d].constant();
      if (!count || !to.strides[d].isConstant(0))
        continue;
      SmallVector<Index> all;
      for (int64_t n = 0; n < *count; ++n)
        for (Index start : starts)
          all.push_back(start + n * parts.strides[d]);
      starts = std::move(all);
      to.sizes[d] = parts.sizes[d] = 1;
    }
    LoopProgram program(m, ctx.label, ctx.target.getL2Bytes(), to.sizes,
                        SmallVector<bool>(to.rank(), false));
    SmallVector<LoopProgram::Node> nodes;
    for (Index start : starts) {
      Strided part = parts;
      part.offset = start;
      nodes.push_back(program.input(part));
    }
    program.output(
        program.compute(nodes, to.elementType(),
                        [](OpBuilder &b, Location loc, ValueRange v) {
                          Value x = v.front();
                          for (Value y : v.drop_front())
                            x = arith::AddFOp::create(b, loc, x, y);
                          return x;
                        }),
        to);
    program.emit();
  }

  /// Zeros in so many `images` of dst, which are made of nothing: sizes of dst
  /// are given, and src turns out to be empty.
  void emitZeros(Index images) const {
    IndexMath &m = ctx.m;
    emitItems(m, ctx.label, Grid{{"image", images}}, [&](const Grid::Item &at) {
      fill(m,
           box(m, big.base, start(big, at["image"], 0),
               ArrayRef(big.sizes).drop_front(),
               ArrayRef(big.strides).drop_front()),
           0);
    });
  }

  void emitForward() const {
    if (SmallVector<int64_t> times = repeats(); !times.empty()) {
      auto [from, to] = asRepetition(small, big, times);
      return emitCopy(ctx, from, to);
    }
    IndexMath &m = ctx.m;
    bool inside = big.strides.back().isConstant(1);
    Index isRead = 1; // 0 where there is nothing
    for (const SizedDim &d : dims)
      isRead *= min(d.in, 1);
    if (fractions.empty() && !isRead.constant())
      emitZeros(big.sizes[0] * (1 - isRead));
    if (auto planar = inside ? std::nullopt : bands()) {
      // One of both ways has no items where sizes are not known.
      Index bytes = planar->bytes();
      Index isShort = 1;
      if (!bytes.constant())
        isShort = 1 - min(max(bytes - kMaxBytes, 0), 1);
      emitBands(*planar, isRead * isShort);
      if (isShort.constant())
        return;
      isRead *= 1 - isShort;
    }
    Grid grid{{"image", big.sizes[0] * isRead},
              {"channel", inside ? 1 : big.sizes.back()}};
    for (int64_t d = 0; d < last(); ++d)
      grid.add("row", dims[d].out);
    emitItems(m, ctx.label, grid, [&](const Grid::Item &at) {
      Index from = start(small, at["image"], at["channel"]);
      Index to = start(big, at["image"], at["channel"]);
      SmallVector<InterpolationTap> taps;
      for (auto [d, p] : llvm::enumerate(at.all("row"))) {
        taps.push_back(tapAt(m, d, p));
        to += p * big.strides[d + 1];
      }
      if (inside)
        positions(m, taps, from, to, big.sizes.back());
      else
        planarRow(m, taps, from, to);
    });
  }

  void emitBackward() const {
    SmallVector<int64_t> times = repeats();
    int64_t most = 1;
    for (int64_t n : times)
      most = std::min(most * n, kMaxSummed + 1);
    if (!times.empty() && most <= kMaxSummed)
      return emitSums(times);
    IndexMath &m = ctx.m;
    bool inside = small.strides.back().isConstant(1);
    Index channels = small.sizes.back();
    ChannelBlocks blocks(channels, inside, kChannelBlock);
    Grid grid{{"image", small.sizes[0]}, {"channels", blocks.count}};
    emitItems(m, ctx.label, grid, [&](const Grid::Item &at) {
      Index channel = at["channels"] * blocks.block;
      Index extent = blocks.extent(channels, at["channels"]);
      Index to = start(small, at["image"], channel);
      SmallVector<Index> sizes(ArrayRef(small.sizes).drop_front());
      sizes.back() = extent;
      fill(m,
           box(m, small.base, to, sizes, ArrayRef(small.strides).drop_front()),
           0);
      positions(m, {}, to, start(big, at["image"], channel), extent);
    });
  }
};

} // namespace

LogicalResult lowerInterpolate(GroupContext &ctx) {
  Operation *op = ctx.ops().front();
  bool backward = graph::isBackward(op);
  auto small = rankedType(op->getOperand(0));
  bool ncx = isNcx(op, small.getRank());
  if (!small.getElementType().isF32())
    return emitError(op, ErrorCode::UnsupportedForm,
                     "windows are lowered for f32");
  const Strided &in = ctx.memoryOf(op->getOperand(backward ? 1 : 0));
  const Strided &out = ctx.result();
  Interpolation it{ctx,
                   samplingOf(op),
                   {},
                   toChannelsLast(backward ? out : in, ncx),
                   toChannelsLast(backward ? in : out, ncx),
                   backward,
                   fractionsOf(op)};
  for (auto [i, d] : llvm::enumerate(sampledDims(op))) {
    it.dims.push_back({d, it.small.sizes[i + 1], it.big.sizes[i + 1]});
    if (d.in == 0 && d.out > 0)
      return emitError(op, ErrorCode::UnsupportedForm,
                       "there is nothing to interpolate: dimension " +
                           Twine(i + (ncx ? 2 : 1)) + " of src is 0, of dst " +
                           Twine(d.out));
  }
  int64_t channels = small.getDimSize(ncx ? 1 : small.getRank() - 1);
  if (ncx && !backward && it.dims.size() == 1 && channels >= kMinRows)
    it.takeChannelsAsRows(channels);
  backward ? it.emitBackward() : it.emitForward();
  return success();
}

} // namespace tenon::passes
