#include "passes/tiling/LoopProgram.h"

#include "dialects/rt/RtDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallBitVector.h"

#include <limits>

using namespace mlir;

namespace tenon::tiling {

namespace {
/// Elements of one item of an elementwise section: 64 KiB of f32, small enough
/// for L2 with a few operands, large enough to hide a launch.
constexpr int64_t kItemElements = 16384;
/// Elements of a row block when the reduced dimension is not innermost: 16 KiB
/// of f32, so that block and temporaries stay in L1.
constexpr int64_t kRowBlockElements = 4096;
constexpr int64_t kMinChunk = 16;
/// Half a kilobyte of each row, where nothing has to stay in a cache: what is
/// read before the next row, a page on, is worth its way through the TLB.
constexpr int64_t kStreamChunk = 128;
constexpr int64_t kMaxChunk = 256;
/// Elements of a cache line: what is read across rows is read in such columns.
constexpr int64_t kLineElements = 16;
constexpr int64_t kAlign = 64;
} // namespace

/// What is known inside one item: where it is, and what it has stored.
struct LoopProgram::Item {
  Item(IndexMath m, Value scratch) : m(m), scratch(scratch) {}

  IndexMath m;
  Value scratch;
  SmallVector<Ofr> start;  // per dimension of the space
  SmallVector<Ofr> extent; // per dimension of the space; 1: an item index
  llvm::DenseMap<int, Value> scratchViews;
  llvm::DenseSet<int> available; // nodes whose values are in memory
};

LoopProgram::LoopProgram(IndexMath &m, StringRef label, ArrayRef<Ofr> sizes,
                         ArrayRef<bool> reduced)
    : m(m), label(label), sizes(sizes.begin(), sizes.end()) {
  for (bool r : reduced)
    classes.push_back(r);
}

/// Whether `s` has more than one element per row.
bool LoopProgram::variesAlong(const Strided &s) const {
  for (auto [stride, cls] : llvm::zip(s.strides, classes))
    if (cls == 1 && !IndexMath::isConstant(stride, 0))
      return true;
  return false;
}

LoopProgram::Node LoopProgram::input(Strided s) {
  NodeInfo n;
  n.kind = Kind::input;
  n.type = s.elementType();
  n.full = variesAlong(s);
  n.memory = std::move(s);
  nodes.push_back(std::move(n));
  return nodes.size() - 1;
}

LoopProgram::Node LoopProgram::index(ArrayRef<Ofr> strides, Type type) {
  NodeInfo n;
  n.kind = Kind::index;
  n.indexed = true;
  n.type = type;
  n.memory.sizes = sizes;
  n.memory.strides.assign(strides.begin(), strides.end());
  n.full = variesAlong(n.memory);
  nodes.push_back(std::move(n));
  return nodes.size() - 1;
}

LoopProgram::Node LoopProgram::compute(ArrayRef<Node> operands, Type type,
                                       Body body) {
  NodeInfo n;
  n.kind = Kind::compute;
  n.type = type;
  n.operands.assign(operands.begin(), operands.end());
  n.body = std::move(body);
  for (Node o : operands) {
    n.level = std::max(n.level, nodes[o].level);
    n.full |= nodes[o].full;
    n.indexed |= nodes[o].indexed;
  }
  nodes.push_back(std::move(n));
  return nodes.size() - 1;
}

LoopProgram::Node LoopProgram::reduce(Reduction kind, Node operand) {
  if (nodes[operand].indexed && !nodes[operand].full) {
    // No memory would show the reduced loops: repeat the value along them.
    operand = compute({operand}, nodes[operand].type,
                      [](OpBuilder &, Location, ValueRange v) { return v[0]; });
    nodes[operand].full = true;
  }
  NodeInfo n;
  n.kind = Kind::reduce;
  n.type = nodes[operand].type;
  n.operands = {operand};
  n.reduction = kind;
  n.level = nodes[operand].level + 1;
  n.stored = true;
  nodes.push_back(std::move(n));
  return nodes.size() - 1;
}

void LoopProgram::output(Node node, Strided dst) {
  nodes[node].outputs.push_back(std::move(dst));
  nodes[node].stored = true;
}

/// A computation is stored, and not repeated, when it is used behind a later
/// reduction, or when many elements share it; and an index before a reduction,
/// since a linalg.generic takes the sizes of its loops from memory.
void LoopProgram::decideStores() {
  for (NodeInfo &n : nodes)
    for (Node o : n.operands) {
      NodeInfo &operand = nodes[o];
      if (operand.kind != Kind::compute || isConstant(operand))
        continue;
      int useLevel = n.kind == Kind::reduce ? n.level - 1 : n.level;
      if (useLevel > operand.level || (n.full && !operand.full) ||
          (n.kind == Kind::reduce && operand.full &&
           (operand.stored || operand.indexed)))
        operand.stored = true;
    }
}

/// Whether an input is contiguous along `dim`, not along the last dimension.
bool LoopProgram::readsAcross(int64_t dim) const {
  return llvm::any_of(nodes, [&](const NodeInfo &n) {
    return n.kind == Kind::input &&
           IndexMath::isConstant(n.memory.strides[dim], 1) &&
           !IndexMath::isConstant(n.memory.strides[sizes.size() - 1], 1) &&
           !IndexMath::isConstant(n.memory.strides[sizes.size() - 1], 0);
  });
}

/// Whether no element is needed again behind the first reduction.
bool LoopProgram::readsOnce() const {
  return llvm::none_of(nodes, [](const NodeInfo &n) {
    return n.full && (n.level > 0 || n.stored || !n.outputs.empty());
  });
}

void LoopProgram::chooseChunks() {
  int64_t rank = sizes.size();
  itemDims.clear();
  bool anyReduced = llvm::is_contained(classes, 1);
  if (!anyReduced) {
    // The innermost dimensions that fit an item stay whole.
    int64_t inner = 1;
    int64_t j = rank - 1;
    for (; j > 0; --j) {
      auto c = IndexMath::constant(sizes[j]);
      if (!c || inner * std::max<int64_t>(*c, 1) > kItemElements)
        break;
      inner *= std::max<int64_t>(*c, 1);
    }
    for (int64_t d = 0; d <= j; ++d)
      itemDims.push_back(d);
    if (rank > 0) {
      chunkDim = j;
      int64_t rows = std::max<int64_t>(1, kItemElements / inner);
      if (j < rank - 1 && readsAcross(j))
        rows = llvm::alignTo(rows, kLineElements);
      chunk = m.attr(rows);
    }
  } else {
    for (int64_t d = 0; d < rank; ++d)
      if (classes[d] == 0)
        itemDims.push_back(d);
    if (classes.back() == 0) {
      int64_t reducedSize = 1;
      for (int64_t d = 0; d < rank; ++d)
        if (classes[d] == 1)
          reducedSize *= IndexMath::constant(sizes[d]).value_or(64);
      chunkDim = rank - 1;
      int64_t c = kRowBlockElements / std::max<int64_t>(1, reducedSize);
      chunk =
          m.attr(std::clamp(c / kMinChunk * kMinChunk,
                            readsOnce() ? kStreamChunk : kMinChunk, kMaxChunk));
    }
  }
  if (chunkDim >= 0)
    if (auto c = IndexMath::constant(sizes[chunkDim]))
      chunk = m.attr(
          std::max<int64_t>(1, std::min(*c, *IndexMath::constant(chunk))));
  items = m.attr(1);
  for (int64_t d : itemDims)
    items = m.mul(items, d == chunkDim ? m.ceilDiv(sizes[d], chunk) : sizes[d]);
}

/// An output that can also serve as the place to read a stored node from.
Strided LoopProgram::outputAsBuffer(const NodeInfo &n) const {
  for (const Strided &s : n.outputs)
    if (s.elementType() == n.type && variesAlong(s) == n.full)
      return s;
  return {};
}

void LoopProgram::planScratch() {
  scratchBytes = m.attr(0);
  for (NodeInfo &n : nodes) {
    if (!n.stored || n.kind == Kind::input || outputAsBuffer(n).base)
      continue;
    Ofr elements = m.attr(1);
    for (int64_t d = 0, e = sizes.size(); d < e; ++d) {
      if (d == chunkDim)
        elements = m.mul(elements, chunk);
      else if (!llvm::is_contained(itemDims, d) && (n.full || classes[d] == 0))
        elements = m.mul(elements, sizes[d]);
    }
    int64_t width = std::max<int64_t>(1, n.type.getIntOrFloatBitWidth() / 8);
    n.scratchOffset = scratchBytes;
    Ofr lines = m.ceilDiv(m.mul(elements, m.attr(width)), m.attr(kAlign));
    scratchBytes = m.add(scratchBytes, m.mul(lines, m.attr(kAlign)));
  }
}

/// The part of `s` that belongs to the item, over the dimensions that are
/// walked inside it and along which `s` varies or which are `shown`.
Value LoopProgram::boxOf(Item &item, const Strided &s,
                         ArrayRef<int64_t> shown) {
  Ofr offset = s.offset.value_or(item.m.attr(0));
  SmallVector<Ofr> boxSizes, boxStrides;
  for (int64_t d = 0, e = sizes.size(); d < e; ++d) {
    if (IndexMath::isConstant(s.strides[d], 0) && !llvm::is_contained(shown, d))
      continue;
    offset = item.m.add(offset, item.m.mul(item.start[d], s.strides[d]));
    if (llvm::is_contained(itemDims, d) && d != chunkDim)
      continue;
    boxSizes.push_back(item.extent[d]);
    boxStrides.push_back(s.strides[d]);
  }
  return box(item.m, s.base, offset, boxSizes, boxStrides);
}

bool LoopProgram::isInside(int64_t d) const {
  return d == chunkDim || !llvm::is_contained(itemDims, d);
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
    for (int64_t d = 0, e = sizes.size(); d < e; ++d) {
      if (!isInside(d) || (!n.full && classes[d] == 1))
        continue;
      auto c = IndexMath::constant(item.extent[d]);
      shape.push_back(c ? *c : ShapedType::kDynamic);
      if (!c)
        dynamic.push_back(cast<Value>(item.extent[d]));
    }
    view = memref::ViewOp::create(item.m.builder(), item.m.location(),
                                  MemRefType::get(shape, n.type), item.scratch,
                                  item.m.value(*n.scratchOffset), dynamic);
  }
  return {{}, view, n.full};
}

