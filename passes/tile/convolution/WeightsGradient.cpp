// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/convolution/WeightsGradient.h"

#include "dialects/tile/TileDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::tiling {

PositionRange positionsOf(IndexMath &m, const WindowDim &d, Ofr tap) {
  auto [from, past] = d.validPositions(m, tap);
  return {from, m.sub(past, from)};
}

Ofr GradientItem::srcOffset(IndexMath &m, ArrayRef<Ofr> at, Ofr column, Ofr tap,
                            Ofr row) const {
  Ofr offset = g.src.offset.value_or(m.attr(0));
  offset = m.add(offset, m.mul(at[0], g.src.strides[0]));
  for (int64_t i = 0; i <= g.last(); ++i) {
    const WindowDim &d = g.dims[i];
    bool isLast = i == g.last();
    Ofr position = m.mul(isLast ? column : at[i + 1], m.attr(d.stride));
    Ofr reach = m.mul(isLast ? tap : taps[i], m.attr(d.dilation));
    position = m.sub(m.add(position, reach), m.attr(d.pad));
    offset = m.add(offset, m.mul(position, g.src.strides[i + 1]));
  }
  Ofr channel = m.add(m.mul(group, m.attr(g.inPerGroup)), row);
  return m.add(offset, m.mul(channel, g.src.strides.back()));
}

Ofr GradientItem::diffOffset(IndexMath &m, ArrayRef<Ofr> at, Ofr column) const {
  Ofr offset = g.diff.offset.value_or(m.attr(0));
  offset = m.add(offset, m.mul(group, g.groupStride));
  offset = m.add(offset, m.mul(panel, g.panelStride));
  for (auto [i, position] : llvm::enumerate(at))
    offset = m.add(offset, m.mul(position, g.diff.strides[i]));
  return m.add(offset, m.mul(column, g.diff.strides[g.last() + 1]));
}

Value GradientItem::dstBox(IndexMath &m, Ofr tap, Ofr row, Ofr rows) const {
  if (sums) {
    Ofr at = m.mul(m.sub(panel, firstPanel), m.attr(g.tapsOfItem()));
    at = m.add(at, m.add(outerTap, g.merged ? m.attr(0) : tap));
    at = m.add(m.mul(at, m.attr(mostRows)), m.sub(row, firstRow));
    return box(m, sums, m.mul(at, m.attr(g.panel)), {rows, m.attr(columns)},
               {m.attr(g.panel), m.attr(1)});
  }
  Ofr offset = g.dst.offset.value_or(m.attr(0));
  if (g.parts)
    offset = m.add(offset, m.mul(part, g.partStride));
  for (int64_t i = 0; i <= g.last(); ++i)
    offset =
        m.add(offset, m.mul(i == g.last() ? tap : taps[i], g.dst.strides[i]));
  Ofr rowStride = g.dst.strides[g.last() + 1];
  offset = m.add(offset, m.mul(row, rowStride));
  Ofr column =
      m.add(m.mul(group, m.attr(g.outPerGroup)), m.mul(panel, m.attr(g.panel)));
  offset = m.add(offset, m.mul(column, g.dst.strides.back()));
  return box(m, g.dst.base, offset, {rows, m.attr(columns)},
             {rowStride, m.attr(1)});
}

void GradientItem::product(IndexMath &m, Ofr srcAt, Ofr diffAt,
                           ArrayRef<Ofr> batch, ArrayRef<Ofr> srcStrides,
                           ArrayRef<Ofr> diffStrides, Ofr k, Ofr srcK,
                           Ofr diffK, Ofr rows, Value c,
                           bool accumulate) const {
  SmallVector<Ofr> aSizes(batch), aStrides(srcStrides), bSizes(batch),
      bStrides(diffStrides);
  aSizes.append({rows, k});
  aStrides.append({g.src.strides.back(), srcK});
  bSizes.append({k, m.attr(g.packed ? g.panel : columns)});
  bStrides.append({diffK, m.attr(1)});
  Value a = box(m, g.src.base, srcAt, aSizes, aStrides);
  Value b = box(m, g.diff.base, diffAt, bSizes, bStrides);
  auto product = tile::BrgemmOp::create(m.builder(), m.location(), a, b, c,
                                        accumulate, g.packed);
  if (!cast<MemRefType>(a.getType()).hasStaticShape())
    product.setMaxTerms(g.blockPositions());
}

void GradientItem::forTaps(
    IndexMath &m, llvm::function_ref<void(IndexMath &, Ofr)> body) const {
  int64_t taps = g.dims.back().kernel;
  if (taps == 1)
    return body(m, m.attr(0));
  emitLoop(m, m.attr(0), m.attr(taps), body);
}

void GradientItem::clear(IndexMath &m, Ofr tap) const {
  product(m, m.attr(0), m.attr(0), {}, {}, {}, m.attr(0), m.attr(1),
          m.attr(g.panel), rowCount, dstBox(m, tap, firstRow, rowCount), false);
}

void GradientItem::strides(IndexMath &m, SmallVectorImpl<Ofr> &srcStrides,
                           SmallVectorImpl<Ofr> &diffStrides) const {
  for (int64_t i = 0; i <= g.last(); ++i) {
    int64_t step = i == 0 ? 1 : g.dims[i - 1].stride;
    srcStrides.push_back(m.mul(g.src.strides[i], m.attr(step)));
    diffStrides.push_back(g.diff.strides[i]);
  }
}

