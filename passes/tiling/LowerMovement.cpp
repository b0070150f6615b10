//===- LowerMovement.cpp - Concat and the packing of weights --------------===//
//
// Both are copies between boxes of buffers. What is packed may be computed on
// the way: keys that are bytes are dequantised where they are packed.
//
//===----------------------------------------------------------------------===//
#include "dialects/tile/TileDialect.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tiling/Epilogue.h"
#include "passes/tiling/GroupLowering.h"
#include "passes/tiling/ScalarOps.h"

#include "llvm/ADT/SetVector.h"

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
  const Strided &dst;
  SmallVector<Ofr> sizes; // of what is packed
  /// What that is computed by, and from which tensors of its shape.
  SmallVector<Operation *> before;
  llvm::SetVector<Value> read;
  SmallVector<Strided> tensors;

  Packing(GroupContext &ctx, tile::PackOp op, const Strided &dst)
      : ctx(ctx), op(op), dst(dst), sizes(ctx.sizes[op.getWeights()]),
        before(ctx.ops()) {
    before.pop_back();
    for (Operation *each : before)
      for (Value v : each->getOperands())
        if (isReadBy(before, v))
          read.insert(v);
    if (before.empty())
      read.insert(op.getWeights());
    for (Value v : read)
      tensors.push_back(broadcastTo(ctx.m, ctx.memoryOf(v), sizes));
  }

  int64_t rank() const { return sizes.size(); }
  bool isGrouped() { return op.getGroups().has_value(); }
  /// Dims of dst before P.
  int64_t lead() { return isGrouped() ? 1 : rank() - 2; }

  /// The part `p` of a tensor that is read.
  Strided partOf(const Strided &src, const PackedPart &p) {
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
    Ofr start = m.add(m.mul(m.attr(p.first * op.getPanel() + p.column), n),
                      m.mul(m.mul(p.firstGroup, m.attr(v)), k));
    from.offset = src.offset ? m.add(*src.offset, start) : start;
    return from;
  }

  /// The same of dst.
  Strided partOfDst(const PackedPart &p) {
    IndexMath &m = ctx.m;
    int64_t v = op.getInterleave(), at = lead();
    Ofr group = m.mul(m.attr(op.getPanel()), m.attr(v));
    Strided to;
    to.base = dst.base;
    to.sizes.assign(dst.sizes.begin(), dst.sizes.begin() + at);
    to.strides.assign(dst.strides.begin(), dst.strides.begin() + at + 1);
    to.sizes.push_back(m.attr(p.count));
    for (int64_t i = 0; isGrouped() && i < rank() - 2; ++i) {
      to.sizes.push_back(sizes[i]);
      to.strides.push_back(dst.strides[at + 1 + i]);
    }
    to.sizes.append({p.groups, m.attr(p.columns)});
    to.strides.append({group, m.attr(v)});
    if (v > 1) {
      to.sizes.push_back(m.attr(p.part));
      to.strides.push_back(m.attr(1));
    }
    to.offset = m.add(m.add(m.mul(m.attr(p.first), dst.strides[at]),
                            m.mul(p.firstGroup, group)),
                      m.attr(p.column * v + p.inGroup));
    return to;
  }

  void copy(const PackedPart &p) {
    Strided to = partOfDst(p);
    if (p.zeros)
      return emitCopy(ctx, std::nullopt, to);
    LoopProgram program(ctx.m, ctx.label, to.sizes,
                        SmallVector<bool>(to.rank(), false));
    SmallVector<LoopProgram::Node> nodes;
    for (const Strided &src : tensors) {
      Strided from = partOf(src, p);
      from.sizes = to.sizes;
      nodes.push_back(program.input(from));
    }
    LoopProgram::Node node = nodes.front();
    if (!before.empty())
      node = program.compute(
          nodes, to.elementType(),
          [this, type = to.elementType()](OpBuilder &b, Location loc,
                                          ValueRange elements) {
            llvm::DenseMap<Value, Value> values;
            for (auto [v, element] : llvm::zip(read, elements))
              values[v] = element;
            return emitChain(b, loc, before, std::move(values), type);
          });
    program.output(node, to);
    program.emit();
  }

  /// What is there of K for these columns, and zeros beyond.
  void copyColumns(int64_t first, int64_t count, int64_t columns) {
    IndexMath &m = ctx.m;
    int64_t v = op.getInterleave();
    Ofr k = *(sizes.end() - 2), none = m.attr(0);
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
  Operation *last = ctx.ops().back();
  if (auto gates = dyn_cast<tile::PackGatesOp>(last))
    return lowerPackGates(ctx, gates);
  if (auto points = dyn_cast<tile::WinogradWeightsOp>(last))
    return lowerWinogradWeights(ctx, points);
  auto op = cast<tile::PackOp>(last);
  IndexMath &m = ctx.m;
  auto type = rankedType(op.getWeights());
  int64_t n = type.getShape().back();
  if (ShapedType::isDynamic(n))
    return op.emitError("E2003 the number of columns is unknown");
  n /= op.getGroups().value_or(1);
  int64_t panel = op.getPanel(), full = n / panel, tail = n % panel;
  Packing packing(ctx, op, ctx.outputs.begin()->second.front());
  if (full)
    packing.copyColumns(0, full, panel);
  if (tail) {
    packing.copyColumns(full, 1, tail);
    int64_t v = op.getInterleave();
    Ofr k = *(packing.sizes.end() - 2);
    packing.copy({full, 1, tail, panel - tail, m.attr(0),
                  m.ceilDiv(k, m.attr(v)), 0, v, true});
  }
  return success();
}

} // namespace tenon::tiling
