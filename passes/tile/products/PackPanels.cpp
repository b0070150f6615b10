// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/products/PackPanels.h"

#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/Epilogue.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/loops/LoopProgram.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::passes {

/// Rows of so many panels are no neighbours in memory: of each the lines of
/// panels ahead are prefetched.
constexpr int64_t kWidePanels = 16, kPanelsAhead = 2;

/// Dimensions of the weights, counted from the last.
constexpr int64_t kDimN = 0, kDimK = 1;

/// Calls `emit` with the parts of `count` panels from `first` on that have
/// `columns` each, and `k` rows: what is there of K for these columns, and
/// zeros beyond. A panel has `panel` columns and `v` neighbours of K together.
static void forEachPart(int64_t panel, int64_t v, Index first, Index count,
                        Index columns, Index k,
                        llvm::function_ref<void(const PanelPart &)> emit) {
  Index whole = k / v;
  emit({first, count, 0, columns, 0, whole, 0, v});
  // Where K is not known these may be no group, and no column.
  if (Index rest = v > 1 ? k - whole * v : Index(0); !rest.isConstant(0)) {
    Index groups = ceilDiv(k, v) - whole;
    emit({first, count, 0, columns, whole, groups, 0, rest});
    emit({first, count, 0, columns, whole, groups, rest, v - rest, true});
  }
  if (auto known = columns.constant(); !known || *known < panel)
    emit(
        {first, count, columns, panel - columns, 0, ceilDiv(k, v), 0, v, true});
}

/// The box of `part` in a panel that begins at element `offset` of `dst`.
static Value boxOfPart(IndexMath &m, const PanelPart &part, int64_t panel,
                       int64_t v, Value dst, Index offset) {
  Index group = panel * v;
  Index first = part.firstGroup * group + (part.column * v + part.inGroup);
  SmallVector<Index> space{part.groups, part.columns, part.part};
  SmallVector<Index> steps{group, v, 1};
  unsigned dims = v > 1 ? 3 : 2;
  space.truncate(dims);
  steps.truncate(dims);
  return box(m, dst, offset + first, space, steps);
}

/// Calls `emit` with the number and the columns of each panel of `n` columns.
static void forEachPanel(IndexMath &m, int64_t panel, Index n,
                         llvm::function_ref<void(Index, Index)> emit) {
  Index full = n / panel;
  emitLoop(m, 0, full, [&](Index number) { emit(number, panel); });
  Index tail = n % panel;
  if (tail.constant().value_or(0))
    emit(full, tail);
  else if (!tail.constant())
    emitLoop(m, 0, min(tail, 1), [&](Index) { emit(full, tail); });
}

void packMatrix(IndexMath &m, const MatrixPlace &from, Index k, Index n,
                int64_t panel, int64_t interleave, Value to) {
  Index v = interleave;
  forEachPanel(m, panel, n, [&](Index number, Index columns) {
    forEachPart(
        panel, interleave, number, 1, columns, k, [&](const PanelPart &part) {
          Value dst = boxOfPart(m, part, panel, interleave, to,
                                number * panelSize(k, panel, interleave));
          if (part.zeros)
            return fill(m, dst, 0);
          Index row = part.firstGroup * v,
                column = number * panel + part.column;
          SmallVector<Index> space{part.groups, part.columns};
          SmallVector<Index> steps{v * from.alongK, from.alongN};
          if (interleave > 1) {
            space.push_back(part.part);
            steps.push_back(from.alongK);
          }
          convert(m,
                  box(m, from.base,
                      from.start + row * from.alongK + column * from.alongN,
                      space, steps),
                  dst);
        });
  });
}

PanelPacking::PanelPacking(GroupContext &ctx, tile::PackOp op)
    : ctx(ctx), op(op), weights(ctx, op.getWeights()),
      sizes(ctx.sizes[op.getWeights()]) {}

bool PanelPacking::isGrouped() const { return op.getGroups().has_value(); }

Index PanelPacking::panelSize(Index k) const {
  return passes::panelSize(k, op.getPanel(), op.getInterleave());
}

Index PanelPacking::matrixSize() const {
  assert(!isGrouped() && "a matrix [K, N]");
  return ceilDiv(sizes.back(), op.getPanel()) * panelSize(*(sizes.end() - 2));
}

/// The part `p` of a tensor that is read.
Strided PanelPacking::partOf(const Strided &src, const PanelPart &p) const {
  int64_t v = op.getInterleave();
  Index n = src.strides.back(), k = *(src.strides.end() - 2);
  Index panel = op.getPanel();
  Strided from;
  from.base = src.base;
  if (isGrouped())
    from.strides.push_back(sizes.back() / *op.getGroups() * n);
  else
    from.strides.append(src.strides.begin(), src.strides.begin() + lead());
  from.strides.push_back(panel * n);
  if (isGrouped())
    from.strides.append(src.strides.begin(), src.strides.end() - 2);
  from.strides.append({v * k, n});
  if (v > 1)
    from.strides.push_back(k);
  Index start = (p.first * panel + p.column) * n + p.firstGroup * v * k;
  from.offset = src.offset ? *src.offset + start : start;
  return from;
}

