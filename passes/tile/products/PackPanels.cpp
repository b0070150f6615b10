// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/products/PackPanels.h"

#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/Epilogue.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/loops/LoopProgram.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::tiling {

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

/// Rows of so many panels are no neighbours in memory: of each the lines of
/// panels ahead are prefetched.
constexpr int64_t kWidePanels = 16, kPanelsAhead = 2;

FusedOperand::FusedOperand(GroupContext &ctx, Value value)
    : value(value), before(makersOf(ctx, value)) {
  for (Operation *each : before)
    for (Value v : each->getOperands())
      if (isReadBy(before, v))
        read.insert(v);
  if (before.empty())
    read.insert(value);
  for (Value v : read)
    sources.push_back(broadcastTo(ctx.m, ctx.memoryOf(v), ctx.sizes[value]));
}

Type FusedOperand::elementType() const {
  return storageType(rankedType(value).getElementType());
}

Value FusedOperand::elementOf(OpBuilder &b, Location loc,
                              ValueRange elements) const {
  if (before.empty())
    return elements.front();
  llvm::DenseMap<Value, Value> values;
  for (auto [v, element] : llvm::zip(read, elements))
    values[v] = element;
  return emitScalarOps(b, loc, before, std::move(values), elementType());
}

void FusedOperand::emitBox(IndexMath &m, ArrayRef<Place> places,
                           ArrayRef<Ofr> sizes, Value to, int64_t ahead) const {
  OpBuilder &b = m.builder();
  unsigned loops = sizes.size();
  SmallVector<Value> ins;
  SmallVector<AffineMap> maps;
  for (auto [src, place] : llvm::zip(sources, places)) {
    SmallVector<Ofr> boxSizes, boxStrides;
    SmallVector<AffineExpr> dims;
    for (unsigned d = 0; d < loops; ++d) {
      if (IndexMath::isConstant(place.strides[d], 0))
        continue;
      boxSizes.push_back(sizes[d]);
      boxStrides.push_back(place.strides[d]);
      dims.push_back(b.getAffineDimExpr(d));
    }
    ins.push_back(box(m, src.base, place.start, boxSizes, boxStrides));
    maps.push_back(AffineMap::get(loops, 0, dims, b.getContext()));
  }
  maps.push_back(b.getMultiDimIdentityMap(loops));
  SmallVector<utils::IteratorType> parallel(loops,
                                            utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, m.location(), TypeRange(), ins, to, maps, parallel,
      [&](OpBuilder &nb, Location l, ValueRange args) {
        linalg::YieldOp::create(nb, l, elementOf(nb, l, args.drop_back()));
      });
  if (ahead)
    generic->setAttr(
        codegen::kPrefetchAttr,
        b.getDenseI64ArrayAttr(SmallVector<int64_t>(ins.size(), ahead)));
}

PanelPacking::PanelPacking(GroupContext &ctx, tile::PackOp op)
    : ctx(ctx), op(op), weights(ctx, op.getWeights()),
      sizes(ctx.sizes[op.getWeights()]) {}

bool PanelPacking::isGrouped() const { return op.getGroups().has_value(); }

Ofr PanelPacking::panelSize(IndexMath &m, Ofr k) const {
  return tiling::panelSize(m, k, op.getPanel(), op.getInterleave());
}

int64_t PanelPacking::matrixSize() const {
  int64_t own = op.getInterleave() > 1 ? 4 : 3; // P, K, panel, neighbours
  return llvm::product_of(rankedType(op.getResult()).getShape().take_back(own));
}

/// What is there of K for these columns, and zeros beyond.
void PanelPacking::forEachPart(
    IndexMath &m, Ofr first, Ofr count, int64_t columns, Ofr k,
    llvm::function_ref<void(const Part &)> emit) const {
  int64_t v = op.getInterleave(), panel = op.getPanel();
  Ofr none = m.attr(0), whole = m.floorDiv(k, m.attr(v));
  emit({first, count, 0, columns, none, whole, 0, v});
  // PackWeights interleaves only where K is known.
  int64_t rest = v == 1 ? 0 : *IndexMath::constant(k) % v;
  if (rest) {
    emit({first, count, 0, columns, whole, m.attr(1), 0, rest});
    emit({first, count, 0, columns, whole, m.attr(1), rest, v - rest, true});
  }
  if (columns < panel)
    emit({first, count, columns, panel - columns, none, m.ceilDiv(k, m.attr(v)),
          0, v, true});
}

/// The part `p` of a tensor that is read.
Strided PanelPacking::partOf(const Strided &src, const Part &p) const {
  IndexMath &m = ctx.m;
  int64_t v = op.getInterleave();
  Ofr n = src.strides.back(), k = *(src.strides.end() - 2);
  Ofr panel = m.attr(op.getPanel());
  Strided from;
  from.base = src.base;
  if (isGrouped())
    from.strides.push_back(
        m.mul(m.floorDiv(sizes.back(), m.attr(*op.getGroups())), n));
  else
    from.strides.append(src.strides.begin(), src.strides.begin() + lead());
  from.strides.push_back(m.mul(panel, n));
  if (isGrouped())
    from.strides.append(src.strides.begin(), src.strides.end() - 2);
  from.strides.append({m.mul(m.attr(v), k), n});
  if (v > 1)
    from.strides.push_back(k);
  Ofr start = m.add(m.mul(m.add(m.mul(p.first, panel), m.attr(p.column)), n),
                    m.mul(m.mul(p.firstGroup, m.attr(v)), k));
  from.offset = src.offset ? m.add(*src.offset, start) : start;
  return from;
}

