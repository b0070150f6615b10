//===- LoopGenerics.cpp - one linalg.generic of a loop program ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/loops/SectionEmitter.h"

#include "passes/ops/ScalarOps.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace tenon::passes {

/// Stores results to their places; folds the operands of reductions that are
/// not computed yet into their accumulators.
void SectionEmitter::emitGeneric(Item &item, bool full, const Stores &results) {
  Generic g{results, full};
  g.reducing =
      llvm::any_of(results.nodes, [&](Node n) { return accumulates(item, n); });
  addLoops(g);
  addSources(item, g);
  showAllLoops(g);
  SmallVector<Value> ins, outs;
  SmallVector<AffineMap> maps;
  for (const Place &place : g.sources) {
    maps.push_back(mapOf(g, place));
    ins.push_back(memoryOf(item, place));
  }
  for (const Place &place : results.places) {
    maps.push_back(mapOf(g, place));
    outs.push_back(memoryOf(item, place));
  }
  auto generic = linalg::GenericOp::create(
      m.builder(), m.location(), TypeRange{}, ins, outs, maps, g.iterators,
      [&](OpBuilder &b, Location loc, ValueRange args) {
        emitBody(item, g, b, loc, args);
      });
  addMemoryHints(item, g, generic);
}

/// Whether a generic that has `node` among its results folds elements into it,
/// and does not copy it.
bool SectionEmitter::accumulates(const Item &item, Node node) const {
  return nodes[node].kind == Kind::reduce && !item.available.contains(node);
}

void SectionEmitter::addLoops(Generic &g) const {
  g.loopOf.assign(sizes.size(), -1);
  for (int64_t d = 0, e = sizes.size(); d < e; ++d) {
    if (!schedule.isInside(d) || (!g.full && classes[d] == 1))
      continue;
    g.loopOf[d] = static_cast<int64_t>(g.iterators.size());
    g.iterators.push_back(classes[d] == 1 && g.reducing
                              ? utils::IteratorType::reduction
                              : utils::IteratorType::parallel);
  }
}

/// Finds what the results are computed from.
void SectionEmitter::addSources(Item &item, Generic &g) {
  SmallVector<Node> stack;
  llvm::DenseSet<Node> seen;
  for (Node n : llvm::reverse(g.results.nodes))
    stack.push_back(accumulates(item, n) ? nodes[n].operands[0] : n);
  while (!stack.empty()) {
    Node n = stack.pop_back_val();
    if (!seen.insert(n).second)
      continue;
    if (nodes[n].kind == Kind::input || item.available.contains(n))
      g.leaves.push_back(n);
    else if (nodes[n].kind == Kind::index)
      g.starts.push_back({n, indexAtStart(item, nodes[n])});
    else
      stack.append(nodes[n].operands.rbegin(), nodes[n].operands.rend());
  }
  for (Node n : g.leaves)
    g.sources.push_back(placeOf(item, n));
}

/// Linalg takes the size of a loop from an operand.  Where all have stride 0
/// along a loop (the sum of a broadcast input; a dimension before an empty
/// one), an operand that nobody reads, with stride 0 as well, shows it.
void SectionEmitter::showAllLoops(Generic &g) const {
  llvm::SmallBitVector seen(g.iterators.size());
  auto look = [&](const Place &place) {
    AffineMap map = mapOf(g, place);
    for (AffineExpr expr : map.getResults())
      seen.set(cast<AffineDimExpr>(expr).getPosition());
  };
  llvm::for_each(g.sources, look);
  llvm::for_each(g.results.places, look);
  if (seen.all())
    return;
  Place place;
  auto input = llvm::find_if(
      nodes, [](const NodeInfo &n) { return n.kind == Kind::input; });
  auto hasOutput = [&](Node n) { return !schedule.planOf(n).outputs.empty(); };
  auto all = llvm::seq<Node>(0, nodes.size());
  auto output = llvm::find_if(all, hasOutput);
  if (input != nodes.end())
    place.tensor = input->memory;
  else if (output != all.end())
    place.tensor = schedule.planOf(*output).outputs.front();
  else
    return;
  place.tensor.strides.assign(sizes.size(), 0);
  for (auto [d, loop] : llvm::enumerate(g.loopOf))
    if (loop >= 0 && !seen.test(loop))
      place.shown.push_back(static_cast<int64_t>(d));
  g.sources.push_back(std::move(place));
}

AffineMap SectionEmitter::mapOf(const Generic &g, const Place &place) const {
  MLIRContext *ctx = m.builder().getContext();
  SmallVector<AffineExpr> exprs;
  for (int64_t i = 0, e = sizes.size(); i < e; ++i) {
    int64_t d = place.scratch ? schedule.getScratchOrder()[i] : i;
    bool present = place.scratch ? place.full || classes[d] == 0
                                 : !place.tensor.strides[d].isConstant(0) ||
                                       llvm::is_contained(place.shown, d);
    if (schedule.isInside(d) && present)
      exprs.push_back(getAffineDimExpr(g.loopOf[d], ctx));
  }
  return AffineMap::get(g.iterators.size(), 0, exprs, ctx);
}

/// The value of an index node where the item starts.
Value SectionEmitter::indexAtStart(const Item &item, const NodeInfo &n) {
  Index start = n.memory.offset.value_or(0);
  for (auto [at, stride] : llvm::zip(item.start, n.memory.strides))
    start += at * stride;
  return arith::IndexCastOp::create(m.builder(), m.location(), n.type,
                                    m.value(start));
}

/// ... and the steps from there, inside a generic. The cast stands right after
/// linalg.index, where the vectoriser turns both into one vector of the narrow
/// type.
static Value indexInside(OpBuilder &b, Location loc,
                         const LoopProgram::NodeInfo &n, Value start,
                         ArrayRef<int64_t> loopOf) {
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

/// Computes the results from elements of sources and, of what is reduced,
/// accumulators.
void SectionEmitter::emitBody(const Item &item, const Generic &g, OpBuilder &b,
                              Location loc, ValueRange args) const {
  llvm::DenseMap<Node, Value> values;
  for (auto [i, n] : llvm::enumerate(g.leaves))
    values[n] = args[i];
  for (auto [n, start] : g.starts)
    values[n] = indexInside(b, loc, nodes[n], start, g.loopOf);
  std::function<Value(Node)> get = [&](Node n) -> Value {
    auto it = values.find(n);
    if (it != values.end())
      return it->second;
    SmallVector<Value> operands;
    for (Node o : nodes[n].operands)
      operands.push_back(get(o));
    Value v = nodes[n].body(b, loc, operands);
    values[n] = v;
    return v;
  };
  SmallVector<Value> yields;
  for (auto [i, n] : llvm::enumerate(g.results.nodes))
    yields.push_back(accumulates(item, n) ? combine(b, loc, nodes[n].reduction,
                                                    args[g.sources.size() + i],
                                                    get(nodes[n].operands[0]))
                                          : get(n));
  linalg::YieldOp::create(b, loc, yields);
}

} // namespace tenon::passes
