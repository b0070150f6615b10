//===- Totals.cpp - long sums in memory, as a tree ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/core/Totals.h"

#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/WorkItems.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::passes {

namespace {
/// Of the counters after the totals.
constexpr int64_t kCounterBytes = 8;
} // namespace

void addTo(IndexMath &m, Value from, Value to) {
  pointwise(m, from, to,
            [](OpBuilder &b, Location loc, ValueRange args) -> Value {
              return arith::AddFOp::create(b, loc, args[0], args[1]);
            });
}

Totals::Totals(int64_t elements, std::optional<int64_t> additions)
    : elements(roundUp(elements, kCounterBytes / 4)) {
  // Two are enough for 2^24 additions; of more the last chain is longer.
  constexpr int64_t kMost = 2;
  for (int64_t most = kMostAdditions;
       count < kMost && !(additions && *additions <= most);
       most *= kMostAdditions)
    ++count;
}

int64_t Totals::bytes() const {
  return count *
         (elements * static_cast<int64_t>(sizeof(float)) + kCounterBytes);
}

Value Totals::total(IndexMath &m, int64_t level) const {
  Index start = at + level * elements * 4;
  return scratchView(m, scratch, m.builder().getF32Type(), start, elements);
}

void Totals::begin(IndexMath &m, Value memory, Index byteOffset) {
  scratch = memory;
  at = byteOffset;
  for (int64_t level = 0; level < count; ++level)
    fill(m, total(m, level), 0);
  Value counters = scratchView(m, scratch, m.builder().getI64Type(),
                               at + count * elements * 4, count);
  fill(m, counters, 0);
}

void Totals::carry(IndexMath &m, int64_t level, AddToResult add) const {
  Value from = total(m, level);
  if (level + 1 < count)
    addTo(m, from, total(m, level + 1));
  else
    add(from);
}

void Totals::addedTo(IndexMath &m, int64_t level, Index additions,
                     AddToResult add) const {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  Value counters =
      scratchView(m, scratch, b.getI64Type(), at + count * elements * 4, count);
  Value place = m.value(level);
  Value more =
      arith::IndexCastOp::create(b, loc, b.getI64Type(), m.value(additions));
  Value before = memref::LoadOp::create(b, loc, counters, place);
  Value now = arith::AddIOp::create(b, loc, before, more);
  memref::StoreOp::create(b, loc, now, counters, place);
  Value most =
      arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(kMostAdditions));
  Value isFull =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, now, most);
  scf::IfOp::create(b, loc, isFull, [&](OpBuilder &nb, Location l) {
    carry(m, level, add);
    fill(m, total(m, level), 0);
    Value zero = arith::ConstantOp::create(nb, l, nb.getI64IntegerAttr(0));
    memref::StoreOp::create(nb, l, zero, counters, place);
    if (level + 1 < count)
      addedTo(m, level + 1, 1, add);
    scf::YieldOp::create(nb, l);
  });
}

void Totals::added(IndexMath &m, Index additions, AddToResult add) const {
  if (any())
    addedTo(m, 0, additions, add);
}

void Totals::finish(IndexMath &m, AddToResult add) const {
  for (int64_t level = 0; level < count; ++level)
    carry(m, level, add);
}

} // namespace tenon::passes
