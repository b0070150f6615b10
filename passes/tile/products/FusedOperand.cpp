// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/products/FusedOperand.h"

#include "codegen/vector/Attrs.h"
#include "dialects/graph/OpFacts.h"
#include "passes/ops/ScalarOps.h"
#include "passes/ops/ViewedLoops.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/Epilogue.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::passes {

/// Operations of the group that make `v`, in order.
static SmallVector<Operation *> makersOf(GroupContext &ctx, Value v) {
  llvm::DenseSet<Operation *> makers;
  SmallVector<Value> stack{v};
  while (!stack.empty()) {
    Operation *def = stack.pop_back_val().getDefiningOp();
    if (def && !isa<arith::ConstantOp>(def) && makers.insert(def).second)
      llvm::append_range(stack, def->getOperands());
  }
  SmallVector<Operation *> ordered = ctx.ops();
  llvm::erase_if(ordered, [&](Operation *op) { return !makers.contains(op); });
  return ordered;
}

FusedOperand::FusedOperand(GroupContext &ctx, Value value)
    : value(value), before(makersOf(ctx, value)) {
  for (Operation *each : before)
    for (Value v : each->getOperands())
      if (isReadBy(before, v))
        read.insert(v);
  if (before.empty())
    read.insert(value);
  if (llvm::any_of(before, [](Operation *op) { return graph::isView(op); }))
    readViewed(ctx);
  else
    readPlain(ctx);
}

/// Tensors that broadcast to the operand.
void FusedOperand::readPlain(GroupContext &ctx) {
  for (Value v : read)
    sources.push_back(broadcastTo(ctx.memoryOf(v), ctx.sizes[value]));
}

/// Tensors whose dimensions are those of the operand after views.
void FusedOperand::readViewed(GroupContext &ctx) {
  ViewedLoops loops = *findViewedLoops(value, before);
  ArrayRef<Index> space = ctx.sizes[value];
  SmallVector<Index> sizes(loops.sizes.begin(), loops.sizes.end());
  const ViewedLoops::Dims dims = loops.dims.lookup(value);
  for (auto [d, ofDim] : llvm::enumerate(dims))
    if (ofDim.size() == 1)
      sizes[ofDim.front()] = space[d];
  SmallVector<SmallVector<Index>> strides; // of each tensor, along the loops
  for (Value v : read) {
    Strided s = ctx.memoryOf(v);
    SmallVector<Index> &along = strides.emplace_back(sizes.size(), 0);
    const ViewedLoops::Dims own = loops.dims.lookup(v);
    for (auto [ofDim, stride] : llvm::zip(own, s.strides)) {
      Index step = stride;
      for (unsigned loop : llvm::reverse(ofDim)) {
        along[loop] = step;
        step *= sizes[loop];
      }
    }
    s.dense = false;
    sources.push_back(std::move(s));
  }
  for (const auto &ofDim : dims) {
    SmallVector<Part> &dim = parts.emplace_back();
    for (unsigned loop : ofDim) {
      Part &part = dim.emplace_back(Part{sizes[loop], {}});
      for (const auto &along : strides)
        part.strides.push_back(along[loop]);
    }
    mergeParts(dim);
  }
  for (auto [t, s] : llvm::enumerate(sources)) {
    s.sizes.assign(space.begin(), space.end());
    s.strides.clear();
    for (const auto &dim : parts)
      s.strides.push_back(dim.empty() ? Index(0) : dim.back().strides[t]);
  }
}

/// Makes one loop of two where that is the same for all tensors.
void FusedOperand::mergeParts(SmallVector<Part> &dim) {
  for (size_t i = 1; i < dim.size();) {
    Part &outer = dim[i - 1], &inner = dim[i];
    bool merges = llvm::all_of(llvm::zip(outer.strides, inner.strides),
                               [&](const auto &strides) {
                                 auto [across, along] = strides;
                                 return across == along * inner.size;
                               });
    if (!merges) {
      ++i;
      continue;
    }
    outer = {outer.size * inner.size, inner.strides};
    dim.erase(dim.begin() + i);
  }
}

Type FusedOperand::elementType() const {
  return storageType(rankedType(value).getElementType());
}

