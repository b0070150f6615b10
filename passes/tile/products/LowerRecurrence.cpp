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

namespace tenon::passes {

namespace {

constexpr int64_t kGates = tile::RnnOp::kGates;
/// Work of an item, in multiply-adds, that pays for handing it to a thread:
/// about 2 us.
constexpr int64_t kMinItemWork = 128 << 10;
/// What the functions of a cell cost per hidden unit, in multiply-adds.
constexpr int64_t kCellWork = 200;

/// `s` at `index` of its first dimension.
Strided at(Strided s, Index index) {
  s.offset = s.offset.value_or(0) + index * s.strides[0];
  s.sizes.erase(s.sizes.begin());
  s.strides.erase(s.strides.begin());
  s.dense = false;
  return s;
}

/// The box of the matrix `s` at (row, column).
Value boxAt(IndexMath &m, const Strided &s, Index row, Index column, Index rows,
            Index columns) {
  Index offset = s.offset.value_or(0);
  offset += row * s.strides[0];
  offset += column * s.strides[1];
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
  Index steps, batch;
  int64_t unit, panel, hidden, blocks;

  Recurrence(GroupContext &ctx, tile::RnnOp op)
      : ctx(ctx), op(op), m(ctx.m), gates(input(op.getGates())),
        dst(output(op.getDst())), recurrent(input(op.getRecurrent())),
        c(state(output(op.getC()), 0)), steps(gates.sizes[0]),
        batch(gates.sizes[1]), unit(op.getUnit()),
        panel(rankedType(op.getRecurrent()).getDimSize(2)),
        hidden(rankedType(op.getDst()).getDimSize(2)),
        blocks(ceilDiv(hidden, unit)) {
    if (op.getSrcIter())
      h0 = state(input(op.getSrcIter()), op.getLayer());
    if (op.getSrcIterC())
      c0 = state(input(op.getSrcIterC()), op.getLayer());
  }

  Strided input(Value v) { return ctx.memoryOf(v); }
  const Strided &output(Value v) { return ctx.outputs.find(v)->second.front(); }
  /// [N, channels] of `layer` of a state [L, D, N, channels].
  Strided state(const Strided &s, int64_t layer) { return at(at(s, layer), 0); }

  /// Blocks that one item works on, one after the other.
  int64_t blocksPerItem(int64_t rows) {
    int64_t k = recurrent.sizes[1].constant().value_or(1024);
    int64_t work = rows * unit * (kGates * k + kCellWork);
    return std::clamp<int64_t>(kMinItemWork / std::max<int64_t>(work, 1), 1,
                               std::max<int64_t>(blocks, 1));
  }

  /// The section of step `t`. The `first` reads the given states, which are
  /// zeros when absent; later ones what the step before left in dst and c.
  void emitStep(Index t, bool first);
  void emitBlock(Index t, bool first, Index row, Index rows, Index block,
                 Value memory);
  void emitProduct(const Strided &h, Index t, Index row, Index rows,
                   Index block, const Strided &sums);
  void emitCell(Index t, bool first, Index row, Index rows, Index block,
                int64_t units, const Strided &sums, Index sumRow,
                Index sumColumn);

  void run();
};

void Recurrence::emitStep(Index t, bool first) {
  int64_t height = rowBlock(batch.constant(), recurrent.sizes[1].constant(),
                            ctx.target.getL2Bytes());
  int64_t perItem = blocksPerItem(height);
  int64_t itemsOfRows = ceilDiv(blocks, perItem);
  Grid grid{{"rows", ceilDiv(batch, height)}, {"blocks", itemsOfRows}};
  bool sums = !first || h0;
  Index scratch = sums ? height * kGates * unit * 4 : 0;
  emitItems(
      m, ctx.label, grid, scratch, [&](const Grid::Item &item, Value memory) {
        Index row = item["rows"] * height;
        auto n = batch.constant();
        Index rows = n && *n % height == 0 ? height : min(height, batch - row);
        if (perItem == 1)
          return emitBlock(t, first, row, rows, item["blocks"], memory);
        Index from = item["blocks"] * perItem;
        Index to = blocks % perItem == 0 ? from + perItem
                                         : min(from + perItem, blocks);
        emitLoop(m, from, to, [&](Index block) {
          emitBlock(t, first, row, rows, block, memory);
        });
      });
}

void Recurrence::emitBlock(Index t, bool first, Index row, Index rows,
                           Index block, Value memory) {
  Index width = kGates * unit;
  Strided sums = at(gates, t);
  Index sumRow = row, sumColumn = block * width;
  if (!first || h0) {
    auto count = rows.constant();
    SmallVector<Value> dynamic;
    if (!count)
      dynamic.push_back(m.value(rows));
    auto type =
        MemRefType::get({count.value_or(ShapedType::kDynamic), kGates * unit},
                        gates.elementType());
    Value view = memref::ViewOp::create(m.builder(), m.location(), type, memory,
                                        m.value(0), dynamic);
    sums = stridedOf(m, view);
    Strided h = first ? *h0 : at(dst, t - 1);
    emitProduct(h, t, row, rows, block, sums);
    sumRow = sumColumn = 0;
  }
  withBlockSize(m, block, hidden, unit, [&](int64_t units) {
    emitCell(t, first, row, rows, block, units, sums, sumRow, sumColumn);
  });
}

/// sums = h x weights of the block + gates[t].
void Recurrence::emitProduct(const Strided &h, Index t, Index row, Index rows,
                             Index block, const Strided &sums) {
  Index k = recurrent.sizes[1];
  Value a = boxAt(m, h, row, 0, rows, k);
  Strided below = at(gates, t);
  Index column = block * (kGates * unit);
  int64_t strips = kGates * unit / panel;
  auto perElement = tile::getEpilogueMapOf(tile::EpilogueBroadcast::PerElement,
                                           m.builder().getContext());
  for (int64_t s = 0; s < strips; ++s) {
    Index strip = block * strips + s;
    Value b = box(m, recurrent.base, strip * recurrent.strides[0], {k, panel},
                  {panel, 1});
    Index at = s * panel;
    Value operand = boxAt(m, below, row, column + at, rows, panel);
    Value out = boxAt(m, sums, 0, at, rows, panel);
    auto product = tile::BrgemmOp::create(
        m.builder(), m.location(), a, b, out, operand, perElement,
        /*accumulate=*/false, /*packed=*/true,
        [](OpBuilder &eb, Location loc, ValueRange args) -> Value {
          return arith::AddFOp::create(eb, loc, args[0], args[1]);
        });
    product.setPrefetchNext(true);
  }
}

/// c and h of `units` hidden units from the sums of their gates, which begin at
/// (sumRow, sumColumn) of `sums`.
void Recurrence::emitCell(Index t, bool first, Index row, Index rows,
                          Index block, int64_t units, const Strided &sums,
                          Index sumRow, Index sumColumn) {
  OpBuilder &b = m.builder();
  Index count = units, column = block * unit;
  SmallVector<Value> ins, outs;
  for (int64_t g = 0; g < kGates; ++g)
    ins.push_back(boxAt(m, sums, sumRow, sumColumn + g * unit, rows, count));
  if (first && c0)
    ins.push_back(boxAt(m, *c0, row, column, rows, count));
  outs.push_back(boxAt(m, c, row, column, rows, count));
  outs.push_back(boxAt(m, at(dst, t), row, column, rows, count));
  SmallVector<AffineMap> maps(ins.size() + outs.size(),
                              b.getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  linalg::GenericOp::create(
      b, m.location(), TypeRange{}, ins, outs, maps, loops,
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
  // Without elements any number of steps is none.
  if (hidden == 0 || batch.isConstant(0))
    return;
  Index rounds = batch.constant() ? steps : min(steps, steps * batch);
  auto known = steps.constant();
  if (!known) // at most one iteration: step 0, if there is one
    emitLoop(m, 0, min(steps, 1), [&](Index t) { emitStep(t, true); });
  else if (*known > 0)
    emitStep(0, true);
  emitLoop(m, 1, rounds, [&](Index t) { emitStep(t, false); });
  // The last states: c is there; h is the last row, without steps h0.
  auto last = ctx.outputs.find(op.getH());
  auto finish = [&](bool any) {
    if (last != ctx.outputs.end())
      for (const Strided &out : last->second) {
        Strided to = at(at(out, 0), 0);
        emitCopy(ctx, any ? at(dst, steps - 1) : h0, to);
      }
    if (!any)
      emitCopy(ctx, c0, c);
  };
  if (known)
    return finish(*known > 0);
  emitLoop(m, 0, min(steps, 1), [&](Index) { finish(true); });
  emitLoop(m, min(steps, 1), 1, [&](Index) { finish(false); });
}

} // namespace

LogicalResult lowerRecurrence(GroupContext &ctx) {
  Recurrence(ctx, cast<tile::RnnOp>(ctx.ops().front())).run();
  return success();
}

} // namespace tenon::passes
