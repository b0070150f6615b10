//===- AttentionSeen.cpp - keys that a causal mask leaves to see ----------===//
#include "passes/tiling/AttentionLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;

namespace tenon::tiling {

/// exp of less is 0: half the smallest f32 is exp(-103.97).
constexpr double kVanishing = -104;

bool hasOnePerMatrix(const Strided &side) {
  return llvm::all_of(ArrayRef<Ofr>(side.strides).take_back(2), [](Ofr stride) {
    return IndexMath::isConstant(stride, 0);
  });
}

/// Where weights have a region, one of 0 may become another number. Tiles of a
/// matrix unit take known sizes only.
void AttentionLowering::findMask() {
  if (op.getFromLeft() || op.hasWeights() ||
      (interleave > 1 && ctx.core.matrixUnit))
    return;
  mask = CausalMask::find(op.getScore().front(), [&](BlockArgument argument) {
    return hasOnePerMatrix(sides[argument.getArgNumber() - kFirstSide]);
  });
}

/// What the mask means for a block of queries.
void AttentionLowering::placeMask(Block &block) {
  if (!mask)
    return;
  IndexMath &bm = block.m;
  OpBuilder &b = bm.builder();
  mlir::Block &region = op.getScore().front();
  IRMapping map;
  for (auto [i, s] : llvm::enumerate(sides)) {
    BlockArgument argument = region.getArgument(kFirstSide + i);
    if (argument.use_empty() || !hasOnePerMatrix(s))
      continue;
    Value one = box(bm, s.base, offsetOf(bm, s, block.at), {}, {});
    map.map(argument,
            memref::LoadOp::create(b, bm.location(), one, ValueRange())
                .getResult());
  }
  Ofr offset = mask->emitOffset(b, bm.location(), map);
  block.masked = mask->emitMasked(b, map);
  Ofr end = bm.add(bm.add(block.at.back(), block.rows), offset);
  end = bm.min(bm.max(end, bm.attr(0)), bm.attr(keys));
  block.seenPanels = bm.ceilDiv(end, bm.attr(panel));
}

/// Whether exp(masked - max) is 0 for all rows of the block.
Value AttentionLowering::vanishes(Block &block) {
  IndexMath &bm = block.m;
  OpBuilder &b = bm.builder();
  Location loc = bm.location();
  auto number = [&](double x) -> Value {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(x));
  };
  auto loop = scf::ForOp::create(
      b, loc, bm.value(0), bm.value(block.rows), bm.value(1),
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

/// Emits `emit`, which leaves maxima of rows, for those of `part` that the
/// block's rows see, and once more for all of them if the others count as well.
/// Returns those it was emitted for last.
AttentionLowering::Keys AttentionLowering::emitSeen(
    Block &block, const Keys &part,
    llvm::function_ref<void(Block &, const Keys &)> emit) {
  if (!mask) {
    emit(block, part);
    return part;
  }
  IndexMath &bm = block.m;
  OpBuilder &b = bm.builder();
  Location loc = bm.location();
  auto keysOf = [&](IndexMath &m, Value panels) {
    Ofr count = m.mul(panels, m.attr(panel));
    if (*IndexMath::constant(part.count) % panel)
      count = m.min(count, part.count);
    return Keys{part.panel, part.from, count};
  };
  Value all = bm.value(bm.ceilDiv(part.count, bm.attr(panel)));
  Ofr seen = bm.max(bm.sub(block.seenPanels, part.panel), bm.attr(0));
  auto loop = scf::WhileOp::create(
      b, loc, b.getIndexType(), bm.value(bm.min(seen, all)),
      [&](OpBuilder &nb, Location l, ValueRange panels) {
        IndexMath inner(nb, l);
        Block inside = block.inside(inner);
        emit(inside, keysOf(inner, panels[0]));
        Value less = arith::CmpIOp::create(nb, l, arith::CmpIPredicate::slt,
                                           panels[0], all);
        Value counts = arith::XOrIOp::create(
            nb, l, vanishes(inside),
            arith::ConstantOp::create(nb, l, nb.getBoolAttr(true)));
        scf::ConditionOp::create(
            nb, l, arith::AndIOp::create(nb, l, less, counts), panels);
      },
      [&](OpBuilder &nb, Location l, ValueRange) {
        scf::YieldOp::create(nb, l, all);
      });
  return keysOf(bm, loop.getResult(0));
}

} // namespace tenon::tiling
