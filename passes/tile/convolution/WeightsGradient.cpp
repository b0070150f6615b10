// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/convolution/WeightsGradient.h"

#include "dialects/tile/TileDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::passes {

PositionRange positionsOf(const WindowDim &d, Index tap) {
  auto [from, past] = d.validPositions(tap);
  return {from, past - from};
}

Index GradientItem::srcOffset(ArrayRef<Index> at, Index column, Index tap,
                              Index row) const {
  Index offset = g.src.offset.value_or(0);
  offset += at[0] * g.src.strides[0];
  for (int64_t i = 0; i <= g.last(); ++i) {
    const WindowDim &d = g.dims[i];
    bool isLast = i == g.last();
    Index position = (isLast ? column : at[i + 1]) * d.stride;
    Index reach = (isLast ? tap : taps[i]) * d.dilation;
    position = position + reach - d.pad;
    offset += position * g.src.strides[i + 1];
  }
  Index channel = group * g.inPerGroup + row;
  return offset + channel * g.src.strides.back();
}

Index GradientItem::diffOffset(ArrayRef<Index> at, Index column) const {
  Index offset = g.diff.offset.value_or(0);
  offset += group * g.groupStride;
  offset += panel * g.panelStride;
  for (auto [i, position] : llvm::enumerate(at))
    offset += position * g.diff.strides[i];
  return offset + column * g.diff.strides[g.last() + 1];
}

Value GradientItem::dstBox(IndexMath &m, Index tap, Index row,
                           Index rows) const {
  if (sums) {
    Index at = (panel - firstPanel) * g.tapsOfItem();
    at += outerTap + (g.merged ? 0 : tap);
    at = at * mostRows + (row - firstRow);
    return box(m, sums, at * g.panel, {rows, columns}, {g.panel, 1});
  }
  Index offset = g.dst.offset.value_or(0);
  if (g.parts)
    offset += part * g.partStride;
  for (int64_t i = 0; i <= g.last(); ++i)
    offset = offset + (i == g.last() ? tap : taps[i]) * g.dst.strides[i];
  Index rowStride = g.dst.strides[g.last() + 1];
  offset += row * rowStride;
  Index column = group * g.outPerGroup + panel * g.panel;
  offset += column * g.dst.strides.back();
  return box(m, g.dst.base, offset, {rows, columns}, {rowStride, 1});
}

void GradientItem::product(IndexMath &m, Index srcAt, Index diffAt,
                           ArrayRef<Index> batch, ArrayRef<Index> srcStrides,
                           ArrayRef<Index> diffStrides, Index k, Index srcK,
                           Index diffK, Index rows, Value c,
                           bool accumulate) const {
  SmallVector<Index> aSizes(batch), aStrides(srcStrides), bSizes(batch),
      bStrides(diffStrides);
  aSizes.append({rows, k});
  aStrides.append({g.src.strides.back(), srcK});
  bSizes.append({k, g.packed ? g.panel : columns});
  bStrides.append({diffK, 1});
  Value a = box(m, g.src.base, srcAt, aSizes, aStrides);
  Value b = box(m, g.diff.base, diffAt, bSizes, bStrides);
  auto product = tile::BrgemmOp::create(m.builder(), m.location(), a, b, c,
                                        accumulate, g.packed);
  if (!cast<MemRefType>(a.getType()).hasStaticShape())
    product.setMaxTerms(g.blockPositions());
}

void GradientItem::forTaps(IndexMath &m,
                           llvm::function_ref<void(Index)> body) const {
  emitLoop(m, g.dims.back().kernel, body);
}

void GradientItem::clear(IndexMath &m, Index tap) const {
  product(m, 0, 0, {}, {}, {}, 0, 1, g.panel, rowCount,
          dstBox(m, tap, firstRow, rowCount), false);
}

void GradientItem::strides(SmallVectorImpl<Index> &srcStrides,
                           SmallVectorImpl<Index> &diffStrides) const {
  for (int64_t i = 0; i <= g.last(); ++i) {
    int64_t step = i == 0 ? 1 : g.dims[i - 1].stride;
    srcStrides.push_back(g.src.strides[i] * step);
    diffStrides.push_back(g.diff.strides[i]);
  }
}

void GradientItem::addColumns(IndexMath &m, ArrayRef<PositionRange> block,
                              PositionRange column, Index tap, Index row,
                              Index rows) const {
  SmallVector<Index> at, sizes, srcStrides, diffStrides;
  for (const PositionRange &r : block) {
    at.push_back(r.from);
    sizes.push_back(r.count);
  }
  strides(srcStrides, diffStrides);
  Index srcK = g.src.strides[g.last() + 1] * g.dims[g.last()].stride;
  product(m, srcOffset(at, column.from, tap, row), diffOffset(at, column.from),
          sizes, srcStrides, diffStrides, column.count, srcK,
          g.diff.strides[g.last() + 1], rows, dstBox(m, tap, row, rows), true);
}