Value FusedOperand::elementOf(OpBuilder &b, Location loc, ValueRange elements,
                              Type to) const {
  if (before.empty())
    return convertScalar(b, loc, elements.front(), to);
  llvm::DenseMap<Value, Value> values;
  for (auto [v, element] : llvm::zip(read, elements))
    values[v] = element;
  ArrayRef<Operation *> ops = before;
  auto isLast = [](Operation *op) {
    return graph::isView(op) ||
           (graph::isCast(op) &&
            rankedType(op->getOperand(0)).getElementType().isF32() &&
            isa<FloatType>(rankedType(op->getResult(0)).getElementType()));
  };
  while (to.isF32() && ops.size() > 1 && isLast(ops.back()))
    ops = ops.drop_back();
  return emitScalarOps(b, loc, ops, std::move(values), to);
}

bool FusedOperand::isSplit(int64_t fromEnd) const {
  return !parts.empty() && parts[parts.size() - 1 - fromEnd].size() > 1;
}

bool FusedOperand::isFine(int64_t fromEnd) const {
  constexpr int64_t kVector = 8;
  return isSplit(fromEnd) &&
         *parts[parts.size() - 1 - fromEnd].back().size.constant() < kVector;
}

FusedOperand::Reads FusedOperand::readsOf(IndexMath &m, ArrayRef<Place> places,
                                          ArrayRef<Index> sizes) const {
  Reads reads;
  for (auto [src, place] : llvm::zip(sources, places)) {
    SmallVector<Index> boxSizes, boxStrides;
    SmallVector<unsigned> &dims = reads.dims.emplace_back();
    for (auto [d, stride] : llvm::enumerate(place.strides)) {
      if (stride.isConstant(0))
        continue;
      boxSizes.push_back(sizes[d]);
      boxStrides.push_back(stride);
      dims.push_back(d);
    }
    reads.boxes.push_back(box(m, src.base, place.start, boxSizes, boxStrides));
  }
  return reads;
}

void FusedOperand::emitBox(IndexMath &m, ArrayRef<Place> places,
                           ArrayRef<Index> sizes, Value to,
                           int64_t ahead) const {
  OpBuilder &b = m.builder();
  unsigned loops = sizes.size();
  Reads reads = readsOf(m, places, sizes);
  SmallVector<AffineMap> maps;
  for (ArrayRef<unsigned> dims : reads.dims) {
    auto exprs = llvm::map_to_vector(
        dims, [&](unsigned d) { return b.getAffineDimExpr(d); });
    maps.push_back(AffineMap::get(loops, 0, exprs, b.getContext()));
  }
  maps.push_back(b.getMultiDimIdentityMap(loops));
  SmallVector<utils::IteratorType> parallel(loops,
                                            utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, m.location(), TypeRange(), reads.boxes, to, maps, parallel,
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Value element =
            elementOf(nb, l, args.drop_back(), args.back().getType());
        linalg::YieldOp::create(nb, l, element);
      });
  if (ahead)
    generic->setAttr(codegen::kPrefetchAttr,
                     b.getDenseI64ArrayAttr(
                         SmallVector<int64_t>(reads.boxes.size(), ahead)));
}

FusedOperand::Loops FusedOperand::loopsFrom(ArrayRef<Index> starts) const {
  Loops loops;
  for (Index start : starts)
    loops.places.push_back({start, {}});
  return loops;
}

void FusedOperand::addLoops(Loops &loops, int64_t fromEnd, Index size,
                            ArrayRef<Index> strides, Index step) const {
  if (!isSplit(fromEnd)) {
    loops.sizes.push_back(size);
    loops.steps.push_back(step);
    for (auto [place, stride] : llvm::zip(loops.places, strides))
      place.strides.push_back(stride);
    return;
  }
  ArrayRef<Part> dim = parts[parts.size() - 1 - fromEnd];
  Index inside = 1;
  for (const Part &part : dim)
    inside *= part.size;
  assert(inside == size && "a part of a dimension of several loops");
  for (const Part &part : dim) {
    inside = inside / part.size;
    loops.sizes.push_back(part.size);
    loops.steps.push_back(inside * step);
    for (auto [place, stride] : llvm::zip(loops.places, part.strides))
      place.strides.push_back(stride);
  }
}

void FusedOperand::emitBox(IndexMath &m, const Loops &loops, Value memory,
                           Index offset) const {
  emitBox(m, loops.places, loops.sizes,
          box(m, memory, offset, loops.sizes, loops.steps));
}

} // namespace tenon::passes