/// The same of dst.
Strided PanelPacking::partOfDst(const Strided &dst, const PanelPart &p) const {
  int64_t v = op.getInterleave(), at = lead();
  Index group = op.getPanel() * v;
  Strided to;
  to.base = dst.base;
  to.sizes.assign(dst.sizes.begin(), dst.sizes.begin() + at);
  to.strides.assign(dst.strides.begin(), dst.strides.begin() + at + 1);
  to.sizes.push_back(p.count);
  Index firstTap = 0;
  for (int64_t i = 0; isGrouped() && i < rank() - 2; ++i) {
    Index stride = dst.strides[at + 1 + i];
    to.sizes.push_back(sizes[i]);
    to.strides.push_back(op.getFlipped() ? stride * -1 : stride);
    if (op.getFlipped())
      firstTap += (sizes[i] - 1) * stride;
  }
  to.sizes.append({p.groups, p.columns});
  to.strides.append({group, v});
  if (v > 1) {
    to.sizes.push_back(p.part);
    to.strides.push_back(1);
  }
  to.offset = p.first * dst.strides[at] + p.firstGroup * group +
              (firstTap + (p.column * v + p.inGroup));
  return to;
}

void PanelPacking::emitSection(const Strided &dst, const PanelPart &p) const {
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
  Index n = sizes.back() / op.getGroups().value_or(1);
  int64_t panel = op.getPanel();
  Index k = *(sizes.end() - 2), full = n / panel, tail = n % panel;
  auto emit = [&](const PanelPart &part) { emitSection(dst, part); };
  if (!full.isConstant(0))
    forEachPart(panel, op.getInterleave(), 0, full, panel, k, emit);
  if (!tail.isConstant(0)) // none or one, if that is not known
    forEachPart(panel, op.getInterleave(), full, min(tail, 1), tail, k, emit);
}

/// All of K for some columns, where K is several loops. The innermost has whole
/// groups of neighbours, or is a part of one.
void PanelPacking::emitLoopsOfK(IndexMath &m, ArrayRef<Index> starts,
                                Index column, Index columns, Index k, Value dst,
                                Index offset) const {
  int64_t v = op.getInterleave(), panel = op.getPanel();
  SmallVector<Index> at, alongN;
  for (auto [src, start] : llvm::zip(tensors(), starts)) {
    at.push_back(start + column * src.strides.back());
    alongN.push_back(src.strides.back());
  }
  FusedOperand::Loops loops = weights.loopsFrom(at);
  weights.addLoops(loops, kDimK, k, {}, 1);
  auto inner = loops.sizes.back().constant();
  if (v > 1 && inner && *inner > v) {
    assert(*inner % v == 0 && "FusedPrologue makes sure");
    loops.sizes.back() = *inner / v;
    loops.sizes.push_back(v);
    loops.steps.back() = v;
    loops.steps.push_back(1);
    for (FusedOperand::Place &place : loops.places) {
      Index stride = place.strides.back();
      place.strides.back() = stride * v;
      place.strides.push_back(stride);
    }
  }
  for (Index &step : loops.steps)
    if (int64_t rows = *step.constant(); rows % v == 0)
      step = rows * panel;
  weights.addLoops(loops, kDimN, columns, alongN, v);
  weights.emitBox(m, loops, dst, offset);
}

void PanelPacking::emitPanel(IndexMath &m, ArrayRef<Index> starts, Index number,
                             Index columns, Index from, Index k, Value dst,
                             Index offset) const {
  int64_t panel = op.getPanel(), neighbours = op.getInterleave();
  Index v = neighbours;
  forEachPart(
      panel, neighbours, number, 1, columns, k, [&](const PanelPart &p) {
        SmallVector<Index> space{p.groups, p.columns, p.part};
        space.truncate(neighbours > 1 ? 3 : 2);
        Value to = boxOfPart(m, p, panel, neighbours, dst, offset);
        if (p.zeros)
          return fill(m, to, 0);
        Index row = from + p.firstGroup * v;
        Index column = number * panel + p.column;
        if (weights.isSplit(kDimK))
          return emitLoopsOfK(m, starts, column, p.columns, k, dst, offset);
        SmallVector<FusedOperand::Place> places;
        bool along = neighbours == 1;
        for (auto [src, start] : llvm::zip(tensors(), starts)) {
          along &= src.strides.back().isConstant(1);
          Index alongK = *(src.strides.end() - 2), alongN = src.strides.back();
          Index at = row * alongK + column * alongN;
          SmallVector<Index> strides{v * alongK, alongN, alongK};
          strides.truncate(space.size());
          places.push_back({start + at, std::move(strides)});
        }
        auto n = sizes.back().constant();
        bool isNarrow = n && *n < kWidePanels * panel;
        weights.emitBox(m, places, space, to,
                        along && !isNarrow ? kPanelsAhead * panel : 0);
      });
}

void PanelPacking::emitPanels(IndexMath &m, ArrayRef<Index> starts,
                              Value dst) const {
  Index k = *(sizes.end() - 2);
  forEachPanel(
      m, op.getPanel(), sizes.back(), [&](Index number, Index columns) {
        emitPanel(m, starts, number, columns, 0, k, dst, number * panelSize(k));
      });
}

} // namespace tenon::passes
