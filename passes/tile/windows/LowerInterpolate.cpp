//===- LowerInterpolate.cpp - Interpolate, InterpolateBackward ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Position x of dst lies at a coordinate of src, which is blended from its two
// neighbours in each spatial dim, or taken from the nearest. Coordinates are
// computed in f64 where they are needed: a division per position and dim.
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
#include "passes/tile/windows/Windows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace tenon::passes {

namespace {

constexpr int64_t kChannelBlock = 64; // backward

/// Elements of diff_dst that are added up where they are read.
constexpr int64_t kMaxSummed = 64;

/// Rows of src in a band, which are lanes; with fewer, vectors are not full.
constexpr int64_t kMinRows = 4, kMinLanes = 8, kMaxLanes = 64;
/// A band and what is made of it stay in L2; those of long rows are larger.
constexpr int64_t kBandBytes = 256 << 10, kMaxBytes = 4 * kBandBytes;
/// Where dst skips rows of src, most of a band would be blended in vain.
constexpr int64_t kMaxStep = 2;

/// What one coordinate of dst reads along one dim: elements and weights.
struct InterpolationTap {
  Index index[2] = {};
  Value weight[2]; // f32; nearest: none
};

struct Interpolation {
  GroupContext &ctx;
  bool nearest, alignCorners;
  SmallVector<std::pair<int64_t, int64_t>> dims; // sizes of src and dst
  Strided small, big; // of src's sizes, of dst's sizes; channels last
  bool backward;

  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }

