//===- AttentionVisibleKeys.cpp - keys that a causal mask leaves ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/attention/AttentionVisibleKeys.h"

#include "passes/ops/ScalarOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;

namespace tenon::passes {

/// exp of less is 0: half the smallest f32 is exp(-103.97).
constexpr double kVanishing = -104;

/// What the mask means for a block of queries.
void AttentionVisibleKeys::place(Block &block) const {
  if (!schedule.mask)
    return;
  OpBuilder &b = m.builder();
  mlir::Block &region = *problem.score;
  IRMapping map;
  for (auto [i, s] : llvm::enumerate(problem.epilogueOperands)) {
    BlockArgument argument = region.getArgument(kFirstEpilogueOperand + i);
    if (argument.use_empty() || !hasOnePerMatrix(s))
      continue;
    Value one = box(m, s.base, offsetOf(s, block.at), {}, {});
    map.map(
        argument,
        memref::LoadOp::create(b, m.location(), one, ValueRange()).getResult());
  }
  Index offset = m(schedule.mask->emitOffset(b, m.location(), map));
  block.masked = schedule.mask->emitMasked(b, map);
  Index end = block.at.back() + block.rows + offset;
  end = min(max(end, 0), problem.keys);
  block.visiblePanels = ceilDiv(end, problem.panel);
}

/// Whether exp(masked - max) is 0 for all rows of the block.
Value AttentionVisibleKeys::vanishes(const Block &block) const {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  auto number = [&](double x) -> Value {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(x));
  };
  auto loop = scf::ForOp::create(
      b, loc, m.value(0), m.value(block.rows), m.value(1),
      number(std::numeric_limits<double>::infinity()),
      [&](OpBuilder &nb, Location l, Value row, ValueRange least) {
        Value max = memref::LoadOp::create(nb, l, block.scratch.max, row);
        scf::YieldOp::create(
            nb, l, arith::MinimumFOp::create(nb, l, least[0], max).getResult());
      });
  Value distance =
      arith::SubFOp::create(b, loc, block.masked, loop.getResult(0));
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, distance,
                               number(kVanishing));
}

/// Whether no value of the keys of `part` after those of `seen` is infinite or
/// NaN: 0 times such a one is NaN.
Value AttentionVisibleKeys::hiddenAreFinite(const Block &block,
                                            const Keys &part,
                                            const Keys &seen) const {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  Value sum = box(m, block.scratch.hidden, 0, {}, {});
  memref::StoreOp::create(b, loc, zero, sum, ValueRange());
  auto add = [&](Value memory, Index at, Index rows, int64_t columns,
                 Index stride) {
    Value values = box(m, memory, at, {rows, columns}, {stride, 1});
    auto reduction = utils::IteratorType::reduction;
    linalg::GenericOp::create(
        b, loc, TypeRange(), values, sum,
        {b.getMultiDimIdentityMap(2), AffineMap::get(2, 0, b.getContext())},
        {reduction, reduction},
        [&](OpBuilder &nb, Location l, ValueRange args) {
          Value x = convertScalar(nb, l, args[0], nb.getF32Type());
          x = arith::MulFOp::create(nb, l, x, zero,
                                    arith::FastMathFlags::contract);
          linalg::YieldOp::create(
              nb, l, arith::AddFOp::create(nb, l, args[1], x).getResult());
        });
  };
  Index first = part.from + seen.count;
  Index count = part.count - seen.count;
  Index start = offsetOf(problem.v, ArrayRef(block.at).drop_back());
  if (problem.interleave == 1) {
    Index stride = problem.v.strides[problem.v.rank() - 2];
    add(baseOf(block, problem.v, &AttentionScratch::fusedValues),
        start + first * stride, count, problem.columns, stride);
  }
  // Panels hold whole groups of keys, and zeros beside them.
  int64_t width = problem.valuePanel * problem.interleave;
  for (int64_t column = 0; problem.interleave > 1 && column < problem.columns;
       column += problem.valuePanel) {
    Index panel =
        column / problem.valuePanel *
        panelSize(problem.keys, problem.valuePanel, problem.interleave);
    add(baseOf(block, problem.v, &AttentionScratch::packedValues),
        start + panel + first * problem.valuePanel,
        ceilDiv(count, problem.interleave), width, width);
  }
  Value total = memref::LoadOp::create(b, loc, sum, ValueRange());
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, total, zero);
}

/// Emits `emit`, which leaves maxima of rows, for those of `part` that the
/// block's rows see, and once more for all of them if the others count as well.
/// Returns those it was emitted for last.
AttentionEmitter::Keys AttentionVisibleKeys::emitVisible(
    const Block &block, const Keys &part,
    llvm::function_ref<void(const Block &, const Keys &)> emit) const {
  if (!schedule.mask) {
    emit(block, part);
    return part;
  }
  OpBuilder &b = m.builder();
  Location loc = m.location();
  auto keysOf = [&](Index panels) {
    Index count = panels * problem.panel;
    if (auto n = part.count.constant(); !n || *n % problem.panel)
      count = min(count, part.count);
    return Keys{part.panel, part.from, count};
  };
  Index panels = ceilDiv(part.count, problem.panel);
  Value all = m.value(panels);
  Index seen = max(block.visiblePanels - part.panel, 0);
  auto loop = scf::WhileOp::create(
      b, loc, b.getIndexType(), m.value(min(seen, panels)),
      [&](OpBuilder &nb, Location l, ValueRange panels) {
        Keys seen = keysOf(m(panels[0]));
        emit(block, seen);
        Value less = arith::CmpIOp::create(nb, l, arith::CmpIPredicate::slt,
                                           panels[0], all);
        Value nothing = arith::AndIOp::create(
            nb, l, vanishes(block), hiddenAreFinite(block, part, seen));
        Value counts = arith::XOrIOp::create(
            nb, l, nothing,
            arith::ConstantOp::create(nb, l, nb.getBoolAttr(true)));
        scf::ConditionOp::create(
            nb, l, arith::AndIOp::create(nb, l, less, counts), panels);
      },
      [&](OpBuilder &nb, Location l, ValueRange) {
        scf::YieldOp::create(nb, l, all);
      });
  return keysOf(m(loop.getResult(0)));
}

} // namespace tenon::passes
