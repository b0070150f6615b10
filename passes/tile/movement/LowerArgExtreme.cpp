//===- LowerArgExtreme.cpp - positions of extremes ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// ArgMax and ArgMin. Vectors hold the best element so far and its position:
//
//   for k: best, at = src[k] better than best ? src[k], k : best, at
//
// each lane for a line of its own, where lines lie side by side; otherwise for
// every kLanes-th element of one line, and the lanes are joined at the end.
// Which of equal elements counts is said by their positions, so the order in
// which they are met does not matter.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/movement/Search.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Running extremes of one line.
constexpr int64_t kLanes = 64;

class ArgExtreme {
public:
  ArgExtreme(GroupContext &ctx, Operation *op, const Lines &lines)
      : ctx(ctx), m(ctx.m), b(m.builder()), loc(m.location()), lines(lines),
        largest(isa<graph::ArgMaxOp>(op)), last(boolAttr(op, "last_index")),
        element(rankedType(op->getOperand(0)).getElementType()),
        stored(storageType(element)), length(lines[0].length),
        counter(b.getIntegerType(
            length.constant().value_or(INT64_MAX) >> 31 ? 64 : 32)) {}

  void emit() {
    if (lines.areSideBySide())
      emitSideBySide();
    else
      emitLineByLine();
  }

private:
  /// Whether `y` replaces `x`, which was met before.
  Value replaces(OpBuilder &nb, Value y, Value x) {
    if (auto type = dyn_cast<IntegerType>(element)) {
      using P = arith::CmpIPredicate;
      bool isUnsigned = type.isUnsigned();
      P greater =
          isUnsigned ? (last ? P::uge : P::ugt) : (last ? P::sge : P::sgt);
      P less = isUnsigned ? (last ? P::ule : P::ult) : (last ? P::sle : P::slt);
      return arith::CmpIOp::create(nb, loc, largest ? greater : less, y, x);
    }
    using P = arith::CmpFPredicate;
    auto compare = [&](P predicate, Value u, Value v) -> Value {
      return arith::CmpFOp::create(nb, loc, predicate, u, v);
    };
    // NaN comes before all numbers, and equals NaN.
    if (last)
      return arith::OrIOp::create(nb, loc,
                                  compare(largest ? P::OGE : P::OLE, y, x),
                                  compare(P::UNO, y, y));
    return arith::AndIOp::create(nb, loc,
                                 compare(largest ? P::UGT : P::ULT, y, x),
                                 compare(P::ORD, x, x));
  }

  Value asCounter(Index i) {
    return arith::IndexCastOp::create(b, loc, counter, m.value(i));
  }

  /// The best elements so far and their positions, in scratch memory.
  struct Best {
    Value values, positions;
  };
  Best bestIn(Value scratch, Index count) {
    return {scratchView(m, scratch, stored, count * kPositionBytes, count),
            scratchView(m, scratch, counter, 0, count)};
  }
  int64_t bytesOf(int64_t count) const {
    return count * (kPositionBytes + stored.getIntOrFloatBitWidth() / 8);
  }

  /// best = elements of `row(0)`, then the better ones of `row(1)`, ...
  void emitSteps(Index steps, const Best &best,
                 llvm::function_ref<Value(Index)> row) {
    pointwise(m, row(0), best.values,
              [](OpBuilder &, Location, ValueRange x) { return x[0]; });
    fill(m, best.positions, 0);
    emitLoop(m, 1, steps, [&](Index k) {
      Value position = asCounter(k);
      pointwise(m, row(k), {best.values, best.positions},
                [&](OpBuilder &nb, Location l, ValueRange x) {
                  Value better = replaces(nb, x[0], x[1]);
                  auto pick = [&](Value yes, Value no) -> Value {
                    return arith::SelectOp::create(nb, l, better, yes, no);
                  };
                  return SmallVector<Value>{pick(x[0], x[1]),
                                            pick(position, x[2])};
                });
    });
  }

  void emitSideBySide() {
    lines.emitRows(ctx, bytesOf(lines.mostInRow()),
                   [&](Index first, Index count, Value scratch) {
                     Best best = bestIn(scratch, count);
                     emitSteps(length, best, [&](Index k) {
                       return lines.row(m, 0, first, k, count);
                     });
                     pointwise(m, best.positions,
                               lines.row(m, 1, first, 0, count),
                               [&](OpBuilder &nb, Location, ValueRange x) {
                                 return resized(nb, x[0], x[1].getType());
                               });
                   });
  }

