//===- ScalarRegion.cpp - regions on scalars, on boxes of scores ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/attention/ScalarRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tenon::passes {

static Value f32Constant(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}

/// x * r, which may be rounded together with a sum that it is a term of.
static Value product(OpBuilder &b, Location loc, Value x, Value r) {
  return arith::MulFOp::create(b, loc, x, r, arith::FastMathFlags::contract);
}

/// x / d for a d that all elements of a row share: the reciprocal is computed
/// once, and the rest of the first quotient corrects it to the exact one, for
/// a third of what divisions cost. Where that fails (infinities, d = 0) the
/// first quotient stands. Only a d below 2^-128 has no reciprocal. The first
/// quotient is within 1.5 ulp, enough for results that are rounded to a
/// `narrow` type.
static Value quotient(OpBuilder &b, Location loc, Value x, Value d,
                      bool narrow) {
  Value r = arith::DivFOp::create(b, loc, f32Constant(b, loc, 1), d);
  if (narrow)
    return product(b, loc, x, r);
  Value first = arith::MulFOp::create(b, loc, x, r);
  Value rest =
      math::FmaOp::create(b, loc, arith::NegFOp::create(b, loc, first), d, x);
  Value exact = math::FmaOp::create(b, loc, rest, r, first);
  Value isNumber =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, exact, exact);
  return arith::SelectOp::create(b, loc, isNumber, exact, first);
}

/// The argument that `x` is, or is in another type.
static BlockArgument argumentOf(Value x) {
  if (auto wide = x.getDefiningOp<arith::ExtFOp>())
    x = wide.getIn();
  return dyn_cast<BlockArgument>(x);
}

/// 1 / `d` for a power of two, or null.
static Value exactReciprocal(OpBuilder &b, Location loc, Value d) {
  llvm::APFloat number(0.f), reciprocal(0.f);
  if (!matchPattern(d, m_ConstantFloat(&number)) ||
      !number.getExactInverse(&reciprocal))
    return {};
  return f32Constant(b, loc, reciprocal.convertToFloat());
}

SmallVector<Value> cloneScalars(OpBuilder &b, Block &region, IRMapping &map,
                                llvm::function_ref<bool(BlockArgument)> shared,
                                bool narrow, Divisor exact) {
  for (Operation &inner : region.without_terminator()) {
    Location loc = inner.getLoc();
    Operation *clone = b.clone(inner, map);
    if (auto sum = dyn_cast<arith::AddFOp>(clone))
      sum.setFastmath(sum.getFastmath() | arith::FastMathFlags::contract);
    auto division = dyn_cast<arith::DivFOp>(inner);
    if (!division || !division.getType().isF32())
      continue;
    Value d = division.getRhs(), x = map.lookupOrDefault(division.getLhs());
    BlockArgument divisor = argumentOf(d);
    bool isConstant = matchPattern(d, m_Constant());
    Value reciprocal =
        d == exact.argument ? exact.reciprocal : exactReciprocal(b, loc, d);
    if (reciprocal)
      map.map(division.getResult(), product(b, loc, x, reciprocal));
    else if (isConstant || (divisor && shared(divisor)))
      map.map(division.getResult(),
              quotient(b, loc, x, map.lookupOrDefault(d), narrow));
    else
      continue;
    clone->erase();
  }
  return llvm::map_to_vector(region.getTerminator()->getOperands(),
                             [&](Value v) { return map.lookupOrDefault(v); });
}

RegionOperands readOperands(IndexMath &m, ArrayRef<Strided> operands,
                            ArrayRef<Index> at, std::array<Index, 2> counts,
                            Block &region, unsigned first) {
  MLIRContext *context = m.builder().getContext();
  RegionOperands result;
  for (auto [i, s] : llvm::enumerate(operands)) {
    if (region.getArgument(first + i).use_empty())
      continue;
    SmallVector<Index> sizes, strides;
    SmallVector<AffineExpr> dims;
    for (auto [dim, size] : llvm::enumerate(counts)) {
      Index stride = s.strides[s.rank() - 2 + dim];
      if (stride.isConstant(0))
        continue;
      sizes.push_back(size);
      strides.push_back(stride);
      dims.push_back(getAffineDimExpr(dim, context));
    }
    result.arguments.push_back(first + i);
    result.maps.push_back(AffineMap::get(2, 0, dims, context));
    result.boxes.push_back(box(m, s.base, offsetOf(s, at), sizes, strides));
  }
  return result;
}

} // namespace tenon::passes
