// SPDX-License-Identifier: Apache-2.0
#include "passes/support/IndexMath.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::passes {

Index IndexMath::operator()(Value value) {
  if (auto c = getConstantIntValue(value))
    return *c;
  return Index(*this, value);
}

Index IndexMath::operator()(OpFoldResult value) {
  if (auto c = getConstantIntValue(value))
    return *c;
  return Index(*this, cast<Value>(value));
}

SmallVector<Index> IndexMath::operator()(ArrayRef<OpFoldResult> list) {
  return llvm::map_to_vector(list, [&](OpFoldResult v) { return (*this)(v); });
}

Value IndexMath::value(Index x) {
  return x.ssa ? x.ssa : arith::ConstantIndexOp::create(b, loc, x.number);
}

OpFoldResult IndexMath::folded(Index x) {
  if (x.ssa)
    return x.ssa;
  return b.getIndexAttr(x.number);
}

SmallVector<OpFoldResult> IndexMath::folded(ArrayRef<Index> list) {
  return llvm::map_to_vector(list, [&](Index x) { return folded(x); });
}

int64_t Index::evaluate(Kind kind, int64_t x, int64_t y) {
  switch (kind) {
  case Kind::mul:
    return x * y;
  case Kind::add:
    return x + y;
  case Kind::sub:
    return x - y;
  case Kind::ceilDiv:
    return y ? ceilDiv(x, y) : 0;
  case Kind::floorDiv:
    return y ? x / y : 0;
  case Kind::rem:
    return y ? x % y : 0;
  case Kind::min:
    return std::min(x, y);
  case Kind::max:
    return std::max(x, y);
  }
  return 0;
}

IndexFacts Index::facts() const {
  return ssa ? math->facts.lookup(ssa) : IndexFacts::of(number);
}

void Index::learn(const IndexFacts &more) const {
  if (!ssa)
    return;
  IndexFacts all = facts().meet(more);
  if (!all.empty())
    math->facts[ssa] = all;
}

IndexFacts Index::combine(Kind kind, const IndexFacts &x, const IndexFacts &y) {
  switch (kind) {
  case Kind::mul:
    return x * y;
  case Kind::add:
    return x + y;
  case Kind::sub:
    return x - y;
  case Kind::ceilDiv:
    return x.ceilDiv(y);
  case Kind::floorDiv:
    return x.floorDiv(y);
  case Kind::rem:
    return x.rem(y);
  case Kind::min:
    return x.least(y);
  case Kind::max:
    return x.greatest(y);
  }
  return {};
}

Index Index::build(Kind kind, Index x, Index y) {
  if (!x.ssa && !y.ssa)
    return evaluate(kind, x.number, y.number);
  IndexMath &m = x.ssa ? *x.math : *y.math;
  // Nothing follows from constants alone.
  IndexFacts facts;
  if ((x.ssa && m.facts.contains(x.ssa)) ||
      (y.ssa && m.facts.contains(y.ssa))) {
    IndexFacts fx = x.facts(), fy = y.facts();
    facts = combine(kind, fx, fy);
    if (facts.min == facts.max)
      return facts.min;
    if ((kind == Kind::min && fx.max <= fy.min) ||
        (kind == Kind::max && fx.min >= fy.max) ||
        (kind == Kind::rem && fx.min >= 0 && fx.max < fy.min))
      return x;
    if ((kind == Kind::min && fy.max <= fx.min) ||
        (kind == Kind::max && fy.min >= fx.max))
      return y;
  }
  auto keyOf = [](Index v) {
    return IndexMath::Operand(v.ssa.getAsOpaquePointer(), v.ssa ? 0 : v.number);
  };
  IndexMath::Operand first = keyOf(x), second = keyOf(y);
  bool commutes = kind == Kind::mul || kind == Kind::add || kind == Kind::min ||
                  kind == Kind::max;
  if (commutes && second < first)
    std::swap(first, second);
  Value &known =
      m.memo[{m.b.getInsertionBlock(), static_cast<int>(kind), first, second}];
  if (!known)
    known = m.create(kind, x, y);
  Index result(m, known);
  result.learn(facts);
  return result;
}

Value IndexMath::create(Kind kind, Index x, Index y) {
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

Index operator*(Index x, Index y) {
  if (x.isConstant(0) || y.isConstant(0))
    return 0;
  if (x.isConstant(1))
    return y;
  if (y.isConstant(1))
    return x;
  return Index::build(Index::Kind::mul, x, y);
}

Index operator+(Index x, Index y) {
  if (x.isConstant(0))
    return y;
  if (y.isConstant(0))
    return x;
  return Index::build(Index::Kind::add, x, y);
}

Index operator-(Index x, Index y) {
  return y.isConstant(0) ? x : Index::build(Index::Kind::sub, x, y);
}

Index operator/(Index x, Index y) {
  return y.isConstant(1) ? x : Index::build(Index::Kind::floorDiv, x, y);
}

Index operator%(Index x, Index y) {
  return y.isConstant(1) ? Index(0) : Index::build(Index::Kind::rem, x, y);
}

Index ceilDiv(Index x, Index y) {
  return y.isConstant(1) ? x : Index::build(Index::Kind::ceilDiv, x, y);
}

Index min(Index x, Index y) { return Index::build(Index::Kind::min, x, y); }

Index max(Index x, Index y) { return Index::build(Index::Kind::max, x, y); }

Index product(ArrayRef<Index> values) {
  Index p = 1;
  for (Index v : values)
    p *= v;
  return p;
}

} // namespace tenon::passes
