//===- LowerConvTranspose.cpp - transposed convolutions as products -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every position of dst gathers: no scatter, no zeros between the positions of
// src. Items are (image, group, panel, row of dst). In a row, the columns of a
// class (TransposedDim: equal modulo the stride) use the same taps, and are one
// product whose rows lie a stride apart in dst:
//
//   %0 = tile.conv_transpose %x, %p        rt.parallel (image, panel, row)
//     {strides = [2]}                 ->     for class = 0 to 2
//                                              tile.brgemm ins(taps of class,
//                                                panel) outs(every 2nd column)
//
// A column at the ends of src, where taps are cut, is a product of one row. The
// taps go backwards through src: their stride there is negative.
//
//===----------------------------------------------------------------------===//
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/Epilogue.h"
#include "passes/tile/core/WorkItems.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Positions first, first + step, .. of dimension `dim`.
Strided everyNth(Strided s, int64_t dim, Index first, Index step) {
  s.offset = s.offset.value_or(0) + first * s.strides[dim];
  s.strides[dim] = step * s.strides[dim];
  s.dense = false;
  return s;
}

struct TransposedWindow {
  const Epilogue &epilogue;
  SmallVector<TransposedDim> dims;
  Strided src, dst;
  Value packed;
  int64_t groups, panels, panel, inPerGroup, outPerGroup;

  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }
};

/// Where an item and its class of columns are.
struct TransposedPosition {
  Index image, group, panel;
  ArrayRef<Index> row; // positions of dst in the outer spatial dims
  SmallVector<TransposedDim::Class> classes;
  SmallVector<std::pair<Index, Index>> taps; // valid ones, of the outer dims
  Index column;                              // class of columns
};

/// Columns [q, q + count) of the class, which all use its taps [lo, hi).
void emitColumns(IndexMath &m, const TransposedWindow &s,
                 const TransposedPosition &at, Index q, Index count, Index lo,
                 Index hi, int64_t columns) {
  int64_t last = s.last();
  Index offset = at.image * s.src.strides[0] +
                 at.group * s.inPerGroup * s.src.strides.back();
  offset += s.src.offset.value_or(0);
  int64_t tapSize = s.inPerGroup * s.panel, taps = 1;
  for (const TransposedDim &d : s.dims)
    taps *= d.kernel;
  int64_t terms = taps * s.inPerGroup;
  Index which = at.group * s.panels + at.panel;
  Index wOffset = which * (taps * tapSize);
  SmallVector<Index> aSizes, aStrides, bStrides;
  for (int64_t i = 0; i <= last; ++i) {
    const TransposedDim &d = s.dims[i];
    const TransposedDim::Class &c = at.classes[i];
    auto [l, h] = i == last ? std::pair(lo, hi) : at.taps[i];
    // Position of src that the first tap meets, and the first tap.
    Index position = i == last ? q : at.row[i] / d.stride;
    position = position + c.shift - l * d.back;
    offset += position * s.src.strides[i + 1];
    aSizes.push_back(h - l);
    aStrides.push_back(s.src.strides[i + 1] * -d.back);
    taps /= std::max<int64_t>(1, d.kernel);
    Index tap = c.first + l * d.step;
    wOffset += tap * (taps * tapSize);
    bStrides.push_back(d.step * taps * tapSize);
  }
  SmallVector<Index> bSizes = aSizes;
  aSizes.append({count, s.inPerGroup});
  aStrides.append({s.src.strides[last + 1], s.src.strides.back()});
  bSizes.append({s.inPerGroup, s.panel});
  bStrides.append({s.panel, 1});
  Value a = box(m, s.src.base, offset, aSizes, aStrides);
  Value b = box(m, s.packed, wOffset, bSizes, bStrides);

  int64_t rowDim = last + 1;
  Index stride = s.dims[last].stride;
  Strided dst = everyNth(s.dst, rowDim, at.column, stride);
  SmallVector<Strided> epilogueOperands;
  for (const Strided &operand : s.epilogue.epilogueOperands)
    epilogueOperands.push_back(everyNth(operand, rowDim, at.column, stride));
  SmallVector<Index> start{at.image};
  start.append(at.row.begin(), at.row.end());
  start.push_back(q);
  start.push_back(at.group * s.outPerGroup + at.panel * s.panel);
  auto product = s.epilogue.emitBrgemm(m, a, b, dst, epilogueOperands, start,
                                       rowDim, count, columns);
  if (!cast<MemRefType>(a.getType()).hasStaticShape())
    product.setMaxTerms(terms);
}

/// All columns of one class.
void emitClass(IndexMath &m, const TransposedWindow &s, TransposedPosition at,
               int64_t columns) {
  const TransposedDim &d = s.dims[s.last()];
  TransposedDim::Class c = d.classOf(at.column);
  at.classes.push_back(c);
  auto [first, past] = d.interior(c);
  emitColumns(m, s, at, first, past - first, 0, c.taps, columns);
  for (auto [from, to] : {std::pair(Index(0), first), {past, c.count}})
    emitLoop(m, from, to, [&](Index q) {
      auto [lo, hi] = d.validTaps(c, q);
      emitColumns(m, s, at, q, 1, lo, hi, columns);
    });
}

} // namespace

LogicalResult lowerConvTranspose(GroupContext &ctx, tile::ConvTransposeOp op) {
  IndexMath &m = ctx.m;
  Epilogue epilogue(ctx, op);
  auto srcType = rankedType(op.getSrc()), dstType = rankedType(op.getDst());
  auto packedType = rankedType(op.getWeights());
  int64_t rank = srcType.getRank(), groups = op.getGroups();
  TransposedWindow s{epilogue,
                     {},
                     ctx.memoryOf(op.getSrc()),
                     ctx.result(),
                     ctx.memoryOf(op.getWeights()).base,
                     groups,
                     packedType.getDimSize(1),
                     packedType.getDimSize(rank + 1),
                     packedType.getDimSize(rank),
                     dstType.getDimSize(rank - 1) / groups};
  for (int64_t i = 0; i < rank - 2; ++i)
    s.dims.emplace_back(ctx.sizes[op.getSrc()][i + 1],
                        ctx.sizes[op.getDst()][i + 1],
                        packedType.getDimSize(i + 2), op.getStrides()[i],
                        op.getPadsBegin()[i], op.getDilations()[i]);
  const TransposedDim &d = s.dims.back();
  Grid grid{{"image", s.dst.sizes[0]}, {"group", groups}, {"panel", s.panels}};
  for (const TransposedDim &outer : ArrayRef(s.dims).drop_back())
    grid.add("row", outer.out);
  Index classes = min(d.stride, d.out);
  emitItems(m, ctx.label, grid, [&](const Grid::Item &item) {
    TransposedPosition place{item["image"],
                             item["group"],
                             item["panel"],
                             item.all("row"),
                             {},
                             {},
                             {}};
    TransposedRow row(ArrayRef(s.dims).drop_back(), place.row);
    place.classes = std::move(row.classes);
    place.taps = std::move(row.taps);
    withBlockSize(m, place.panel, s.outPerGroup, s.panel, [&](int64_t columns) {
      auto body = [&](Index c) {
        place.column = c;
        emitClass(m, s, place, columns);
      };
      if (auto count = classes.constant())
        emitLoop(m, *count, body);
      else
        emitLoop(m, 0, classes, body);
    });
  });
  return success();
}

} // namespace tenon::passes
