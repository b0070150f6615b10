//===- LowerRecurrence.cpp - time steps of recurrent cells ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   tile.rnn %g, %u         step 0: a section that reads the given states
//                     ->    scf.for %t = 1 to T {
//                             rt.parallel items(blocks of hidden units) } }
//
// A step is one section; the loop over steps stands around it, in what becomes
// the entry, so that no section waits.  An item is a block of hidden units, for
// some rows of the batch, with all its gates: products of h' with the packed
// weights of the block, added to what the layer below gave, go to scratch of a
// few KiB; from there, still in L1, the cell makes c and h.
//
// h' of step t is dst[t - 1] itself.  c is updated in place: no other item
// touches the units of a block.
//
//===----------------------------------------------------------------------===//
#include "dialects/tile/TileDialect.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/core/WorkItems.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::tiling {

namespace {

constexpr int64_t kGates = tile::RnnOp::kGates;
/// Work of an item, in multiply-adds, that pays for handing it to a thread:
/// about 2 us.
constexpr int64_t kMinItemWork = 128 << 10;
/// What the functions of a cell cost per hidden unit, in multiply-adds.
constexpr int64_t kCellWork = 200;

/// `s` at `index` of its first dimension.
Strided at(IndexMath &m, Strided s, Ofr index) {
  s.offset = m.add(s.offset.value_or(m.attr(0)), m.mul(index, s.strides[0]));
  s.sizes.erase(s.sizes.begin());
  s.strides.erase(s.strides.begin());
  s.dense = false;
  return s;
}

/// The box of the matrix `s` at (row, column).
Value boxAt(IndexMath &m, const Strided &s, Ofr row, Ofr column, Ofr rows,
            Ofr columns) {
  Ofr offset = s.offset.value_or(m.attr(0));
  offset = m.add(offset, m.mul(row, s.strides[0]));
  offset = m.add(offset, m.mul(column, s.strides[1]));
  return box(m, s.base, offset, {rows, columns}, {s.strides[0], s.strides[1]});
}

struct Recurrence {
  GroupContext &ctx;
  tile::RnnOp op;
  IndexMath &m;
  Strided gates, dst;        // [T, N, columns], [T, N, H]
  Strided recurrent;         // [P, K, panel]
  Strided c;                 // [N, H], the state
  std::optional<Strided> h0; // [N, K]
  std::optional<Strided> c0; // [N, H]
  Ofr steps, batch;
  int64_t unit, panel, hidden, blocks;

  Recurrence(GroupContext &ctx, tile::RnnOp op)
      : ctx(ctx), op(op), m(ctx.m), gates(input(op.getGates())),
        dst(output(op.getDst())), recurrent(input(op.getRecurrent())),
        c(state(output(op.getC()), 0)), steps(gates.sizes[0]),
        batch(gates.sizes[1]), unit(op.getUnit()),
        panel(rankedType(op.getRecurrent()).getDimSize(2)),
        hidden(rankedType(op.getDst()).getDimSize(2)),
        blocks((hidden + unit - 1) / unit) {
    if (op.getSrcIter())
      h0 = state(input(op.getSrcIter()), op.getLayer());
    if (op.getSrcIterC())
      c0 = state(input(op.getSrcIterC()), op.getLayer());
  }

  Strided input(Value v) { return ctx.memoryOf(v); }
  const Strided &output(Value v) { return ctx.outputs.find(v)->second.front(); }
  /// [N, channels] of `layer` of a state [L, D, N, channels].
  Strided state(const Strided &s, int64_t layer) {
    return at(m, at(m, s, m.attr(layer)), m.attr(0));
  }

  /// Blocks that one item works on, one after the other.
  int64_t blocksPerItem(int64_t rows) {
    int64_t k = IndexMath::constant(recurrent.sizes[1]).value_or(1024);
    int64_t work = rows * unit * (kGates * k + kCellWork);
    return std::clamp<int64_t>(kMinItemWork / std::max<int64_t>(work, 1), 1,
                               std::max<int64_t>(blocks, 1));
  }

