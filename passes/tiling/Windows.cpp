#include "passes/tiling/Windows.h"

#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::tiling {

Strided toChannelsLast(const Strided &s, bool ncx) {
  if (!ncx)
    return s;
  SmallVector<int64_t> order{0};
  for (int64_t i = 2; i < s.rank(); ++i)
    order.push_back(i);
  order.push_back(1);
  return transpose(s, order);
}

bool isNcx(Operation *op, int64_t rank) {
  return rank > 2 && stringAttr(op, "data_format") == "NCX";
}

SmallVector<WindowDim> windowDims(Operation *op, Type big, Type small, bool ncx,
                                  ArrayRef<int64_t> kernel) {
  auto bigType = cast<RankedTensorType>(big);
  auto smallType = cast<RankedTensorType>(small);
  SmallVector<int64_t> strides = intsAttr(op, "strides");
  SmallVector<int64_t> pads = intsAttr(op, "pads_begin");
  SmallVector<int64_t> ends = intsAttr(op, "pads_end");
  SmallVector<int64_t> dilations = intsAttr(op, "dilations");
  int64_t spatial = bigType.getRank() - 2;
  pads.resize(spatial, 0);
  ends.resize(spatial, 0);
  dilations.resize(spatial, 1);
  SmallVector<WindowDim> dims;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t d = ncx ? i + 2 : i + 1;
    dims.push_back({bigType.getDimSize(d), smallType.getDimSize(d), kernel[i],
                    strides[i], pads[i], dilations[i]});
    // Where rounding up lets windows reach what a negative padding cuts off.
    WindowDim &dim = dims.back();
    if (ends[i] < 0 && dim.isKnown() &&
        dim.paddedSize() - dim.pad > dim.in + ends[i])
      dim.in += ends[i];
  }
  return dims;
}

SmallVector<WindowDim> windowDims(tile::ConvOp op) {
  auto src = rankedType(op.getSrc()), dst = rankedType(op.getDst());
  SmallVector<int64_t> kernel;
  for (int64_t i = 0; i < src.getRank() - 2; ++i)
    kernel.push_back(op.getTaps(i));
  return windowDims(op, src, dst, /*ncx=*/false, kernel);
}

bool isPointwise(tile::ConvOp op) {
  SmallVector<int64_t> taps;
  for (int64_t i = 0, e = op.getStrides().size(); i < e; ++i)
    taps.push_back(op.getTaps(i));
  return !op.getDepthwise() &&
         tenon::isPointwise(taps, op.getStrides(), op.getPadsBegin(),
                            op.getPadsEnd(), op.getGroups());
}

void addSides(IndexMath &m, ArrayRef<Strided> sides, const Stretch &stretch,
              SmallVectorImpl<Value> &ins, SmallVectorImpl<AffineMap> &maps) {
  MLIRContext *context = m.builder().getContext();
  int64_t columns = stretch.outer.size() + 1, channels = columns + 1;
  for (const Strided &side : sides) {
    Ofr at = side.offset.value_or(m.attr(0));
    auto move = [&](int64_t dim, Ofr position) {
      at = m.add(at, m.mul(position, side.strides[dim]));
    };
    move(0, stretch.image);
    for (auto [i, position] : llvm::enumerate(stretch.outer))
      move(i + 1, position);
    move(columns, stretch.column);
    move(channels, stretch.channel);
    // A side is read along the loops it depends on.
    SmallVector<Ofr> sizes, strides;
    SmallVector<AffineExpr> loops;
    auto loop = [&](int64_t number, int64_t dim, Ofr size) {
      if (IndexMath::isConstant(side.strides[dim], 0))
        return;
      sizes.push_back(size);
      strides.push_back(side.strides[dim]);
      loops.push_back(getAffineDimExpr(number, context));
    };
    loop(0, columns, stretch.count);
    if (stretch.channels)
      loop(1, channels, *stretch.channels);
    ins.push_back(box(m, side.base, at, sizes, strides));
    maps.push_back(AffineMap::get(stretch.channels ? 2 : 1, 0, loops, context));
  }
}

Operation *pointwise(IndexMath &m, ValueRange ins, ValueRange outs,
                     ElementsBody body) {
  int64_t rank = cast<MemRefType>(outs.front().getType()).getRank();
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  SmallVector<AffineMap> maps(ins.size() + outs.size(),
                              m.builder().getMultiDimIdentityMap(rank));
  return linalg::GenericOp::create(
      m.builder(), m.location(), TypeRange{}, ins, outs, maps, iterators,
      [&](OpBuilder &nb, Location nl, ValueRange args) {
        linalg::YieldOp::create(nb, nl, body(nb, nl, args));
      });
}

