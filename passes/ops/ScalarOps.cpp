// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/ScalarOps.h"

#include "codegen/math/MathFunctions.h"
#include "dialects/graph/OpFacts.h"
#include "passes/ops/IntegerOps.h"
#include "passes/ops/ScalarCalc.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;

namespace tenon::passes {

Value emitGreater(OpBuilder &b, Location loc, Value x, Value y) {
  Value first = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y);
  return arith::SelectOp::create(b, loc, first, x, y);
}

Value emitExpOrZero(OpBuilder &b, Location loc, Value x, bool isFinite) {
  auto flags = arith::FastMathFlags::afn;
  if (isFinite)
    flags = flags | arith::FastMathFlags::ninf;
  return math::ExpOp::create(b, loc, x, flags);
}

Value emitExpOfDifference(OpBuilder &b, Location loc, Value x, Value y) {
  using Flags = arith::FastMathFlags;
  Value d = arith::SubFOp::create(b, loc, x, y);
  return math::ExpOp::create(b, loc, d,
                             Flags::afn | Flags::ninf | Flags::reassoc);
}

Value emitLogistic(OpBuilder &b, Location loc, Value x) {
  auto c = [&](double v) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(x.getType(), v));
  };
  auto limited = [&](Value v, arith::CmpFPredicate beyond, double limit) {
    Value isBeyond = arith::CmpFOp::create(b, loc, beyond, v, c(limit));
    return std::pair(isBeyond, Value(arith::SelectOp::create(b, loc, isBeyond,
                                                             c(limit), v)));
  };
  // What would be denormal is 0, so that exp(-x) is finite; below exp(-40) it
  // adds nothing to 1. NaN stays.
  constexpr double kLargest = 87.336; // 2^126 = exp(87.3365)
  Value y = arith::SubFOp::create(b, loc, c(0), x);
  auto [tiny, z] = limited(y, arith::CmpFPredicate::OGT, kLargest);
  z = limited(z, arith::CmpFPredicate::OLT, -40).second;
  Value e = emitExpOrZero(b, loc, z, /*isFinite=*/true);
  y = arith::DivFOp::create(b, loc, c(1),
                            arith::AddFOp::create(b, loc, c(1), e));
  return arith::SelectOp::create(b, loc, tiny, c(0), y);
}

