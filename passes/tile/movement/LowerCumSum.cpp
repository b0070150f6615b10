//===- LowerCumSum.cpp - running sums -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where lines lie side by side, a vector has the sums of several lines so far.
// Otherwise a line is one chain of additions; few long lines are cut into
// blocks, of which the first section makes the sums, and the second one begins
// each block with those of the blocks before it. Where sizes are not known, the
// code has both and chooses when it runs.
//
// Sums of f32 are made in f64: a chain of 10^6 roundings in f32 would be off by
// more than a sum of so many elements is elsewhere.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "passes/ops/Costs.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/movement/Search.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Elements of a block: a multiple of what it costs to begin one.
constexpr int64_t kBlock = 8 << 10;
/// Blocks of a line whose length is not known.
constexpr int64_t kBlocks = 64;

class CumSum {
public:
  CumSum(GroupContext &ctx, Operation *op, const Lines &lines)
      : ctx(ctx), m(ctx.m), b(m.builder()), loc(m.location()), lines(lines),
        exclusive(boolAttr(op, "exclusive")),
        stored(storageType(rankedType(op->getOperand(0)).getElementType())),
        type(isa<FloatType>(stored) ? Type(b.getF64Type()) : stored),
        length(lines[0].length) {}

  void emit() {
    if (lines.areSideBySide())
      return emitSideBySide();
    auto few = lines.count().constant(), elements = length.constant();
    auto chains = [&] { emitChains(); };
    if (few.value_or(0) >= kMinItems || elements.value_or(kLong) < kLong)
      return chains();
    allocateSums();
    if (few && elements)
      return emitBlocks();
    emitIfBelow(
        m, lines.count(), kMinItems,
        [&] { emitIfBelow(m, length, kLong, chains, [&] { emitBlocks(); }); },
        chains);
  }

private:
  static constexpr int64_t kLong = 2 * kBlock;

  Value zero() {
    return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  }
  Value sum(OpBuilder &nb, Value x, Value y) {
    if (isa<FloatType>(type))
      return arith::AddFOp::create(nb, loc, x, y);
    return arith::AddIOp::create(nb, loc, x, y);
  }
  Value widened(OpBuilder &nb, Value x) {
    return type == stored ? x : arith::ExtFOp::create(nb, loc, type, x);
  }
  Value rounded(OpBuilder &nb, Value x) {
    return type == stored ? x : arith::TruncFOp::create(nb, loc, stored, x);
  }

  void emitSideBySide() {
    int64_t bytes = lines.mostInRow() * (type.getIntOrFloatBitWidth() / 8);
    lines.emitRows(ctx, bytes, [&](Index first, Index count, Value scratch) {
      Value sums = scratchView(m, scratch, type, 0, count);
      fill(m, sums, 0);
      emitLoop(m, 0, length, [&](Index k) {
        pointwise(m, lines.row(m, 0, first, k, count),
                  {sums, lines.row(m, 1, first, k, count)},
                  [&](OpBuilder &nb, Location, ValueRange x) {
                    Value next = sum(nb, x[1], widened(nb, x[0]));
                    return SmallVector<Value>{
                        next, rounded(nb, exclusive ? x[1] : next)};
                  });
      });
    });
  }

  Value load(Index begin, Index k) {
    return widened(b, loadAt(m, lines[0].base, begin + k * lines[0].step));
  }

  /// Elements `from` to `to` of a line; `before` is the sum of those before.
  void emitChain(Index number, Index from, Index to, Value before) {
    Index src = lines.begin(0, number), dst = lines.begin(1, number);
    emitCarried(m, from, to, before, [&](Index k, ValueRange x) {
      Value next = sum(b, x[0], load(src, k));
      storeAt(m, rounded(b, exclusive ? x[0] : next), lines[1].base,
              dst + k * lines[1].step);
      return SmallVector<Value>{next};
    });
  }

  void emitChains() {
    lines.emitLines(ctx, 0, [&](Index number, Value) {
      emitChain(number, 0, length, zero());
    });
  }

  /// Memory for those of blocks, which is the group's and not a branch's.
  void allocateSums() {
    if (auto known = length.constant())
      blocks = ceilDiv(*known, kBlock);
    int64_t most = lines.count().constant().value_or(kMinItems) * blocks;
    sums = memref::AllocOp::create(b, loc, MemRefType::get({most}, type));
  }

  void emitBlocks() {
    auto known = length.constant();
    Index block = known ? Index(kBlock) : ceilDiv(length, kBlocks);
    Index items = lines.count() * blocks;
    auto section = [&](llvm::function_ref<void(Index, Index, Index)> body) {
      emitItems(m, ctx.label, items, [&](Index item) {
        Index from = min(item % blocks * block, length);
        body(item, from, min(from + block, length));
      });
    };
    section([&](Index item, Index from, Index to) {
      Index begin = lines.begin(0, item / blocks);
      Value all = emitCarried(m, from, to, zero(), [&](Index k, ValueRange x) {
                    return SmallVector<Value>{sum(b, x[0], load(begin, k))};
                  }).front();
      memref::StoreOp::create(b, loc, all, sums, m.value(item));
    });
    section([&](Index item, Index from, Index to) {
      Index first = item / blocks * blocks;
      Value before =
          emitCarried(m, first, item, zero(), [&](Index i, ValueRange x) {
            Value block = memref::LoadOp::create(b, loc, sums, m.value(i));
            return SmallVector<Value>{sum(b, x[0], block)};
          }).front();
      emitChain(item / blocks, from, to, before);
    });
  }

  GroupContext &ctx;
  IndexMath &m;
  OpBuilder &b;
  Location loc;
  const Lines &lines;
  bool exclusive;
  Type stored, type; // of elements in memory, and of sums
  Index length;
  int64_t blocks = kBlocks; // of a line
  Value sums;               // of blocks
};

} // namespace

void lowerCumSum(GroupContext &ctx, Operation *op) {
  Strided src = ctx.memoryOf(op->getOperand(0));
  Lines lines({src, ctx.result()},
              normalizedAxis(intAttr(op, "axis"), src.rank()));
  if (boolAttr(op, "reverse"))
    lines.reverse();
  if (!lines.areEmpty())
    CumSum(ctx, op, lines).emit();
}

} // namespace tenon::passes