void GradientItem::addEdge(IndexMath &m, ArrayRef<PositionRange> block,
                           Index column, Index lo, Index hi) const {
  SmallVector<Index> at, sizes, srcStrides, diffStrides;
  for (const PositionRange &r : block) {
    at.push_back(r.from);
    sizes.push_back(r.count);
  }
  strides(srcStrides, diffStrides);
  Index k = sizes.pop_back_val(), srcK = srcStrides.pop_back_val(),
        diffK = diffStrides.pop_back_val();
  Index inner = g.inPerGroup, end = firstRow + rowCount;
  Index from = max(firstRow, lo * inner);
  Index past = max(min(end, hi * inner), from);
  Index rows = past - from;
  product(m, srcOffset(at, column, 0, from), diffOffset(at, column), sizes,
          srcStrides, diffStrides, k, srcK, diffK, rows,
          dstBox(m, 0, from, rows), true);
}

void GradientItem::addCopied(IndexMath &m,
                             ArrayRef<PositionRange> block) const {
  Strided copy;
  copy.base = scratchView(m, memory, g.diff.elementType(), 0, g.scratch);
  SmallVector<Index> at, sizes;
  for (const PositionRange &r : block) {
    at.push_back(r.from);
    sizes.push_back(r.count);
  }
  sizes.append({g.dims.back().out, columns});
  copy.strides.assign(sizes.size(), 1);
  Index stride = g.panel;
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 2; i >= 0; --i) {
    copy.strides[i] = stride;
    stride *= sizes[i];
  }
  SmallVector<Index> strides(g.diff.strides);
  Value from = box(m, g.diff.base, diffOffset(at, 0), sizes, strides);
  Value to = box(m, copy.base, 0, sizes, copy.strides);
  linalg::CopyOp::create(m.builder(), m.location(), from, to);
  // Positions count from the start of the tensor.
  Index start = 0;
  for (auto [position, step] : llvm::zip(at, copy.strides))
    start += position * step;
  copy.offset = 0 - start;
  WeightsGradient local = g;
  local.packed = true;
  local.scratch = 0;
  local.diff = copy;
  local.groupStride = local.panelStride = 0;
  GradientItem item{local, group,      panel,    taps,    outerTap,
                    part,  firstRow,   rowCount, columns, Value(),
                    sums,  firstPanel, mostRows};
  item.addBlock(m, block);
}

void GradientItem::addBlock(IndexMath &m, ArrayRef<PositionRange> block) const {
  if (g.scratch)
    return addCopied(m, block);
  const WindowDim &d = g.dims.back();
  if (!g.merged)
    return forTaps(m, [&](Index tap) {
      addColumns(m, block, positionsOf(d, tap), tap, firstRow, rowCount);
    });
  auto [first, past] = d.interior();
  if (past > first)
    addColumns(m, block, {first, past - first}, 0, firstRow, rowCount);
  for (auto [from, to] : {std::pair(int64_t(0), first), std::pair(past, d.out)})
    emitLoop(m, from, to, [&](Index column) {
      auto [lo, hi] = d.validTaps(column * d.stride);
      addEdge(m, block, column, lo, hi);
    });
}

void GradientItem::forOuterTaps(IndexMath &m, ArrayRef<PositionRange> block,
                                TapBody body) const {
  size_t i = taps.size();
  if (i == g.outer().size())
    return body(*this, block);
  const WindowDim &d = g.dims[i];
  emitLoop(m, 0, d.kernel, [&](Index tap) {
    GradientItem inner = *this;
    inner.taps.push_back(tap);
    inner.outerTap = outerTap * d.kernel + tap;
    SmallVector<PositionRange> seen(block);
    if (!seen.empty()) {
      PositionRange all = positionsOf(d, tap), &rows = seen[i + 1];
      Index from = max(rows.from, all.from);
      Index past = min(rows.from + rows.count, all.from + all.count);
      rows = {from, max(past - from, 0)};
    }
    inner.forOuterTaps(m, seen, body);
  });
}

void GradientItem::forBlocks(IndexMath &m, ArrayRef<PositionRange> all,
                             SmallVector<PositionRange> block,
                             BlockBody body) const {
  size_t i = block.size();
  if (i == all.size())
    return body(block);
  auto known = all[i].count.constant();
  if (i > 0 && !known)
    known = g.dims[i - 1].out; // at most
  if (known && *known <= g.blocks[i]) {
    block.push_back(all[i]);
    return forBlocks(m, all, block, body);
  }
  Index size = g.blocks[i];
  emitLoop(m, 0, ceilDiv(all[i].count, size), [&](Index b) {
    Index at = b * size;
    Index count = min(size, all[i].count - at);
    SmallVector<PositionRange> inner = block;
    inner.push_back({all[i].from + at, count});
    forBlocks(m, all, inner, body);
  });
}

} // namespace tenon::passes
