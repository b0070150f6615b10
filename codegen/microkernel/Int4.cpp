// SPDX-License-Identifier: Apache-2.0
#include "codegen/microkernel/Int4.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tenon::microkernel {

Value halfOfByte(OpBuilder &b, Location loc, Value byte, bool isSigned,
                 int64_t part) {
  Type element = getElementTypeOrSelf(byte.getType());
  constexpr int64_t kHalf = 4;
  int64_t above = element.getIntOrFloatBitWidth() - kHalf;
  auto number = [&](int64_t n) -> Value {
    TypedAttr value = b.getIntegerAttr(element, n);
    if (auto type = dyn_cast<VectorType>(byte.getType()))
      value = DenseElementsAttr::get(type, Attribute(value));
    return arith::ConstantOp::create(b, loc, value);
  };
  if (!isSigned && part == 0)
    return arith::AndIOp::create(b, loc, byte, number((1 << kHalf) - 1));
  if (!isSigned)
    return arith::ShRUIOp::create(b, loc, byte, number(kHalf));
  if (part == 0)
    byte = arith::ShLIOp::create(b, loc, byte, number(above));
  return arith::ShRSIOp::create(b, loc, byte, number(part ? kHalf : above));
}

} // namespace tenon::microkernel
