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
    Strided from = ctx.memoryOf(v);
    Strided to = dst;
    to.dense = false;
    to.sizes = from.sizes;
    to.offset = m.mul(at, dst.strides[axis]);
    emitCopy(ctx, from, to);
    at = m.add(at, from.sizes[axis]);
  }
  return success();
}

namespace {
/// A part of packed weights: panels [first, first + count), of each `columns`
/// columns from `column` on, and of K `groups` whole groups of `part`
/// neighbours, from element `inGroup` of a group of dst.
struct PackedPart {
  int64_t first, count, column, columns;
  Ofr firstGroup, groups;
  int64_t inGroup, part;
  bool zeros = false;
};

/// tile.pack: dims of dst are (lead.., P, taps.., K / v, panel, v).
struct Packing {
  GroupContext &ctx;
  tile::PackOp op;
  const Strided &src, &dst;

  void copy(const PackedPart &p) {
    IndexMath &m = ctx.m;
    bool grouped = op.getGroups().has_value();
    int64_t v = op.getInterleave();
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
    Ofr srcN = src.strides.back(), srcK = *(src.strides.end() - 2);
    for (int64_t i = 0; i < lead; ++i) {
      Ofr srcStride = src.strides[i];
      if (grouped)
        srcStride =
            m.mul(m.floorDiv(src.sizes.back(), m.attr(*op.getGroups())), srcN);
      add(dst.sizes[i], srcStride, dst.strides[i]);
    }
    Ofr panel = m.attr(op.getPanel());
    add(m.attr(p.count), m.mul(panel, srcN), dst.strides[lead]);
    for (int64_t i = 0; grouped && i < src.rank() - 2; ++i)
      add(src.sizes[i], src.strides[i], dst.strides[lead + 1 + i]);
    Ofr groupStride = m.mul(panel, m.attr(v));
    add(p.groups, m.mul(m.attr(v), srcK), groupStride);
    add(m.attr(p.columns), srcN, m.attr(v));
    if (v > 1)
      add(m.attr(p.part), srcK, m.attr(1));
    from.offset = m.add(m.mul(m.attr(p.first * op.getPanel() + p.column), srcN),
                        m.mul(m.mul(p.firstGroup, m.attr(v)), srcK));
    to.offset = m.add(m.add(m.mul(m.attr(p.first), dst.strides[lead]),
                            m.mul(p.firstGroup, groupStride)),
                      m.attr(p.column * v + p.inGroup));
    emitCopy(ctx, p.zeros ? std::nullopt : std::optional(from), to);
  }

  /// What is there of K for these columns, and zeros beyond.
  void copyColumns(int64_t first, int64_t count, int64_t columns) {
    IndexMath &m = ctx.m;
    int64_t v = op.getInterleave();
    Ofr k = *(src.sizes.end() - 2), none = m.attr(0);
    Ofr whole = m.floorDiv(k, m.attr(v));
    copy({first, count, 0, columns, none, whole, 0, v});
    if (v == 1)
      return;
    // PackWeights interleaves only where K is known.
    int64_t rest = *IndexMath::constant(k) % v;
    if (rest == 0)
      return;
    copy({first, count, 0, columns, whole, m.attr(1), 0, rest});
    copy({first, count, 0, columns, whole, m.attr(1), rest, v - rest, true});
  }
};
} // namespace

/// Blocks of `unit` hidden units: [blocks, strips, K, gates of a strip, units]
/// on both sides; the last block may be cut, the rest of it is zero.
static LogicalResult lowerPackGates(GroupContext &ctx, tile::PackGatesOp op) {
  IndexMath &m = ctx.m;
  const Strided &src = ctx.memoryOf(op.getWeights());
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
  if (auto points = dyn_cast<tile::WinogradWeightsOp>(ctx.ops().front()))
    return lowerWinogradWeights(ctx, points);
  auto op = cast<tile::PackOp>(ctx.ops().front());
  IndexMath &m = ctx.m;
  auto type = rankedType(op.getWeights());
  int64_t n = type.getShape().back();
  if (ShapedType::isDynamic(n))
    return op.emitError("E2003 the number of columns is unknown");
  n /= op.getGroups().value_or(1);
  int64_t panel = op.getPanel(), full = n / panel, tail = n % panel;
  const Strided &src = ctx.memoryOf(op.getWeights());
  const Strided &dst = ctx.outputs.begin()->second.front();
  Packing packing{ctx, op, src, dst};
  if (full)
    packing.copyColumns(0, full, panel);
  if (tail) {
    packing.copyColumns(full, 1, tail);
    int64_t v = op.getInterleave();
    Ofr k = *(src.sizes.end() - 2);
    packing.copy({full, 1, tail, panel - tail, m.attr(0),
                  m.ceilDiv(k, m.attr(v)), 0, v, true});
  }
  return success();
}

} // namespace tenon::tiling