Operation *pointwise(IndexMath &m, ValueRange ins, Value out,
                     ElementBody body) {
  return pointwise(m, ins, ValueRange(out),
                   [&](OpBuilder &b, Location loc, ValueRange args) {
                     return SmallVector<Value>{body(b, loc, args)};
                   });
}

void fill(IndexMath &m, Value out, double value) {
  Type type = cast<MemRefType>(out.getType()).getElementType();
  TypedAttr attr = isa<FloatType>(type)
                       ? TypedAttr(m.builder().getFloatAttr(type, value))
                       : TypedAttr(m.builder().getIntegerAttr(
                             type, static_cast<int64_t>(value)));
  pointwise(m, {}, out, [&](OpBuilder &b, Location loc, ValueRange) -> Value {
    return arith::ConstantOp::create(b, loc, attr);
  });
}

std::pair<Strided, Strided> asRepetition(IndexMath &m, const Strided &small,
                                         const Strided &big,
                                         ArrayRef<int64_t> times) {
  Strided one, all;
  one.base = small.base;
  all.base = big.base;
  auto dim = [&](Ofr size, Ofr stride, Ofr bigStride) {
    one.sizes.push_back(size);
    one.strides.push_back(stride);
    all.strides.push_back(bigStride);
  };
  bool inside = IndexMath::isConstant(big.strides.back(), 1);
  dim(big.sizes[0], small.strides[0], big.strides[0]);
  if (!inside)
    dim(big.sizes.back(), small.strides.back(), big.strides.back());
  for (auto [d, n] : llvm::enumerate(times)) {
    Ofr stride = big.strides[d + 1];
    dim(small.sizes[d + 1], small.strides[d + 1], m.mul(stride, m.attr(n)));
    dim(m.attr(n), m.attr(0), stride);
  }
  if (inside)
    dim(big.sizes.back(), small.strides.back(), big.strides.back());
  all.sizes = one.sizes;
  return {one, all};
}

ChannelBlocks::ChannelBlocks(IndexMath &m, Ofr channels, bool inside,
                             int64_t wanted) {
  auto c = IndexMath::constant(channels);
  // Blocks of equal size, so that the last is not a sliver.
  if (inside && c && *c > wanted) {
    int64_t blocks = (*c + wanted - 1) / wanted;
    wanted = (*c + blocks - 1) / blocks;
    wanted = (wanted + 15) / 16 * 16;
  }
  block = inside ? m.min(channels, m.attr(wanted)) : m.attr(1);
  block = m.max(block, m.attr(1));
  count = m.ceilDiv(channels, block);
}

Ofr ChannelBlocks::extent(IndexMath &m, Ofr channels, Ofr i) const {
  auto c = IndexMath::constant(channels), b = IndexMath::constant(block);
  if (c && b && *c % *b == 0)
    return block;
  return m.min(block, m.sub(channels, m.mul(i, block)));
}

std::pair<int64_t, int64_t> usefulTaps(const WindowDim &d) {
  // Tap k of position p reads p * stride - pad + k * dilation.
  int64_t before = std::max<int64_t>(d.pad - (d.out - 1) * d.stride, 0);
  int64_t first = (before + d.dilation - 1) / d.dilation;
  int64_t past = (d.in + d.pad + d.dilation - 1) / d.dilation;
  past = std::min(past, d.kernel);
  return {std::min(first, past), past};
}

SmallVector<WindowSegment> segmentsOf(const WindowDim &d) {
  SmallVector<WindowSegment> segments;
  auto [first, past] = d.interior();
  for (int64_t p = 0; p < d.out; ++p) {
    auto taps = d.tapsAt(p);
    if (segments.empty() || segments.back().taps != taps)
      segments.push_back({p, 0, taps});
    int64_t next = p == first && past > first ? past : p + 1;
    segments.back().count += next - p;
    p = next - 1;
  }
  return segments;
}

bool meetSrc(ArrayRef<WindowDim> dims, bool whole) {
  return llvm::all_of(dims, [&](const WindowDim &d) {
    return llvm::all_of(segmentsOf(d), [&](const WindowSegment &s) {
      return s.taps.second - s.taps.first >= (whole ? d.kernel : 1);
    });
  });
}

} // namespace tenon::tiling