Value LoopProgram::memoryOf(Item &item, const Place &place) {
  return place.scratch ? place.scratch : boxOf(item, place.tensor, place.shown);
}

AffineMap LoopProgram::mapOf(Item &item, const Place &place,
                             ArrayRef<int64_t> loopOf, int64_t loops) {
  MLIRContext *ctx = item.m.builder().getContext();
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0, e = sizes.size(); d < e; ++d) {
    bool present = place.scratch
                       ? place.full || classes[d] == 0
                       : !IndexMath::isConstant(place.tensor.strides[d], 0) ||
                             llvm::is_contained(place.shown, d);
    if (isInside(d) && present)
      exprs.push_back(getAffineDimExpr(loopOf[d], ctx));
  }
  return AffineMap::get(loops, 0, exprs, ctx);
}

Value LoopProgram::indexAtStart(Item &item, const NodeInfo &n) {
  Ofr start = n.memory.offset.value_or(item.m.attr(0));
  for (auto [at, stride] : llvm::zip(item.start, n.memory.strides))
    start = item.m.add(start, item.m.mul(at, stride));
  return arith::IndexCastOp::create(item.m.builder(), item.m.location(), n.type,
                                    item.m.value(start));
}

/// The cast stands right behind linalg.index, where the vectoriser turns both
/// into one vector of the narrow type.
Value LoopProgram::indexInside(OpBuilder &b, Location loc, const NodeInfo &n,
                               Value start, ArrayRef<int64_t> loopOf) {
  Value sum = start;
  for (auto [d, stride] : llvm::enumerate(n.memory.strides)) {
    if (loopOf[d] < 0 || IndexMath::isConstant(stride, 0))
      continue;
    Value i = linalg::IndexOp::create(b, loc, loopOf[d]);
    i = arith::IndexCastOp::create(b, loc, n.type, i);
    if (auto c = IndexMath::constant(stride)) {
      if (*c != 1)
        i = arith::MulIOp::create(
            b, loc, i,
            arith::ConstantOp::create(b, loc, b.getIntegerAttr(n.type, *c)));
    } else {
      i = arith::MulIOp::create(
          b, loc, i,
          arith::IndexCastOp::create(b, loc, n.type, cast<Value>(stride)));
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
  place.tensor.strides.assign(sizes.size(), m.attr(0));
  for (auto [d, loop] : llvm::enumerate(loopOf))
    if (loop >= 0 && !seen.test(loop))
      place.shown.push_back(static_cast<int64_t>(d));
  sources.push_back(std::move(place));
}

static Value combine(OpBuilder &b, Location loc, LoopProgram::Reduction kind,
                     Value acc, Value x) {
  using R = LoopProgram::Reduction;
  bool isFloat = isa<FloatType>(x.getType());
  switch (kind) {
  case R::sum:
    return isFloat ? arith::AddFOp::create(b, loc, acc, x).getResult()
                   : arith::AddIOp::create(b, loc, acc, x).getResult();
  case R::product:
    return isFloat ? arith::MulFOp::create(b, loc, acc, x).getResult()
                   : arith::MulIOp::create(b, loc, acc, x).getResult();
  case R::max:
    return isFloat ? arith::MaximumFOp::create(b, loc, acc, x).getResult()
                   : arith::MaxSIOp::create(b, loc, acc, x).getResult();
  case R::min:
    return isFloat ? arith::MinimumFOp::create(b, loc, acc, x).getResult()
                   : arith::MinSIOp::create(b, loc, acc, x).getResult();
  }
  return {};
}

/// One linalg.generic: stores `results` to `destinations`, or, `reducing`,
/// folds the operand of the one reduction in `results` into its accumulator.
void LoopProgram::emitGeneric(Item &item, bool full, ArrayRef<Node> results,
                              ArrayRef<Place> destinations, bool reducing) {
  OpBuilder &b = item.m.builder();
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
    stack.push_back(reducing ? nodes[n].operands[0] : n);
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
  linalg::GenericOp::create(
      b, item.m.location(), TypeRange{}, ins, outs, maps, iterators,
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
        for (Node n : results)
          yields.push_back(reducing
                               ? combine(nb, loc, nodes[n].reduction,
                                         args.back(), get(nodes[n].operands[0]))
                               : get(n));
        linalg::YieldOp::create(nb, loc, yields);
      });
}

void LoopProgram::emitStores(Item &item, int level, bool full) {
  SmallVector<Node> results;
  SmallVector<Place> places;
  for (Node i = 0, e = nodes.size(); i < e; ++i) {
    const NodeInfo &n = nodes[i];
    if (!n.stored || n.level != level)
      continue;
    // A reduction's own memory may be its output: nothing to copy then.
    Value own = n.kind == Kind::reduce && !n.scratchOffset
                    ? outputAsBuffer(n).base
                    : Value();
    for (const Strided &out : n.outputs)
      if (variesAlong(out) == full && out.base != own) {
        results.push_back(i);
        places.push_back({out, {}, full});
      }
    if (n.kind == Kind::compute && n.scratchOffset && n.full == full) {
      results.push_back(i);
      places.push_back(placeOf(item, i));
    }
  }
  if (results.empty())
    return;
  emitGeneric(item, full, results, places, /*reducing=*/false);
  for (Node n : results)
    if (nodes[n].kind == Kind::compute && nodes[n].full == full)
      item.available.insert(n);
}

static TypedAttr neutral(OpBuilder &b, LoopProgram::Reduction kind, Type type) {
  using R = LoopProgram::Reduction;
  if (isa<FloatType>(type)) {
    double inf = std::numeric_limits<double>::infinity();
    double v = kind == R::sum       ? 0.0
               : kind == R::product ? 1.0
               : kind == R::max     ? -inf
                                    : inf;
    return b.getFloatAttr(type, v);
  }
  int64_t v = kind == R::sum       ? 0
              : kind == R::product ? 1
              : kind == R::max     ? std::numeric_limits<int32_t>::min()
                                   : std::numeric_limits<int32_t>::max();
  return b.getIntegerAttr(type, v);
}

void LoopProgram::emitReduce(Item &item, Node node) {
  OpBuilder &b = item.m.builder();
  NodeInfo &n = nodes[node];
  Place acc = placeOf(item, node);
  Value memory = memoryOf(item, acc);
  int64_t rank = cast<MemRefType>(memory.getType()).getRank();
  TypedAttr init = neutral(b, n.reduction, n.type);
  linalg::GenericOp::create(
      b, item.m.location(), TypeRange{}, ValueRange{}, memory,
      b.getMultiDimIdentityMap(rank),
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &nb, Location loc, ValueRange) {
        Value c = arith::ConstantOp::create(nb, loc, init);
        linalg::YieldOp::create(nb, loc, c);
      });
  emitGeneric(item, /*full=*/true, {node}, {acc}, /*reducing=*/true);
  item.available.insert(node);
}

