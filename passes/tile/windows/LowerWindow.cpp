//===- LowerWindow.cpp - pooling and depthwise convolution ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Items are rows of dst. A range of columns whose windows have the same
// valid taps is one linalg.generic: parallel over columns (and channels, when
// those are contiguous), reduced over the taps inside src. Taps of the last
// dimension are unrolled if they are few, since their elements are in registers
// or on the same lines. A depthwise convolution with many taps takes some
// channels at a time, whose weights stay in L1. Columns at the ends of a row,
// whose windows are cut by padding, are column ranges of their own. The
// operations that follow in the group are applied to each range while it is in
// L1. If dst has another type than the sums, they are accumulated in scratch
// memory. A conversion of src is applied at each load. A maximum of int8 data
// stays int8. Terms of an average are multiplied by a power of two before
// they are added, which costs nothing.
//
// Pooling with channels first reduces the rows of src that a row of dst reads
// to one row in scratch memory, between the padding. Windows slide along that
// row.
//
// DirectDepthwise.cpp has depthwise convolutions with few taps. Convolutions in
// narrow groups are depthwise ones whose taps read several channels of src.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/windows/LowerWindow.h"

#include "codegen/vector/Attrs.h"
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/tile/TileDialect.h"
#include "passes/ops/OpKinds.h"
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace tenon::passes {

namespace {

/// Columns of dst from which folding rows pays: short rows wait for what was
/// stored just before.
constexpr int64_t kMinFolded = 12;
/// Weights of so many bytes would push src out of L1.
constexpr int64_t kManyWeights = 8 << 10;

} // namespace

double Window::neutral() const {
  if (kind != WindowKind::max || bytes)
    return bytes && bytes.isSignedInteger() ? -128 : 0;
  if (propagatesNan)
    return -std::numeric_limits<double>::infinity();
  return lowestOf(op);
}

/// All channels of groups, whose weights meet many columns: whole lines are
/// read. Fewer where rows alone are too few items.
int64_t Window::groupedBlock(int64_t channels) const {
  constexpr int64_t kMinChannels = 32;
  int64_t rows = src.sizes[0].constant().value_or(kMinItems);
  for (const SizedWindow &d : ArrayRef(dims).drop_back())
    rows *= d.out.constant().value_or(kMinItems);
  int64_t blocks = kMinItems / std::clamp<int64_t>(rows, 1, kMinItems);
  return std::min(channels,
                  std::max<int64_t>(ceilDiv(channels, blocks), kMinChannels));
}

/// Channels of an item.
int64_t Window::channelBlock() const {
  auto c = src.sizes.back().constant();
  if (kind != WindowKind::depthwise || !c)
    return std::numeric_limits<int64_t>::max();
  int64_t bytes = *c * static_cast<int64_t>(sizeof(float));
  for (const SizedWindow &d : dims)
    bytes *= d.kernel;
  if (perGroup > 1)
    return groupedBlock(*c);
  if (bytes <= kManyWeights)
    return *c;
  // Four vectors of 8 or two of 16, and blocks of one size if possible.
  for (int64_t block : {32, 48, 40, 24})
    if (*c % block == 0)
      return block;
  return 32;
}

Value Window::boxOfDst(IndexMath &m, const ColumnRange &at) const {
  Index offset = at.image * dst.strides[0] + at.channel * dst.strides.back();
  for (auto [i, position] : llvm::enumerate(at.outer))
    offset += position * dst.strides[i + 1];
  int64_t s = dims.size();
  offset += at.column * dst.strides[s];
  SmallVector<Index> sizes{at.count}, strides{dst.strides[s]};
  if (at.channels) {
    sizes.push_back(*at.channels);
    strides.push_back(dst.strides.back());
  }
  return box(m, dst.base, offset, sizes, strides);
}

/// dst on the range, whose windows have the taps `taps`:
/// sums = neutral; sums = sums (+) taps; sums = sums / count; what follows.
void Window::emitColumns(IndexMath &m, Value scratch, Index partialAt,
                         const ColumnRange &at, Taps taps) const {
  Value sums = sumsOf(m, scratch, at);
  fill(m, sums, neutral());
  if (cutOfTaps())
    emitCutTaps(m, at, SmallVector<Tap>(taps), 0,
                scratchOf(m, scratch, at, partialAt), sums);
  else
    emitTaps(m, at, taps, sums);
  divide(m, sums, at, taps);
  finish(m, sums, at);
}

/// sums = sums / count, of an average.
void Window::divide(IndexMath &m, Value sums, const ColumnRange &at,
                    Taps taps) const {
  if (kind != WindowKind::average)
    return;
  Value divisor = divisorOf(m, at, taps);
  pointwise(m, {}, sums,
            [&](OpBuilder &nb, Location nl, ValueRange args) -> Value {
              return arith::DivFOp::create(nb, nl, args[0], divisor);
            });
}

void Window::finish(IndexMath &m, Value sums, const ColumnRange &at) const {
  if (!sumsInDst || (!epilogue.empty() && !bytes))
    emitEpilogue(m, sums, at);
}

/// The sums of `at`: in dst, or in scratch memory after `before` others.
Value Window::sumsOf(IndexMath &m, Value scratch, const ColumnRange &at,
                     Index before) const {
  return sumsInDst ? boxOfDst(m, at)
                   : scratchOf(m, scratch, at, before * sumBytes());
}

/// As many sums as `at` has, in scratch memory from byte `offset` on.
Value Window::scratchOf(IndexMath &m, Value scratch, const ColumnRange &at,
                        Index offset) const {
  Index channels = at.channels.value_or(1);
  Value all = scratchView(m, scratch, sumType(), offset, at.count * channels);
  SmallVector<Index> sizes{at.count}, strides{channels};
  if (at.channels) {
    sizes.push_back(channels);
    strides.push_back(1);
  }
  return box(m, all, 0, sizes, strides);
}

/// Whether rows of src are folded into one first: loads with a stride are
/// several each, and fewer then. Where the length of a row is not known, only
/// if all of it is divided alike.
bool Window::folds() const {
  const SizedWindow &w = dims[last()];
  int64_t rows = 1;
  for (const SizedWindow &d : ArrayRef(dims).drop_back())
    rows *= d.kernel;
  if (kind == WindowKind::depthwise || channelsInside || rows == 1 ||
      w.kernel == 1 || w.stride == 1)
    return false;
  if (auto row = known(w))
    return row->out >= kMinFolded && segmentsOf(*row).size() <= 2 * kMaxWritten;
  return kind == WindowKind::max || divisor == PoolDivisor::window;
}

void Window::divideRow(IndexMath &m, Value scratch, ColumnRange at,
                       SmallVector<Tap> taps) const {
  const SizedWindow &w = dims[last()];
  if (kind != WindowKind::average)
    return;
  auto divideRange = [&](Index from, Index count,
                         std::pair<int64_t, int64_t> valid) {
    at.column = from;
    at.count = count;
    taps.push_back({valid.first, valid.second - valid.first});
    divide(m, sumsOf(m, scratch, at, from), at, taps);
    taps.pop_back();
  };
  if (divisor == PoolDivisor::window)
    return divideRange(0, w.out, {0, w.kernel});
  // Those with the same taps are clipped alike: they have all, or no other has
  // the same.
  for (const WindowSegment &s : segmentsOf(*known(w)))
    divideRange(s.from, s.count, s.taps);
}

/// The whole row of dst in `row`; `taps` are those of other dims.
void Window::emitFolded(IndexMath &m, Value scratch, ColumnRange row,
                        SmallVector<Tap> taps) const {
  const SizedWindow &w = dims[last()];
  Index padded = w.paddedSize(), pad = min(w.pad, padded);
  Value all = scratchView(m, scratch, sumType(), foldedAt(), padded);
  fill(m, all, neutral());
  Index seen = min(w.in, padded - pad);
  if (seen.constant().value_or(1) > 0) {
    Window rows = *this;
    rows.dims.back() = {seen, seen, 1, 1, 0, 1};
    row.column = 0;
    row.count = seen;
    taps.push_back({0, 1});
    rows.emitTaps(m, row, taps, box(m, all, pad, {seen}, {1}));
    taps.pop_back();
  }
  Window columns = *this;
  columns.folded = true;
  columns.dims = {{padded, w.out, w.kernel, w.stride, 0, w.dilation}};
  columns.src.base = all;
  columns.src.sizes = {1, padded, 1};
  columns.src.strides = {0, 1, 0};
  row.count = w.out;
  Value sums = sumsOf(m, scratch, row);
  fill(m, sums, neutral());
  columns.emitTaps(m, {0, 0, {}, 0, row.count, std::nullopt}, {{0, w.kernel}},
                   sums);
  divideRow(m, scratch, row, taps);
  row.column = 0;
  row.count = w.out;
  finish(m, sums, row);
}

/// dst = epilogue(sums, epilogue operands) on the same range.
void Window::emitEpilogue(IndexMath &m, Value sums,
                          const ColumnRange &at) const {
  int64_t parallel = at.channels ? 2 : 1;
  SmallVector<Value> ins;
  SmallVector<AffineMap> maps;
  addEpilogueOperands(m, epilogueOperands, at, ins, maps);
  AffineMap identity = m.builder().getMultiDimIdentityMap(parallel);
  maps.push_back(identity);
  Value out = sums;
  if (!sumsInDst) {
    ins.push_back(sums);
    maps.push_back(identity);
    out = boxOfDst(m, at);
  }
  SmallVector<utils::IteratorType> iterators(parallel,
                                             utils::IteratorType::parallel);
  linalg::GenericOp::create(
      m.builder(), m.location(), TypeRange{}, ins, out, maps, iterators,
      [&](OpBuilder &nb, Location nl, ValueRange args) {
        Value sum = args[epilogueOperands.size()];
        if (bytes)
          sum = castScalar(nb, nl, sum, bytes, nb.getF32Type());
        Value value = epilogue.apply(nb, nl, sum,
                                     args.take_front(epilogueOperands.size()),
                                     dst.elementType());
        linalg::YieldOp::create(nb, nl, value);
      });
}

/// Elements that an average counts along `dim`.
Index Window::countOf(int64_t dim, const ColumnRange &at, Taps taps) const {
  const SizedWindow &d = dims[dim];
  Index position = dim == last() ? at.column : at.outer[dim];
  switch (divisor) {
  case PoolDivisor::window:
    return d.kernel;
  case PoolDivisor::clipped:
    return d.paddedTaps(position * d.stride);
  case PoolDivisor::elements:
    return taps[dim].second;
  }
  llvm_unreachable("there are no others");
}

/// Number of elements an average is taken over, times `part`, as f32.
Value Window::divisorOf(IndexMath &m, const ColumnRange &at, Taps taps) const {
  OpBuilder &b = m.builder();
  Index count = 1;
  for (int64_t i = 0; i <= last(); ++i)
    count *= countOf(i, at, taps);
  // A window that lies in the padding alone has the sum 0: 0 / 1.
  if (auto c = count.constant())
    return arith::ConstantOp::create(
        b, m.location(),
        b.getF32FloatAttr(static_cast<float>(
            static_cast<double>(std::max<int64_t>(*c, 1)) * part)));
  Value n = m.value(max(count, 1));
  n = arith::IndexCastOp::create(b, m.location(), b.getI64Type(), n);
  n = arith::SIToFPOp::create(b, m.location(), b.getF32Type(), n);
  return arith::MulFOp::create(
      b, m.location(), n,
      arith::ConstantOp::create(b, m.location(),
                                b.getF32FloatAttr(static_cast<float>(part))));
}

DirectDepthwise Window::asDirect() const {
  return {dims,     src,
          dst,      depthwiseWeights(weights),
          epilogue, bytesOf(src) > ctx.target.getL2Bytes()};
}

void Window::emitDirect() const {
  IndexMath &m = ctx.m;
  Grid grid{{"image", src.sizes[0]}};
  for (const SizedWindow &d : ArrayRef(dims).drop_back())
    grid.add("row", d.out);
  emitItems(m, ctx.label, grid, [&](const Grid::Item &at) {
    asDirect().emitRow(m, at["image"], at.all("row"));
  });
}

/// A row of a depthwise convolution, of unknown sizes, with few taps, whose
/// sums stay in registers where they are few.
void Window::emitMostlyDirect(IndexMath &m, Value scratch, Index partialAt,
                              const ColumnRange &range,
                              ArrayRef<Tap> taps) const {
  asDirect().emitSizedRow(
      m, range.image, range.outer,
      [&] { emitRow(m, scratch, partialAt, range, taps); },
      [&](Index column) {
        emitCut(m, scratch, partialAt, range, taps, column, {});
      });
}

SmallVector<WindowSegment> Window::writtenSegments() const {
  auto row = known(dims[last()]);
  if (!row || row->kernel > kMaxWritten)
    return {};
  SmallVector<WindowSegment> segments = segmentsOf(*row);
  if (segments.size() > 2 * kMaxWritten)
    segments.clear();
  return segments;
}

/// Bytes of the sums of the longest range, of so many `channels`.
Index Window::columnRangeBytes(Index channels) const {
  auto [first, past] = dims[last()].interior();
  Index longest = max(past - first, 1);
  for (const WindowSegment &s : writtenSegments())
    longest = max(longest, s.count);
  return longest * sumBytes() * channels;
}

/// The row of dst that begins at `range`, as ranges of columns; `taps` are
/// those of other dims.
void Window::emitRow(IndexMath &m, Value scratch, Index partialAt,
                     ColumnRange range, ArrayRef<Tap> outerTaps) const {
  const SizedWindow &w = dims[last()];
  SmallVector<Tap> taps(outerTaps);
  taps.push_back({0, w.kernel});
  SmallVector<WindowSegment> segments = writtenSegments();
  for (const WindowSegment &s : segments) {
    taps.back() = {s.taps.first, s.taps.second - s.taps.first};
    range.column = s.from;
    range.count = s.count;
    emitColumns(m, scratch, partialAt, range, taps);
  }
  if (!segments.empty())
    return;
  auto [first, past] = w.interior();
  range.column = first;
  range.count = past - first;
  if (range.count.constant().value_or(1) > 0)
    emitColumns(m, scratch, partialAt, range, taps);
  auto emitEnd = [&](Index from, Index to, ArrayRef<KnownTaps> ways) {
    emitLoop(m, from, to, [&](Index column) {
      emitCut(m, scratch, partialAt, range, outerTaps, column, ways);
    });
  };
  bool isWritten = w.kernel <= kMaxWritten;
  emitEnd(0, first, isWritten ? cutBefore(w) : SmallVector<KnownTaps>());
  emitEnd(past, w.out, isWritten ? cutAfter(w) : SmallVector<KnownTaps>());
}

/// Column `column` of a row, whose windows may be cut; `taps` are those of
/// other dims. There is code for each of `ways` to cut it, and for any other.
void Window::emitCut(IndexMath &m, Value scratch, Index partialAt,
                     ColumnRange range, ArrayRef<Tap> outerTaps, Index column,
                     ArrayRef<KnownTaps> ways) const {
  const SizedWindow &w = dims[last()];
  SmallVector<Tap> taps(outerTaps);
  auto valid = w.validTaps(column * w.stride);
  range.column = column;
  range.count = 1;
  auto emit = [&](Index lo, Index hi) {
    taps.push_back({lo, hi - lo});
    emitColumns(m, scratch, partialAt, range, taps);
    taps.pop_back();
  };
  withKnownTaps(
      m, valid, ways, [&](KnownTaps cut) { emit(cut.first, cut.second); },
      [&] { emit(valid.first, valid.second); });
}

void Window::emit() const {
  IndexMath &m = ctx.m;
  auto windows = known(dims);
  bool mayBeDirect =
      kind == WindowKind::depthwise && perGroup == 1 && channelsInside;
  if (mayBeDirect && windows && DirectDepthwise::fits(*windows))
    return emitDirect();
  bool isMostlyDirect =
      mayBeDirect && !windows && DirectDepthwise::fits(ArrayRef(dims));
  ChannelBlocks blocks(src.sizes.back(), channelsInside, channelBlock());
  Grid grid{{"image", src.sizes[0]}, {"channels", blocks.count}};
  for (int64_t i = 0; i < last(); ++i)
    grid.add("row", dims[i].out);
  Index one = columnRangeBytes(blocks.block);
  Index partialAt = sumsInDst ? 0 : one;
  Index scratchBytes = partialAt + (cutOfTaps() ? one : 0);
  bool folding = folds();
  if (folding)
    scratchBytes = foldedBytes();
  auto row = [&](const Grid::Item &at, Value scratch) {
    ColumnRange range{
        at["image"], at["channels"] * blocks.block, at.all("row"), 0, 0,
        std::nullopt};
    if (channelsInside)
      range.channels = blocks.extent(src.sizes.back(), at["channels"]);
    SmallVector<Tap> taps;
    for (int64_t i = 0; i < last(); ++i) {
      Index start = range.outer[i] * dims[i].stride;
      auto [lo, hi] = dims[i].validTaps(start);
      taps.push_back({lo, hi - lo});
    }
    if (folding)
      emitFolded(m, scratch, range, std::move(taps));
    else if (isMostlyDirect)
      emitMostlyDirect(m, scratch, partialAt, range, taps);
    else
      emitRow(m, scratch, partialAt, range, taps);
  };
  emitItems(m, ctx.label, grid, scratchBytes, row);
}

namespace {

/// The 8-bit type whose cast `window` reads; null if it reads anything else.
Type castFromBytes(Operation *window) {
  auto cast = window->getOperand(0).getDefiningOp<graph::TypeCastOp>();
  if (!cast || !isa<BlockArgument>(cast.getSrc()))
    return Type();
  Type type = rankedType(cast.getSrc()).getElementType();
  return type.isUnsignedInteger(8) || type.isSignedInteger(8) ? type : Type();
}

bool isCastTo(Type type, ArrayRef<Operation *> ops) {
  return ops.size() == 1 && graph::isCast(ops[0]) &&
         rankedType(ops[0]->getResult(0)).getElementType() == type;
}

/// A power of two, no more than 1 over the elements of a window.
double partOfMean(ArrayRef<SizedWindow> dims) {
  double all = 1;
  for (const SizedWindow &d : dims)
    all *= static_cast<double>(std::max<int64_t>(d.kernel, 1));
  return std::exp2(-std::ceil(std::log2(all)));
}

/// Pooling and depthwise convolution.
LogicalResult lowerForward(GroupContext &ctx, Operation *op) {
  auto conv = dyn_cast<tile::ConvOp>(op);
  auto type = rankedType(op->getOperand(0));
  auto dstType = rankedType(op->getResult(0));
  bool ncx = !conv && isNcx(op, type.getRank());
  Window w{ctx,
           op,
           conv                        ? WindowKind::depthwise
           : isa<graph::MaxPoolOp>(op) ? WindowKind::max
                                       : WindowKind::average,
           FusedOperand(ctx, op->getOperand(0)),
           {},
           {},
           toChannelsLast(ctx.result(), ncx),
           {},
           divisorOf(op),
           true,
           Epilogue(ctx, op),
           {},
           {},
           true};
  w.src = toChannelsLast(w.made.tensors().front(), ncx);
  for (const Strided &operand : w.epilogue.epilogueOperands)
    w.epilogueOperands.push_back(toChannelsLast(operand, ncx));
  if (!type.getElementType().isF32())
    return emitError(op, ErrorCode::UnsupportedForm,
                     "windows are lowered for f32");
  w.dims = withSizes(
      op,
      conv ? windowDims(conv)
           : windowDims(op, type, dstType, ncx, intsAttr(op, "kernel")),
      w.src.sizes, w.dst.sizes);
  w.propagatesNan = boolAttr(op, "propagate_nan");
  if (w.kind == WindowKind::average)
    w.part = partOfMean(w.dims);
  // The maximum of padding alone is no byte.
  auto windows = known(w.dims);
  if (w.kind == WindowKind::max &&
      (windows ? meetSrc(*windows) : staysInside(op, w.dims)))
    w.bytes = castFromBytes(op);
  w.sumsInDst = w.bytes
                    ? isCastTo(w.bytes, ArrayRef(ctx.opsFrom(op)).drop_front())
                    : w.dst.elementType().isF32();
  if (conv) {
    w.weights = ctx.memoryOf(conv.getWeights());
    if (conv.hasGroupsAsLanes())
      w.perGroup = rankedType(conv.getWeights()).getShape().drop_back().back();
  }
  w.channelsInside = w.dst.strides.back().isConstant(1);
  w.emit();
  return success();
}

} // namespace

LogicalResult lowerWindow(GroupContext &ctx) {
  // Before it is what makes an element of src.
  Operation *op = *llvm::find_if(ctx.ops(), [](Operation *each) {
    return kindOfGroup(each) == GroupKind::window;
  });
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::ConvTransposeOp transposed) {
        return lowerDepthwiseTranspose(ctx, transposed);
      })
      .Case([&](tile::ConvWeightsOp gradient) {
        return lowerDepthwiseWeights(ctx, gradient);
      })
      .Case<graph::MaxPoolBackwardOp, graph::AvgPoolBackwardOp>(
          [&](auto) { return lowerPoolGradient(ctx); })
      .Case<graph::InterpolateOp, graph::InterpolateBackwardOp>(
          [&](auto) { return lowerInterpolate(ctx); })
      .Case<graph::LRNOp, graph::LRNBackwardOp>(
          [&](auto) { return lowerLrn(ctx); })
      .Default([&](Operation *) { return lowerForward(ctx, op); });
}

} // namespace tenon::passes
