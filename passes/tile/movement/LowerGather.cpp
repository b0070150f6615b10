//===- LowerGather.cpp - sections that read by index ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where indices do not vary along the last loops, an item copies rows: one
// index is read for each, and the row is a loop of vectors. Otherwise an item
// is a loop nest whose innermost loop loads elements one by one.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/movement/IndexedAccess.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Bytes of an item: larger than what it costs to start one, small beside L2.
constexpr int64_t kItemBytes = 32 << 10;
/// Elements from which on a row is copied as one.
constexpr int64_t kMinRow = 4;

void copyBox(IndexMath &m, Value from, Value to) {
  OpBuilder &b = m.builder();
  int64_t rank = cast<MemRefType>(to.getType()).getRank();
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  linalg::GenericOp::create(b, m.location(), TypeRange{}, from, to, maps, loops,
                            [](OpBuilder &nb, Location loc, ValueRange args) {
                              linalg::YieldOp::create(nb, loc, args[0]);
                            });
}

} // namespace

void emitGather(GroupContext &ctx, const IndexedAccess &access,
                const Strided &dst) {
  IndexMath &m = ctx.m;
  int64_t inner = access.innerLoops(), lead = access.rank() - inner;
  ArrayRef<Index> sizes = access.sizes;
  int64_t row = product(sizes.drop_front(lead)).constant().value_or(1);
  // Few elements are loops like others.
  if (row < kMinRow) {
    inner = 0;
    lead = access.rank();
    row = 1;
  }
  int64_t bytes = dst.elementType().getIntOrFloatBitWidth() / 8;
  Index rows = product(sizes.take_front(lead));
  int64_t perItem =
      std::max<int64_t>(kItemBytes / std::max<int64_t>(row * bytes, 1), 1);
  if (rows.isConstant(0) || row == 0)
    return;
  emitItems(m, ctx.label, ceilDiv(rows, perItem), [&](Index item) {
    Index from = item * perItem, to = min(from + perItem, rows);
    emitLoop(m, from, to, [&](Index number) {
      SmallVector<Index> at = positionOf(number, sizes.take_front(lead));
      Index place = access.placeAt(m, at);
      Index target = dst.offset.value_or(0);
      for (auto [position, stride] : llvm::zip(at, dst.strides))
        target += position * stride;
      if (lead == access.rank()) {
        OpBuilder &b = m.builder();
        Value zero = m.value(0);
        Value v = memref::LoadOp::create(
            b, m.location(), box(m, access.tensor.base, place, {1}, {1}), zero);
        memref::StoreOp::create(b, m.location(), v,
                                box(m, dst.base, target, {1}, {1}), zero);
        return;
      }
      ArrayRef<Index> rest = sizes.drop_front(lead);
      copyBox(m,
              box(m, access.tensor.base, place, rest,
                  ArrayRef(access.strides).drop_front(lead)),
              box(m, dst.base, target, rest,
                  ArrayRef(dst.strides).drop_front(lead)));
    });
  });
}

} // namespace tenon::passes