  Value resized(OpBuilder &nb, Value v, Type to) {
    unsigned from = v.getType().getIntOrFloatBitWidth(),
             width = to.getIntOrFloatBitWidth();
    if (from == width)
      return v;
    return from < width ? arith::ExtSIOp::create(nb, loc, to, v).getResult()
                        : arith::TruncIOp::create(nb, loc, to, v).getResult();
  }

  /// The better one of an element and its position, and others.
  SmallVector<Value> better(ValueRange found, Value value, Value position) {
    Value replaced = replaces(b, value, found[0]);
    Value back = replaces(b, found[0], value);
    using P = arith::CmpIPredicate;
    Value behind = arith::CmpIOp::create(b, loc, P::sgt, position, found[1]);
    // Of equal elements, that replace each other or do not, positions decide.
    Value equal = arith::CmpIOp::create(b, loc, P::eq, replaced, back);
    Value wanted = behind;
    if (!last)
      wanted = arith::CmpIOp::create(b, loc, P::slt, position, found[1]);
    replaced = arith::SelectOp::create(b, loc, equal, wanted, replaced);
    return {arith::SelectOp::create(b, loc, replaced, value, found[0]),
            arith::SelectOp::create(b, loc, replaced, position, found[1])};
  }

  void emitLineByLine() {
    Index steps = length / kLanes;
    if (steps.isConstant(1))
      steps = 0;
    lines.emitLines(
        ctx, steps.isConstant(0) ? 0 : bytesOf(kLanes),
        [&](Index number, Value scratch) { emitLine(number, scratch, steps); });
  }

  void emitLine(Index number, Value scratch, Index steps) {
    const Lines::Tensor &src = lines[0];
    Index begin = lines.begin(0, number);
    SmallVector<Value> found{loadAt(m, src.base, begin), asCounter(0)};
    if (!steps.isConstant(0)) {
      Best best = bestIn(scratch, kLanes);
      emitIfLess(m, 0, steps, [&] {
        emitSteps(steps, best, [&](Index k) {
          return lines.part(m, 0, number, k * kLanes, kLanes);
        });
      });
      Index lanes = min(steps, 1) * kLanes;
      found = emitCarried(m, 0, lanes, found, [&](Index i, ValueRange x) {
        Value at = m.value(i);
        Value value = memref::LoadOp::create(b, loc, best.values, at);
        Value step = memref::LoadOp::create(b, loc, best.positions, at);
        Index position =
            m(arith::IndexCastOp::create(b, loc, b.getIndexType(), step)) *
                kLanes +
            i;
        return better(x, value, asCounter(position));
      });
    }
    found = emitCarried(
        m, steps * kLanes, length, found, [&](Index i, ValueRange x) {
          Value value = loadAt(m, src.base, begin + i * src.step);
          return better(x, value, asCounter(i));
        });
    const Lines::Tensor &dst = lines[1];
    storeAt(m,
            resized(b, found[1],
                    cast<MemRefType>(dst.base.getType()).getElementType()),
            dst.base, lines.begin(1, number));
  }

  static constexpr int64_t kPositionBytes = 8;

  GroupContext &ctx;
  IndexMath &m;
  OpBuilder &b;
  Location loc;
  const Lines &lines;
  bool largest, last;
  Type element, stored; // of src
  Index length;
  IntegerType counter; // of positions
};

} // namespace

void lowerArgExtreme(GroupContext &ctx, Operation *op) {
  Strided src = ctx.memoryOf(op->getOperand(0)), dst = ctx.result();
  int64_t axis = normalizedAxis(intAttr(op, "axis"), src.rank());
  if (!boolAttr(op, "keep_dims")) {
    dst.sizes.insert(dst.sizes.begin() + axis, 1);
    dst.strides.insert(dst.strides.begin() + axis, 0);
  }
  Lines lines({src, dst}, axis);
  if (lines.areEmpty())
    return;
  requireLess(ctx, 0, lines[0].length);
  ArgExtreme(ctx, op, lines).emit();
}

} // namespace tenon::passes