void LoopProgram::emitItem(Item &item) {
  int last = 0;
  for (const NodeInfo &n : nodes)
    last = std::max(last, n.level);
  for (int level = 0; level <= last; ++level) {
    emitStores(item, level, /*full=*/false);
    emitStores(item, level, /*full=*/true);
    for (Node i = 0, e = nodes.size(); i < e; ++i)
      if (nodes[i].kind == Kind::reduce && nodes[i].level == level + 1)
        emitReduce(item, i);
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
  coalesce(m, sizes, classes, operands);
  for (auto [size, cls] : llvm::zip(sizes, classes))
    if (cls == 0 && IndexMath::isConstant(size, 0))
      return; // nothing to compute
  if (std::optional<Division> division = chooseDivision())
    emitDivided(*division);
  else
    emitSection();
}

void LoopProgram::emitSection() {
  decideStores();
  chooseChunks();
  planScratch();

  OpBuilder &b = m.builder();
  Location loc = m.location();
  auto section = rt::ParallelOp::create(b, loc, label, m.value(items),
                                        m.value(scratchBytes));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&section.getBody().front());
  IndexMath sm(b, loc);
  auto loop = scf::ForOp::create(b, loc, section.getBegin(), section.getEnd(),
                                 sm.value(1));
  b.setInsertionPointToStart(loop.getBody());
  Item item(IndexMath(b, loc), section.getScratchMemory());
  item.start.assign(sizes.size(), m.attr(0));
  item.extent = sizes;
  Ofr rest = Ofr(loop.getInductionVar());
  for (int64_t k = static_cast<int64_t>(itemDims.size()) - 1; k >= 0; --k) {
    int64_t d = itemDims[k];
    bool chunked = d == chunkDim;
    Ofr count = chunked ? item.m.ceilDiv(sizes[d], chunk) : sizes[d];
    Ofr index = rest;
    if (IndexMath::isConstant(count, 1)) {
      index = m.attr(0);
    } else if (k > 0) {
      index = item.m.rem(rest, count);
      rest = item.m.floorDiv(rest, count);
    }
    item.start[d] = chunked ? item.m.mul(index, chunk) : index;
    item.extent[d] = item.m.attr(1);
    if (chunked) {
      auto size = IndexMath::constant(sizes[d]);
      bool even = size && *size % *IndexMath::constant(chunk) == 0;
      item.extent[d] =
          even ? chunk : item.m.min(chunk, item.m.sub(sizes[d], item.start[d]));
    }
  }
  emitItem(item);
}

} // namespace tenon::tiling
