//===- DirectConv.cpp - a row of a convolution as products ----------------===//
#include "passes/tiling/DirectConv.h"

#include "passes/support/GraphAttrs.h"
#include "passes/tiling/Windows.h"

using namespace mlir;

namespace tenon::tiling {

/// Joined bytes that do not fill their last group are read with what follows
/// them, so many bytes: weights are zero there. (Floats could be infinite.)
static int64_t surplusBytes(tile::ConvOp op) {
  int64_t k = op.getJoined() * rankedType(op.getSrc()).getShape().back();
  return op.getJoined() > 1 &&
                 rankedType(op.getSrc()).getElementType().isInteger(8)
             ? roundUp(k, op.getInterleave()) - k
             : 0;
}

/// Whether copying src with zeros beside its rows takes less time than products
/// of single columns at the edges do, which read all weights for one row.
static bool shouldPadRows(ArrayRef<WindowDim> dims, int64_t outPerGroup,
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
static bool joinsTaps(const Strided &src, const WindowDim &w) {
  return w.interior() == std::pair<int64_t, int64_t>(0, w.out) &&
         IndexMath::isConstant(src.strides.back(), 1) &&
         IndexMath::constant(src.strides[src.rank() - 2]) ==
             IndexMath::constant(src.sizes.back());
}

DirectConv::DirectConv(GroupContext &ctx, tile::ConvOp op, Strided from)
    : op(op), dims(windowDims(op)), src(std::move(from)),
      packed(ctx.memoryOf(op.getWeights()).base),
      inPerGroup(rankedType(op.getSrc()).getShape().back() / op.getGroups()),
      outPerGroup(rankedType(op.getDst()).getShape().back() / op.getGroups()),
      panel(panelWidth(rankedType(op.getWeights()), op.getInterleave())),
      k(inPerGroup * op.getJoined() + surplusBytes(op)) {
  bool isStatic = IndexMath::constant(src.sizes[0]).has_value();
  bool pads = op.getJoined() > 1
                  ? surplusBytes(op) > 0 || !joinsTaps(src, dims.back())
                  : isStatic && shouldPadRows(dims, outPerGroup,
                                              op.getInterleave() > 1);
  if (pads)
    padRows(ctx);
  ahead = rowsAhead(ctx.core.l2Bytes);
}

SmallVector<int64_t> DirectConv::rowsAhead(int64_t l2Bytes) const {
  auto row = IndexMath::constant(src.strides[1]);
  if (dims.size() != 2 || !row || bytesOf(src) <= l2Bytes)
    return {};
  auto [in, out, kernel, stride, pad, dilation] = dims.front();
  if (out < 2 || dilation > 1 || *row < dims.back().in * inPerGroup)
    return {};
  return {std::max(kernel, stride) * *row, std::min(kernel, stride) * *row};
}

int64_t DirectConv::panels() const {
  return rankedType(op.getWeights()).getDimSize(1);
}

void DirectConv::overColumns(
    IndexMath &m, Ofr which,
    llvm::function_ref<void(IndexMath &, int64_t)> body) const {
  withBlockSize(m, which, outPerGroup, panel, body);
}

/// src becomes a copy whose last spatial dim has its padding, and its windows
/// are those of the copy.
void DirectConv::padRows(GroupContext &ctx) {
  IndexMath &m = ctx.m;
  WindowDim &w = dims.back();
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
      MemRefType::get({total + surplusBytes(op)}, src.elementType()));
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
  src = padded;
}

void DirectConv::emitRow(IndexMath &m, const Row &row) const {
  const WindowDim &w = dims.back();
  auto [first, past] = w.interior();
  if (past > first)
    emitStretch(m, row, m.attr(first), m.attr(past - first), m.attr(0),
                m.attr(w.kernel));
  for (auto [from, to] : {std::pair(int64_t(0), first), std::pair(past, w.out)})
    emitLoop(m, m.attr(from), m.attr(to), [&](IndexMath &em, Ofr column) {
      auto [lo, hi] = w.validTaps(em, em.mul(column, em.attr(w.stride)));
      emitStretch(em, row, column, em.attr(1), lo, hi);
    });
}

void DirectConv::emitStretch(IndexMath &m, const Row &row, Ofr column,
                             Ofr count, Ofr lo, Ofr hi) const {
  int64_t s = dims.size();
  bool joins = op.getJoined() > 1;
  // src box: [taps.., columns, channels].
  Ofr offset = src.offset.value_or(m.attr(0));
  offset = m.add(offset, m.mul(row.image, src.strides[0]));
  SmallVector<Ofr> aSizes, aStrides, bSizes, bStrides, first;
  for (int64_t i = 0; i < s; ++i) {
    bool last = i == s - 1;
    const WindowDim &d = dims[i];
    Ofr start = m.mul(last ? column : row.outer[i], m.attr(d.stride));
    auto [l, h] = last ? std::pair(lo, hi) : d.validTaps(m, start);
    Ofr at = m.sub(m.add(start, m.mul(l, m.attr(d.dilation))), m.attr(d.pad));
    offset = m.add(offset, m.mul(at, src.strides[i + 1]));
    aSizes.push_back(m.sub(h, l));
    aStrides.push_back(m.mul(src.strides[i + 1], m.attr(d.dilation)));
    first.push_back(l);
  }
  if (joins)
    aSizes.back() = m.attr(1);
  offset = m.add(
      offset, m.mul(m.mul(row.group, m.attr(inPerGroup)), src.strides.back()));
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
    if (i < s - 1 || !joins)
      step *= dims[i].kernel;
  }
  Ofr which = m.add(m.mul(row.group, m.attr(panels())), row.panel);
  wOffset = m.add(wOffset, m.mul(which, m.attr(step)));
  Value b = panelBox(m, packed, wOffset, bSizes, bStrides, m.attr(k), panel, v);
  SmallVector<Ofr> start{row.image};
  start.append(row.outer.begin(), row.outer.end());
  start.push_back(column);
  start.push_back(m.add(m.mul(row.group, m.attr(outPerGroup)),
                        m.mul(row.panel, m.attr(panel))));
  auto product = row.epilogue.emitBrgemm(m, a, b, row.dst, row.epilogue.sides,
                                         start, s, count, m.attr(row.columns));
  product.setUnsignedA(
      rankedType(op.getSrc()).getElementType().isUnsignedInteger(8));
  if (!ahead.empty() && IndexMath::constant(count).value_or(0) > 1)
    product.setFetchAhead(ahead);
  if (row.isReadSoon)
    keepNear(product);
}

} // namespace tenon::tiling