  /// The tap of position `at`, an index, along dim `d`.
  InterpolationTap tapOf(IndexMath &m, int64_t d, Index at) const {
    OpBuilder &b = m.builder();
    Location loc = m.location();
    auto [in, out] = dims[d];
    Type f64 = b.getF64Type(), f32 = b.getF32Type();
    // AVX2 converts vectors of 32-bit integers only.
    bool narrow = std::max(in, out) <= std::numeric_limits<int32_t>::max();
    Type integer = narrow ? b.getI32Type() : b.getI64Type();
    auto c = [&](double v) -> Value {
      return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(v));
    };
    auto clamped = [&](Value v) {
      Value low = arith::MaxNumFOp::create(b, loc, v, c(0));
      Value x =
          arith::MinNumFOp::create(b, loc, low, c(static_cast<double>(in - 1)));
      Value i = arith::FPToSIOp::create(b, loc, integer, x);
      return m(arith::IndexCastOp::create(b, loc, b.getIndexType(), i));
    };
    Value p = arith::IndexCastOp::create(b, loc, integer, m.value(at));
    p = arith::SIToFPOp::create(b, loc, f64, p);
    Value x = c(0);
    auto ratio = [&](Value v, int64_t over, int64_t under) -> Value {
      v = arith::MulFOp::create(b, loc, v, c(static_cast<double>(over)));
      return arith::DivFOp::create(b, loc, v, c(static_cast<double>(under)));
    };
    if (!alignCorners)
      x = arith::SubFOp::create(
          b, loc, ratio(arith::AddFOp::create(b, loc, p, c(0.5)), in, out),
          c(0.5));
    else if (out > 1)
      x = ratio(p, in - 1, out - 1);
    InterpolationTap tap;
    if (nearest) {
      // Halves go up: negative coordinates, where that is not away from zero,
      // are clamped to 0 in any case.
      tap.index[0] = clamped(arith::AddFOp::create(b, loc, x, c(0.5)));
      return tap;
    }
    Value low = math::FloorOp::create(b, loc, x);
    tap.index[0] = clamped(low);
    tap.index[1] = clamped(arith::AddFOp::create(b, loc, low, c(1)));
    Value rest = arith::SubFOp::create(b, loc, x, low);
    tap.weight[1] = arith::TruncFOp::create(b, loc, f32, rest);
    tap.weight[0] = arith::TruncFOp::create(
        b, loc, f32, arith::SubFOp::create(b, loc, c(1), rest));
    return tap;
  }

  /// Elements of src that meet along `count` dims.
  int64_t cornersOf(int64_t count) const {
    return nearest ? 1 : int64_t(1) << count;
  }
  int64_t corners() const { return cornersOf(dims.size()); }

  /// Element of `small` at a corner of `taps`, from its offset `at`.
  Index cornerOffset(ArrayRef<InterpolationTap> taps, int64_t corner,
                     Index at) const {
    for (auto [d, tap] : llvm::enumerate(taps))
      at += tap.index[corner >> d & 1] * small.strides[d + 1];
    return at;
  }
  /// Product of the weights of a corner; none for nearest.
  Value cornerWeight(OpBuilder &b, Location loc,
                     ArrayRef<InterpolationTap> taps, int64_t corner) const {
    Value weight;
    for (auto [d, tap] : llvm::enumerate(taps)) {
      Value w = tap.weight[corner >> d & 1];
      weight = weight && w ? arith::MulFOp::create(b, loc, weight, w) : w;
    }
    return weight;
  }

  /// Offsets of an image and its first channel.
  static Index start(const Strided &s, Index image, Index channel) {
    return image * s.strides[0] + channel * s.strides.back();
  }

  /// weight * x; 0 for a weight of 0: such a neighbour is not read, be it
  /// infinite.
  static Value weighted(OpBuilder &b, Location loc, Value weight, Value x) {
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    Value none =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, weight, zero);
    return arith::SelectOp::create(b, loc, none, zero,
                                   arith::MulFOp::create(b, loc, weight, x));
  }

  /// Sum over corners of weight * operand; operands are in `parts`.
  Value blend(OpBuilder &b, Location loc, ArrayRef<InterpolationTap> taps,
              ValueRange parts) const {
    if (nearest)
      return parts[0];
    Value sum;
    for (int64_t i = 0; i < cornersOf(taps.size()); ++i) {
      Value w = cornerWeight(b, loc, taps, i);
      Value x = weighted(b, loc, w, parts[i]);
      sum = sum ? arith::AddFOp::create(b, loc, sum, x) : x;
    }
    return sum;
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
      for (int64_t i = 0; i < corners(); ++i)
        ins.push_back(corner(i));
      pointwise(m, ins, outside,
                [&](OpBuilder &b, Location loc, ValueRange v) -> Value {
                  return blend(b, loc, taps, v.drop_back());
                });
      return;
    }
    // Corners may be one and the same element: one after the other.
    for (int64_t i = 0; i < corners(); ++i) {
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
    emitLoop(m, 0, dims[d].second, [&](Index p) {
      SmallVector<InterpolationTap> all(taps);
      all.push_back(tapOf(m, d, p));
      positions(m, all, smallAt, bigAt + p * big.strides[d + 1], channels);
    });
  }

  /// A row of dst of one channel: vectors along it, corners by index.
  void planarRow(IndexMath &m, ArrayRef<InterpolationTap> outer, Index smallAt,
                 Index bigAt) const {
    int64_t d = last();
    Value out = box(m, big.base, bigAt, {dims[d].second}, {big.strides[d + 1]});
    // The rows of src that meet here, one per corner of the outer dims.
    SmallVector<Value> rows;
    int64_t outerCorners = cornersOf(outer.size());
    for (int64_t i = 0; i < outerCorners; ++i)
      rows.push_back(box(m, small.base, cornerOffset(outer, i, smallAt),
                         {dims[d].first}, {small.strides[d + 1]}));
    pointwise(m, {}, out, [&](OpBuilder &b, Location loc, ValueRange) -> Value {
      Value x = linalg::IndexOp::create(b, loc, 0);
      SmallVector<InterpolationTap> taps(outer);
      taps.push_back(tapOf(m, d, m(x)));
      SmallVector<Value> parts;
      for (int64_t i = 0; i < corners(); ++i)
        parts.push_back(memref::LoadOp::create(
            b, loc, rows[i % outerCorners],
            m.value(taps.back().index[nearest ? 0 : i >> d & 1])));
      return blend(b, loc, taps, parts);
    });
  }

  /// Bands of the rows of a channel: `rows` of dst, which read `lanes` of src.
  struct Bands {
    int64_t rows, lanes;
    int64_t narrow, wide; // columns of src and of dst
    int64_t lanePitch, widePitch;
    bool blends; // rows of outer dims, before anything else

    int64_t bandElements() const { return narrow * lanePitch; }
    int64_t turnedElements() const { return wide * lanePitch; }
    int64_t bytes() const {
      return 4 * (bandElements() + turnedElements() + lanes * widePitch +
                  (blends ? lanes * narrow : 0));
    }
  };

  /// None: rows are too few or too long, or dst skips too many of them.
  std::optional<Bands> bands() const {
    if (dims.size() < 2)
      return std::nullopt;
    auto [in, out] = dims[last() - 1];
    auto [narrow, wide] = dims[last()];
    if (in < kMinRows || in > kMaxStep * out || wide == 0)
      return std::nullopt;
    int64_t laneBytes = 4 * (2 * narrow + 2 * wide);
    int64_t most = std::clamp(kBandBytes / laneBytes, kMinLanes, kMaxLanes);
    // Positions p and q are |p - q| * step apart, at most; the floors of both
    // add 1, a second neighbour another, and what clamping rounds a third.
    double step =
        std::max(static_cast<double>(in) / out,
                 static_cast<double>(in - 1) / std::max(out - 1., 1.));
    int64_t lanes = std::min(in, most), rows = out;
    if (lanes < in)
      rows = static_cast<int64_t>(std::max<int64_t>(lanes - 3, 0) / step) + 1;
    int64_t planes = 1;
    for (Index size : {big.sizes[0], big.sizes.back()})
      planes *= size.constant().value_or(1);
    for (auto [_, positions] : ArrayRef(dims).drop_back(2))
      planes *= positions;
    rows = shareRows(out, std::min(rows, out), planes, kMaxLanes / 4);
    auto needed = static_cast<int64_t>(std::ceil((rows - 1) * step)) + 3;
    Bands b;
    b.rows = rows;
    b.lanes = std::min(lanes, roundUp(needed, kMinRows));
    b.narrow = narrow;
    b.wide = wide;
    b.lanePitch = oddPitch(b.lanes, 4);
    b.widePitch = oddPitch(wide, 4);
    b.blends = dims.size() > 2 && !nearest;
    return b.bytes() <= kMaxBytes ? std::optional(b) : std::nullopt;
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
    auto lanes = bands.lanes, lanePitch = bands.lanePitch,
         widePitch = bands.widePitch, narrow = bands.narrow, wide = bands.wide;
    Index used = 0;
    auto take = [&](int64_t elements) {
      Value view = scratchView(m, scratch, b.getF32Type(), used * 4, elements);
      used += elements;
      return view;
    };
    Index rowStride = small.strides[d + 1], columnStride = small.strides[d + 2];
    Index first = min(tapOf(m, d, from).index[0], dims[d].first - bands.lanes);
    Index at = smallAt + first * rowStride;
    Value base = small.base;
    if (!bands.blends) {
      at = cornerOffset(outer, 0, at);
    } else {
      Value blended = take(bands.lanes * bands.narrow);
      SmallVector<Value> parts;
      for (int64_t i = 0; i < cornersOf(outer.size()); ++i)
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
      InterpolationTap tap = tapOf(m, d + 1, x);
      SmallVector<Value> parts;
      for (int64_t i = 0; i < cornersOf(1); ++i)
        parts.push_back(laneBox(band, tap.index[i]));
      blendInto(m, tap, parts, laneBox(turned, x));
    });
    Value rows = take(bands.lanes * bands.widePitch);
    transpose(m, box(m, turned, 0, {lanes, wide}, {1, lanePitch}),
              box(m, rows, 0, {lanes, wide}, {widePitch, 1}));
    emitLoop(m, from, past, [&](Index y) {
      InterpolationTap tap = tapOf(m, d, y);
      SmallVector<Value> parts;
      for (int64_t i = 0; i < cornersOf(1); ++i)
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
    dims.insert(dims.begin(), {channels, channels});
    for (Strided *s : {&small, &big}) {
      std::swap(s->sizes[1], s->sizes[2]);
      std::swap(s->strides[1], s->strides[2]);
      s->sizes.push_back(1);
      s->strides.push_back(0);
    }
  }

  void emitBands(const Bands &bands) const {
    IndexMath &m = ctx.m;
    int64_t rows = dims[last() - 1].second;
    Grid grid{{"image", big.sizes[0]}, {"channel", big.sizes.back()}};
    for (int64_t d = 0; d < last() - 1; ++d)
      grid.add("row", dims[d].second);
    grid.add("band", ceilDiv(rows, bands.rows));
    emitItems(m, ctx.label, grid, bands.bytes(),
              [&](const Grid::Item &at, Value scratch) {
                Index to = start(big, at["image"], at["channel"]);
                SmallVector<InterpolationTap> outer;
                for (auto [d, p] : llvm::enumerate(at.all("row"))) {
                  outer.push_back(tapOf(m, d, p));
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
    for (auto [in, out] : dims) {
      if (!nearest || alignCorners || in == 0 || out == 0 || out % in != 0)
        return {};
      times.push_back(out / in);
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

  void emitForward() const {
    if (SmallVector<int64_t> times = repeats(); !times.empty()) {
      auto [from, to] = asRepetition(small, big, times);
      return emitCopy(ctx, from, to);
    }
    IndexMath &m = ctx.m;
    bool inside = big.strides.back().isConstant(1);
    if (auto planar = inside ? std::nullopt : bands())
      return emitBands(*planar);
    Grid grid{{"image", big.sizes[0]},
              {"channel", inside ? 1 : big.sizes.back()}};
    for (int64_t d = 0; d < last(); ++d)
      grid.add("row", dims[d].second);
    emitItems(m, ctx.label, grid, [&](const Grid::Item &at) {
      Index from = start(small, at["image"], at["channel"]);
      Index to = start(big, at["image"], at["channel"]);
      SmallVector<InterpolationTap> taps;
      for (auto [d, p] : llvm::enumerate(at.all("row"))) {
        taps.push_back(tapOf(m, d, p));
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
  Value bigValue = backward ? op->getOperand(1) : op->getResult(0);
  auto small = rankedType(op->getOperand(0)), big = rankedType(bigValue);
  bool ncx = isNcx(op, small.getRank());
  if (!small.getElementType().isF32())
    return emitError(op, ErrorCode::UnsupportedForm,
                     "windows are lowered for f32");
  const Strided &in = ctx.memoryOf(op->getOperand(backward ? 1 : 0));
  const Strided &out = ctx.result();
  Interpolation it{ctx,
                   stringAttr(op, "mode") == "nearest",
                   stringAttr(op, "coordinate_transformation_mode") ==
                       "align_corners",
                   {},
                   toChannelsLast(backward ? out : in, ncx),
                   toChannelsLast(backward ? in : out, ncx),
                   backward};
  for (int64_t i = 0; i < small.getRank() - 2; ++i) {
    int64_t d = ncx ? i + 2 : i + 1;
    it.dims.push_back({small.getDimSize(d), big.getDimSize(d)});
    if (small.isDynamicDim(d) || big.isDynamicDim(d))
      return emitError(op, ErrorCode::UnsupportedForm,
                       "spatial dimensions must be static");
    if (it.dims.back().first == 0 && it.dims.back().second > 0)
      return emitError(op, ErrorCode::UnsupportedForm,
                       "there is nothing to interpolate: dimension " +
                           Twine(d) + " of src is 0, of dst " +
                           Twine(it.dims.back().second));
  }
  int64_t channels = small.getDimSize(ncx ? 1 : small.getRank() - 1);
  if (ncx && !backward && it.dims.size() == 1 && channels >= kMinRows)
    it.takeChannelsAsRows(channels);
  backward ? it.emitBackward() : it.emitForward();
  return success();
}

} // namespace tenon::passes
