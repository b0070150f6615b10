//===- PackAndConcat.cpp - Concat and the packing of weights --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Both are copies between boxes of buffers.
//
//===----------------------------------------------------------------------===//
#include "dialects/tile/TileDialect.h"
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/loops/LoopProgram.h"
#include "passes/tile/products/PackPanels.h"

using namespace mlir;

namespace tenon::passes {

void emitCopy(GroupContext &ctx, std::optional<Strided> from,
              const Strided &to) {
  SmallVector<bool> reduced(to.rank(), false);
  LoopProgram program(ctx.m, ctx.label, ctx.target.getL2Bytes(), to.sizes,
                      reduced);
  LoopProgram::Node node;
  if (from) {
    node = program.input(*from);
  } else {
    Type type = to.elementType();
    node = program.compute(
        {}, type, [type](OpBuilder &b, Location loc, ValueRange) -> Value {
          return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
        });
  }
  program.output(node, to);
  program.emit();
}

LogicalResult lowerConcat(GroupContext &ctx) {
  Operation *op = ctx.ops().front();
  const Strided &dst = ctx.result();
  int64_t axis = normalizedAxis(intAttr(op, "axis"), dst.rank());
  Index at = 0;
  for (auto [i, v] : llvm::enumerate(op->getOperands())) {
    Strided from = ctx.memoryOf(v);
    Strided to = dst;
    to.dense = false;
    to.sizes = from.sizes;
    to.offset = at * dst.strides[axis];
    if (!llvm::is_contained(ctx.inPlace, static_cast<int64_t>(i)))
      emitCopy(ctx, from, to);
    at += from.sizes[axis];
  }
  return success();
}

/// A copy whose source may go backwards.
static LogicalResult lowerSlice(GroupContext &ctx, tile::SliceOp op) {
  Strided from = ctx.memoryOf(op.getSrc());
  const Strided &to = ctx.result();
  from.dense = false;
  Index first = from.offset.value_or(0);
  for (int64_t d = 0; d < from.rank(); ++d) {
    first += partOf(op, d, from.sizes[d], ctx.sizes).first * from.strides[d];
    from.strides[d] = from.strides[d] * op.getStep(d);
  }
  from.offset = first;
  from.sizes = to.sizes;
  from.strides.erase(from.strides.begin(), from.strides.end() - to.rank());
  emitCopy(ctx, from, to);
  return success();
}

/// A copy whose source goes backwards along the taps.
static LogicalResult lowerFlip(GroupContext &ctx, tile::FlipOp op) {
  Strided from = ctx.memoryOf(op.getWeights());
  from.dense = false;
  Index first = from.offset.value_or(0);
  for (int64_t d = 0; d < from.rank() - 2; ++d) {
    first = first + (from.sizes[d] - 1) * from.strides[d];
    from.strides[d] = -1 * from.strides[d];
  }
  from.offset = first;
  emitCopy(ctx, from, ctx.result());
  return success();
}

LogicalResult lowerPack(GroupContext &ctx) {
  Operation *last = ctx.ops().back();
  if (auto flip = dyn_cast<tile::FlipOp>(last))
    return lowerFlip(ctx, flip);
  if (auto slice = dyn_cast<tile::SliceOp>(last))
    return lowerSlice(ctx, slice);
  if (auto points = dyn_cast<tile::WinogradWeightsOp>(last))
    return lowerWinogradWeights(ctx, points);
  if (auto quantized = dyn_cast<tile::PackQuantizedOp>(last))
    return lowerPackQuantized(ctx, quantized);
  if (auto slices = dyn_cast<tile::ToInt8SlicesOp>(last))
    return lowerToInt8Slices(ctx, slices);
  PanelPacking(ctx, cast<tile::PackOp>(last)).emitSections(ctx.result());
  return success();
}

} // namespace tenon::passes
