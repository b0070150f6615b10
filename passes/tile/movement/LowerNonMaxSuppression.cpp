//===- LowerNonMaxSuppression.cpp - boxes that overlap little -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An item is one class of one batch: it sorts the scores and takes box after
// box, beside those that are taken already. Two more sections write what was
// taken without gaps. Corners and areas are f64, as they are in the evaluator:
// one box more or less is a wrong result.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/movement/DoubleMath.h"
#include "passes/tile/movement/Search.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <array>

using namespace mlir;

namespace tenon::passes {

namespace {

/// Code for boxes.
struct Geometry : DoubleMath {
  using P = Predicate;
  /// Lower corner, then higher one; each y, x.
  using Box = std::array<Value, 4>;

  Box boxOf(const std::array<Value, 4> &numbers, bool isCentre) {
    Box box;
    for (int d : {0, 1}) {
      if (isCentre) {
        Value middle = numbers[1 - d],
              half = mul(numbers[3 - d], constant(0.5));
        box[d] = sub(middle, half);
        box[d + 2] = add(middle, half);
      } else {
        box[d] = min(numbers[d], numbers[d + 2]);
        box[d + 2] = max(numbers[d], numbers[d + 2]);
      }
    }
    return box;
  }
  Value area(const Box &x) { return mul(sub(x[2], x[0]), sub(x[3], x[1])); }
  Value isEmpty(const Box &x) {
    return either(compare(P::OLE, x[2], x[0]), compare(P::OLE, x[3], x[1]));
  }
  /// Whether the area of the intersection by that of the union, in f32, is
  /// above `limit`.
  Value overlaps(const Box &x, const Box &y, double limit) {
    Box both{max(x[0], y[0]), max(x[1], y[1]), min(x[2], y[2]),
             min(x[3], y[3])};
    Value none = either(either(isEmpty(x), isEmpty(y)), isEmpty(both));
    Value common = area(both);
    Value all = sub(add(area(x), area(y)), common);
    Value share = div(common, all);
    share = select(none, constant(0), share);
    share = arith::TruncFOp::create(b, loc, b.getF32Type(), share);
    Value bound = arith::ConstantOp::create(
        b, loc, b.getF32FloatAttr(static_cast<float>(limit)));
    return compare(P::OGT, share, bound);
  }
};

class NonMaxSuppression {
public:
  NonMaxSuppression(GroupContext &ctx, Operation *op)
      : ctx(ctx), op(op), m(ctx.m), b(m.builder()), loc(m.location()),
        geometry{{b, loc}}, boxes(ctx.memoryOf(op->getOperand(0))),
        scores(ctx.memoryOf(op->getOperand(1))),
        indices(outputOf(ctx, op->getResult(0))),
        count(outputOf(ctx, op->getResult(1))),
        keys(m, b.getF32Type(), /*largest=*/true), classes(scores.sizes[1]),
        number(scores.sizes[2]),
        rows(min(Index(intAttr(op, "max_output_boxes_per_class")), number)),
        items(scores.sizes[0] * classes) {}

  void emit() {
    begins = allocateBetween(m, b.getI64Type(), items + 1);
    bool any = items.constant() != 0 && rows.constant() != 0;
    if (any) {
      taken = allocateBetween(m, b.getI64Type(), items * rows);
      emitClasses();
    }
    emitBegins(ctx, begins, any ? items : 0, count);
    if (any && indices)
      emitRows();
  }

private:
  Value asIndex(Value v) {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), v);
  }
  Value i64(Index v) {
    return arith::IndexCastOp::create(b, loc, b.getI64Type(), m.value(v));
  }

  void emitClasses() {
    Index boxBytes = rows * 4 * 8;
    emitItems(m, ctx.label, items, boxBytes + keys.bytesToSort(number),
              [&](Index item, Value scratch) {
                Value sorted = keys.view(scratch, boxBytes, number * 2 + 1);
                Value others =
                    scratchView(m, scratch, b.getF64Type(), 0, rows * 4);
                emitKeys(item, sorted);
                Index first = keys.sort(sorted, number);
                emitTaking(item, sorted, first, others);
              });
  }

  /// Boxes that cannot be taken are behind all others.
  void emitKeys(Index item, Value sorted) {
    emitLoop(m, 0, number, [&](Index i) {
      Value score =
          loadAt(m, scores.base,
                 offsetOf(scores, {item / classes, item % classes, i}));
      using P = Geometry::P;
      Value counts = geometry.compare(P::ORD, score, score);
      if (op->hasAttr("score_threshold")) {
        Value least =
            arith::ConstantOp::create(b, loc,
                                      b.getF32FloatAttr(static_cast<float>(
                                          floatAttr(op, "score_threshold"))));
        counts = geometry.compare(P::OGT, score, least);
      }
      Value key = keys.keyOf(b, loc, score, m.value(i));
      key = arith::SelectOp::create(b, loc, counts, key, keys.last());
      memref::StoreOp::create(b, loc, key, sorted, m.value(i));
    });
  }