  /// The section of step `t`. The `first` reads the given states, which are
  /// zeros when absent; later ones what the step before left in dst and c.
  void emitStep(IndexMath &sm, Ofr t, bool first);
  void emitBlock(IndexMath &im, Ofr t, bool first, Ofr row, Ofr rows, Ofr block,
                 Value memory);
  void emitProduct(IndexMath &im, const Strided &h, Ofr t, Ofr row, Ofr rows,
                   Ofr block, const Strided &sums);
  void emitCell(IndexMath &im, Ofr t, bool first, Ofr row, Ofr rows, Ofr block,
                int64_t units, const Strided &sums, Ofr sumRow, Ofr sumColumn);

  void run();
};

void Recurrence::emitStep(IndexMath &sm, Ofr t, bool first) {
  int64_t height = rowBlock(IndexMath::constant(batch),
                            IndexMath::constant(recurrent.sizes[1]),
                            ctx.target.getL2Bytes());
  int64_t perItem = blocksPerItem(height);
  int64_t itemsOfRows = (blocks + perItem - 1) / perItem;
  SmallVector<Ofr> counts{sm.ceilDiv(batch, sm.attr(height)),
                          sm.attr(itemsOfRows)};
  bool sums = !first || h0;
  Ofr scratch = sm.attr(sums ? height * kGates * unit * 4 : 0);
  emitItems(sm, ctx.label, sm.product(counts), scratch,
            [&](IndexMath &im, Value item, Value memory) {
              SmallVector<Ofr> index = delinearize(im, item, counts);
              Ofr row = im.mul(index[0], im.attr(height));
              auto n = IndexMath::constant(batch);
              Ofr rows = n && *n % height == 0
                             ? im.attr(height)
                             : im.min(im.attr(height), im.sub(batch, row));
              if (perItem == 1)
                return emitBlock(im, t, first, row, rows, index[1], memory);
              Ofr from = im.mul(index[1], im.attr(perItem));
              Ofr to =
                  blocks % perItem == 0
                      ? im.add(from, im.attr(perItem))
                      : im.min(im.add(from, im.attr(perItem)), im.attr(blocks));
              emitLoop(im, from, to, [&](IndexMath &bm, Ofr block) {
                emitBlock(bm, t, first, row, rows, block, memory);
              });
            });
}

void Recurrence::emitBlock(IndexMath &im, Ofr t, bool first, Ofr row, Ofr rows,
                           Ofr block, Value memory) {
  Ofr zero = im.attr(0), width = im.attr(kGates * unit);
  Strided sums = at(im, gates, t);
  Ofr sumRow = row, sumColumn = im.mul(block, width);
  if (!first || h0) {
    auto count = IndexMath::constant(rows);
    SmallVector<Value> dynamic;
    if (!count)
      dynamic.push_back(im.value(rows));
    auto type =
        MemRefType::get({count.value_or(ShapedType::kDynamic), kGates * unit},
                        gates.elementType());
    Value view = memref::ViewOp::create(im.builder(), im.location(), type,
                                        memory, im.value(0), dynamic);
    sums = stridedOf(im, view);
    Strided h = first ? *h0 : at(im, dst, im.sub(t, im.attr(1)));
    emitProduct(im, h, t, row, rows, block, sums);
    sumRow = sumColumn = zero;
  }
  withBlockSize(im, block, hidden, unit, [&](IndexMath &cm, int64_t units) {
    emitCell(cm, t, first, row, rows, block, units, sums, sumRow, sumColumn);
  });
}

/// sums = h x weights of the block + gates[t].
void Recurrence::emitProduct(IndexMath &im, const Strided &h, Ofr t, Ofr row,
                             Ofr rows, Ofr block, const Strided &sums) {
  Ofr k = recurrent.sizes[1];
  Value a = boxAt(im, h, row, im.attr(0), rows, k);
  Strided below = at(im, gates, t);
  Ofr column = im.mul(block, im.attr(kGates * unit));
  int64_t strips = kGates * unit / panel;
  auto perElement = tile::getEpilogueMapOf(tile::EpilogueBroadcast::PerElement,
                                           im.builder().getContext());
  for (int64_t s = 0; s < strips; ++s) {
    Ofr strip = im.add(im.mul(block, im.attr(strips)), im.attr(s));
    Value b = box(im, recurrent.base, im.mul(strip, recurrent.strides[0]),
                  {k, im.attr(panel)}, {im.attr(panel), im.attr(1)});
    Ofr at = im.attr(s * panel);
    Value operand =
        boxAt(im, below, row, im.add(column, at), rows, im.attr(panel));
    Value out = boxAt(im, sums, im.attr(0), at, rows, im.attr(panel));
    auto product = tile::BrgemmOp::create(
        im.builder(), im.location(), a, b, out, operand, perElement,
        /*accumulate=*/false, /*packed=*/true,
        [](OpBuilder &eb, Location loc, ValueRange args) -> Value {
          return arith::AddFOp::create(eb, loc, args[0], args[1]);
        });
    product.setPrefetchNext(true);
  }
}

/// c and h of `units` hidden units from the sums of their gates, which begin at
/// (sumRow, sumColumn) of `sums`.
void Recurrence::emitCell(IndexMath &im, Ofr t, bool first, Ofr row, Ofr rows,
                          Ofr block, int64_t units, const Strided &sums,
                          Ofr sumRow, Ofr sumColumn) {
  OpBuilder &b = im.builder();
  Ofr count = im.attr(units), column = im.mul(block, im.attr(unit));
  SmallVector<Value> ins, outs;
  for (int64_t g = 0; g < kGates; ++g)
    ins.push_back(boxAt(im, sums, sumRow, im.add(sumColumn, im.attr(g * unit)),
                        rows, count));
  if (first && c0)
    ins.push_back(boxAt(im, *c0, row, column, rows, count));
  outs.push_back(boxAt(im, c, row, column, rows, count));
  outs.push_back(boxAt(im, at(im, dst, t), row, column, rows, count));
  SmallVector<AffineMap> maps(ins.size() + outs.size(),
                              b.getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  linalg::GenericOp::create(
      b, im.location(), TypeRange{}, ins, outs, maps, loops,
      [&](OpBuilder &nb, Location loc, ValueRange args) {
        Value i = emitLogistic(nb, loc, args[0]);
        Value candidate = math::TanhOp::create(nb, loc, args[2]);
        Value o = emitLogistic(nb, loc, args[3]);
        Value next = arith::MulFOp::create(nb, loc, i, candidate);
        if (!first || c0) {
          // The state before: given at first, then in place.
          Value last = args[kGates];
          Value f = emitLogistic(nb, loc, args[1]);
          next = arith::AddFOp::create(
              nb, loc, arith::MulFOp::create(nb, loc, f, last), next);
        }
        Value h = arith::MulFOp::create(nb, loc, o,
                                        math::TanhOp::create(nb, loc, next));
        linalg::YieldOp::create(nb, loc, ValueRange{next, h});
      });
}

void Recurrence::run() {
  Ofr zero = m.attr(0), one = m.attr(1);
  // Without elements any number of steps is none.
  if (hidden == 0 || IndexMath::isConstant(batch, 0))
    return;
  Ofr rounds =
      IndexMath::constant(batch) ? steps : m.min(steps, m.mul(steps, batch));
  auto known = IndexMath::constant(steps);
  if (!known) // at most one iteration: step 0, if there is one
    emitLoop(m, zero, m.min(steps, one),
             [&](IndexMath &sm, Ofr t) { emitStep(sm, t, true); });
  else if (*known > 0)
    emitStep(m, zero, true);
  emitLoop(m, one, rounds,
           [&](IndexMath &sm, Ofr t) { emitStep(sm, t, false); });
  // The last states: c is there; h is the last row, without steps h0.
  auto last = ctx.outputs.find(op.getH());
  auto finish = [&](IndexMath &sm, bool any) {
    GroupContext inner(sm, ctx.group, ctx.label, ctx.sizes);
    if (last != ctx.outputs.end())
      for (const Strided &out : last->second) {
        Strided to = at(sm, at(sm, out, zero), zero);
        emitCopy(inner, any ? at(sm, dst, sm.sub(steps, one)) : h0, to);
      }
    if (!any)
      emitCopy(inner, c0, c);
  };
  if (known)
    return finish(m, *known > 0);
  emitLoop(m, zero, m.min(steps, one),
           [&](IndexMath &sm, Ofr) { finish(sm, true); });
  emitLoop(m, m.min(steps, one), one,
           [&](IndexMath &sm, Ofr) { finish(sm, false); });
}

} // namespace

LogicalResult lowerRecurrence(GroupContext &ctx) {
  Recurrence(ctx, cast<tile::RnnOp>(ctx.ops().front())).run();
  return success();
}

} // namespace tenon::tiling
