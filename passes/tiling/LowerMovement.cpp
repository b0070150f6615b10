//===- LowerMovement.cpp - Concat and the packing of weights --------------===//
//
// Both are copies between boxes of buffers: loop programs without arithmetic.
//
//===----------------------------------------------------------------------===//
#include "dialects/tile/TileDialect.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tiling/GroupLowering.h"

using namespace mlir;

namespace tenon::tiling {

void emitCopy(GroupContext &ctx, std::optional<Strided> from,
              const Strided &to) {
  SmallVector<bool> reduced(to.rank(), false);
  LoopProgram program(ctx.m, ctx.label, to.sizes, reduced);
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
  IndexMath &m = ctx.m;
  const Strided &dst = ctx.outputs.begin()->second.front();
  int64_t axis = normalizedAxis(intAttr(op, "axis"), dst.rank());
  Ofr at = m.attr(0);
  for (Value v : op->getOperands()) {
    Strided from = ctx.inputs.find(v)->second;
    Strided to = dst;
    to.dense = false;
    to.sizes = from.sizes;
    to.offset = m.mul(at, dst.strides[axis]);
    emitCopy(ctx, from, to);
    at = m.add(at, from.sizes[axis]);
  }
  return success();
}

/// Panels [first, first + count) of `columns` columns each.
static void packPanels(GroupContext &ctx, tile::PackOp op, const Strided &src,
                       const Strided &dst, int64_t first, int64_t count,
                       int64_t columns, int64_t columnOffset, bool zeros) {
  IndexMath &m = ctx.m;
  int64_t panel = op.getPanel();
  bool grouped = op.getGroups().has_value();
  int64_t lead = grouped ? 1 : src.rank() - 2; // dims of dst before P
  Strided from, to;
  from.base = src.base;
  to.base = dst.base;
  auto add = [&](Ofr size, Ofr fromStride, Ofr toStride) {
    from.sizes.push_back(size);
    to.sizes.push_back(size);
    from.strides.push_back(fromStride);
    to.strides.push_back(toStride);
  };
  Ofr srcN = src.strides.back();
  for (int64_t i = 0; i < lead; ++i) {
    Ofr srcStride = src.strides[i];
    if (grouped)
      srcStride =
          m.mul(m.floorDiv(src.sizes.back(), m.attr(*op.getGroups())), srcN);
    add(dst.sizes[i], srcStride, dst.strides[i]);
  }
  add(m.attr(count), m.mul(m.attr(panel), srcN), dst.strides[lead]);
  for (int64_t i = grouped ? 0 : lead; i < src.rank() - 1; ++i)
    add(src.sizes[i], src.strides[i],
        dst.strides[lead + 1 + (grouped ? i : i - lead)]);
  add(m.attr(columns), srcN, m.attr(1));
  from.offset = m.mul(m.attr(first * panel), srcN);
  to.offset =
      m.add(m.mul(m.attr(first), dst.strides[lead]), m.attr(columnOffset));
  if (zeros)
    emitCopy(ctx, std::nullopt, to);
  else
    emitCopy(ctx, from, to);
}

/// Blocks of `unit` hidden units: [blocks, strips, K, gates of a strip, units]
/// on both sides; the last block may be cut, the rest of it is zero.
static LogicalResult lowerPackGates(GroupContext &ctx, tile::PackGatesOp op) {
  IndexMath &m = ctx.m;
  const Strided &src = ctx.inputs.find(op.getWeights())->second;
  const Strided &dst = ctx.outputs.begin()->second.front();
  auto type = rankedType(op.getWeights());
  int64_t hidden = type.getDimSize(4), unit = op.getUnit();
  if (ShapedType::isDynamic(hidden))
    return op.emitError("E2003 the number of hidden units is unknown");
  int64_t panel = op.getPanel(),
          gatesOfStrip = std::max(panel / unit, int64_t(1));
  int64_t gates = type.getDimSize(3), strips = gates * unit / panel;
  Ofr k = src.sizes[2], strip = dst.strides[0];
  Ofr layer = m.mul(m.attr(op.getLayer()), src.strides[0]);
  auto part = [&](int64_t first, int64_t count, int64_t from, int64_t units,
                  bool zeros) {
    if (count == 0 || units == 0)
      return;
    Strided to, in;
    to.base = dst.base;
    to.sizes = {m.attr(count), m.attr(strips), k, m.attr(gatesOfStrip),
                m.attr(units)};
    to.strides = {m.mul(m.attr(strips), strip), strip, dst.strides[1],
                  m.attr(unit), m.attr(1)};
    to.offset = m.add(m.mul(m.attr(first * strips), strip), m.attr(from));
    if (zeros)
      return emitCopy(ctx, std::nullopt, to);
    in.base = src.base;
    in.sizes = to.sizes;
    in.strides = {m.mul(m.attr(unit), src.strides[4]),
                  m.mul(m.attr(gatesOfStrip), src.strides[3]), src.strides[2],
                  src.strides[3], src.strides[4]};
    in.offset = m.add(layer, m.mul(m.attr(first * unit), src.strides[4]));
    emitCopy(ctx, in, to);
  };
  int64_t full = hidden / unit, tail = hidden % unit;
  part(0, full, 0, unit, false);
  part(full, tail != 0, 0, tail, false);
  part(full, tail != 0, tail, unit - tail, true);
  return success();
}

LogicalResult lowerPack(GroupContext &ctx) {
  if (auto gates = dyn_cast<tile::PackGatesOp>(ctx.ops().front()))
    return lowerPackGates(ctx, gates);
  auto op = cast<tile::PackOp>(ctx.ops().front());
  auto type = rankedType(op.getWeights());
  int64_t n = type.getShape().back();
  if (ShapedType::isDynamic(n))
    return op.emitError("E2003 the number of columns is unknown");
  n /= op.getGroups().value_or(1);
  int64_t panel = op.getPanel(), full = n / panel, tail = n % panel;
  const Strided &src = ctx.inputs.find(op.getWeights())->second;
  const Strided &dst = ctx.outputs.begin()->second.front();
  if (full)
    packPanels(ctx, op, src, dst, 0, full, panel, 0, false);
  if (tail) {
    packPanels(ctx, op, src, dst, full, 1, tail, 0, false);
    packPanels(ctx, op, src, dst, full, 1, panel - tail, tail, true);
  }
  return success();
}

} // namespace tenon::tiling
