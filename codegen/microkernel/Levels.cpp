#include "codegen/microkernel/Levels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tenon::microkernel {

Value halfOfByte(OpBuilder &b, Location loc, Value byte, bool isSigned,
                 int64_t part) {
  constexpr int32_t kHalf = 4, kAbove = 28;
  auto number = [&](int32_t n) -> Value {
    TypedAttr value = b.getI32IntegerAttr(n);
    if (auto type = dyn_cast<VectorType>(byte.getType()))
      value = DenseElementsAttr::get(type, Attribute(value));
    return arith::ConstantOp::create(b, loc, value);
  };
  if (!isSigned && part == 0)
    return arith::AndIOp::create(b, loc, byte, number((1 << kHalf) - 1));
  if (!isSigned)
    return arith::ShRUIOp::create(b, loc, byte, number(kHalf));
  if (part == 0)
    byte = arith::ShLIOp::create(b, loc, byte, number(kAbove));
  return arith::ShRSIOp::create(b, loc, byte, number(part ? kHalf : kAbove));
}

} // namespace tenon::microkernel