/// The same of dst.
Strided PanelPacking::partOfDst(const Strided &dst, const Part &p) const {
  IndexMath &m = ctx.m;
  int64_t v = op.getInterleave(), at = lead();
  Ofr group = m.mul(m.attr(op.getPanel()), m.attr(v));
  Strided to;
  to.base = dst.base;
  to.sizes.assign(dst.sizes.begin(), dst.sizes.begin() + at);
  to.strides.assign(dst.strides.begin(), dst.strides.begin() + at + 1);
  to.sizes.push_back(p.count);
  Ofr firstTap = m.attr(0);
  for (int64_t i = 0; isGrouped() && i < rank() - 2; ++i) {
    Ofr stride = dst.strides[at + 1 + i];
    to.sizes.push_back(sizes[i]);
    to.strides.push_back(op.getFlipped() ? m.mul(stride, m.attr(-1)) : stride);
    if (op.getFlipped())
      firstTap = m.add(firstTap, m.mul(m.sub(sizes[i], m.attr(1)), stride));
  }
  to.sizes.append({p.groups, m.attr(p.columns)});
  to.strides.append({group, m.attr(v)});
  if (v > 1) {
    to.sizes.push_back(m.attr(p.part));
    to.strides.push_back(m.attr(1));
  }
  to.offset =
      m.add(m.add(m.mul(p.first, dst.strides[at]), m.mul(p.firstGroup, group)),
            m.add(firstTap, m.attr(p.column * v + p.inGroup)));
  return to;
}

void PanelPacking::emitSection(const Strided &dst, const Part &p) const {
  Strided to = partOfDst(dst, p);
  if (p.zeros)
    return emitCopy(ctx, std::nullopt, to);
  LoopProgram program(ctx.m, ctx.label, ctx.target.getL2Bytes(), to.sizes,
                      SmallVector<bool>(to.rank(), false));
  SmallVector<LoopProgram::Node> nodes;
  for (const Strided &src : tensors()) {
    Strided from = partOf(src, p);
    from.sizes = to.sizes;
    nodes.push_back(program.input(from));
  }
  LoopProgram::Node node = nodes.front();
  if (!weights.isRead())
    node = program.compute(
        nodes, elementType(),
        [this](OpBuilder &b, Location loc, ValueRange elements) {
          return weights.elementOf(b, loc, elements);
        });
  program.output(node, to);
  program.emit();
}

void PanelPacking::emitSections(const Strided &dst) const {
  IndexMath &m = ctx.m;
  int64_t n = *IndexMath::constant(sizes.back()) / op.getGroups().value_or(1);
  int64_t panel = op.getPanel(), full = n / panel, tail = n % panel;
  Ofr k = *(sizes.end() - 2);
  auto emit = [&](const Part &part) { emitSection(dst, part); };
  if (full)
    forEachPart(m, m.attr(0), m.attr(full), panel, k, emit);
  if (tail)
    forEachPart(m, m.attr(full), m.attr(1), tail, k, emit);
}

void PanelPacking::emitPanel(IndexMath &m, ArrayRef<Ofr> starts, Ofr number,
                             int64_t columns, Ofr from, Ofr k, Value dst,
                             Ofr offset) const {
  int64_t panel = op.getPanel(), neighbours = op.getInterleave();
  Ofr v = m.attr(neighbours), group = m.attr(panel * neighbours);
  unsigned dims = neighbours > 1 ? 3 : 2;
  forEachPart(m, number, m.attr(1), columns, k, [&](const Part &p) {
    Ofr first = m.add(m.mul(p.firstGroup, group),
                      m.attr(p.column * neighbours + p.inGroup));
    SmallVector<Ofr> space{p.groups, m.attr(p.columns), m.attr(p.part)};
    SmallVector<Ofr> steps{group, v, m.attr(1)};
    space.truncate(dims);
    steps.truncate(dims);
    Value to = box(m, dst, m.add(offset, first), space, steps);
    if (p.zeros)
      return fill(m, to, 0);
    Ofr row = m.add(from, m.mul(p.firstGroup, v));
    Ofr column = m.add(m.mul(number, m.attr(panel)), m.attr(p.column));
    SmallVector<FusedOperand::Place> places;
    bool along = neighbours == 1;
    for (auto [src, start] : llvm::zip(tensors(), starts)) {
      along &= IndexMath::isConstant(src.strides.back(), 1);
      Ofr alongK = *(src.strides.end() - 2), alongN = src.strides.back();
      Ofr at = m.add(m.mul(row, alongK), m.mul(column, alongN));
      places.push_back({m.add(start, at), {m.mul(v, alongK), alongN, alongK}});
    }
    bool isWide = *IndexMath::constant(sizes.back()) >= kWidePanels * panel;
    weights.emitBox(m, places, space, to,
                    along && isWide ? kPanelsAhead * panel : 0);
  });
}

void PanelPacking::emitPanels(IndexMath &m, ArrayRef<Ofr> starts,
                              Value dst) const {
  int64_t n = *IndexMath::constant(sizes.back()), panel = op.getPanel();
  Ofr k = *(sizes.end() - 2), none = m.attr(0), full = m.attr(n / panel);
  auto emit = [&](IndexMath &pm, Ofr number, int64_t columns) {
    emitPanel(pm, starts, number, columns, none, k, dst,
              pm.mul(number, panelSize(pm, k)));
  };
  emitLoop(m, none, full,
           [&](IndexMath &pm, Ofr number) { emit(pm, number, panel); });
  if (n % panel)
    emit(m, full, n % panel);
}

} // namespace tenon::tiling
