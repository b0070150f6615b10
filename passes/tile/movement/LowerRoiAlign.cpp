//===- LowerRoiAlign.cpp - regions, resampled -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An item is a row of cells of one region. For each corner of each sample of a
// cell, a loop over channels adds the weighted elements to those in scratch
// memory, or takes the larger ones. Sums are f64 and rounded once.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/rt/RtDialect.h"
#include "passes/ops/OpKinds.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/movement/DoubleMath.h"
#include "passes/tile/movement/Search.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace tenon::passes {

namespace {

/// Samples of a cell in each dim, where the size of the region says how many:
/// of a region that is larger by far than any image the execution fails.
constexpr int64_t kMostSamples = 4096;

class RoiAlign {
public:
  RoiAlign(GroupContext &ctx, Operation *op)
      : ctx(ctx), op(op), m(ctx.m), b(m.builder()), loc(m.location()),
        f{b, loc}, src(channelsLast(ctx.memoryOf(op->getOperand(0)))),
        rois(ctx.memoryOf(op->getOperand(1))),
        images(ctx.memoryOf(op->getOperand(2))),
        dst(channelsLast(ctx.result())), isMax(stringAttr(op, "mode") == "max"),
        isHalf(stringAttr(op, "coordinate_transformation_mode") ==
               "half_pixel"),
        ratio(intAttr(op, "sampling_ratio")), regions(rois.sizes[0]),
        channels(src.sizes[3]) {}

  void emit() {
    if (regions.isConstant(0))
      return;
    requireInside();
    if (product(dst.sizes).isConstant(0))
      return;
    if (src.sizes[1].isConstant(0) || src.sizes[2].isConstant(0))
      return emitCopy(ctx, std::nullopt, ctx.result());
    for (int64_t d : {1, 2})
      requireLess(ctx, 0, src.sizes[d]);
    Grid grid({{"region", regions}, {"row", dst.sizes[1]}});
    emitItems(m, ctx.label, grid, channels * 8,
              [&](const Grid::Item &item, Value scratch) {
                emitRow(item["region"], item["row"],
                        scratchView(m, scratch, b.getF64Type(), 0, channels));
              });
  }

private:
  Strided channelsLast(const Strided &s) {
    return channelDim(op, 4) == 3 ? s : transpose(s, {0, 2, 3, 1});
  }

