//===- LowerContraction.cpp - products as sections of tile.brgemm ---------===//
//
// MatMul: Products.cpp.
//
// Convolution: items are (image, group, panel, row of dst). A row is one
// tile.brgemm over the taps that fall inside src; the few columns at its ends
// whose taps are cut by the padding are products of one row each, or part of
// the row, where a first section has copied src with zeros beside its rows.
//
// Its gradients: LowerConvTranspose.cpp, LowerConvWeights.cpp. By minimal
// filtering: LowerWinograd.cpp.
//
//===----------------------------------------------------------------------===//
#include "passes/support/GraphAttrs.h"
#include "passes/tiling/Products.h"
#include "passes/tiling/Windows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::tiling {

namespace {

/// Says how bytes of `src` are to be read.
void setSign(tile::BrgemmOp product, Value src) {
  product.setUnsignedA(rankedType(src).getElementType().isUnsignedInteger(8));
}

LogicalResult lowerMatMul(GroupContext &ctx, tile::MatMulOp op) {
  IndexMath &m = ctx.m;
  Epilogue epilogue(ctx, op);
  auto type = rankedType(op.getDst());
  int64_t n = type.getShape().back();
  if (ShapedType::isDynamic(n))
    return op.emitError("E2003 the number of columns is unknown");
  Product p;
  p.sides = epilogue.sides;
  p.n = n;
  p.interleave = op.getInterleave();
  p.k = ctx.sizes[op.getSrc()].back();
  p.dst = ctx.outputs.begin()->second.front();
  // src over dst's leading dims and rows, then K.
  ArrayRef<Ofr> space = ctx.sizes[op.getDst()];
  SmallVector<Ofr> aSpace(space.begin(), space.end() - 1);
  aSpace.push_back(p.k);
  auto overA = [&](const Strided &src) {
    Strided a = broadcastTo(m, src, aSpace);
    a.strides.back() = src.strides.back();
    return a;
  };
  Computed made(ctx, op.getSrc());
  if (made.isRead()) {
    p.a = overA(made.tensors().front());
  } else {
    p.made = &made;
    for (const Strided &src : made.tensors())
      p.madeFrom.push_back(overA(src));
    p.a.sizes = aSpace;
    p.a.strides.assign(aSpace.size(), m.attr(0));
  }
  // Weights, `own` of whose dims are their own, over dst's leading dims and
  // rows.
  auto overRows = [&](Strided w, int64_t own) {
    w.dense = false;
    w.sizes.pop_back_n(own);
    w.strides.pop_back_n(own);
    Strided over = broadcastTo(m, w, space.drop_back(2));
    over.sizes.push_back(space[space.size() - 2]);
    over.strides.push_back(m.attr(0));
    return over;
  };
  std::optional<PanelPacking> packing;
  if (!op.getInPlace())
    p.panel = panelWidth(rankedType(op.getWeights()), p.interleave);
  if (auto pack = op.getWeights().getDefiningOp<tile::PackOp>()) {
    packing.emplace(ctx, pack);
    p.packing = &*packing;
    for (const Strided &w : packing->tensors())
      p.unpacked.push_back(overRows(w, 2));
    p.w.sizes = p.unpacked.front().sizes;
    p.w.strides.assign(p.w.sizes.size(), m.attr(0));
  } else {
    Strided w = ctx.memoryOf(op.getWeights());
    if (op.getInPlace()) {
      p.inPlace = {w.strides[w.rank() - 2], w.strides.back()};
      p.k = w.sizes[w.rank() - 2]; // static
    }
    p.w = overRows(w, op.getInPlace() ? 2 : 3 + (p.interleave > 1));
  }
  p.unsignedA = rankedType(op.getSrc()).getElementType().isUnsignedInteger(8);
  emitProduct(ctx, epilogue, std::move(p));
  return success();
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

void emitPointwise(GroupContext &ctx, const Epilogue &epilogue,
                   tile::ConvOp op) {
  IndexMath &m = ctx.m;
  auto packedType = rankedType(op.getWeights());
  Product p;
  p.sides = epilogue.sides;
  p.n = rankedType(op.getDst()).getShape().back();
  p.interleave = op.getInterleave();
  p.panel = panelWidth(packedType, p.interleave);
  p.a = ctx.memoryOf(op.getSrc());
  p.k = p.a.sizes.back();
  p.dst = ctx.outputs.begin()->second.front();
  p.w.base = ctx.memoryOf(op.getWeights()).base;
  p.w.sizes.assign(p.dst.sizes.begin(), p.dst.sizes.end() - 1);
  p.w.strides.assign(p.w.sizes.size(), m.attr(0));
  p.unsignedA = rankedType(op.getSrc()).getElementType().isUnsignedInteger(8);
  emitProduct(ctx, epilogue, std::move(p));
}

/// Joined bytes that do not fill their last group are read with what follows
/// them, so many bytes: weights are zero there. (Floats could be infinite.)
int64_t surplusBytes(tile::ConvOp op) {
  int64_t k = op.getJoined() * rankedType(op.getSrc()).getShape().back();
  return op.getJoined() > 1 &&
                 rankedType(op.getSrc()).getElementType().isInteger(8)
             ? roundUp(k, op.getInterleave()) - k
             : 0;
}

/// One row of dst, or a part of it: columns [column, column + count) of which
/// all use the taps [lo, hi) of the last spatial dim.
struct ConvRow {
  const Epilogue &epilogue;
  ArrayRef<WindowDim> dims;
  tile::ConvOp op;
  Strided src, dst;
  int64_t inPerGroup, panel;
  Value packed;
  int64_t k = inPerGroup * op.getJoined() + surplusBytes(op);

  bool joins() { return op.getJoined() > 1; }

  void emit(IndexMath &m, Ofr image, ArrayRef<Ofr> outer, Ofr group, Ofr p,
            Ofr column, Ofr count, Ofr lo, Ofr hi, int64_t columns,
            int64_t outPerGroup, int64_t panels) {
    int64_t s = dims.size();
    // src box: [taps.., columns, channels].
    Ofr offset = src.offset.value_or(m.attr(0));
    offset = m.add(offset, m.mul(image, src.strides[0]));
    SmallVector<Ofr> aSizes, aStrides, bSizes, bStrides, first;
    for (int64_t i = 0; i < s; ++i) {
      bool last = i == s - 1;
      const WindowDim &d = dims[i];
      Ofr start = m.mul(last ? column : outer[i], m.attr(d.stride));
      auto [l, h] = last ? std::pair(lo, hi) : d.validTaps(m, start);
      Ofr at = m.sub(m.add(start, m.mul(l, m.attr(d.dilation))), m.attr(d.pad));
      offset = m.add(offset, m.mul(at, src.strides[i + 1]));
      aSizes.push_back(m.sub(h, l));
      aStrides.push_back(m.mul(src.strides[i + 1], m.attr(d.dilation)));
      first.push_back(l);
    }
    if (joins())
      aSizes.back() = m.attr(1);
    offset = m.add(offset,
                   m.mul(m.mul(group, m.attr(inPerGroup)), src.strides.back()));
    bSizes = aSizes;
    aSizes.append({count, m.attr(k)});
    aStrides.push_back(m.mul(src.strides[s], m.attr(dims[s - 1].stride)));
    aStrides.push_back(src.strides.back());
    Value a = box(m, src.base, offset, aSizes, aStrides);
    // Weights box: [taps.., channels, panel].
    int64_t v = op.getInterleave();
    int64_t step = *IndexMath::constant(panelSize(m, m.attr(k), panel, v));
    bStrides.assign(s, m.attr(0));
    Ofr wOffset = m.attr(0);
    for (int64_t i = s - 1; i >= 0; --i) {
      bStrides[i] = m.attr(step);
      wOffset = m.add(wOffset, m.mul(first[i], m.attr(step)));
      if (i < s - 1 || !joins())
        step *= dims[i].kernel;
    }
    Ofr which = m.add(m.mul(group, m.attr(panels)), p);
    wOffset = m.add(wOffset, m.mul(which, m.attr(step)));
    Value b =
        panelBox(m, packed, wOffset, bSizes, bStrides, m.attr(k), panel, v);
    SmallVector<Ofr> start{image};
    start.append(outer.begin(), outer.end());
    start.push_back(column);
    start.push_back(
        m.add(m.mul(group, m.attr(outPerGroup)), m.mul(p, m.attr(panel))));
    auto product = epilogue.emitBrgemm(m, a, b, dst, epilogue.sides, start, s,
                                       count, m.attr(columns));
    setSign(product, op.getSrc());
  }
};

/// Whether copying src with zeros beside its rows takes less time than products
/// of single columns at the edges do, which read all weights for one row.
bool shouldPadRows(ArrayRef<WindowDim> dims, int64_t outPerGroup,
                   bool interleaved) {
  // Multiply-adds in the time that an element is copied, and rows among others
  // in whose time a lone one is done: matrix units take no single rows. See
  // docs/cost-model.md.
  constexpr double kCopiedElement = 60;
  const double kLoneRow = interleaved ? 16 : 3;
  auto real = [](int64_t n) { return static_cast<double>(n); };
  const WindowDim &w = dims.back();
  auto [first, past] = w.interior();
  double saved =
      (kLoneRow - 1) * real(w.out - (past - first)) * real(outPerGroup);
  double copied = real(w.paddedSize());
  for (const WindowDim &d : dims)
    saved *= real(d.kernel);
  for (const WindowDim &d : dims.drop_back()) {
    saved *= real(d.out);
    copied *= real(d.in);
  }
  return saved > copied * kCopiedElement;
}

/// Whether the taps of every position of dst lie in src, one piece of a row.
bool joinsTaps(const Strided &src, const WindowDim &w) {
  return w.interior() == std::pair<int64_t, int64_t>(0, w.out) &&
         IndexMath::isConstant(src.strides.back(), 1) &&
         IndexMath::constant(src.strides[src.rank() - 2]) ==
             IndexMath::constant(src.sizes.back());
}

/// A copy of `src` whose last spatial dim has its padding; `w` is then of it.
/// `surplus` elements behind it may be read.
Strided padRows(GroupContext &ctx, Strided src, WindowDim &w, int64_t surplus) {
  IndexMath &m = ctx.m;
  int64_t rank = src.rank(), dim = rank - 2, total = 1;
  src.dense = false;
  Strided padded = src;
  padded.offset.reset();
  padded.sizes[dim] = m.attr(w.paddedSize());
  for (int64_t i = rank - 1; i >= 0; --i) {
    padded.strides[i] = m.attr(total);
    total *= *IndexMath::constant(padded.sizes[i]);
  }
  padded.base = memref::AllocOp::create(
      m.builder(), m.location(),
      MemRefType::get({total + surplus}, src.elementType()));
  auto write = [&](std::optional<Strided> from, int64_t start, int64_t count) {
    if (count <= 0)
      return;
    Strided to = padded;
    to.sizes[dim] = m.attr(count);
    to.offset = m.mul(m.attr(start), padded.strides[dim]);
    if (from)
      from->sizes[dim] = to.sizes[dim];
    emitCopy(ctx, from, to);
  };
  int64_t before = std::min(w.pad, w.paddedSize());
  // Strides may leave columns at the end unread.
  int64_t used = std::min(w.in, w.paddedSize() - before);
  int64_t behind = w.paddedSize() - before - used;
  write(std::nullopt, 0, before);
  write(src, before, used);
  write(std::nullopt, before + used, behind);
  w.in = w.paddedSize();
  w.pad = 0;
  return padded;
}

LogicalResult lowerConv(GroupContext &ctx, tile::ConvOp op) {
  IndexMath &m = ctx.m;
  Epilogue epilogue(ctx, op);
  auto srcType = rankedType(op.getSrc()), dstType = rankedType(op.getDst());
  auto packedType = rankedType(op.getWeights());
  SmallVector<WindowDim> dims = windowDims(op);
  for (const WindowDim &d : dims)
    if (ShapedType::isDynamic(d.in) || ShapedType::isDynamic(d.out) ||
        ShapedType::isDynamic(d.kernel))
      return op.emitError("E2003 spatial dimensions must be static");
  if (srcType.isDynamicDim(srcType.getRank() - 1) ||
      dstType.isDynamicDim(dstType.getRank() - 1))
    return op.emitError("E2003 channels must be static");
  if (isPointwise(op)) {
    emitPointwise(ctx, epilogue, op);
    return success();
  }
  int64_t groups = op.getGroups();
  int64_t panel = panelWidth(packedType, op.getInterleave());
  int64_t outPerGroup = dstType.getShape().back() / groups;
  int64_t panels = packedType.getDimSize(1);
  ConvRow row{epilogue,
              dims,
              op,
              ctx.memoryOf(op.getSrc()),
              ctx.outputs.begin()->second.front(),
              srcType.getShape().back() / groups,
              panel,
              ctx.memoryOf(op.getWeights()).base};
  bool isStatic = IndexMath::constant(row.src.sizes[0]).has_value();
  int64_t surplus = surplusBytes(op);
  if (op.getJoined() > 1 ? surplus > 0 || !joinsTaps(row.src, dims.back())
                         : isStatic && shouldPadRows(dims, outPerGroup,
                                                     op.getInterleave() > 1))
    row.src = padRows(ctx, row.src, dims.back(), surplus);
  const WindowDim &w = dims.back();
  auto [first, past] = w.interior();
  SmallVector<Ofr> counts{row.src.sizes[0], m.attr(groups), m.attr(panels)};
  for (const WindowDim &d : ArrayRef(dims).drop_back())
    counts.push_back(m.attr(d.out));
  emitItems(m, ctx.label, m.product(counts), [&](IndexMath &im, Value item) {
    SmallVector<Ofr> at = delinearize(im, item, counts);
    ArrayRef<Ofr> outer = ArrayRef(at).drop_front(3);
    withBlockSize(im, at[2], outPerGroup, panel, [&](IndexMath &cm, int64_t n) {
      if (past > first)
        row.emit(cm, at[0], outer, at[1], at[2], cm.attr(first),
                 cm.attr(past - first), cm.attr(0), cm.attr(w.kernel), n,
                 outPerGroup, panels);
      for (auto [from, to] :
           {std::pair(int64_t(0), first), std::pair(past, w.out)})
        emitLoop(cm, cm.attr(from), cm.attr(to),
                 [&](IndexMath &em, Ofr column) {
                   auto [lo, hi] =
                       w.validTaps(em, em.mul(column, em.attr(w.stride)));
                   row.emit(em, at[0], outer, at[1], at[2], column, em.attr(1),
                            lo, hi, n, outPerGroup, panels);
                 });
    });
  });
  return success();
}

} // namespace

LogicalResult lowerContraction(GroupContext &ctx) {
  for (Operation *op : ctx.ops()) {
    if (auto product = dyn_cast<tile::MatMulOp>(op))
      return lowerMatMul(ctx, product);
    if (auto conv = dyn_cast<tile::ConvOp>(op))
      return lowerConv(ctx, conv);
    if (auto conv = dyn_cast<tile::WinogradOp>(op))
      return lowerWinograd(ctx, conv);
    if (auto conv = dyn_cast<tile::ConvTransposeOp>(op))
      return lowerConvTranspose(ctx, conv);
    if (auto conv = dyn_cast<tile::ConvWeightsOp>(op))
      return lowerConvWeights(ctx, conv);
  }
  return ctx.group.emitError("no contraction in the group");
}

} // namespace tenon::tiling
