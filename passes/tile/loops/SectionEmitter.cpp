//===- SectionEmitter.cpp - the section of a loop program -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/loops/SectionEmitter.h"

#include "passes/tile/core/WorkItems.h"

#include "dialects/rt/RtDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

#include <limits>

using namespace mlir;

namespace tenon::passes {

namespace {
/// Reductions in one pass, and values that it may store beside them: more of
/// either would not stay in registers.
constexpr int kSumsTogether = 3;
constexpr size_t kStoresBesideSums = 2;
} // namespace

SectionEmitter::SectionEmitter(const LoopProgram &program,
                               const LoopSchedule &schedule)
    : program(program), schedule(schedule), m(program.getIndexMath()),
      nodes(program.getNodes()), sizes(program.getSizes()),
      classes(program.getClasses()) {}

void SectionEmitter::emit() {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  auto section = rt::ParallelOp::create(b, loc, program.getLabel(),
                                        m.value(schedule.getItems()),
                                        m.value(schedule.getScratchBytes()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&section.getBody().front());
  auto loop = scf::ForOp::create(b, loc, section.getBegin(), section.getEnd(),
                                 m.value(1));
  b.setInsertionPointToStart(loop.getBody());
  Item item = itemAt(m(loop.getInductionVar()), section.getScratchMemory());
  emitItem(item);
}

/// The item of this number.
SectionEmitter::Item SectionEmitter::itemAt(Index number, Value scratch) {
  Item item;
  item.scratch = scratch;
  item.start.assign(sizes.size(), 0);
  item.extent = llvm::to_vector(sizes);
  Index rest = number;
  ArrayRef<int64_t> itemDims = schedule.getItemDims();
  for (int64_t k = static_cast<int64_t>(itemDims.size()) - 1; k >= 0; --k) {
    int64_t d = itemDims[k];
    auto chunk = schedule.chunkOf(d);
    Index count = chunk ? ceilDiv(sizes[d], *chunk) : sizes[d];
    Index index = rest;
    if (count.isConstant(1)) {
      index = 0;
    } else if (k > 0) {
      index = rest % count;
      rest = rest / count;
    }
    item.start[d] = chunk ? index * *chunk : index;
    item.extent[d] = 1;
    if (chunk) {
      auto size = sizes[d].constant();
      bool even = size && *size % *chunk->constant() == 0;
      item.extent[d] = even ? *chunk : min(*chunk, sizes[d] - item.start[d]);
    }
  }
  return item;
}

void SectionEmitter::emitItem(Item &item) {
  for (int level = 0, last = schedule.lastLevel(); level <= last; ++level) {
    emitPasses(item, level, /*full=*/false);
    emitPasses(item, level, /*full=*/true);
    emitRarePasses(item, level);
  }
}

/// Once over the elements of a row (`full`) or over the rows: stores what is
/// known after the reductions of `level`, and makes the next reductions, some
/// in the same pass.
void SectionEmitter::emitPasses(Item &item, int level, bool full) {
  Stores results = collectStores(item, level, full);
  size_t stores = results.nodes.size();
  int accumulators = 0;
  auto flush = [&] {
    if (results.nodes.empty())
      return;
    if (full && schedule.getStepDim() >= 0)
      emitSteps(item, results);
    else
      emitGeneric(item, full, results);
    for (Node n : results.nodes)
      if (nodes[n].kind == Kind::reduce ||
          (nodes[n].kind == Kind::compute && nodes[n].full == full))
        item.available.insert(n);
    results = {};
    stores = accumulators = 0;
  };
  for (Node i = 0, e = full ? nodes.size() : 0; i < e; ++i) {
    const LoopSchedule::NodePlan &plan = schedule.planOf(i);
    if (nodes[i].kind != Kind::reduce || plan.level != level + 1 ||
        plan.condition >= 0)
      continue;
    Place accumulator = placeOf(item, i);
    startReduction(item, nodes[i], accumulator);
    if (stores > kStoresBesideSums || accumulators == kSumsTogether)
      flush();
    results.add(i, accumulator);
    ++accumulators;
  }
  flush();
}

/// What is stored after the reductions of `level`, and where.
SectionEmitter::Stores SectionEmitter::collectStores(Item &item, int level,
                                                     bool full) {
  Stores stores;
  for (Node i = 0, e = nodes.size(); i < e; ++i) {
    const NodeInfo &n = nodes[i];
    const LoopSchedule::NodePlan &plan = schedule.planOf(i);
    if (!plan.stored || plan.level != level)
      continue;
    // The memory of what is stored already may be its output: nothing to copy
    // then.
    bool isStored = n.kind == Kind::reduce || plan.condition >= 0;
    Value own = isStored && !plan.scratchOffset
                    ? schedule.outputAsBuffer(i).base
                    : Value();
    for (const Strided &out : plan.outputs)
      if (program.variesAlong(out) == full && out.base != own)
        stores.add(i, {out, {}, full});
    if (n.kind == Kind::compute && !isStored && plan.scratchOffset &&
        n.full == full)
      stores.add(i, placeOf(item, i));
  }
  return stores;
}

/// Under their condition, the reductions after `level` that few rows need, and
/// the values that are chosen for these rows. The memory of the sums is
/// undefined for other rows, which do not read it.
void SectionEmitter::emitRarePasses(Item &item, int level) {
  llvm::MapVector<Node, SmallVector<Node>> byCondition;
  for (Node i = 0, e = nodes.size(); i < e; ++i) {
    const LoopSchedule::NodePlan &plan = schedule.planOf(i);
    if (plan.condition >= 0 && plan.level == level + 1)
      byCondition[plan.condition].push_back(i);
  }
  OpBuilder &b = m.builder();
  Location loc = m.location();
  for (auto &[condition, rare] : byCondition) {
    SmallVector<Node> chosen;
    Stores sums;
    for (Node n : rare) {
      if (nodes[n].kind == Kind::compute) {
        chosen.push_back(n);
        emitGeneric(item, /*full=*/false,
                    {{nodes[n].operands[2]}, {placeOf(item, n)}});
        continue;
      }
      sums.add(n, placeOf(item, n));
    }
    Value row = memref::LoadOp::create(
        b, loc, memoryOf(item, placeOf(item, condition)));
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    Value holds =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, row, zero);
    scf::IfOp::create(b, loc, holds, [&](OpBuilder &ib, Location l) {
      Item inner = item;
      for (auto [n, place] : llvm::zip(sums.nodes, sums.places))
        startReduction(inner, nodes[n], place);
      emitGeneric(inner, /*full=*/true, sums);
      inner.available.insert_range(sums.nodes);
      for (Node n : chosen)
        emitGeneric(inner, /*full=*/false,
                    {{nodes[n].operands[1]}, {placeOf(inner, n)}});
      scf::YieldOp::create(ib, l);
    });
    item.available.insert_range(rare);
  }
}

/// The same pass over a few rows at a time.
void SectionEmitter::emitSteps(Item &item, const Stores &results) {
  int64_t stepDim = schedule.getStepDim();
  int64_t size = *sizes[stepDim].constant(), rest = size % kStepRows;
  auto step = [&](Index from, int64_t rows) {
    Item inner = item;
    inner.start[stepDim] = item.start[stepDim] + from;
    inner.extent[stepDim] = rows;
    emitGeneric(inner, /*full=*/true, results);
  };
  emitLoop(m, 0, size / kStepRows,
           [&](Index number) { step(number * kStepRows, kStepRows); });
  if (rest)
    step(size - rest, rest);
}

static TypedAttr neutral(OpBuilder &b, LoopProgram::Reduction kind, Type type) {
  using R = LoopProgram::Reduction;
  if (isa<FloatType>(type)) {
    double inf = std::numeric_limits<double>::infinity();
    double v = kind == R::sum       ? 0.0
               : kind == R::product ? 1.0
               : kind == R::min     ? inf
                                    : -inf;
    return b.getFloatAttr(type, v);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  APInt v = kind == R::sum       ? APInt::getZero(width)
            : kind == R::product ? APInt(width, 1)
            : kind == R::min     ? APInt::getSignedMaxValue(width)
                                 : APInt::getSignedMinValue(width);
  return b.getIntegerAttr(type, v);
}

void SectionEmitter::startReduction(Item &item, const NodeInfo &n,
                                    const Place &accumulator) {
  OpBuilder &b = m.builder();
  Value memory = memoryOf(item, accumulator);
  int64_t rank = cast<MemRefType>(memory.getType()).getRank();
  TypedAttr init = neutral(b, n.reduction, n.type);
  linalg::GenericOp::create(
      b, m.location(), TypeRange{}, ValueRange{}, memory,
      b.getMultiDimIdentityMap(rank),
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &nb, Location loc, ValueRange) {
        Value c = arith::ConstantOp::create(nb, loc, init);
        linalg::YieldOp::create(nb, loc, c);
      });
}

/// Where the values of a stored node or of an input are.
SectionEmitter::Place SectionEmitter::placeOf(Item &item, Node node) {
  const NodeInfo &n = nodes[node];
  const std::optional<Index> &offset = schedule.planOf(node).scratchOffset;
  if (n.kind == Kind::input)
    return {n.memory, {}, n.full};
  if (!offset)
    return {schedule.outputAsBuffer(node), {}, n.full};
  Value &view = item.scratchViews[node];
  if (!view) {
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    for (int64_t d : schedule.getScratchOrder()) {
      if (!schedule.isInside(d) || (!n.full && classes[d] == 1))
        continue;
      auto c = item.extent[d].constant();
      shape.push_back(c ? *c : ShapedType::kDynamic);
      if (!c)
        dynamic.push_back(item.extent[d].dynamic());
    }
    view = memref::ViewOp::create(m.builder(), m.location(),
                                  MemRefType::get(shape, n.type), item.scratch,
                                  m.value(*offset), dynamic);
  }
  return {{}, view, n.full};
}

/// The part of the tensor at `place` that belongs to the item, over the
/// dimensions that are walked inside it and along which the tensor varies or
/// which are shown.
Value SectionEmitter::boxOf(const Item &item, const Place &place) {
  const Strided &s = place.tensor;
  Index offset = s.offset.value_or(0);
  SmallVector<Index> boxSizes, boxStrides;
  for (int64_t d = 0, e = sizes.size(); d < e; ++d) {
    if (s.strides[d].isConstant(0) && !llvm::is_contained(place.shown, d))
      continue;
    offset += item.start[d] * s.strides[d];
    if (!schedule.isInside(d))
      continue;
    boxSizes.push_back(item.extent[d]);
    boxStrides.push_back(s.strides[d]);
  }
  return box(m, s.base, offset, boxSizes, boxStrides);
}

Value SectionEmitter::memoryOf(const Item &item, const Place &place) {
  return place.scratch ? place.scratch : boxOf(item, place);
}

} // namespace tenon::passes
