// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/movement/Search.h"

#include "dialects/graph/GraphDialect.h"
#include "passes/tile/core/WorkItems.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::passes {

LogicalResult lowerSearch(GroupContext &ctx, Operation *op) {
  auto by = [&](void (*lower)(GroupContext &, Operation *)) {
    lower(ctx, op);
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<graph::ArgMaxOp, graph::ArgMinOp>(
          [&](auto) { return by(lowerArgExtreme); })
      .Case([&](graph::CumSumOp) { return by(lowerCumSum); })
      .Case([&](graph::NonMaxSuppressionOp) {
        return by(lowerNonMaxSuppression);
      })
      .Case([&](graph::NonZeroOp) { return by(lowerNonZero); })
      .Case([&](graph::RoiAlignOp) { return by(lowerRoiAlign); })
      .Case([&](graph::TopKOp) { return by(lowerTopK); })
      .Default([](Operation *other) {
        return other->emitError("no lowering of this movement");
      });
}

void emitBegins(GroupContext &ctx, Value counts, Index blocks,
                const Strided *total) {
  IndexMath &m = ctx.m;
  OpBuilder &b = m.builder();
  Location loc = m.location();
  emitItems(m, ctx.label, 1, [&](Index) {
    Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
    Value all =
        emitCarried(m, 0, blocks, zero, [&](Index i, ValueRange x) {
          Value own = memref::LoadOp::create(b, loc, counts, m.value(i));
          memref::StoreOp::create(b, loc, x[0], counts, m.value(i));
          return SmallVector<Value>{arith::AddIOp::create(b, loc, x[0], own)};
        }).front();
    memref::StoreOp::create(b, loc, all, counts, m.value(blocks));
    if (!total)
      return;
    if (Type type = total->elementType(); type != all.getType())
      all = arith::TruncIOp::create(b, loc, type, all);
    storeAt(m, all, total->base, total->offset.value_or(0));
  });
}

} // namespace tenon::passes