namespace {

using Rule = Value (*)(Calc &);

constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kInvSqrt2Pi = 0.39894228040143267794;
constexpr double kGeluCubic = 0.044715;

/// The distance of the normal distribution from its limit on the side of x,
/// Phi(-|x|) = density * ratio: not by 1 + erf, which has no digits left there.
struct NormalTail {
  Value density; // exp(-x^2 / 2)
  Value ratio;
};

/// From there the density is less than any normal number, or than any number.
constexpr double kNormalEnd = 13.25, kDenormalEnd = 14.5;

/// `isNormal`: a density less than any normal number is 0.
NormalTail normalTail(Calc &k, bool isNormal) {
  Value t = k.atMost(k.abs(k.x()), k.c(isNormal ? kNormalEnd : kDenormalEnd));
  Value half = k.mul(k.c(-0.5), t), exponent = k.mul(half, t);
  // Of the exact product: an exponent of -87 is rounded by 87 units.
  using Flags = arith::FastMathFlags;
  auto flags =
      isNormal ? Flags::afn | Flags::ninf | Flags::reassoc : Flags::none;
  Value density =
      math::ExpOp::create(k.b, k.loc, exponent, flags | Flags::contract);
  return {density, codegen::emitNormalTailRatio(k.b, k.loc, t)};
}

/// x Phi(x) is what the tail, times |x|, leaves of x, or of 0 where x is
/// negative.
Value geluErf(Calc &k) {
  auto [density, ratio] = normalTail(k, /*isNormal=*/true);
  // Infinity by the ratio only where 0 times it is to be NaN.
  Value away = k.atLeast(k.neg(k.x()), k.atMost(k.abs(k.x()), k.c(kNormalEnd)));
  return k.fma(k.neg(k.mul(away, ratio)), density, k.atLeast(k.x(), k.c(0)));
}

/// 2 u, u = sqrt(2 / pi) (x + 0.044715 x^3): (1 + tanh u) / 2 is logistic(2 u),
/// which costs less.
Value geluTanhArgument(Calc &k) {
  Value x2 = k.mul(k.x(), k.x());
  Value inner = k.mul(k.x(), k.add(k.c(1), k.mul(k.c(kGeluCubic), x2)));
  return k.mul(k.c(2 * kSqrt2OverPi), inner);
}

Value gelu(Calc &k) {
  if (stringAttr(k.op, "mode") != "gelu_tanh")
    return geluErf(k);
  return k.mul(k.x(), k.logistic(geluTanhArgument(k)));
}

Value geluBackward(Calc &k) {
  Value x = k.x(), dd = k.in[1];
  if (stringAttr(k.op, "mode") != "gelu_tanh") {
    // Phi(x) + x phi(x), where x is negative; that of x and -x is 1.
    auto [density, ratio] = normalTail(k, /*isNormal=*/false);
    Value slope = k.mul(k.c(-kInvSqrt2Pi), k.abs(x));
    Value tail = k.mul(density, k.add(ratio, slope));
    return k.mul(dd, k.select(k.lt(x, k.c(0)), tail, k.sub(k.c(1), tail)));
  }
  // The factor and what it lacks of 1, from the smaller: no cancellation.
  Value argument = geluTanhArgument(k);
  Value e = k.exp(k.neg(k.abs(argument)));
  Value large = k.div(k.c(1), k.add(k.c(1), e)), small = k.mul(e, large);
  Value half = k.select(k.lt(argument, k.c(0)), small, large);
  Value x2 = k.atMost(k.mul(x, x), k.c(1e30)); // times 0, where it is large
  Value dArg = k.mul(k.c(2 * kSqrt2OverPi),
                     k.add(k.c(1), k.mul(k.c(3 * kGeluCubic), x2)));
  Value slope = k.mul(k.mul(small, large), dArg);
  return k.mul(dd, k.add(half, k.mul(x, slope)));
}

/// x tanh(ln(1 + e)) with e = exp(x) is x t / (t + 2), t = e (e + 2): one exp,
/// no cancellation. Beyond x = 20 the factor is 1 in f32, and t stays finite.
Value mish(Calc &k) {
  Value e = k.exp(k.atMost(k.x(), k.c(20)));
  Value t = k.mul(e, k.add(e, k.c(2)));
  return k.mul(k.x(), k.div(t, k.add(t, k.c(2))));
}

/// tanh(sp) + x sigmoid(x) (1 - tanh(sp)^2), sp = ln(1 + e), is
/// (t (t + 2) + 4 x e (e + 1)) / (t + 2)^2 with e and t as above: no
/// cancellation where tanh is almost 1. Below x = -104 e is 0.
Value mishBackward(Calc &k) {
  Value x = k.clamp(k.x(), k.c(-110), k.c(20));
  Value e = k.exp(x);
  Value t = k.mul(e, k.add(e, k.c(2)));
  Value below = k.add(t, k.c(2));
  Value slope = k.mul(k.mul(k.c(4), x), k.mul(e, k.add(e, k.c(1))));
  Value sum = k.add(k.mul(t, below), slope);
  return k.mul(k.in[1], k.div(sum, k.mul(below, below)));
}

Value round(Calc &k) { return math::RoundEvenOp::create(k.b, k.loc, k.x()); }

Value power(Calc &k) {
  if (k.in.size() > 1)
    return math::PowFOp::create(k.b, k.loc, k.x(), k.in[1]);
  double beta = floatAttr(k.op, "beta");
  // The common exponents are exact; the rest goes through powf.
  if (beta == 2)
    return k.mul(k.x(), k.x());
  if (beta == 1)
    return k.x();
  if (beta == 0)
    return k.c(1);
  if (beta == -1)
    return k.div(k.c(1), k.x());
  return math::PowFOp::create(k.b, k.loc, k.x(), k.c(beta));
}

Value softPlus(Calc &k) {
  double beta = floatAttr(k.op, "beta", 1);
  if (beta == 1)
    return k.softplus(k.x());
  // Where e^-v is nothing beside v the result is x, though v may overflow.
  Value v = k.mul(k.c(beta), k.x());
  Value y = k.div(k.softplus(v), k.c(beta));
  return k.select(k.gt(v, k.c(30)), k.x(), y);
}

/// One byte: 0 or 1.
template <arith::CmpFPredicate predicate> Value comparison(Calc &k) {
  Value bit = k.cmp(predicate, k.in[0], k.in[1]);
  return arith::ExtUIOp::create(k.b, k.loc, k.b.getI8Type(), bit);
}

/// Of integers alone (IntegerOps.h).
Value noFloats(Calc &) { llvm_unreachable("an operation on integers"); }

Value selectByte(Calc &k) {
  // Any byte but 0 is true.
  Value zero = arith::ConstantOp::create(k.b, k.loc, k.b.getI8IntegerAttr(0));
  Value bit = arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::ne,
                                    k.in[0], zero);
  return k.select(bit, k.in[1], k.in[2]);
}

