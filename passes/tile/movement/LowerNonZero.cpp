//===- LowerNonZero.cpp - positions of what is not 0 ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Three sections: each block counts its elements that are not 0; one item makes
// of the counts where each block begins to write; each block writes positions,
// and zeros to what is left behind them.
//
//===----------------------------------------------------------------------===//
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/movement/IndexedAccess.h"
#include "passes/tile/movement/Search.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Elements of a block: a multiple of what it costs to begin one.
constexpr int64_t kBlock = 8 << 10;
/// Blocks of a tensor whose size is not known.
constexpr int64_t kBlocks = 256;
/// Counts side by side.
constexpr int64_t kLanes = 64;

class NonZero {
public:
  NonZero(GroupContext &ctx, Operation *op)
      : ctx(ctx), m(ctx.m), b(m.builder()), loc(m.location()),
        src(ctx.memoryOf(op->getOperand(0))),
        indices(outputOf(ctx, op->getResult(0))),
        count(outputOf(ctx, op->getResult(1))), size(product(src.sizes)),
        i64(b.getI64Type()) {
    auto known = size.constant();
    blocks = known ? ceilDiv(*known, kBlock) : kBlocks;
    block = known ? Index(kBlock) : ceilDiv(size, kBlocks);
  }

  void emit() {
    elements = asRow();
    begins =
        memref::AllocOp::create(b, loc, MemRefType::get({blocks + 1}, i64));
    if (blocks > 0)
      emitCounts();
    emitBegins(ctx, begins, blocks, count);
    if (blocks > 0 && indices && !src.sizes.empty())
      emitPositions();
  }

private:
  /// src as one dim, copied if its strides do not allow that. Absent where so
  /// much memory is not known.
  std::optional<Strided> asRow() {
    if (auto row = reshape(src, {size}))
      return row;
    SmallVector<int64_t> sizes;
    for (Index d : src.sizes) {
      if (!d.constant())
        return std::nullopt;
      sizes.push_back(*d.constant());
    }
    Strided dense =
        stridedOf(m, memref::AllocOp::create(
                         b, loc, MemRefType::get(sizes, src.elementType())));
    emitCopy(ctx, src, dense);
    return reshape(dense, {size});
  }

  Value isNonZero(OpBuilder &nb, Value v) {
    Value zero =
        arith::ConstantOp::create(nb, loc, nb.getZeroAttr(v.getType()));
    if (isa<FloatType>(v.getType())) // NaN is not 0
      return arith::CmpFOp::create(nb, loc, arith::CmpFPredicate::UNE, v, zero);
    return arith::CmpIOp::create(nb, loc, arith::CmpIPredicate::ne, v, zero);
  }
  Value added(Value sum, Value bit) {
    return arith::AddIOp::create(
        b, loc, sum, arith::ExtUIOp::create(b, loc, sum.getType(), bit));
  }
  Value number(int64_t v) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v));
  }
  Value element(Index i) {
    if (!elements)
      return loadAt(m, src.base, offsetOf(src, positionOf(i, src.sizes)));
    return loadAt(m, elements->base,
                  elements->offset.value_or(0) + i * elements->strides[0]);
  }

  void emitCounts() {
    Type i32 = b.getI32Type();
    emitItems(m, ctx.label, blocks, kLanes * 4, [&](Index item, Value scratch) {
      Index from = min(item * block, size), to = min(from + block, size);
      Index steps = elements ? (to - from) / kLanes : Index(0);
      Value counts = scratchView(m, scratch, i32, 0, kLanes);
      fill(m, counts, 0);
      if (elements)
        emitLoop(m, 0, steps, [&](Index step) {
          Index at = from + step * kLanes;
          Value row =
              box(m, elements->base,
                  elements->offset.value_or(0) + at * elements->strides[0],
                  {kLanes}, {elements->strides[0]});
          pointwise(m, row, counts,
                    [&](OpBuilder &nb, Location l, ValueRange x) -> Value {
                      Value bit = isNonZero(nb, x[0]);
                      bit = arith::ExtUIOp::create(nb, l, i32, bit);
                      return arith::AddIOp::create(nb, l, x[1], bit);
                    });
        });
      SmallVector<Value> sum =
          emitCarried(m, 0, kLanes, number(0), [&](Index i, ValueRange x) {
            Value lane = memref::LoadOp::create(b, loc, counts, m.value(i));
            return SmallVector<Value>{added(x[0], lane)};
          });
      sum = emitCarried(
          m, from + steps * kLanes, to, sum, [&](Index i, ValueRange x) {
            return SmallVector<Value>{added(x[0], isNonZero(b, element(i)))};
          });
      memref::StoreOp::create(b, loc, sum.front(), begins, m.value(item));
    });
  }

  Value asIndex(Value v) {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), v);
  }

  void store(int64_t d, Index column, Value v) {
    storeAt(m, v, indices->base,
            indices->offset.value_or(0) + d * indices->strides[0] +
                column * indices->strides[1]);
  }

  void emitPositions() {
    emitItems(m, ctx.label, blocks, [&](Index item) {
      Index from = min(item * block, size), to = min(from + block, size);
      Value first = memref::LoadOp::create(b, loc, begins, m.value(item));
      emitCarried(m, from, to, first, [&](Index i, ValueRange x) {
        Value found = isNonZero(b, element(i));
        emitIf(m, found, [&] {
          Index column = m(asIndex(x[0]));
          for (auto [d, position] : llvm::enumerate(positionOf(i, src.sizes)))
            store(d, column,
                  arith::IndexCastOp::create(b, loc, indices->elementType(),
                                             m.value(position)));
        });
        return SmallVector<Value>{added(x[0], found)};
      });
      Index all =
          m(asIndex(memref::LoadOp::create(b, loc, begins, m.value(blocks))));
      Value zero = arith::ConstantOp::create(
          b, loc, b.getZeroAttr(indices->elementType()));
      for (int64_t d = 0; d < src.rank(); ++d)
        emitLoop(m, max(from, all), to,
                 [&](Index column) { store(d, column, zero); });
    });
  }

  GroupContext &ctx;
  IndexMath &m;
  OpBuilder &b;
  Location loc;
  Strided src;
  std::optional<Strided> elements; // src as one dim
  const Strided *indices, *count;
  Index size, block; // elements, of src and of a block
  int64_t blocks;
  Type i64;
  Value begins; // of blocks
};

} // namespace

void lowerNonZero(GroupContext &ctx, Operation *op) { NonZero(ctx, op).emit(); }

} // namespace tenon::passes