  Value asDouble(Value index) {
    Value i = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
    return arith::SIToFPOp::create(b, loc, b.getF64Type(), i);
  }
  Value asIndex(Value v) {
    Value i = arith::FPToSIOp::create(b, loc, b.getI64Type(), v);
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), i);
  }

  /// The samples of a region along one dim.
  struct Samples {
    Value start, step; // of cells
    Value perCell;     // f64
  };

  /// Along x (0) or y (1).
  Samples samplesOf(Index region, int64_t d) {
    auto at = [&](int64_t i) {
      return f.widened(loadAt(m, rois.base, offsetOf(rois, {region, i})));
    };
    Value scale = f.constant(floatAttr(op, "spatial_scale"));
    Value begin = at(d), size = f.mul(f.sub(at(d + 2), begin), scale);
    if (!isHalf)
      size = f.max(size, f.constant(1));
    Samples s;
    s.start = f.mul(begin, scale);
    if (isHalf)
      s.start = f.sub(s.start, f.constant(0.5));
    s.step = f.div(size, asDouble(m.value(dst.sizes[2 - d])));
    s.perCell = f.constant(static_cast<double>(ratio));
    if (ratio == 0) { // NaN: none
      Value any = f.compare(DoubleMath::Predicate::OGT, s.step, f.constant(0));
      Value many = math::CeilOp::create(b, loc, s.step);
      s.perCell = f.select(any, many, f.constant(0));
    }
    return s;
  }

  /// The execution fails unless batch_indices are those of images, and samples
  /// can be counted.
  void requireInside() {
    Type i8 = b.getI8Type();
    Value holds = memref::AllocOp::create(b, loc, MemRefType::get({1}, i8));
    emitItems(m, ctx.label, 1, [&](Index) {
      Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
      Value all =
          emitCarried(m, 0, regions, yes, [&](Index region, ValueRange x) {
            Value wanted = imageOf(region);
            using P = arith::CmpIPredicate;
            // As a number without sign one below 0 is too large.
            Value ok = arith::CmpIOp::create(b, loc, P::ult, wanted,
                                             m.value(src.sizes[0]));
            for (int64_t d = 0; d < 2 && ratio == 0; ++d)
              ok = f.both(ok, f.compare(DoubleMath::Predicate::OLE,
                                        samplesOf(region, d).perCell,
                                        f.constant(kMostSamples)));
            return SmallVector<Value>{f.both(x[0], ok)};
          }).front();
      all = arith::ExtUIOp::create(b, loc, i8, all);
      memref::StoreOp::create(b, loc, all, holds, m.value(0));
    });
    Value all = memref::LoadOp::create(b, loc, holds, m.value(0));
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(i8));
    rt::RequireOp::create(
        b, loc,
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, all, zero));
  }

  Value imageOf(Index region) {
    Value v = loadAt(m, images.base, offsetOf(images, {region}));
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), v);
  }

  /// Two neighbours of a position along one dim, and their weights; of one
  /// outside src the weights are 0.
  struct Neighbours {
    Value index[2], weight[2];
  };

  Neighbours neighboursOf(const Samples &s, Index cell, Index sample,
                          Index size) {
    using P = DoubleMath::Predicate;
    Value zero = f.constant(0), one = f.constant(1);
    Value inCell =
        f.div(f.add(asDouble(m.value(sample)), f.constant(0.5)), s.perCell);
    Value position =
        f.add(s.start, f.mul(s.step, f.add(asDouble(m.value(cell)), inCell)));
    Value isInside =
        f.both(f.compare(P::OGE, position, f.constant(-1)),
               f.compare(P::OLE, position, asDouble(m.value(size))));
    position = f.select(isInside, position, zero);
    position = f.max(position, zero);
    position = f.min(position, asDouble(m.value(size - 1)));
    Neighbours n;
    n.index[0] = asIndex(position);
    n.index[1] = m.value(min(m(n.index[0]) + 1, size - 1));
    Value upper = f.sub(position, asDouble(n.index[0]));
    n.weight[0] = f.select(isInside, f.sub(one, upper), zero);
    n.weight[1] = f.select(isInside, upper, zero);
    return n;
  }

  void emitRow(Index region, Index row, Value sums) {
    Samples x = samplesOf(region, 0), y = samplesOf(region, 1);
    Index image = m(imageOf(region));
    Index across = m(asIndex(x.perCell)), down = m(asIndex(y.perCell));
    emitLoop(m, 0, dst.sizes[2], [&](Index column) {
      fill(m, sums, isMax ? -std::numeric_limits<double>::infinity() : 0.0);
      emitLoop(m, 0, down, [&](Index i) {
        Neighbours rows = neighboursOf(y, row, i, src.sizes[1]);
        emitLoop(m, 0, across, [&](Index j) {
          Neighbours columns = neighboursOf(x, column, j, src.sizes[2]);
          for (int corner = 0; corner < 4; ++corner)
            addCorner(image, rows, columns, corner / 2, corner % 2, sums);
        });
      });
      Value count = f.mul(x.perCell, y.perCell);
      store(sums, count, {region, row, column, 0});
    });
  }

  void addCorner(Index image, const Neighbours &rows, const Neighbours &columns,
                 int r, int c, Value sums) {
    Value weight = f.mul(rows.weight[r], columns.weight[c]);
    Value zero = f.constant(0);
    // What a weight of 0 is for may be infinite.
    Value counts = f.compare(DoubleMath::Predicate::UNE, weight, zero);
    Index place =
        offsetOf(src, {image, m(rows.index[r]), m(columns.index[c]), 0});
    Value from = box(m, src.base, place, {channels}, {src.strides[3]});
    pointwise(m, from, sums,
              [&](OpBuilder &nb, Location l, ValueRange v) -> Value {
                Value part = arith::ExtFOp::create(nb, l, b.getF64Type(), v[0]);
                part = arith::MulFOp::create(nb, l, weight, part);
                part = arith::SelectOp::create(nb, l, counts, part, zero);
                if (isMax)
                  return arith::MaximumFOp::create(nb, l, v[1], part);
                return arith::AddFOp::create(nb, l, v[1], part);
              });
  }

  /// Without samples a cell is 0.
  void store(Value sums, Value count, ArrayRef<Index> at) {
    Value zero = f.constant(0);
    Value any = f.compare(DoubleMath::Predicate::OGT, count, zero);
    Value to =
        box(m, dst.base, offsetOf(dst, at), {channels}, {dst.strides[3]});
    pointwise(m, sums, to,
              [&](OpBuilder &nb, Location l, ValueRange v) -> Value {
                Value cell = v[0];
                if (!isMax)
                  cell = arith::DivFOp::create(nb, l, cell, count);
                cell = arith::SelectOp::create(nb, l, any, cell, zero);
                return arith::TruncFOp::create(nb, l, b.getF32Type(), cell);
              });
  }

  GroupContext &ctx;
  Operation *op;
  IndexMath &m;
  OpBuilder &b;
  Location loc;
  DoubleMath f;
  Strided src, rois, images, dst; // src and dst with the channel last
  bool isMax, isHalf;
  int64_t ratio;
  Index regions, channels;
};

} // namespace

void lowerRoiAlign(GroupContext &ctx, Operation *op) {
  RoiAlign(ctx, op).emit();
}

} // namespace tenon::passes
