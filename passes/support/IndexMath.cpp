// SPDX-License-Identifier: Apache-2.0
#include "passes/support/IndexMath.h"

using namespace mlir;

namespace tenon::tiling {

Value IndexMath::value(Ofr v) {
  if (auto c = constant(v))
    return arith::ConstantIndexOp::create(b, loc, *c);
  return cast<Value>(v);
}

static int64_t evaluate(int kind, int64_t x, int64_t y) {
  switch (kind) {
  case 0:
    return x * y;
  case 1:
    return x + y;
  case 2:
    return x - y;
  case 3:
    return y ? (x + y - 1) / y : 0;
  case 4:
    return y ? x / y : 0;
  case 5:
    return y ? x % y : 0;
  case 6:
    return std::min(x, y);
  default:
    return std::max(x, y);
  }
}

Ofr IndexMath::build(Kind kind, Ofr x, Ofr y) {
  auto cx = constant(x), cy = constant(y);
  if (cx && cy)
    return attr(evaluate(static_cast<int>(kind), *cx, *cy));
  if (memoBlock != b.getInsertionBlock()) {
    memo.clear();
    memoBlock = b.getInsertionBlock();
  }
  const void *first = x.getOpaqueValue(), *second = y.getOpaqueValue();
  bool commutes = kind == Kind::mul || kind == Kind::add || kind == Kind::min ||
                  kind == Kind::max;
  if (commutes && second < first)
    std::swap(first, second);
  Value &known = memo[{static_cast<int>(kind), first, second}];
  if (!known)
    known = create(kind, x, y);
  return known;
}

Value IndexMath::create(Kind kind, Ofr x, Ofr y) {
  Value vx = value(x), vy = value(y);
  switch (kind) {
  case Kind::mul:
    return arith::MulIOp::create(b, loc, vx, vy).getResult();
  case Kind::add:
    return arith::AddIOp::create(b, loc, vx, vy).getResult();
  case Kind::sub:
    return arith::SubIOp::create(b, loc, vx, vy).getResult();
  case Kind::ceilDiv: {
    // Operands are never negative: (x + y - 1) / y.
    Value top = arith::SubIOp::create(
        b, loc, arith::AddIOp::create(b, loc, vx, vy), value(1));
    return arith::DivUIOp::create(b, loc, top, vy).getResult();
  }
  case Kind::floorDiv:
    return arith::DivUIOp::create(b, loc, vx, vy).getResult();
  case Kind::rem:
    return arith::RemUIOp::create(b, loc, vx, vy).getResult();
  case Kind::min:
    return arith::MinSIOp::create(b, loc, vx, vy).getResult();
  case Kind::max:
    return arith::MaxSIOp::create(b, loc, vx, vy).getResult();
  }
  return {};
}

Ofr IndexMath::mul(Ofr x, Ofr y) {
  if (isConstant(x, 0) || isConstant(y, 0))
    return attr(0);
  if (isConstant(x, 1))
    return y;
  if (isConstant(y, 1))
    return x;
  return build(Kind::mul, x, y);
}
Ofr IndexMath::add(Ofr x, Ofr y) {
  if (isConstant(x, 0))
    return y;
  if (isConstant(y, 0))
    return x;
  return build(Kind::add, x, y);
}
Ofr IndexMath::sub(Ofr x, Ofr y) {
  return isConstant(y, 0) ? x : build(Kind::sub, x, y);
}
Ofr IndexMath::ceilDiv(Ofr x, Ofr y) {
  return isConstant(y, 1) ? x : build(Kind::ceilDiv, x, y);
}
Ofr IndexMath::floorDiv(Ofr x, Ofr y) {
  return isConstant(y, 1) ? x : build(Kind::floorDiv, x, y);
}
Ofr IndexMath::rem(Ofr x, Ofr y) {
  return isConstant(y, 1) ? attr(0) : build(Kind::rem, x, y);
}
Ofr IndexMath::min(Ofr x, Ofr y) { return build(Kind::min, x, y); }
Ofr IndexMath::max(Ofr x, Ofr y) { return build(Kind::max, x, y); }

Ofr IndexMath::product(llvm::ArrayRef<Ofr> values) {
  Ofr p = attr(1);
  for (Ofr v : values)
    p = mul(p, v);
  return p;
}

} // namespace tenon::tiling
