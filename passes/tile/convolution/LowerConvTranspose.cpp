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

namespace tenon::tiling {

namespace {

/// Positions first, first + step, .. of dimension `dim`.
Strided everyNth(IndexMath &m, Strided s, int64_t dim, Ofr first, Ofr step) {
  s.offset = m.add(s.offset.value_or(m.attr(0)), m.mul(first, s.strides[dim]));
  s.strides[dim] = m.mul(step, s.strides[dim]);
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
  Ofr image, group, panel;
  ArrayRef<Ofr> row; // positions of dst in the outer spatial dims
  SmallVector<TransposedDim::Class> classes;
  SmallVector<std::pair<Ofr, Ofr>> taps; // valid ones, of the outer dims
  Ofr column;                            // class of columns
};

/// Columns [q, q + count) of the class, which all use its taps [lo, hi).
void emitColumns(IndexMath &m, const TransposedWindow &s,
                 const TransposedPosition &at, Ofr q, Ofr count, Ofr lo, Ofr hi,
                 int64_t columns) {
  int64_t last = s.last();
  Ofr offset =
      m.add(m.mul(at.image, s.src.strides[0]),
            m.mul(m.mul(at.group, m.attr(s.inPerGroup)), s.src.strides.back()));
  offset = m.add(offset, s.src.offset.value_or(m.attr(0)));
  int64_t tapSize = s.inPerGroup * s.panel, taps = 1;
  for (const TransposedDim &d : s.dims)
    taps *= d.kernel;
  int64_t terms = taps * s.inPerGroup;
  Ofr which = m.add(m.mul(at.group, m.attr(s.panels)), at.panel);
  Ofr wOffset = m.mul(which, m.attr(taps * tapSize));
  SmallVector<Ofr> aSizes, aStrides, bStrides;
  for (int64_t i = 0; i <= last; ++i) {
    const TransposedDim &d = s.dims[i];
    const TransposedDim::Class &c = at.classes[i];
    auto [l, h] = i == last ? std::pair(lo, hi) : at.taps[i];
    // Position of src that the first tap meets, and the first tap.
    Ofr position = i == last ? q : m.floorDiv(at.row[i], m.attr(d.stride));
    position = m.sub(m.add(position, c.shift), m.mul(l, m.attr(d.back)));
    offset = m.add(offset, m.mul(position, s.src.strides[i + 1]));
    aSizes.push_back(m.sub(h, l));
    aStrides.push_back(m.mul(s.src.strides[i + 1], m.attr(-d.back)));
    taps /= std::max<int64_t>(1, d.kernel);
    Ofr tap = m.add(c.first, m.mul(l, m.attr(d.step)));
    wOffset = m.add(wOffset, m.mul(tap, m.attr(taps * tapSize)));
    bStrides.push_back(m.attr(d.step * taps * tapSize));
  }
  SmallVector<Ofr> bSizes = aSizes;
  aSizes.append({count, m.attr(s.inPerGroup)});
  aStrides.append({s.src.strides[last + 1], s.src.strides.back()});
  bSizes.append({m.attr(s.inPerGroup), m.attr(s.panel)});
  bStrides.append({m.attr(s.panel), m.attr(1)});
  Value a = box(m, s.src.base, offset, aSizes, aStrides);
  Value b = box(m, s.packed, wOffset, bSizes, bStrides);

  int64_t rowDim = last + 1;
  Ofr stride = m.attr(s.dims[last].stride);
  Strided dst = everyNth(m, s.dst, rowDim, at.column, stride);
  SmallVector<Strided> epilogueOperands;
  for (const Strided &operand : s.epilogue.epilogueOperands)
    epilogueOperands.push_back(everyNth(m, operand, rowDim, at.column, stride));
  SmallVector<Ofr> start{at.image};
  start.append(at.row.begin(), at.row.end());
  start.push_back(q);
  start.push_back(m.add(m.mul(at.group, m.attr(s.outPerGroup)),
                        m.mul(at.panel, m.attr(s.panel))));
  auto product = s.epilogue.emitBrgemm(m, a, b, dst, epilogueOperands, start,
                                       rowDim, count, m.attr(columns));
  if (!cast<MemRefType>(a.getType()).hasStaticShape())
    product.setMaxTerms(terms);
}

/// All columns of one class.
void emitClass(IndexMath &m, const TransposedWindow &s, TransposedPosition at,
               int64_t columns) {
  const TransposedDim &d = s.dims[s.last()];
  TransposedDim::Class c = d.classOf(m, at.column);
  at.classes.push_back(c);
  auto [first, past] = d.interior(m, c);
  emitColumns(m, s, at, first, m.sub(past, first), m.attr(0), c.taps, columns);
  for (auto [from, to] :
       {std::pair(m.attr(0), first), std::pair(past, c.count)})
    emitLoop(m, from, to, [&](IndexMath &em, Ofr q) {
      auto [lo, hi] = d.validTaps(em, c, q);
      emitColumns(em, s, at, q, em.attr(1), lo, hi, columns);
    });
}

} // namespace

LogicalResult lowerConvTranspose(GroupContext &ctx, tile::ConvTransposeOp op) {
  IndexMath &m = ctx.m;
  Epilogue epilogue(ctx, op);
  auto srcType = rankedType(op.getSrc()), dstType = rankedType(op.getDst());
  auto packedType = rankedType(op.getWeights());
  int64_t rank = srcType.getRank(), groups = op.getGroups();
  for (auto [type, from] :
       {std::pair(srcType, 1), std::pair(dstType, 1), std::pair(packedType, 0)})
    for (int64_t size : type.getShape().drop_front(from))
      if (ShapedType::isDynamic(size))
        return emitError(op, ErrorCode::UnsupportedForm,
                         "only the batch may be dynamic");
  TransposedWindow s{epilogue,
                     {},
                     ctx.memoryOf(op.getSrc()),
                     ctx.outputs.begin()->second.front(),
                     ctx.memoryOf(op.getWeights()).base,
                     groups,
                     packedType.getDimSize(1),
                     packedType.getDimSize(rank + 1),
                     packedType.getDimSize(rank),
                     dstType.getDimSize(rank - 1) / groups};
  for (int64_t i = 0; i < rank - 2; ++i)
    s.dims.emplace_back(srcType.getDimSize(i + 1), dstType.getDimSize(i + 1),
                        packedType.getDimSize(i + 2), op.getStrides()[i],
                        op.getPadsBegin()[i], op.getDilations()[i]);
  const TransposedDim &d = s.dims.back();
  SmallVector<Ofr> counts{s.dst.sizes[0], m.attr(groups), m.attr(s.panels)};
  for (const TransposedDim &outer : ArrayRef(s.dims).drop_back())
    counts.push_back(m.attr(outer.out));
  int64_t classes = std::min(d.stride, d.out);
  emitItems(m, ctx.label, m.product(counts), [&](IndexMath &im, Value item) {
    SmallVector<Ofr> at = delinearize(im, item, counts);
    TransposedPosition place{at[0], at[1], at[2], ArrayRef(at).drop_front(3),
                             {},    {},    {}};
    TransposedRow row(im, ArrayRef(s.dims).drop_back(), place.row);
    place.classes = std::move(row.classes);
    place.taps = std::move(row.taps);
    withBlockSize(im, at[2], s.outPerGroup, s.panel,
                  [&](IndexMath &cm, int64_t columns) {
                    auto emit = [&](IndexMath &em, Ofr c) {
                      place.column = c;
                      emitClass(em, s, place, columns);
                    };
                    if (classes == 1)
                      emit(cm, cm.attr(0));
                    else
                      emitLoop(cm, cm.attr(0), cm.attr(classes), emit);
                  });
  });
  return success();
}

} // namespace tenon::tiling
