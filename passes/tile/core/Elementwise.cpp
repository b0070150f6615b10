// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/core/Elementwise.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::passes {

Operation *pointwise(IndexMath &m, ValueRange ins, ValueRange outs,
                     ElementsBody body) {
  int64_t rank = cast<MemRefType>(outs.front().getType()).getRank();
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  SmallVector<AffineMap> maps(ins.size() + outs.size(),
                              m.builder().getMultiDimIdentityMap(rank));
  return linalg::GenericOp::create(
      m.builder(), m.location(), TypeRange{}, ins, outs, maps, iterators,
      [&](OpBuilder &nb, Location nl, ValueRange args) {
        linalg::YieldOp::create(nb, nl, body(nb, nl, args));
      });
}

Operation *pointwise(IndexMath &m, ValueRange ins, Value out,
                     ElementBody body) {
  return pointwise(m, ins, ValueRange(out),
                   [&](OpBuilder &b, Location loc, ValueRange args) {
                     return SmallVector<Value>{body(b, loc, args)};
                   });
}

void convert(IndexMath &m, Value in, Value out) {
  Type type = cast<MemRefType>(out.getType()).getElementType();
  pointwise(m, in, out, [&](OpBuilder &b, Location loc, ValueRange args) {
    Value x = args[0];
    unsigned from = x.getType().getIntOrFloatBitWidth(),
             to = type.getIntOrFloatBitWidth();
    if (from < to)
      x = arith::ExtFOp::create(b, loc, type, x);
    else if (from > to)
      x = arith::TruncFOp::create(b, loc, type, x);
    return x;
  });
}

void fill(IndexMath &m, Value out, double value) {
  Type type = cast<MemRefType>(out.getType()).getElementType();
  TypedAttr attr = isa<FloatType>(type)
                       ? TypedAttr(m.builder().getFloatAttr(type, value))
                       : TypedAttr(m.builder().getIntegerAttr(
                             type, static_cast<int64_t>(value)));
  pointwise(m, {}, out, [&](OpBuilder &b, Location loc, ValueRange) -> Value {
    return arith::ConstantOp::create(b, loc, attr);
  });
}

} // namespace tenon::passes
