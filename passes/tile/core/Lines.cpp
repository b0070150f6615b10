// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/core/Lines.h"

#include "dialects/rt/RtDialect.h"
#include "passes/tile/core/WorkItems.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::passes {

namespace {
/// Bytes of an item: larger than what it costs to start one, small beside L2.
constexpr int64_t kItemBytes = 32 << 10;
/// Neighbouring lines from which on they fill a vector.
constexpr int64_t kMinRow = 4;
constexpr int64_t kMostInRow = 1024;
} // namespace

Lines::Lines(ArrayRef<Strided> tensors, int64_t axis) {
  SmallVector<Strided> others(tensors);
  for (Strided &s : others) {
    parts.push_back(
        {s.base, s.offset.value_or(0), s.strides[axis], s.sizes[axis], {}});
    s.sizes.erase(s.sizes.begin() + axis);
    s.strides.erase(s.strides.begin() + axis);
  }
  sizes = others.front().sizes;
  SmallVector<int> classes(sizes.size(), 0);
  SmallVector<Strided *> pointers;
  for (Strided &s : others)
    pointers.push_back(&s);
  coalesce(sizes, classes, pointers);
  if (sizes.empty()) {
    sizes.push_back(1);
    for (Strided &s : others)
      s.strides.push_back(1);
  }
  for (auto [part, s] : llvm::zip(parts, others))
    part.strides = s.strides;
}

void Lines::reverse() {
  for (Tensor &part : parts) {
    part.offset += (max(part.length, 1) - 1) * part.step;
    part.step = -1 * part.step;
  }
}

bool Lines::areSideBySide() const {
  return !parts.front().step.isConstant(1) &&
         rowLength().constant().value_or(kMinRow) >= kMinRow;
}

int64_t Lines::mostInRow() const {
  return std::min(rowLength().constant().value_or(kMostInRow), kMostInRow);
}

Index Lines::begin(int64_t i, Index number) const {
  Index place = parts[i].offset;
  for (auto [position, stride] :
       llvm::zip(positionOf(number, sizes), parts[i].strides))
    place += position * stride;
  return place;
}

Value Lines::part(IndexMath &m, int64_t i, Index number, Index at,
                  Index count) const {
  return box(m, parts[i].base, begin(i, number) + at * parts[i].step, {count},
             {parts[i].step});
}

void Lines::emitLines(GroupContext &ctx, Index scratchBytes,
                      llvm::function_ref<void(Index, Value)> body) const {
  const Tensor &src = parts.front();
  int64_t bytes = cast<MemRefType>(src.base.getType())
                      .getElementType()
                      .getIntOrFloatBitWidth() /
                  8;
  Index perItem = max(Index(kItemBytes) / max(src.length * bytes, 1), 1);
  emitItems(ctx.m, ctx.label, ceilDiv(count(), perItem), scratchBytes,
            [&](Index item, Value scratch) {
              Index from = item * perItem;
              emitLoop(ctx.m, from, min(from + perItem, count()),
                       [&](Index number) { body(number, scratch); });
            });
}

void Lines::emitRows(GroupContext &ctx, int64_t scratchBytes,
                     llvm::function_ref<void(Index, Index, Value)> body) const {
  int64_t most = mostInRow();
  Index length = rowLength(), perRow = ceilDiv(length, most);
  emitItems(ctx.m, ctx.label, count() / max(length, 1) * perRow, scratchBytes,
            [&](Index item, Value scratch) {
              Index first = item % perRow * most;
              withBlockSize(
                  ctx.m, item % perRow, length, most, [&](Index size) {
                    body(item / perRow * length + first, size, scratch);
                  });
            });
}

Value Lines::row(IndexMath &m, int64_t i, Index number, Index at,
                 Index count) const {
  return box(m, parts[i].base, begin(i, number) + at * parts[i].step, {count},
             {parts[i].strides.back()});
}

const Strided *outputOf(GroupContext &ctx, Value result) {
  auto found = ctx.outputs.find(result);
  return found == ctx.outputs.end() ? nullptr : &found->second.front();
}

Value loadAt(IndexMath &m, Value base, Index place) {
  return memref::LoadOp::create(m.builder(), m.location(),
                                box(m, base, place, {1}, {1}),
                                ValueRange{m.value(0)});
}

void storeAt(IndexMath &m, Value element, Value base, Index place) {
  memref::StoreOp::create(m.builder(), m.location(), element,
                          box(m, base, place, {1}, {1}),
                          ValueRange{m.value(0)});
}

SmallVector<Value>
emitCarried(IndexMath &m, Index from, Index to, ValueRange values,
            llvm::function_ref<SmallVector<Value>(Index, ValueRange)> body) {
  OpBuilder &b = m.builder();
  auto loop = scf::ForOp::create(b, m.location(), m.value(from), m.value(to),
                                 m.value(1), values);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(m(loop.getInductionVar()), loop.getRegionIterArgs());
  scf::YieldOp::create(b, m.location(), next);
  return SmallVector<Value>(loop.getResults());
}

static bool isKnownLess(Index x, Index y) {
  return x.constant() && y.constant() && *x.constant() < *y.constant();
}

static Value isLess(IndexMath &m, Index x, Index y) {
  return arith::CmpIOp::create(m.builder(), m.location(),
                               arith::CmpIPredicate::slt, m.value(x),
                               m.value(y));
}

void requireLess(GroupContext &ctx, Index x, Index y) {
  if (!isKnownLess(x, y))
    rt::RequireOp::create(ctx.m.builder(), ctx.m.location(),
                          isLess(ctx.m, x, y));
}

void emitIfLess(IndexMath &m, Index x, Index y,
                llvm::function_ref<void()> body) {
  if (isKnownLess(x, y))
    return body();
  emitIf(m, isLess(m, x, y), body);
}

void emitIf(IndexMath &m, Value condition, llvm::function_ref<void()> body) {
  OpBuilder &b = m.builder();
  auto branch = scf::IfOp::create(b, m.location(), condition,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  body();
}

} // namespace tenon::passes
