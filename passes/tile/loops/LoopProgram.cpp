// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/loops/LoopProgram.h"

#include "passes/ops/ScalarOps.h"
#include "passes/tile/core/WorkItems.h"

#include "codegen/vector/Attrs.h"
#include "dialects/rt/RtDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

#include <limits>

using namespace mlir;

namespace tenon::tiling {

namespace {
/// Reductions in one pass, and values that it may store beside them: more of
/// either would not stay in registers.
constexpr int kSumsTogether = 3;
constexpr size_t kStoresBesideSums = 2;
/// Bytes of a row of which L1 would not hold a copy, too.
constexpr int64_t kLongRow = 8 << 10;
} // namespace

/// What is known inside one item: where it is, and what it has stored.
struct LoopProgram::Item {
  Value scratch;
  SmallVector<Index> start;  // per dimension of the space
  SmallVector<Index> extent; // per dimension of the space; 1: an item index
  llvm::DenseMap<int, Value> scratchViews;
  llvm::DenseSet<int> available; // nodes whose values are in memory
};

/// The part of `s` that belongs to the item, over the dimensions that are
/// walked inside it and along which `s` varies or which are `shown`.
Value LoopProgram::boxOf(Item &item, const Strided &s,
                         ArrayRef<int64_t> shown) {
  Index offset = s.offset.value_or(0);
  SmallVector<Index> boxSizes, boxStrides;
  for (int64_t d = 0, e = sizes.size(); d < e; ++d) {
    if (s.strides[d].isConstant(0) && !llvm::is_contained(shown, d))
      continue;
    offset += item.start[d] * s.strides[d];
    if (!isInside(d))
      continue;
    boxSizes.push_back(item.extent[d]);
    boxStrides.push_back(s.strides[d]);
  }
  return box(m, s.base, offset, boxSizes, boxStrides);
}

bool LoopProgram::isInside(int64_t d) const {
  return chunks.contains(d) || !llvm::is_contained(itemDims, d);
}

/// Where the values of a stored node or of an input are.
LoopProgram::Place LoopProgram::placeOf(Item &item, Node node) {
  NodeInfo &n = nodes[node];
  if (n.kind == Kind::input)
    return {n.memory, {}, n.full};
  if (!n.scratchOffset)
    return {outputAsBuffer(n), {}, n.full};
  Value &view = item.scratchViews[node];
  if (!view) {
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    for (int64_t d : scratchOrder) {
      if (!isInside(d) || (!n.full && classes[d] == 1))
        continue;
      auto c = item.extent[d].constant();
      shape.push_back(c ? *c : ShapedType::kDynamic);
      if (!c)
        dynamic.push_back(item.extent[d].dynamic());
    }
    view = memref::ViewOp::create(m.builder(), m.location(),
                                  MemRefType::get(shape, n.type), item.scratch,
                                  m.value(*n.scratchOffset), dynamic);
  }
  return {{}, view, n.full};
}

Value LoopProgram::memoryOf(Item &item, const Place &place) {
  return place.scratch ? place.scratch : boxOf(item, place.tensor, place.shown);
}

AffineMap LoopProgram::mapOf(Item &item, const Place &place,
                             ArrayRef<int64_t> loopOf, int64_t loops) {
  MLIRContext *ctx = m.builder().getContext();
  SmallVector<AffineExpr> exprs;
  for (int64_t i = 0, e = sizes.size(); i < e; ++i) {
    int64_t d = place.scratch ? scratchOrder[i] : i;
    bool present = place.scratch ? place.full || classes[d] == 0
                                 : !place.tensor.strides[d].isConstant(0) ||
                                       llvm::is_contained(place.shown, d);
    if (isInside(d) && present)
      exprs.push_back(getAffineDimExpr(loopOf[d], ctx));
  }
  return AffineMap::get(loops, 0, exprs, ctx);
}

Value LoopProgram::indexAtStart(Item &item, const NodeInfo &n) {
  Index start = n.memory.offset.value_or(0);
  for (auto [at, stride] : llvm::zip(item.start, n.memory.strides))
    start += at * stride;
  return arith::IndexCastOp::create(m.builder(), m.location(), n.type,
                                    m.value(start));
}

/// The cast stands right after linalg.index, where the vectoriser turns both
/// into one vector of the narrow type.
Value LoopProgram::indexInside(OpBuilder &b, Location loc, const NodeInfo &n,
                               Value start, ArrayRef<int64_t> loopOf) {
  Value sum = start;
  for (auto [d, stride] : llvm::enumerate(n.memory.strides)) {
    if (loopOf[d] < 0 || stride.isConstant(0))
      continue;
    Value i = linalg::IndexOp::create(b, loc, loopOf[d]);
    i = arith::IndexCastOp::create(b, loc, n.type, i);
    if (auto c = stride.constant()) {
      if (*c != 1)
        i = arith::MulIOp::create(
            b, loc, i,
            arith::ConstantOp::create(b, loc, b.getIntegerAttr(n.type, *c)));
    } else {
      i = arith::MulIOp::create(
          b, loc, i,
          arith::IndexCastOp::create(b, loc, n.type, stride.dynamic()));
    }
    sum = arith::AddIOp::create(b, loc, sum, i);
  }
  return sum;
}

/// Linalg takes the size of a loop from an operand.  Where all have stride 0
/// along a loop (the sum of a broadcast input; a dimension before an empty
/// one), an operand that nobody reads, with stride 0 as well, shows it.
void LoopProgram::showAllLoops(Item &item, ArrayRef<int64_t> loopOf,
                               int64_t loops, SmallVectorImpl<Place> &sources,
                               ArrayRef<Place> destinations) {
  llvm::SmallBitVector seen(loops);
  auto look = [&](const Place &place) {
    AffineMap map = mapOf(item, place, loopOf, loops);
    for (AffineExpr expr : map.getResults())
      seen.set(cast<AffineDimExpr>(expr).getPosition());
  };
  llvm::for_each(sources, look);
  llvm::for_each(destinations, look);
  if (seen.all())
    return;
  Place place;
  auto input = llvm::find_if(
      nodes, [](const NodeInfo &n) { return n.kind == Kind::input; });
  auto output = llvm::find_if(
      nodes, [](const NodeInfo &n) { return !n.outputs.empty(); });
  if (input != nodes.end())
    place.tensor = input->memory;
  else if (output != nodes.end())
    place.tensor = output->outputs.front();
  else
    return;
  place.tensor.strides.assign(sizes.size(), 0);
  for (auto [d, loop] : llvm::enumerate(loopOf))
    if (loop >= 0 && !seen.test(loop))
      place.shown.push_back(static_cast<int64_t>(d));
  sources.push_back(std::move(place));
}

static Value combine(OpBuilder &b, Location loc, LoopProgram::Reduction kind,
                     Value acc, Value x) {
  using R = LoopProgram::Reduction;
  bool isFloat = isa<FloatType>(x.getType());
  // Of 0 and -0 either will do: half the instructions of a strict order.
  auto zeros = arith::FastMathFlags::nsz;
  switch (kind) {
  case R::sum:
    return isFloat ? arith::AddFOp::create(b, loc, acc, x,
                                           arith::FastMathFlags::contract)
                         .getResult()
                   : arith::AddIOp::create(b, loc, acc, x).getResult();
  case R::product:
    return isFloat ? arith::MulFOp::create(b, loc, acc, x).getResult()
                   : arith::MulIOp::create(b, loc, acc, x).getResult();
  case R::max:
    return isFloat
               ? arith::MaximumFOp::create(b, loc, acc, x, zeros).getResult()
               : arith::MaxSIOp::create(b, loc, acc, x).getResult();
  case R::min:
    return isFloat
               ? arith::MinimumFOp::create(b, loc, acc, x, zeros).getResult()
               : arith::MinSIOp::create(b, loc, acc, x).getResult();
  case R::greatest:
    return emitGreater(b, loc, acc, x);
  }
  return {};
}

/// Whether a generic that has `node` among its results folds elements into it,
/// and does not copy it.
bool LoopProgram::accumulates(const Item &item, Node node) const {
  return nodes[node].kind == Kind::reduce && !item.available.contains(node);
}

/// One linalg.generic: stores `results` to `destinations`; folds the operands
/// of reductions that are not computed yet into their accumulators.
void LoopProgram::emitGeneric(Item &item, bool full, ArrayRef<Node> results,
                              ArrayRef<Place> destinations) {
  OpBuilder &b = m.builder();
  bool reducing =
      llvm::any_of(results, [&](Node n) { return accumulates(item, n); });
  SmallVector<int64_t> loopOf(sizes.size(), -1);
  SmallVector<utils::IteratorType> iterators;
  int64_t loops = 0;
  for (int64_t d = 0, e = sizes.size(); d < e; ++d) {
    if (!isInside(d) || (!full && classes[d] == 1))
      continue;
    loopOf[d] = loops++;
    iterators.push_back(classes[d] == 1 && reducing
                            ? utils::IteratorType::reduction
                            : utils::IteratorType::parallel);
  }
  // Leaves: inputs and what earlier generics have stored.
  SmallVector<Node> leaves, stack;
  SmallVector<std::pair<Node, Value>> starts; // of index nodes
  llvm::DenseSet<Node> seen;
  for (Node n : llvm::reverse(results))
    stack.push_back(accumulates(item, n) ? nodes[n].operands[0] : n);
  while (!stack.empty()) {
    Node n = stack.pop_back_val();
    if (!seen.insert(n).second)
      continue;
    if (nodes[n].kind == Kind::input || item.available.contains(n))
      leaves.push_back(n);
    else if (nodes[n].kind == Kind::index)
      starts.push_back({n, indexAtStart(item, nodes[n])});
    else
      stack.append(nodes[n].operands.rbegin(), nodes[n].operands.rend());
  }
  SmallVector<Place> sources;
  for (Node n : leaves)
    sources.push_back(placeOf(item, n));
  showAllLoops(item, loopOf, loops, sources, destinations);
  SmallVector<Value> ins, outs;
  SmallVector<AffineMap> maps;
  for (const Place &place : sources) {
    maps.push_back(mapOf(item, place, loopOf, loops));
    ins.push_back(memoryOf(item, place));
  }
  for (const Place &place : destinations) {
    maps.push_back(mapOf(item, place, loopOf, loops));
    outs.push_back(memoryOf(item, place));
  }
  SmallVector<int64_t> streams;
  for (auto [i, n] : llvm::enumerate(results))
    if (storesNontemporally(n, destinations[i]))
      streams.push_back(static_cast<int64_t>(i));
  auto generic = linalg::GenericOp::create(
      b, m.location(), TypeRange{}, ins, outs, maps, iterators,
      [&](OpBuilder &nb, Location loc, ValueRange args) {
        llvm::DenseMap<Node, Value> values;
        for (auto [i, n] : llvm::enumerate(leaves))
          values[n] = args[i];
        for (auto [n, start] : starts)
          values[n] = indexInside(nb, loc, nodes[n], start, loopOf);
        std::function<Value(Node)> get = [&](Node n) -> Value {
          auto it = values.find(n);
          if (it != values.end())
            return it->second;
          SmallVector<Value> operands;
          for (Node o : nodes[n].operands)
            operands.push_back(get(o));
          Value v = nodes[n].body(nb, loc, operands);
          values[n] = v;
          return v;
        };
        SmallVector<Value> yields;
        for (auto [i, n] : llvm::enumerate(results))
          yields.push_back(accumulates(item, n)
                               ? combine(nb, loc, nodes[n].reduction,
                                         args[sources.size() + i],
                                         get(nodes[n].operands[0]))
                               : get(n));
        linalg::YieldOp::create(nb, loc, yields);
      });
  if (!streams.empty())
    generic->setAttr(codegen::kNontemporalAttr,
                     b.getDenseI64ArrayAttr(streams));
  if (!full && llvm::is_contained(classes, 1))
    return; // once per row
  // A pass that needs the sums of one before reads what that left in a cache.
  bool again = llvm::any_of(
      leaves, [&](Node n) { return nodes[n].kind == Kind::reduce; });
  SmallVector<int64_t> prefetches;
  for (const Place &place : sources)
    prefetches.push_back(!again     ? distanceAhead(place)
                         : reducing ? distanceToNext(place, item.extent)
                                    : 0);
  if (llvm::any_of(prefetches, [](int64_t d) { return d != 0; }))
    generic->setAttr(codegen::kPrefetchAttr,
                     b.getDenseI64ArrayAttr(prefetches));
}

/// What is stored after the reductions of `level`, and where.
void LoopProgram::collectStores(Item &item, int level, bool full,
                                SmallVectorImpl<Node> &results,
                                SmallVectorImpl<Place> &places) {
  for (Node i = 0, e = nodes.size(); i < e; ++i) {
    const NodeInfo &n = nodes[i];
    if (!n.stored || n.level != level)
      continue;
    // The memory of what is stored already may be its output: nothing to copy
    // then.
    bool isStored = n.kind == Kind::reduce || n.condition >= 0;
    Value own = isStored && !n.scratchOffset ? outputAsBuffer(n).base : Value();
    for (const Strided &out : n.outputs)
      if (variesAlong(out) == full && out.base != own) {
        results.push_back(i);
        places.push_back({out, {}, full});
      }
    if (n.kind == Kind::compute && !isStored && n.scratchOffset &&
        n.full == full) {
      results.push_back(i);
      places.push_back(placeOf(item, i));
    }
  }
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
  int64_t v = kind == R::sum       ? 0
              : kind == R::product ? 1
              : kind == R::min     ? std::numeric_limits<int32_t>::max()
                                   : std::numeric_limits<int32_t>::min();
  return b.getIntegerAttr(type, v);
}

void LoopProgram::startReduction(Item &item, const NodeInfo &n,
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

/// Once over the elements of a row (`full`) or over the rows: stores what is
/// known after the reductions of `level`, and makes the next reductions, some
/// in the same pass.
void LoopProgram::emitPasses(Item &item, int level, bool full) {
  SmallVector<Node> results;
  SmallVector<Place> places;
  collectStores(item, level, full, results, places);
  size_t stores = results.size();
  int accumulators = 0;
  auto flush = [&] {
    if (results.empty())
      return;
    if (full && stepDim >= 0)
      emitSteps(item, results, places);
    else
      emitGeneric(item, full, results, places);
    for (Node n : results)
      if (nodes[n].kind == Kind::reduce ||
          (nodes[n].kind == Kind::compute && nodes[n].full == full))
        item.available.insert(n);
    results.clear();
    places.clear();
    stores = accumulators = 0;
  };
  for (Node i = 0, e = full ? nodes.size() : 0; i < e; ++i) {
    if (nodes[i].kind != Kind::reduce || nodes[i].level != level + 1 ||
        nodes[i].condition >= 0)
      continue;
    Place accumulator = placeOf(item, i);
    startReduction(item, nodes[i], accumulator);
    if (stores > kStoresBesideSums || accumulators == kSumsTogether)
      flush();
    results.push_back(i);
    places.push_back(accumulator);
    ++accumulators;
  }
  flush();
}

/// The reductions after `level` that few rows need, under their condition,
/// and what is chosen for these rows. What others find in place of the sums is
/// not read.
void LoopProgram::emitRarePasses(Item &item, int level) {
  llvm::MapVector<Node, SmallVector<Node>> byCondition;
  for (Node i = 0, e = nodes.size(); i < e; ++i)
    if (nodes[i].condition >= 0 && nodes[i].level == level + 1)
      byCondition[nodes[i].condition].push_back(i);
  OpBuilder &b = m.builder();
  Location loc = m.location();
  for (auto &[condition, rare] : byCondition) {
    SmallVector<Node> sums, chosen;
    SmallVector<Place> places;
    for (Node n : rare) {
      if (nodes[n].kind == Kind::compute) {
        chosen.push_back(n);
        emitGeneric(item, /*full=*/false, nodes[n].operands[2],
                    placeOf(item, n));
        continue;
      }
      sums.push_back(n);
      places.push_back(placeOf(item, n));
    }
    Value row = memref::LoadOp::create(
        b, loc, memoryOf(item, placeOf(item, condition)));
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    Value holds =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, row, zero);
    scf::IfOp::create(b, loc, holds, [&](OpBuilder &ib, Location l) {
      Item inner = item;
      for (auto [n, place] : llvm::zip(sums, places))
        startReduction(inner, nodes[n], place);
      emitGeneric(inner, /*full=*/true, sums, places);
      inner.available.insert_range(sums);
      for (Node n : chosen)
        emitGeneric(inner, /*full=*/false, nodes[n].operands[1],
                    placeOf(inner, n));
      scf::YieldOp::create(ib, l);
    });
    item.available.insert_range(rare);
  }
}

/// The same pass over a few rows at a time.
void LoopProgram::emitSteps(Item &item, ArrayRef<Node> results,
                            ArrayRef<Place> destinations) {
  int64_t size = *sizes[stepDim].constant(), rest = size % kStepRows;
  auto step = [&](Index from, int64_t rows) {
    Item inner = item;
    inner.start[stepDim] = item.start[stepDim] + from;
    inner.extent[stepDim] = rows;
    emitGeneric(inner, /*full=*/true, results, destinations);
  };
  emitLoop(m, 0, size / kStepRows,
           [&](Index number) { step(number * kStepRows, kStepRows); });
  if (rest)
    step(size - rest, rest);
}

void LoopProgram::emitItem(Item &item) {
  int last = 0;
  for (const NodeInfo &n : nodes)
    last = std::max(last, n.level);
  for (int level = 0; level <= last; ++level) {
    emitPasses(item, level, /*full=*/false);
    emitPasses(item, level, /*full=*/true);
    emitRarePasses(item, level);
  }
}

void LoopProgram::emit() {
  // Merge dimensions over all tensors at once.
  SmallVector<Strided *> operands;
  for (NodeInfo &n : nodes) {
    if (n.kind == Kind::input || n.kind == Kind::index)
      operands.push_back(&n.memory);
    for (Strided &s : n.outputs)
      operands.push_back(&s);
  }
  coalesce(sizes, classes, operands);
  for (auto [size, cls] : llvm::zip(sizes, classes))
    if (cls == 0 && size.isConstant(0))
      return; // nothing to compute
  if (std::optional<Division> division = chooseDivision())
    emitDivided(*division);
  else
    emitSection();
}

void LoopProgram::emitSection() {
  if (std::optional<Kept> kept = chooseKept(kLongRow))
    output(kept->node, kept->place);
  putBehindConditions();
  decideStores();
  chooseChunks();
  planScratch();

  OpBuilder &b = m.builder();
  Location loc = m.location();
  auto section = rt::ParallelOp::create(b, loc, label, m.value(items),
                                        m.value(scratchBytes));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&section.getBody().front());
  auto loop = scf::ForOp::create(b, loc, section.getBegin(), section.getEnd(),
                                 m.value(1));
  b.setInsertionPointToStart(loop.getBody());
  Item item;
  item.scratch = section.getScratchMemory();
  item.start.assign(sizes.size(), 0);
  item.extent = sizes;
  Index rest = m(loop.getInductionVar());
  for (int64_t k = static_cast<int64_t>(itemDims.size()) - 1; k >= 0; --k) {
    int64_t d = itemDims[k];
    bool chunked = chunks.contains(d);
    Index chunk = chunks.lookup(d);
    Index count = chunked ? ceilDiv(sizes[d], chunk) : sizes[d];
    Index index = rest;
    if (count.isConstant(1)) {
      index = 0;
    } else if (k > 0) {
      index = rest % count;
      rest = rest / count;
    }
    item.start[d] = chunked ? index * chunk : index;
    item.extent[d] = 1;
    if (chunked) {
      auto size = sizes[d].constant();
      bool even = size && *size % *chunk.constant() == 0;
      item.extent[d] = even ? chunk : min(chunk, sizes[d] - item.start[d]);
    }
  }
  emitItem(item);
}

} // namespace tenon::tiling
