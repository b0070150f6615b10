//===- LowerTopK.cpp - the first elements of an order ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each line is brought to keys in scratch memory, which have the order that is
// asked for (SortKeys). A few of them are kept sorted while the others pass;
// where many are wanted, all are sorted.
//
//===----------------------------------------------------------------------===//
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/movement/Search.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Keys that are kept sorted: to insert one takes as many steps. A line has
/// kept * ln(length / kept) insertions, if its order is random.
constexpr int64_t kMostKept = 64;

class TopK {
public:
  TopK(GroupContext &ctx, Operation *op, const Lines &lines)
      : ctx(ctx), m(ctx.m), b(m.builder()), loc(m.location()), lines(lines),
        values(outputOf(ctx, op->getResult(0))),
        numbers(op->getNumResults() > 1 ? outputOf(ctx, op->getResult(1))
                                        : nullptr),
        keys(m, rankedType(op->getOperand(0)).getElementType(),
             boolAttr(op, "largest", /*fallback=*/true)),
        length(lines[0].length), k(*lines[1].length.constant()) {}

  void emit() {
    requireLess(ctx, k - 1, length);
    bool few = k <= kMostKept && 2 * k <= length.constant().value_or(2 * k);
    Index bytes = few ? keys.bytesOf(length + k) : keys.bytesToSort(length);
    lines.emitLines(ctx, bytes, [&](Index number, Value scratch) {
      Value line = lines.part(m, 0, number, 0, length);
      if (few) {
        Value all = keys.view(scratch, 0, length);
        Value kept = keys.view(scratch, keys.bytesOf(length), k);
        keys.fill(line, all);
        emitKept(all, kept);
        store(number, kept, 0);
        return;
      }
      Value all = keys.view(scratch, 0, 2 * length + 1);
      keys.fill(line, keys.view(scratch, 0, length));
      store(number, all, keys.sort(all, length));
    });
  }

private:
  Value load(Value from, Index i) {
    return memref::LoadOp::create(b, loc, from, m.value(i));
  }

  /// kept = the first k of `all`, sorted.
  void emitKept(Value all, Value kept) {
    emitLoop(m, 0, k, [&](Index i) {
      memref::StoreOp::create(b, loc, keys.last(), kept, m.value(i));
    });
    emitLoop(m, 0, length, [&](Index i) {
      Value key = load(all, i);
      emitIf(m, keys.isBefore(key, load(kept, k - 1)), [&] {
        // Each place keeps the earlier key; the later one goes on.
        emitCarried(m, 0, k, key, [&](Index place, ValueRange x) {
          Value old = load(kept, place);
          Value isBefore = keys.isBefore(x[0], old);
          auto pick = [&](Value yes, Value no) -> Value {
            return arith::SelectOp::create(b, loc, isBefore, yes, no);
          };
          memref::StoreOp::create(b, loc, pick(x[0], old), kept,
                                  m.value(place));
          return SmallVector<Value>{pick(old, x[0])};
        });
      });
    });
  }

  /// Stores what the keys from `first` on are of.
  void store(Index number, Value sorted, Index first) {
    const Lines::Tensor &src = lines[0];
    Index begin = lines.begin(0, number);
    emitLoop(m, 0, k, [&](Index i) {
      Index found = keys.numberOf(load(sorted, first + i));
      int64_t result = 1;
      if (values) {
        Value v = loadAt(m, src.base, begin + found * src.step);
        storeAt(number, result, i, v);
        ++result;
      }
      if (numbers)
        storeAt(number, result, i,
                arith::IndexCastOp::create(b, loc, numbers->elementType(),
                                           m.value(found)));
    });
  }

  void storeAt(Index number, int64_t tensor, Index i, Value v) {
    const Lines::Tensor &dst = lines[tensor];
    passes::storeAt(m, v, dst.base, lines.begin(tensor, number) + i * dst.step);
  }

  GroupContext &ctx;
  IndexMath &m;
  OpBuilder &b;
  Location loc;
  const Lines &lines; // of src, and of the results that are read
  const Strided *values, *numbers;
  SortKeys keys;
  Index length;
  int64_t k;
};

} // namespace

void lowerTopK(GroupContext &ctx, Operation *op) {
  Strided src = ctx.memoryOf(op->getOperand(0));
  SmallVector<Strided> tensors{src};
  for (Value result : op->getResults())
    if (const Strided *dst = outputOf(ctx, result))
      tensors.push_back(*dst);
  Lines lines(tensors, normalizedAxis(intAttr(op, "axis"), src.rank()));
  if (!lines.count().isConstant(0) && !lines[1].length.isConstant(0))
    TopK(ctx, op, lines).emit();
}

} // namespace tenon::passes
