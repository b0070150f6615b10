//===- DirectConv.cpp - a row of a convolution as products ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/convolution/DirectConv.h"

#include "passes/support/GraphAttrs.h"
#include "passes/tile/windows/Windows.h"

using namespace mlir;

namespace tenon::passes {

/// Joined bytes that do not fill their last group are read with what follows
/// them, so many bytes: weights are zero there. (Floats could be infinite.)
static int64_t surplusBytes(tile::ConvOp op) {
  int64_t k = op.getJoined() * rankedType(op.getSrc()).getShape().back();
  return op.getJoined() > 1 &&
                 rankedType(op.getSrc()).getElementType().isInteger(8)
             ? roundUp(k, op.getInterleave()) - k
             : 0;
}

RowSegments::RowSegments(ArrayRef<SizedWindow> dims) {
  // Columns alone are products of a block of rows, if there are so many rows
  // with all taps.
  constexpr int64_t kRowsOfBlock = 4, kLeast = 2, kLeastBesideBlocks = 4;
  int64_t least = kLeast;
  if (dims.size() > 1) {
    auto [from, to] = dims[dims.size() - 2].interior();
    if ((to - from).constant().value_or(kRowsOfBlock) >= kRowsOfBlock)
      least = kLeastBesideBlocks;
  }
  const SizedWindow &d = dims.back();
  if (auto row = known(d)) {
    share(*row, least);
    return;
  }
  auto [first, past] = d.interior();
  together.push_back({first, past - first, {0, d.kernel}});
  for (auto range : {std::pair(Index(0), first), {past, d.out}})
    if (!(range.first == range.second))
      alone.push_back(range);
}

void RowSegments::share(const WindowDim &row, int64_t least) {
  constexpr size_t kMost = 8; // each is code of its own
  SmallVector<WindowSegment> segments = segmentsOf(row);
  auto [first, past] = row.interior();
  auto isWide = [&](const WindowSegment &s) {
    return s.count >= least && s.taps.first < s.taps.second;
  };
  bool areFew = static_cast<size_t>(llvm::count_if(segments, isWide)) <= kMost;
  for (const WindowSegment &s : segments) {
    int64_t to = s.from + s.count;
    if ((areFew && isWide(s)) || (s.from == first && to == past))
      together.push_back({s.from, s.count, s.taps});
    else if (!alone.empty() && alone.back().second == s.from)
      alone.back().second = to;
    else
      alone.push_back({s.from, to});
  }
}

/// Whether copying src with zeros beside its rows takes less time than products
/// of single columns at the edges do, which read all weights for one row.
static bool shouldPadRows(ArrayRef<SizedWindow> sized, int64_t outPerGroup,
                          bool inTiles) {
  // kCopiedElement multiply-adds take as long as copying one element. A product
  // of a single row takes as long as kLoneRow rows of a larger one, since
  // matrix units gain nothing from few rows. See docs/cost-model.md.
  constexpr double kCopiedElement = 60;
  const double kLoneRow = inTiles ? 16 : 3;
  auto real = [](int64_t n) { return static_cast<double>(n); };
  auto dims = known(sized);
  if (!dims)
    return false;
  int64_t numAlone = 0;
  for (auto [from, to] : RowSegments(sized).alone)
    numAlone += *(to - from).constant();
  double saved = (kLoneRow - 1) * real(numAlone) * real(outPerGroup);
  double copied = real(dims->back().paddedSize());
  for (const WindowDim &d : *dims)
    saved *= real(d.kernel);
  for (const WindowDim &d : ArrayRef(*dims).drop_back()) {
    auto [first, past] = d.interior();
    bool areTogether = &d == dims->end() - 2 && !inTiles;
    saved *= real(areTogether ? d.out - (past - first) : d.out);
    copied *= real(d.in);
  }
  return saved > copied * kCopiedElement;
}

/// Whether the taps of every position of dst are contiguous elements of src.
static bool joinsTaps(const Strided &src, const WindowDim &w) {
  return w.interior() == std::pair<int64_t, int64_t>(0, w.out) &&
         src.strides.back().isConstant(1) &&
         src.strides[src.rank() - 2].constant() == src.sizes.back().constant();
}

DirectConv::DirectConv(GroupContext &ctx, tile::ConvOp op, Strided from)
    : op(op), dims(withSizes(op, windowDims(op), ctx.sizes[op.getSrc()],
                             ctx.sizes[op.getDst()])),
      src(std::move(from)), packed(ctx.memoryOf(op.getWeights()).base),
      inPerGroup(rankedType(op.getSrc()).getShape().back() / op.getGroups()),
      outPerGroup(rankedType(op.getDst()).getShape().back() / op.getGroups()),
      panel(panelWidth(rankedType(op.getWeights()), op.getInterleave())),
      k(inPerGroup * op.getJoined() + surplusBytes(op)) {
  bool isStatic = src.sizes[0].constant().has_value();
  auto row = known(dims.back());
  bool pads =
      op.getJoined() > 1
          ? surplusBytes(op) > 0 || !joinsTaps(src, *row)
          : isStatic &&
                shouldPadRows(dims, outPerGroup,
                              ctx.target.multipliesInTiles(op.getInterleave()));
  if (pads)
    padRows(ctx, *row);
  columns = RowSegments(dims);
  kept = rowsKept(ctx.target.getL2Bytes());
  ahead = rowsAhead(ctx.target.getL2Bytes());
}

int64_t DirectConv::rowsKept(int64_t l2Bytes) const {
  auto image = src.strides[0].constant();
  auto row = src.strides[1].constant();
  auto weights = rankedType(op.getWeights());
  auto bytes = [](int64_t count, Type element) {
    return count * element.getIntOrFloatBitWidth() / 8;
  };
  int64_t ofWeights = bytes(weights.getNumElements(), weights.getElementType());
  if (op.getGroups() == 1 || dims.size() != 2 || !image || !row || *row == 0 ||
      bytes(*image, src.elementType()) <= l2Bytes || ofWeights > l2Bytes / 4)
    return 0;
  int64_t read = bytes(*row * dims.front().stride, src.elementType());
  return std::max<int64_t>((l2Bytes / 2 - ofWeights) / read, 1);
}

bool DirectConv::hasFewWeights() const {
  constexpr int64_t kFewBytes = 64 << 10;
  auto weights = rankedType(op.getWeights());
  return op.getGroups() > 1 &&
         weights.getNumElements() *
                 static_cast<int64_t>(weights.getElementTypeBitWidth()) / 8 <=
             kFewBytes;
}

SmallVector<int64_t> DirectConv::rowsAhead(int64_t l2Bytes) const {
  auto row = src.strides[1].constant();
  auto groups = static_cast<int64_t>(op.getGroups());
  int64_t most = kept > 0 ? kFromMemoryBytes : std::min(l2Bytes, kMostOfL2);
  if (dims.size() != 2 || !row || (groups > 1 && kept == 0) ||
      bytesOf(src) <= most)
    return {};
  WindowDim d = *known(dims.front()), columns = *known(dims.back());
  int64_t kernel = d.kernel, stride = d.stride;
  if (d.out < 2 || d.dilation > 1 || *row < columns.in * inPerGroup * groups)
    return {};
  int64_t first = std::max(kernel, stride) * *row;
  int64_t count = std::min(kernel, stride) * *row;
  if (kept == 0)
    return {first, count};
  int64_t products = groups * panels();
  return {first + (kept - 1) * stride * *row, ceilDiv(count, products)};
}

int64_t DirectConv::panels() const {
  return rankedType(op.getWeights()).getDimSize(1);
}

void DirectConv::overColumns(IndexMath &m, Index which,
                             llvm::function_ref<void(int64_t)> body) const {
  withBlockSize(m, which, outPerGroup, panel, body);
}

/// src becomes a copy whose last spatial dim has its padding, and its windows
/// are those of the copy.
void DirectConv::padRows(GroupContext &ctx, const WindowDim &w) {
  IndexMath &m = ctx.m;
  int64_t rank = src.rank(), dim = rank - 2, total = 1;
  src.dense = false;
  Strided padded = src;
  padded.offset.reset();
  padded.sizes[dim] = w.paddedSize();
  for (int64_t i = rank - 1; i >= 0; --i) {
    padded.strides[i] = total;
    total *= *padded.sizes[i].constant();
  }
  padded.base = memref::AllocOp::create(
      m.builder(), m.location(),
      MemRefType::get({total + surplusBytes(op)}, src.elementType()));
  auto write = [&](std::optional<Strided> from, int64_t start, int64_t count) {
    if (count <= 0)
      return;
    Strided to = padded;
    to.sizes[dim] = count;
    to.offset = start * padded.strides[dim];
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
  dims.back().in = w.paddedSize();
  dims.back().pad = 0;
  src = padded;
}

DirectConv::Taps DirectConv::tapsAt(int64_t dim, Index position) const {
  const SizedWindow &d = dims[dim];
  return d.validTaps(position * d.stride);
}

DirectConv::Taps DirectConv::inPart(const Row &row, Taps taps) {
  if (row.part == SumPart::whole)
    return taps;
  Index from = row.partTaps.first, to = row.partTaps.second;
  return {min(max(taps.first, from), to), min(max(taps.second, from), to)};
}

int64_t DirectConv::panelElements() const {
  return llvm::product_of(rankedType(op.getWeights()).getShape().drop_front(2));
}

bool DirectConv::panelsStream() const {
  auto weights = rankedType(op.getWeights()).getNumElements();
  auto image = src.strides[0].constant();
  return weights >= kMaxCachedWeights && weights > image.value_or(weights);
}

SmallVector<std::pair<int64_t, int64_t>>
DirectConv::parts(const Strided &dst) const {
  int64_t kernel = dims.front().kernel, count = 1;
  bool isF32 = src.elementType().isF32() && dst.elementType().isF32() &&
               op.getInterleave() == 1; // sums are kept in dst
  if (dims.size() > 1 && isF32 && panelsStream()) {
    int64_t row =
        panelElements() / kernel * static_cast<int64_t>(sizeof(float));
    // Of a panel and of the next one.
    auto bytes = [&] { return 2 * ceilDiv(kernel, count) * row; };
    while (count < kernel && bytes() > kMostOfL2)
      ++count;
  }
  SmallVector<std::pair<int64_t, int64_t>> all;
  for (int64_t i = 0; i < count; ++i)
    all.push_back({i * kernel / count, (i + 1) * kernel / count});
  return all;
}

void DirectConv::emitRow(IndexMath &m, const Row &row) const {
  SmallVector<Taps> taps;
  for (auto [dim, position] : llvm::enumerate(row.outer))
    taps.push_back(tapsAt(dim, position));
  if (!taps.empty())
    taps.front() = inPart(row, taps.front());
  emitColumnRanges(m, row, taps);
  emitEnds(m, row, static_cast<int64_t>(dims.size()) - 1, 1, taps);
}

void DirectConv::emitColumnRanges(IndexMath &m, const Row &row,
                                  ArrayRef<Taps> outerTaps) const {
  auto *widest =
      llvm::max_element(columns.together, [](const RowSegments::Range &x,
                                             const RowSegments::Range &y) {
        return x.count.constant() < y.count.constant();
      });
  for (const RowSegments::Range &s : columns.together) {
    SmallVector<Index> at(row.outer);
    at.push_back(s.from);
    SmallVector<Taps> taps(outerTaps);
    taps.push_back({s.taps.first, s.taps.second});
    emitColumns(m, row, at, static_cast<int64_t>(dims.size()) - 1, s.count,
                taps, /*prefetches=*/&s == widest);
  }
}

void DirectConv::emitEnds(IndexMath &m, const Row &row, int64_t along,
                          Index count, ArrayRef<Taps> outerTaps) const {
  for (auto [from, to] : columns.alone)
    emitLoop(m, from, to, [&](Index column) {
      SmallVector<Index> at(row.outer);
      at.push_back(column);
      SmallVector<Taps> taps(outerTaps);
      taps.push_back(tapsAt(static_cast<int64_t>(dims.size()) - 1, column));
      emitColumns(m, row, at, along, count, taps);
    });
}

DirectConv::Blocks::Blocks(const DirectConv &conv, Index others) : conv(conv) {
  auto dims = ArrayRef(conv.dims);
  if (dims.size() < 2)
    return;
  const SizedWindow &d = dims[dims.size() - 2];
  rows = d.out;
  if (conv.columns.alone.empty())
    return;
  auto [from, to] = d.interior();
  // As many blocks as make items enough. Of rows whose number is known, blocks
  // are known, too.
  Index inside = to - from;
  if (inside.constant() && !others.constant())
    others = kMinItems;
  Index wanted = min(ceilDiv(kMinItems, max(others, 1)), inside);
  Index size = ceilDiv(inside, max(wanted, 1));
  if (conv.kept > 0)
    size = min(size, conv.kept);
  if (size.constant().value_or(2) < 2)
    return;
  first = from;
  past = to;
  block = max(size, 1);
  blocks = ceilDiv(inside, block);
}

void DirectConv::Blocks::emit(IndexMath &m, Index number,
                              const Row &row) const {
  SmallVector<Index> outer(row.outer);
  Row own = row;
  auto at = [&](Index position) {
    if (!outer.empty())
      outer.back() = position;
    own.outer = outer;
    return own;
  };
  Index inside = past - first;
  auto emitAlone = [&] {
    Index position = number - blocks;
    if (!inside.isConstant(0)) { // blocks have those from `first` on
      Index beyond = position - (first - 1);
      Index isBeyond = min(max(beyond, 0), 1);
      position += isBeyond * inside;
    }
    conv.emitRow(m, at(position));
  };
  auto emitBlock = [&] {
    withBlockSize(m, number, inside, block, [&](Index size) {
      Index start = number * block + first;
      SmallVector<Taps> taps;
      for (auto [dim, position] : llvm::enumerate(row.outer.drop_back()))
        taps.push_back(conv.tapsAt(dim, position));
      int64_t along = taps.size();
      taps.push_back({0, conv.dims[along].kernel});
      taps.front() = inPart(row, taps.front());
      emitLoop(m, 0, size,
               [&](Index i) { conv.emitColumnRanges(m, at(start + i), taps); });
      conv.emitEnds(m, at(start), along, size, taps);
    });
  };
  if (blocks.isConstant(0))
    emitAlone();
  else if (inside == rows)
    emitBlock();
  else
    emitIfBelow(m, number, blocks, emitBlock, emitAlone);
}

void DirectConv::prefetchNext(IndexMath &m, tile::BrgemmOp product,
                              const Row &row, Index srcAt,
                              Index panelAt) const {
  OpBuilder::InsertionGuard guard(m.builder());
  m.builder().setInsertionPoint(product);
  auto prefetch = [&](Value memory, Index from, int64_t count) {
    product.getPrefetchMutable().assign(box(m, memory, from, {count}, {1}));
  };
  if (row.outer.empty() || !panelsStream()) {
    if (ahead.empty())
      return;
    Index start = srcAt + ahead[0];
    if (kept > 0) { // the part of this group and panel
      start -= row.group * inPerGroup;
      Index part = row.group * panels() + row.panel;
      start += part * ahead[1];
    }
    return prefetch(src.base, start, ahead[1]);
  }
  // Each row its share of the next panel.
  auto [from, to] = row.part == SumPart::whole
                        ? std::pair<int64_t, int64_t>(0, dims.front().kernel)
                        : row.partTaps;
  int64_t tap = panelElements() / dims.front().kernel;
  int64_t rows = known(dims[dims.size() - 2])->out;
  int64_t share = ceilDiv((to - from) * tap, rows);
  Index start = panelAt + (panelElements() + from * tap);
  prefetch(packed, start + row.outer.back() * share, share);
}

void DirectConv::emitColumns(IndexMath &m, const Row &row, ArrayRef<Index> at,
                             int64_t along, Index count, ArrayRef<Taps> taps,
                             bool prefetches) const {
  int64_t s = dims.size();
  bool joins = op.getJoined() > 1;
  // src box: [taps.., columns, channels].
  Index offset = src.offset.value_or(0);
  offset += row.image * src.strides[0];
  SmallVector<Index> aSizes, aStrides, bSizes, bStrides;
  for (auto [i, d] : llvm::enumerate(dims)) {
    auto [lo, hi] = taps[i];
    Index start = at[i] * d.stride;
    Index from = start + lo * d.dilation - d.pad;
    offset += from * src.strides[i + 1];
    aSizes.push_back(hi - lo);
    aStrides.push_back(src.strides[i + 1] * d.dilation);
  }
  if (joins)
    aSizes.back() = 1;
  offset += row.group * inPerGroup * src.strides.back();
  bSizes = aSizes;
  aSizes.append({count, k});
  aStrides.push_back(src.strides[along + 1] * dims[along].stride);
  aStrides.push_back(src.strides.back());
  Value a = box(m, src.base, offset, aSizes, aStrides);
  // Weights box: [taps.., channels, panel].
  int64_t v = op.getInterleave();
  int64_t step = *panelSize(k, panel, v).constant();
  bStrides.assign(s, 0);
  Index wOffset = 0;
  for (int64_t i = s - 1; i >= 0; --i) {
    bStrides[i] = step;
    wOffset += taps[i].first * step;
    if (i < s - 1 || !joins)
      step *= dims[i].kernel;
  }
  Index which = row.group * panels() + row.panel;
  Index panelOffset = which * step;
  wOffset += panelOffset;
  Value b = panelBox(m, packed, wOffset, bSizes, bStrides, k, panel, v);
  SmallVector<Index> start{row.image};
  start.append(at.begin(), at.end());
  start.push_back(row.group * outPerGroup + row.panel * panel);
  auto product =
      row.epilogue.emitBrgemm(m, a, b, row.dst, row.epilogue.epilogueOperands,
                              start, along + 1, count, row.columns, row.part);
  int64_t terms = k;
  for (const SizedWindow &d : dims)
    terms *= d.kernel;
  if (!cast<MemRefType>(a.getType()).hasStaticShape())
    product.setMaxTerms(terms);
  product.setUnsignedA(
      rankedType(op.getSrc()).getElementType().isUnsignedInteger(8));
  if (prefetches)
    prefetchNext(m, product, row, offset, panelOffset);
  if (row.isReadSoon)
    keepNear(product);
}

} // namespace tenon::passes
