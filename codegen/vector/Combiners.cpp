//===- Combiners.cpp - how reductions combine -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/vector/Combiners.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::codegen {

static std::optional<arith::AtomicRMWKind> combinerKind(Operation &op) {
  using Kind = arith::AtomicRMWKind;
  return llvm::TypeSwitch<Operation *, std::optional<Kind>>(&op)
      .Case([](arith::AddFOp) { return Kind::addf; })
      .Case([](arith::AddIOp) { return Kind::addi; })
      .Case([](arith::MulFOp) { return Kind::mulf; })
      .Case([](arith::MulIOp) { return Kind::muli; })
      .Case([](arith::MaximumFOp) { return Kind::maximumf; })
      .Case([](arith::MinimumFOp) { return Kind::minimumf; })
      .Case([](arith::MaxNumFOp) { return Kind::maxnumf; })
      .Case([](arith::MinNumFOp) { return Kind::minnumf; })
      .Case([](arith::MaxSIOp) { return Kind::maxs; })
      .Case([](arith::MinSIOp) { return Kind::mins; })
      .Case([](arith::MaxUIOp) { return Kind::maxu; })
      .Case([](arith::MinUIOp) { return Kind::minu; })
      .Case([](arith::AndIOp) { return Kind::andi; })
      .Case([](arith::OrIOp) { return Kind::ori; })
      .Default([](Operation *) { return std::nullopt; });
}

/// old > x ? old : x, or with <, as the larger or smaller one.
static std::optional<Combiner> matchSelect(arith::SelectOp select, Value old) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare || compare.getLhs() != old || select.getTrueValue() != old ||
      compare.getRhs() != select.getFalseValue() ||
      select.getFalseValue() == old || !compare->hasOneUse() ||
      !old.hasNUses(2))
    return std::nullopt;
  arith::CmpFPredicate predicate = compare.getPredicate();
  if (predicate == arith::CmpFPredicate::OGT)
    return Combiner{arith::AtomicRMWKind::maximumf, predicate};
  if (predicate == arith::CmpFPredicate::OLT)
    return Combiner{arith::AtomicRMWKind::minimumf, predicate};
  return std::nullopt;
}

std::optional<Combiner> matchCombiner(linalg::LinalgOp op, unsigned number) {
  Block *body = op.getBlock();
  BlockArgument old = body->getArgument(number);
  Value yielded =
      body->getTerminator()->getOperand(number - op.getNumDpsInputs());
  Operation *combine = yielded.getDefiningOp();
  if (!combine || combine->getBlock() != body)
    return std::nullopt;
  if (auto select = dyn_cast<arith::SelectOp>(combine))
    return matchSelect(select, old);
  if (!old.hasOneUse() || *old.user_begin() != combine)
    return std::nullopt;
  if (auto fma = dyn_cast<math::FmaOp>(combine))
    return fma.getC() == old
               ? std::optional(Combiner{arith::AtomicRMWKind::addf})
               : std::nullopt;
  if (combine->getNumOperands() != 2)
    return std::nullopt;
  std::optional<arith::AtomicRMWKind> kind = combinerKind(*combine);
  if (!kind)
    return std::nullopt;
  auto fast = dyn_cast<arith::ArithFastMathInterface>(combine);
  auto flags = fast ? fast.getFastMathFlagsAttr() : nullptr;
  return Combiner{
      *kind, {}, flags ? flags.getValue() : arith::FastMathFlags::none};
}

Value combine(OpBuilder &b, Location loc, const Combiner &combiner, Value x,
              Value y) {
  if (combiner.selects) {
    Value first = arith::CmpFOp::create(b, loc, *combiner.selects, x, y);
    return arith::SelectOp::create(b, loc, first, x, y);
  }
  Value result = arith::getReductionOp(combiner.kind, b, loc, x, y);
  auto fast = result.getDefiningOp<arith::ArithFastMathInterface>();
  if (fast && combiner.flags != arith::FastMathFlags::none)
    fast->setAttr(
        fast.getFastMathAttrName(),
        arith::FastMathFlagsAttr::get(b.getContext(), combiner.flags));
  return result;
}

Value combineAll(OpBuilder &b, Location loc, const Combiner &combiner,
                 SmallVector<Value> values) {
  while (values.size() > 1) {
    SmallVector<Value> half;
    for (unsigned i = 0; i + 1 < values.size(); i += 2)
      half.push_back(combine(b, loc, combiner, values[i], values[i + 1]));
    if (values.size() % 2)
      half.push_back(values.back());
    values = half;
  }
  return values.front();
}

static int64_t lanesOf(Value vector) {
  return cast<VectorType>(vector.getType()).getDimSize(0);
}

/// Each `part` of `x`, then of `y` (may be null), to half as many lanes.
static Value halve(OpBuilder &b, Location loc, const Combiner &combiner,
                   Value x, Value y, int64_t part) {
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < lanesOf(x) * (y ? 2 : 1); i += part)
    for (int64_t lane = i; lane < i + part / 2; ++lane) {
      low.push_back(lane);
      high.push_back(lane + part / 2);
    }
  Value other = y ? y : x;
  return combine(b, loc, combiner,
                 vector::ShuffleOp::create(b, loc, x, other, low),
                 vector::ShuffleOp::create(b, loc, x, other, high));
}

SmallVector<Value> foldLanes(OpBuilder &b, Location loc,
                             const Combiner &combiner,
                             SmallVector<Value> vectors) {
  size_t count = vectors.size();
  int64_t part = lanesOf(vectors.front()); // what is of one of them
  for (; part > 1 && vectors.size() > 1; part /= 2) {
    if (vectors.size() % 2)
      vectors.push_back(vectors.back());
    SmallVector<Value> half;
    for (unsigned i = 0; i < vectors.size(); i += 2)
      half.push_back(halve(b, loc, combiner, vectors[i], vectors[i + 1], part));
    vectors = half;
  }
  for (; part > 1; part /= 2)
    vectors[0] = halve(b, loc, combiner, vectors[0], nullptr, part);
  SmallVector<Value> results;
  for (Value vector : vectors)
    for (int64_t i = 0; i < lanesOf(vector) && results.size() < count; ++i)
      results.push_back(vector::ExtractOp::create(b, loc, vector, i));
  return results;
}

} // namespace tenon::codegen
