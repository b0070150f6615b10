// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/IntegerOps.h"

#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;

namespace tenon::passes {

namespace {

/// Arithmetic on values of one integer type.
struct IntCalc {
  OpBuilder &b;
  Location loc;
  Operation *op;
  SmallVector<Value> in;
  bool isSigned, isBoolean;

  using P = arith::CmpIPredicate;

  Value x() { return in[0]; }
  Type type() { return in[0].getType(); }
  unsigned width() { return type().getIntOrFloatBitWidth(); }
  Value c(int64_t v) {
    return arith::ConstantOp::create(
        b, loc, b.getIntegerAttr(type(), APInt(width(), v, /*isSigned=*/true)));
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, loc, x, y); }
  Value cmp(P p, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, p, x, y);
  }
  Value lt(Value x, Value y) { return cmp(isSigned ? P::slt : P::ult, x, y); }
  Value select(Value c, Value x, Value y) {
    return arith::SelectOp::create(b, loc, c, x, y);
  }
  Value max(Value x, Value y) {
    if (isSigned)
      return arith::MaxSIOp::create(b, loc, x, y);
    return arith::MaxUIOp::create(b, loc, x, y);
  }
  Value min(Value x, Value y) {
    if (isSigned)
      return arith::MinSIOp::create(b, loc, x, y);
    return arith::MinUIOp::create(b, loc, x, y);
  }
  Value bitAnd(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value bitOr(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value bitXor(Value x, Value y) { return arith::XOrIOp::create(b, loc, x, y); }
  /// A bit as a byte.
  Value byte(Value bit) {
    return arith::ExtUIOp::create(b, loc, b.getI8Type(), bit);
  }
  Value truth(Value v) { return byte(cmp(P::ne, v, c(0))); }
};

using Rule = Value (*)(IntCalc &);

//===----------------------------------------------------------------------===//
// Quotients
//===----------------------------------------------------------------------===//

/// x / y without its fraction, of integers of at most 32 bits, by a float that
/// holds the operands exactly and enough digits of the quotient: no vector
/// instruction divides integers. y is not 0. The quotient of the least number
/// by -1 is one more than the largest; it wraps around.
Value floatQuotient(IntCalc &k, Value x, Value y) {
  OpBuilder &b = k.b;
  Location loc = k.loc;
  unsigned width = k.width();
  Type real = width < 16 ? Type(b.getF32Type()) : Type(b.getF64Type());
  Type wide = b.getI32Type();
  auto widened = [&](Value v) -> Value {
    if (width < 32)
      v = k.isSigned ? arith::ExtSIOp::create(b, loc, wide, v).getResult()
                     : arith::ExtUIOp::create(b, loc, wide, v).getResult();
    return arith::SIToFPOp::create(b, loc, real, v);
  };
  Value q = arith::DivFOp::create(b, loc, widened(x), widened(y));
  auto number = [&](double v) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(real, v));
  };
  if (width < 32) {
    Value i = arith::FPToSIOp::create(b, loc, wide, q);
    return arith::TruncIOp::create(b, loc, k.type(), i);
  }
  Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, q,
                                      number(std::ldexp(1.0, 31)));
  Value inside = arith::SelectOp::create(b, loc, above, number(0), q);
  Value i = arith::FPToSIOp::create(b, loc, wide, inside);
  return k.select(above, k.c(std::numeric_limits<int32_t>::min()), i);
}

/// The quotient without its fraction; 0 for a divisor of 0.
Value quotient(IntCalc &k) {
  Value x = k.in[0], y = k.in[1];
  Value isZero = k.cmp(IntCalc::P::eq, y, k.c(0));
  Value divisor = k.select(isZero, k.c(1), y);
  Value q;
  if (k.width() <= 32) {
    q = floatQuotient(k, x, divisor);
  } else {
    // The least number by -1 has no quotient of the type.
    Value isNegation = k.cmp(IntCalc::P::eq, y, k.c(-1));
    divisor = k.select(isNegation, k.c(1), divisor);
    q = arith::DivSIOp::create(k.b, k.loc, x, divisor);
    q = k.select(isNegation, k.sub(k.c(0), x), q);
  }
  return k.select(isZero, k.c(0), q);
}