void GradientItem::addColumns(IndexMath &m, ArrayRef<PositionRange> block,
                              PositionRange column, Ofr tap, Ofr row,
                              Ofr rows) const {
  SmallVector<Ofr> at, sizes, srcStrides, diffStrides;
  for (const PositionRange &r : block) {
    at.push_back(r.from);
    sizes.push_back(r.count);
  }
  strides(m, srcStrides, diffStrides);
  Ofr srcK =
      m.mul(g.src.strides[g.last() + 1], m.attr(g.dims[g.last()].stride));
  product(m, srcOffset(m, at, column.from, tap, row),
          diffOffset(m, at, column.from), sizes, srcStrides, diffStrides,
          column.count, srcK, g.diff.strides[g.last() + 1], rows,
          dstBox(m, tap, row, rows), true);
}

void GradientItem::addEdge(IndexMath &m, ArrayRef<PositionRange> block,
                           Ofr column, Ofr lo, Ofr hi) const {
  SmallVector<Ofr> at, sizes, srcStrides, diffStrides;
  for (const PositionRange &r : block) {
    at.push_back(r.from);
    sizes.push_back(r.count);
  }
  strides(m, srcStrides, diffStrides);
  Ofr k = sizes.pop_back_val(), srcK = srcStrides.pop_back_val(),
      diffK = diffStrides.pop_back_val();
  Ofr inner = m.attr(g.inPerGroup), end = m.add(firstRow, rowCount);
  Ofr from = m.max(firstRow, m.mul(lo, inner));
  Ofr past = m.max(m.min(end, m.mul(hi, inner)), from);
  Ofr rows = m.sub(past, from), zero = m.attr(0);
  product(m, srcOffset(m, at, column, zero, from), diffOffset(m, at, column),
          sizes, srcStrides, diffStrides, k, srcK, diffK, rows,
          dstBox(m, zero, from, rows), true);
}

void GradientItem::addCopied(IndexMath &m,
                             ArrayRef<PositionRange> block) const {
  Strided copy;
  copy.base = scratchView(m, memory, g.diff.elementType(), m.attr(0),
                          m.attr(g.scratch));
  SmallVector<Ofr> at, sizes;
  for (const PositionRange &r : block) {
    at.push_back(r.from);
    sizes.push_back(r.count);
  }
  sizes.append({m.attr(g.dims.back().out), m.attr(columns)});
  copy.strides.assign(sizes.size(), m.attr(1));
  Ofr stride = m.attr(g.panel);
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 2; i >= 0; --i) {
    copy.strides[i] = stride;
    stride = m.mul(stride, sizes[i]);
  }
  SmallVector<Ofr> strides(g.diff.strides);
  Value from =
      box(m, g.diff.base, diffOffset(m, at, m.attr(0)), sizes, strides);
  Value to = box(m, copy.base, m.attr(0), sizes, copy.strides);
  linalg::CopyOp::create(m.builder(), m.location(), from, to);
  // Positions count from the start of the tensor.
  Ofr start = m.attr(0);
  for (auto [position, step] : llvm::zip(at, copy.strides))
    start = m.add(start, m.mul(position, step));
  copy.offset = m.sub(m.attr(0), start);
  WeightsGradient local = g;
  local.packed = true;
  local.scratch = 0;
  local.diff = copy;
  local.groupStride = local.panelStride = m.attr(0);
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
    return forTaps(m, [&](IndexMath &km, Ofr tap) {
      addColumns(km, block, positionsOf(km, d, tap), tap, firstRow, rowCount);
    });
  auto [first, past] = d.interior();
  if (past > first)
    addColumns(m, block, {m.attr(first), m.attr(past - first)}, m.attr(0),
               firstRow, rowCount);
  for (auto [from, to] : {std::pair(int64_t(0), first), std::pair(past, d.out)})
    emitLoop(m, m.attr(from), m.attr(to), [&](IndexMath &em, Ofr column) {
      auto [lo, hi] = d.validTaps(em, em.mul(column, em.attr(d.stride)));
      addEdge(em, block, column, lo, hi);
    });
}

void GradientItem::forOuterTaps(IndexMath &m, ArrayRef<PositionRange> block,
                                TapBody body) const {
  size_t i = taps.size();
  if (i == g.outer().size())
    return body(m, *this, block);
  const WindowDim &d = g.dims[i];
  emitLoop(m, m.attr(0), m.attr(d.kernel), [&](IndexMath &tm, Ofr tap) {
    GradientItem inner = *this;
    inner.taps.push_back(tap);
    inner.outerTap = tm.add(tm.mul(outerTap, tm.attr(d.kernel)), tap);
    SmallVector<PositionRange> seen(block);
    if (!seen.empty()) {
      PositionRange all = positionsOf(tm, d, tap), &rows = seen[i + 1];
      Ofr from = tm.max(rows.from, all.from);
      Ofr past =
          tm.min(tm.add(rows.from, rows.count), tm.add(all.from, all.count));
      rows = {from, tm.max(tm.sub(past, from), tm.attr(0))};
    }
    inner.forOuterTaps(tm, seen, body);
  });
}

void GradientItem::forBlocks(IndexMath &m, ArrayRef<PositionRange> all,
                             SmallVector<PositionRange> block,
                             BlockBody body) const {
  size_t i = block.size();
  if (i == all.size())
    return body(m, block);
  auto known = IndexMath::constant(all[i].count);
  if (i > 0 && !known)
    known = g.dims[i - 1].out; // at most
  if (known && *known <= g.blocks[i]) {
    block.push_back(all[i]);
    return forBlocks(m, all, block, body);
  }
  Ofr size = m.attr(g.blocks[i]);
  emitLoop(m, m.attr(0), m.ceilDiv(all[i].count, size),
           [&](IndexMath &im, Ofr b) {
             Ofr at = im.mul(b, size);
             Ofr count = im.min(size, im.sub(all[i].count, at));
             SmallVector<PositionRange> inner = block;
             inner.push_back({im.add(all[i].from, at), count});
             forBlocks(im, all, inner, body);
           });
}

} // namespace tenon::tiling