  Geometry::Box boxAt(Index batch, Index i) {
    std::array<Value, 4> numbers;
    for (int k = 0; k < 4; ++k) {
      Index place = offsetOf(boxes, {batch, i, k});
      numbers[k] = geometry.widened(loadAt(m, boxes.base, place));
    }
    return geometry.boxOf(numbers, boolAttr(op, "center_point_box"));
  }

  void emitTaking(Index item, Value sorted, Index first, Value others) {
    Value sum =
        emitCarried(m, 0, number, m.value(0), [&](Index t, ValueRange x) {
          Value key =
              memref::LoadOp::create(b, loc, sorted, m.value(t + first));
          using P = arith::CmpIPredicate;
          Value isFull =
              arith::CmpIOp::create(b, loc, P::sge, x[0], m.value(rows));
          Value skips = geometry.either(isFull, keys.isLast(key));
          auto branch = scf::IfOp::create(b, loc, TypeRange{b.getIndexType()},
                                          skips, true);
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(&branch.getThenRegion().front());
          scf::YieldOp::create(b, loc, x[0]);
          b.setInsertionPointToStart(&branch.getElseRegion().front());
          Value next = emitTry(item, keys.numberOf(key), m(x[0]), others);
          scf::YieldOp::create(b, loc, next);
          return SmallVector<Value>{branch.getResult(0)};
        }).front();
    memref::StoreOp::create(b, loc, i64(m(sum)), begins, m.value(item));
  }

  /// Takes box `i` unless it overlaps one of the `many` in `others`; how many
  /// there are then.
  Value emitTry(Index item, Index i, Index many, Value others) {
    Geometry::Box box = boxAt(item / classes, i);
    double limit = floatAttr(op, "iou_threshold");
    Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
    Value overlaps =
        emitCarried(m, 0, many, no, [&](Index j, ValueRange x) {
          Geometry::Box other;
          for (int k = 0; k < 4; ++k)
            other[k] =
                memref::LoadOp::create(b, loc, others, m.value(j * 4 + k));
          return SmallVector<Value>{
              geometry.either(x[0], geometry.overlaps(box, other, limit))};
        }).front();
    // What is written behind those that count does no harm.
    for (int k = 0; k < 4; ++k)
      memref::StoreOp::create(b, loc, box[k], others, m.value(many * 4 + k));
    memref::StoreOp::create(b, loc, i64(i), taken, m.value(item * rows + many));
    return arith::SelectOp::create(b, loc, overlaps, m.value(many),
                                   m.value(many + 1));
  }

  void store(Index row, int64_t column, Value v) {
    storeAt(m, v, indices->base, offsetOf(*indices, {row, column}));
  }

  void emitRows() {
    Type type = indices->elementType();
    auto stored = [&](Index v) -> Value {
      return arith::IndexCastOp::create(b, loc, type, m.value(v));
    };
    emitItems(m, ctx.label, items, [&](Index item) {
      auto begin = [&](Index i) {
        Value v = memref::LoadOp::create(b, loc, begins, m.value(i));
        return m(asIndex(v));
      };
      Index first = begin(item), end = begin(item + 1), all = begin(items);
      emitLoop(m, first, end, [&](Index row) {
        Value box = memref::LoadOp::create(b, loc, taken,
                                           m.value(item * rows + row - first));
        store(row, 0, stored(item / classes));
        store(row, 1, stored(item % classes));
        store(row, 2, stored(m(asIndex(box))));
      });
      emitLoop(m, max(item * rows, all), (item + 1) * rows, [&](Index row) {
        for (int64_t column = 0; column < 3; ++column)
          store(row, column, stored(0));
      });
    });
  }

  GroupContext &ctx;
  Operation *op;
  IndexMath &m;
  OpBuilder &b;
  Location loc;
  Geometry geometry;
  Strided boxes, scores;
  const Strided *indices, *count;
  SortKeys keys;
  Index classes; // of one batch
  Index number;  // of boxes
  Index rows;    // boxes taken of a class at most
  Index items;   // classes of all batches
  Value begins, taken;
};

} // namespace

void lowerNonMaxSuppression(GroupContext &ctx, Operation *op) {
  NonMaxSuppression(ctx, op).emit();
}

} // namespace tenon::passes