/// x for a divisor of 0.
Value remainder(IntCalc &k) {
  Value x = k.in[0], y = k.in[1];
  Value rest = k.sub(x, k.mul(quotient(k), y));
  if (stringAttr(k.op, "mode") == "trunc" || !k.isSigned)
    return rest;
  // In mode floor the result has the sign of y.
  Value zero = k.c(0);
  Value differ = k.lt(k.bitXor(rest, y), zero);
  Value adjust = k.bitAnd(k.cmp(IntCalc::P::ne, rest, zero), differ);
  adjust = k.bitAnd(adjust, k.cmp(IntCalc::P::ne, y, zero));
  return k.add(rest, k.select(adjust, y, zero));
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

Value abs(IntCalc &k) {
  if (!k.isSigned)
    return k.x();
  return k.select(k.lt(k.x(), k.c(0)), k.sub(k.c(0), k.x()), k.x());
}

/// The nearest integers between the bounds, saturated to the type.
Value clamp(IntCalc &k) {
  unsigned width = k.width();
  double least = k.isSigned ? -std::ldexp(1.0, width - 1) : 0;
  double above = std::ldexp(1.0, k.isSigned ? width - 1 : width);
  auto bound = [&](double v) {
    APInt most = k.isSigned ? APInt::getSignedMaxValue(width)
                            : APInt::getMaxValue(width);
    APInt lowest =
        k.isSigned ? APInt::getSignedMinValue(width) : APInt::getZero(width);
    APInt value = v >= above   ? most
                  : v <= least ? lowest
                               : APInt(width, static_cast<int64_t>(v),
                                       /*isSigned=*/true);
    return arith::ConstantOp::create(k.b, k.loc,
                                     k.b.getIntegerAttr(k.type(), value));
  };
  Value low = bound(std::ceil(floatAttr(k.op, "min")));
  Value high = bound(std::floor(floatAttr(k.op, "max")));
  // As the evaluator: low wins where no integer is between the bounds.
  Value below = k.lt(k.x(), low);
  return k.select(below, low, k.min(k.x(), high));
}

template <IntCalc::P isSigned, IntCalc::P isUnsigned>
Value compare(IntCalc &k) {
  return k.byte(k.cmp(k.isSigned ? isSigned : isUnsigned, k.in[0], k.in[1]));
}

struct Entry {
  const char *kind;
  Rule rule;
};

/// Booleans are 0 or 1 here.
const Entry kTable[] = {
    {"Abs", abs},
    {"Add",
     [](IntCalc &k) {
       return k.isBoolean ? k.bitOr(k.in[0], k.in[1]) : k.add(k.in[0], k.in[1]);
     }},
    {"And", [](IntCalc &k) { return k.bitAnd(k.in[0], k.in[1]); }},
    {"Clamp", clamp},
    {"Divide", quotient},
    {"Equal", compare<IntCalc::P::eq, IntCalc::P::eq>},
    {"Greater", compare<IntCalc::P::sgt, IntCalc::P::ugt>},
    {"GreaterEqual", compare<IntCalc::P::sge, IntCalc::P::uge>},
    {"Maximum", [](IntCalc &k) { return k.max(k.in[0], k.in[1]); }},
    {"Minimum", [](IntCalc &k) { return k.min(k.in[0], k.in[1]); }},
    {"Multiply",
     [](IntCalc &k) {
       return k.isBoolean ? k.bitAnd(k.in[0], k.in[1])
                          : k.mul(k.in[0], k.in[1]);
     }},
    {"Not",
     [](IntCalc &k) { return k.bitXor(k.x(), k.c(k.isBoolean ? 1 : -1)); }},
    {"Or", [](IntCalc &k) { return k.bitOr(k.in[0], k.in[1]); }},
    {"Remainder", remainder},
    {"Subtract", [](IntCalc &k) { return k.sub(k.in[0], k.in[1]); }},
};

} // namespace

Value emitIntegerScalar(OpBuilder &b, Location loc, Operation *op, Type element,
                        ValueRange operands) {
  auto *entry = llvm::find_if(
      kTable, [&](const Entry &e) { return kindOf(op) == e.kind; });
  if (entry == std::end(kTable))
    return {};
  bool isBoolean = element.isInteger(1);
  IntCalc k{b,
            loc,
            op,
            SmallVector<Value>(operands),
            !isBoolean && !element.isUnsignedInteger(),
            isBoolean};
  if (isBoolean)
    for (Value &v : k.in)
      v = k.truth(v);
  return entry->rule(k);
}

} // namespace tenon::passes