Value identity(Calc &k) { return k.x(); }

struct Entry {
  const char *kind;
  Rule rule;
};

/// One row per operation; formulas are those of docs/ops.md.
const Entry kTable[] = {
    {"Abs", [](Calc &k) { return k.abs(k.x()); }},
    {"AbsBackward",
     [](Calc &k) {
       Value zero = k.c(0), dd = k.in[1];
       Value neg = k.select(k.lt(k.x(), zero), k.sub(zero, dd), zero);
       return k.select(k.gt(k.x(), zero), dd, neg);
     }},
    {"Add", [](Calc &k) { return k.add(k.in[0], k.in[1]); }},
    {"And", noFloats},
    {"Atan2", arcTangent},
    {"Clamp", [](Calc &k) { return k.clamp(k.x(), k.a("min"), k.a("max")); }},
    {"ClampBackward",
     [](Calc &k) {
       Value in = arith::AndIOp::create(k.b, k.loc, k.gt(k.x(), k.a("min")),
                                        k.lt(k.x(), k.a("max")));
       return k.select(in, k.in[1], k.c(0));
     }},
    {"Cos", cosine},
    {"Divide", [](Calc &k) { return k.div(k.in[0], k.in[1]); }},
    {"Elu",
     [](Calc &k) {
       Value neg = k.mul(k.a("alpha"), k.expm1(k.x()));
       return k.select(k.gt(k.x(), k.c(0)), k.x(), neg);
     }},
    {"EluBackward",
     [](Calc &k) {
       Value alpha = k.a("alpha"), dd = k.in[1];
       Value slope =
           k.usesDst() ? k.add(k.x(), alpha) : k.mul(alpha, k.exp(k.x()));
       return k.select(k.gt(k.x(), k.c(0)), dd, k.mul(dd, slope));
     }},
    {"Equal", comparison<arith::CmpFPredicate::OEQ>},
    {"Erf", erf},
    {"Exp", [](Calc &k) { return k.exp(k.x()); }},
    {"Expm1", [](Calc &k) { return k.expm1(k.x()); }},
    {"Floor",
     [](Calc &k) -> Value { return math::FloorOp::create(k.b, k.loc, k.x()); }},
    {"GELU", gelu},
    {"GELUBackward", geluBackward},
    {"Greater", comparison<arith::CmpFPredicate::OGT>},
    {"GreaterEqual", comparison<arith::CmpFPredicate::OGE>},
    {"HardSigmoid",
     [](Calc &k) {
       Value v = k.add(k.mul(k.a("alpha"), k.x()), k.a("beta"));
       return k.clamp(v, k.c(0), k.c(1));
     }},
    {"HardSigmoidBackward",
     [](Calc &k) {
       Value v = k.add(k.mul(k.a("alpha"), k.x()), k.a("beta"));
       Value in =
           arith::AndIOp::create(k.b, k.loc, k.gt(v, k.c(0)), k.lt(v, k.c(1)));
       return k.select(in, k.mul(k.in[1], k.a("alpha")), k.c(0));
     }},
    {"HardSwish",
     [](Calc &k) {
       Value v = k.clamp(k.add(k.x(), k.c(3)), k.c(0), k.c(6));
       return k.mul(k.x(), k.div(v, k.c(6))); // x * v may overflow
     }},
    {"HardSwishBackward",
     [](Calc &k) {
       Value x = k.x();
       Value mid = k.div(k.add(k.mul(k.c(2), x), k.c(3)), k.c(6));
       Value v = k.select(k.ge(x, k.c(3)), k.c(1), mid);
       return k.select(k.ge(k.c(-3), x), k.c(0), k.mul(k.in[1], v));
     }},
    {"LeakyReLU",
     [](Calc &k) {
       return k.select(k.ge(k.x(), k.c(0)), k.x(), k.mul(k.a("alpha"), k.x()));
     }},
    {"Log", [](Calc &k) { return k.log(k.x()); }},
    {"Log1p",
     [](Calc &k) -> Value { return math::Log1pOp::create(k.b, k.loc, k.x()); }},
    {"Maximum", [](Calc &k) { return k.max(k.in[0], k.in[1]); }},
    {"Minimum", [](Calc &k) { return k.min(k.in[0], k.in[1]); }},
    {"Mish", mish},
    {"MishBackward", mishBackward},
    {"Multiply", [](Calc &k) { return k.mul(k.in[0], k.in[1]); }},
    {"Not", noFloats},
    {"Or", noFloats},
    {"PReLU",
     [](Calc &k) {
       return k.select(k.ge(k.x(), k.c(0)), k.x(), k.mul(k.in[1], k.x()));
     }},
    {"Pow", power},
    {"ReLU", [](Calc &k) { return k.atLeast(k.x(), k.c(0)); }},
    {"ReLUBackward",
     [](Calc &k) {
       using enum arith::CmpFPredicate;
       Value passes =
           k.cmp(boolAttr(k.op, "propagate_nan") ? UGT : OGT, k.x(), k.c(0));
       return k.select(passes, k.in[1], k.c(0));
     }},
    {"Reciprocal", [](Calc &k) { return k.div(k.c(1), k.x()); }},
    {"Remainder", remainder},
    {"Reorder", identity},
    {"Round", round},
    {"Select", selectByte},
    {"Sigmoid", [](Calc &k) { return k.logistic(k.x()); }},
    {"SigmoidBackward",
     [](Calc &k) {
       if (k.usesDst())
         return k.mul(k.in[1], k.mul(k.x(), k.sub(k.c(1), k.x())));
       // Even in x, and with e = exp(-|x|) e / (1 + e)^2: where d is nearly 1,
       // 1 - d would keep few digits.
       Value e = k.exp(k.sub(k.c(0), k.abs(k.x())));
       Value t = k.add(k.c(1), e);
       return k.mul(k.in[1], k.div(e, k.mul(t, t)));
     }},
    {"Sin", sine},
    {"SoftPlus", softPlus},
    {"SoftPlusBackward",
     [](Calc &k) {
       return k.mul(k.in[1], k.logistic(k.mul(k.a("beta"), k.x())));
     }},
    {"Sqrt", [](Calc &k) { return k.sqrt(k.x()); }},
    {"SqrtBackward",
     [](Calc &k) {
       Value d = k.usesDst() ? k.x() : k.sqrt(k.x());
       return k.div(k.in[1], k.mul(k.c(2), d));
     }},
    {"Square", [](Calc &k) { return k.mul(k.x(), k.x()); }},
    {"SquaredDifference",
     [](Calc &k) {
       Value d = k.sub(k.in[0], k.in[1]);
       return k.mul(d, d);
     }},
    {"Subtract", [](Calc &k) { return k.sub(k.in[0], k.in[1]); }},
    {"Tanh", [](Calc &k) { return k.tanh(k.x()); }},
    {"TanhBackward",
     [](Calc &k) {
       if (k.usesDst())
         return k.mul(k.in[1],
                      k.mul(k.sub(k.c(1), k.x()), k.add(k.c(1), k.x())));
       // 1 / cosh^2: 1 - tanh^2 has no digits left where tanh is nearly 1.
       Value e = k.exp(k.mul(k.c(-2), k.abs(k.x()))), sum = k.add(e, k.c(1));
       Value slope = k.div(k.mul(k.c(4), e), k.mul(sum, sum));
       return k.mul(k.in[1], slope);
     }},
    {"TypeCast", identity}, // castScalar
};

