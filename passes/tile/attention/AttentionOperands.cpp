//===- AttentionOperands.cpp - queries, keys and values -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Read as they lie, packed before, or packed and computed here: keys and values
// by the first block of queries of their head, queries by each block.
//
//===----------------------------------------------------------------------===//
#include "passes/support/GraphAttrs.h"
#include "passes/tile/attention/AttentionLowering.h"
#include "passes/tile/core/WorkItems.h"

using namespace mlir;

namespace tenon::tiling {

/// Heads that share keys and values are rows of one product: what matters when
/// there is one query.
void AttentionLowering::mergeRows(SmallVectorImpl<Index> &lead) {
  if (op.getFromLeft() || !op.getScore().front().getArgument(1).use_empty())
    return;
  SmallVector<Strided *> byRow{&dst}, shared{&k};
  auto addTo = [](SmallVector<Strided *> &list, MutableArrayRef<Strided> s) {
    for (Strided &each : s)
      list.push_back(&each);
  };
  addTo(byRow, fusedQueries ? MutableArrayRef(fusedQueries->sources) : q);
  addTo(shared, fusedValues ? MutableArrayRef(fusedValues->sources) : v);
  for (PackedHere &p : packedHere)
    addTo(shared, p.sources);
  if (stats)
    byRow.push_back(&*stats);
  for (Strided &s : epilogueOperands)
    byRow.push_back(&s);
  while (!lead.empty()) {
    int64_t l = static_cast<int64_t>(lead.size()) - 1;
    bool unit = lead[l].isConstant(1);
    bool single = rows.isConstant(1);
    if (!unit && !llvm::all_of(shared, [&](Strided *s) {
          return s->strides[l].isConstant(0);
        }))
      return;
    if (!unit && !single && !llvm::all_of(byRow, [&](Strided *s) {
          return s->strides[l] == rows * s->strides[l + 1];
        }))
      return;
    for (Strided *s : byRow)
      if (!unit && single)
        s->strides[l + 1] = s->strides[l];
    for (auto *list : {&byRow, &shared})
      for (Strided *s : *list) {
        s->sizes.erase(s->sizes.begin() + l);
        s->strides.erase(s->strides.begin() + l);
      }
    rows = lead.pop_back_val() * rows;
  }
}

/// `s`, `own` of whose dims are its own, over the leading dims of the result.
Strided AttentionLowering::overLead(Strided s, int64_t own) {
  s.dense = false;
  s.sizes.pop_back_n(own);
  s.strides.pop_back_n(own);
  return broadcastTo(s, lead);
}

/// Packed keys or values, over leading dimensions.
Strided AttentionLowering::readPacked(Value value, Value Scratch::*place) {
  auto pack = value.getDefiningOp<tile::PackOp>();
  if (!pack)
    return overLead(ctx.memoryOf(value), interleave > 1 ? 4 : 3);
  PackedHere &p =
      packedHere.emplace_back(PackedHere{PanelPacking(ctx, pack), {}, place});
  for (const Strided &s : p.packing.tensors())
    p.sources.push_back(overLead(s, 2));
  Strided none;
  none.sizes = lead;
  none.strides.assign(lead.size(), 0);
  return none;
}

/// `s` over the leading dimensions of the result. The last two dimensions are
/// its own: never broadcast.
Strided AttentionLowering::over(Strided s, Index first, Index second) {
  SmallVector<Index> shape(lead);
  shape.append({first, second});
  Strided t = broadcastTo(s, shape);
  for (int64_t i : {1, 2})
    t.strides[t.rank() - i] = s.strides[s.rank() - i];
  return t;
}

/// The operand `value`; what the group makes is in scratch memory later.
Strided AttentionLowering::readOrFuse(Value value, Index first, Index second,
                                      std::optional<FusedInput> &made) {
  Operation *def = value.getDefiningOp();
  if (!def || isa<arith::ConstantOp>(def))
    return over(ctx.memoryOf(value), first, second);
  made.emplace(FusedInput{FusedOperand(ctx, value), {}});
  for (const Strided &s : made->value.tensors())
    made->sources.push_back(over(s, first, second));
  return {};
}

void AttentionLowering::readOperands() {
  ArrayRef<Index> space = ctx.sizes[op.getDst()];
  lead.assign(space.begin(), space.end() - 2);
  rows = *(ctx.sizes[op.getQ()].end() - 2);
  depth = ctx.sizes[op.getQ()].back();
  keys = op.getNumKeys();
  bool fromLeft = op.getFromLeft();
  element = rankedType(op.getQ()).getElementType();
  isNarrow = !element.isF32();
  sumsApart = isNarrow || !epilogue.empty();
  inPlace = !op.getPacked();
  interleave = op.getInterleave();
  auto vType = rankedType(op.getV());
  columns = interleave > 1
                ? rankedType(op.getDst()).getShape().back()
                : vType.getDimSize(vType.getRank() - (fromLeft ? 2 : 1));
  auto panelOf = [&](Value value) {
    return panelWidth(rankedType(value), interleave);
  };
  q = readOrFuse(op.getQ(), rows, depth, fusedQueries);
  if (interleave > 1) {
    v = readPacked(op.getV(), &Scratch::packedValues);
    valuePanel = panelOf(op.getV());
  } else {
    v = fromLeft ? over(ctx.memoryOf(op.getV()), columns, rows)
                 : readOrFuse(op.getV(), keys, columns, fusedValues);
  }
  if (op.getPacked()) {
    k = readPacked(op.getK(), &Scratch::packedKeys);
    panel = panelOf(op.getK());
  } else {
    k = over(ctx.memoryOf(op.getK()), depth, keys);
  }
  Value last = ctx.ops().back()->getResult(0);
  dst = ctx.outputs.find(last)->second.front();
  if (op.getStats())
    if (auto it = ctx.outputs.find(op.getStats()); it != ctx.outputs.end())
      stats = it->second.front();
  SmallVector<Index> scoreSpace(lead);
  scoreSpace.append({rows, keys});
  for (Value operand : op.getEpilogueOperands())
    epilogueOperands.push_back(broadcastTo(ctx.memoryOf(operand), scoreSpace));
}

/// Computed values are in scratch memory, one head's.
void AttentionLowering::placeFused() {
  if (!fusedValues)
    return;
  v.sizes = lead;
  v.sizes.append({keys, columns});
  v.strides.assign(lead.size(), 0);
  v.strides.append({columns, 1});
}

/// Keys and values of a head are packed or computed by the first of its blocks.
void AttentionLowering::emitOperands(Block &block, Index item) {
  if (packedHere.empty() && !fusedValues)
    return;
  ArrayRef<Index> head = ArrayRef(block.at).drop_back();
  emitIfFirst(m, item, block.at.back(), [&] {
    for (const PackedHere &p : packedHere) {
      SmallVector<Index> starts;
      for (const Strided &s : p.sources)
        starts.push_back(offsetOf(s, head));
      p.packing.emitPanels(m, starts, block.scratch.*p.place);
    }
    if (!fusedValues)
      return;
    Index n = keys, e = columns;
    fusedValues->emit(m, head, {n, e},
                      box(m, block.scratch.fusedValues, 0, {n, e}, {e, 1}));
  });
}

/// Writes the box of `sizes` whose leading indices, and perhaps row, are `at`.
void AttentionLowering::FusedInput::emit(IndexMath &m, ArrayRef<Index> at,
                                         ArrayRef<Index> sizes,
                                         Value to) const {
  SmallVector<FusedOperand::Place> places;
  for (const Strided &s : sources)
    places.push_back({offsetOf(s, at),
                      SmallVector<Index>(ArrayRef(s.strides).take_back(2))});
  value.emitBox(m, places, sizes, to);
}

void AttentionLowering::emitQueries(Block &block) {
  if (fusedQueries)
    fusedQueries->emit(m, block.at, {block.rows, depth}, queriesOf(block));
}

/// The queries of a block.
Value AttentionLowering::queriesOf(Block &block) {
  if (fusedQueries)
    return box(m, block.scratch.fusedQueries, 0, {block.rows, depth},
               {depth, 1});
  return box(m, q.base, offsetOf(q, block.at), {block.rows, depth},
             {q.strides[q.rank() - 2], q.strides.back()});
}

/// Where keys or values `s` are.
Value AttentionLowering::baseOf(Block &block, const Strided &s,
                                Value Scratch::*place) const {
  return s.base ? s.base : block.scratch.*place;
}

} // namespace tenon::tiling
