//===- AttentionProblem.cpp - the operands and sizes of attention ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/attention/AttentionProblem.h"

#include "passes/support/GraphAttrs.h"

using namespace mlir;

namespace tenon::passes {

bool hasOnePerMatrix(const Strided &operand) {
  return llvm::all_of(ArrayRef<Index>(operand.strides).take_back(2),
                      [](Index stride) { return stride.isConstant(0); });
}

namespace {

class ProblemReader {
public:
  ProblemReader(GroupContext &ctx, tile::AttentionOp op, bool inPlace)
      : ctx(ctx), op(op), p(Epilogue(ctx, op)) {
    p.inPlace = inPlace;
  }

  AttentionProblem read() {
    readSizes();
    readInputs();
    readOutputs();
    mergeRows();
    placeFused();
    return std::move(p);
  }

private:
  Index readKeys();
  void readSizes();
  void readInputs();
  void readOutputs();
  void mergeRows();
  void placeFused();
  Strided withoutOwn(Strided s, int64_t own) const;
  Strided readPacked(Value value, std::optional<PackedInput> &packed);
  Strided readOrFuse(Value value, Index first, Index second,
                     std::optional<FusedInput> &made);
  void readPlainInputs();
  void readPackedInputs();

  GroupContext &ctx;
  tile::AttentionOp op;
  AttentionProblem p;
  bool isWidened = false; // operands are narrow floats, and computed as f32
};

/// The number of keys. Panels do not show it where it is not known, but then
/// the group makes them: FormGroups.
Index ProblemReader::readKeys() {
  if (int64_t keys = op.getNumKeys(); !ShapedType::isDynamic(keys))
    return keys;
  if (p.interleave == 1)
    return *(ctx.sizes[op.getV()].end() - 2);
  auto pack = op.getK().getDefiningOp<tile::PackOp>();
  assert(pack && "an unknown number of keys is packed in the group");
  return ctx.sizes[pack.getWeights()].back();
}

void ProblemReader::readSizes() {
  ArrayRef<Index> space = ctx.sizes[op.getDst()];
  p.lead.assign(space.begin(), space.end() - 2);
  p.rows = *(ctx.sizes[op.getQ()].end() - 2);
  p.depth = ctx.sizes[op.getQ()].back();
  p.element = rankedType(op.getQ()).getElementType();
  // What is read in place is widened there.
  isWidened = p.inPlace && p.isNarrow();
  if (isWidened)
    p.element = Float32Type::get(p.element.getContext());
  p.interleave = op.getInterleave();
  p.keys = readKeys();
  p.fromLeft = op.getFromLeft();
  p.normalized = op.getNormalized();
  p.infAsZero = op.getInfAsZero();
  p.score = &op.getScore().front();
  if (op.hasWeights())
    p.weights = &op.getWeights().front();
  auto vType = rankedType(op.getV());
  p.columns = p.interleave > 1
                  ? rankedType(op.getDst()).getShape().back()
                  : vType.getDimSize(vType.getRank() - (p.fromLeft ? 2 : 1));
}

/// What `value` is packed from in the group, or `value`.
Value beforePacking(Value value) {
  auto pack = value.getDefiningOp<tile::PackOp>();
  return pack ? pack.getWeights() : value;
}

void ProblemReader::readPlainInputs() {
  p.interleave = 1;
  p.k = readOrFuse(beforePacking(op.getK()), p.depth, p.keys, p.fusedKeys);
  p.v = readOrFuse(beforePacking(op.getV()), p.keys, p.columns, p.fusedValues);
}

void ProblemReader::readPackedInputs() {
  auto panelOf = [&](Value value) {
    return panelWidth(rankedType(value), p.interleave);
  };
  if (p.interleave > 1) {
    p.v = readPacked(op.getV(), p.packedValues);
    p.valuePanel = panelOf(op.getV());
  } else {
    p.v = p.fromLeft
              ? overLead(ctx.memoryOf(op.getV()), p.lead, p.columns, p.rows)
              : readOrFuse(op.getV(), p.keys, p.columns, p.fusedValues);
  }
  p.k = readPacked(op.getK(), p.packedKeys);
  p.panel = panelOf(op.getK());
}

void ProblemReader::readInputs() {
  p.q = readOrFuse(op.getQ(), p.rows, p.depth, p.fusedQueries);
  if (p.inPlace)
    readPlainInputs();
  else
    readPackedInputs();
  SmallVector<Index> scoreSpace(p.lead);
  scoreSpace.append({p.rows, p.keys});
  for (Value operand : op.getEpilogueOperands())
    p.epilogueOperands.push_back(
        broadcastTo(ctx.memoryOf(operand), scoreSpace));
}

void ProblemReader::readOutputs() {
  Value last = ctx.ops().back()->getResult(0);
  p.dst = ctx.outputs.find(last)->second.front();
  if (op.getStats())
    if (auto it = ctx.outputs.find(op.getStats()); it != ctx.outputs.end())
      p.stats = it->second.front();
}

/// Heads that share keys and values are rows of one product: what matters when
/// there is one query.
void ProblemReader::mergeRows() {
  if (p.fromLeft || !p.score->getArgument(1).use_empty())
    return;
  SmallVector<Strided *> byRow{&p.dst}, shared;
  auto addTo = [](SmallVector<Strided *> &list, MutableArrayRef<Strided> s) {
    for (Strided &each : s)
      list.push_back(&each);
  };
  addTo(byRow, p.fusedQueries ? MutableArrayRef(p.fusedQueries->sources) : p.q);
  addTo(shared, p.fusedValues ? MutableArrayRef(p.fusedValues->sources) : p.v);
  addTo(shared, p.fusedKeys ? MutableArrayRef(p.fusedKeys->sources) : p.k);
  for (auto *packed : {&p.packedValues, &p.packedKeys})
    if (*packed)
      addTo(shared, (*packed)->sources);
  if (p.stats)
    byRow.push_back(&*p.stats);
  for (Strided &s : p.epilogueOperands)
    byRow.push_back(&s);
  while (!p.lead.empty()) {
    int64_t l = static_cast<int64_t>(p.lead.size()) - 1;
    bool unit = p.lead[l].isConstant(1);
    bool single = p.rows.isConstant(1);
    if (!unit && !llvm::all_of(shared, [&](Strided *s) {
          return s->strides[l].isConstant(0);
        }))
      return;
    if (!unit && !single && !llvm::all_of(byRow, [&](Strided *s) {
          return s->strides[l] == p.rows * s->strides[l + 1];
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
    p.rows = p.lead.pop_back_val() * p.rows;
  }
}

/// Computed values are in scratch memory, one head's.
void ProblemReader::placeFused() {
  if (!p.fusedValues || p.inPlace)
    return;
  p.v.sizes = p.lead;
  p.v.sizes.append({p.keys, p.columns});
  p.v.strides.assign(p.lead.size(), 0);
  p.v.strides.append({p.columns, 1});
}

/// `s`, `own` of whose dims are its own, over the leading dims of the result.
Strided ProblemReader::withoutOwn(Strided s, int64_t own) const {
  s.dense = false;
  s.sizes.pop_back_n(own);
  s.strides.pop_back_n(own);
  return broadcastTo(s, p.lead);
}

/// Packed keys or values, over leading dimensions.
Strided ProblemReader::readPacked(Value value,
                                  std::optional<PackedInput> &packed) {
  auto pack = value.getDefiningOp<tile::PackOp>();
  if (!pack)
    return withoutOwn(ctx.memoryOf(value), p.interleave > 1 ? 4 : 3);
  packed.emplace(PackedInput{PanelPacking(ctx, pack), {}});
  for (const Strided &s : packed->packing.tensors())
    packed->sources.push_back(withoutOwn(s, 2));
  Strided none;
  none.sizes = p.lead;
  none.strides.assign(p.lead.size(), 0);
  return none;
}

/// The operand `value`; what the group makes is in scratch memory later.
Strided ProblemReader::readOrFuse(Value value, Index first, Index second,
                                  std::optional<FusedInput> &made) {
  Operation *def = value.getDefiningOp();
  if (!isWidened && (!def || isa<arith::ConstantOp>(def)))
    return overLead(ctx.memoryOf(value), p.lead, first, second);
  made.emplace(FusedInput{FusedOperand(ctx, value), {}});
  for (const Strided &s : made->value.tensors())
    made->sources.push_back(overLead(s, p.lead, first, second));
  return {};
}

} // namespace

AttentionProblem readProblem(GroupContext &ctx, tile::AttentionOp op) {
  return ProblemReader(ctx, op, /*inPlace=*/!op.getPacked()).read();
}

AttentionProblem readInPlace(GroupContext &ctx, tile::AttentionOp op) {
  return ProblemReader(ctx, op, /*inPlace=*/true).read();
}

} // namespace tenon::passes