Rule ruleOf(StringRef kind) {
  for (const Entry &e : kTable)
    if (kind == e.kind)
      return e.rule;
  return nullptr;
}

} // namespace

bool isScalarOp(Operation *op) {
  StringRef kind = kindOf(op);
  return !kind.empty() && ruleOf(kind);
}

Value emitScalar(OpBuilder &b, Location loc, Operation *op,
                 ValueRange operands) {
  Type result = rankedType(op->getResult(0)).getElementType();
  if (graph::isCast(op) && !op->hasAttr(kImplicitCastAttr)) {
    // A cast to a narrower float is there to round.
    Value cast =
        castScalar(b, loc, operands[0],
                   rankedType(op->getOperand(0)).getElementType(), result);
    return convertScalar(b, loc, cast, computedType(result));
  }
  Type element = rankedType(op->getOperand(0)).getElementType();
  if (isa<IntegerType>(element))
    if (Value v = emitIntegerScalar(b, loc, op, element, operands))
      return v;
  Rule rule = ruleOf(kindOf(op));
  Calc k{b, loc, op, SmallVector<Value>(operands)};
  // Narrow floats compute in f32.
  for (Value &v : k.in)
    if (auto f = dyn_cast<FloatType>(v.getType()); f && f.getWidth() < 32)
      v = arith::ExtFOp::create(b, loc, b.getF32Type(), v);
  return convertScalar(b, loc, rule(k), computedType(result));
}

Type computedType(Type elementType) {
  auto narrow = dyn_cast<FloatType>(elementType);
  return narrow && narrow.getWidth() == 16
             ? Type(Float32Type::get(elementType.getContext()))
             : storageType(elementType);
}

} // namespace tenon::passes
