//===- CausalMask.cpp - scores that a comparison of indices hides ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/attention/CausalMask.h"

#include "dialects/tile/TileDialect.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tenon::passes {

namespace {

constexpr unsigned kRow = 1, kColumn = 2; // arguments of the region
/// Beside a term and indices below it no sum of 32 bits overflows unless the
/// mask hides nothing or all.
constexpr int64_t kMaxConstant = 1 << 29;

/// The comparison that a boolean, stored as a byte and read again, was.
Value comparisonOf(Value condition) {
  auto test = condition.getDefiningOp<arith::CmpIOp>();
  if (!test || test.getPredicate() != arith::CmpIPredicate::ne ||
      !matchPattern(test.getRhs(), m_Zero()))
    return condition;
  auto wide = test.getLhs().getDefiningOp<arith::ExtUIOp>();
  return wide && wide.getIn().getType().isInteger(1) ? wide.getIn() : condition;
}

} // namespace

/// Whether `v` is one number for a whole matrix, with the mask's number for the
/// mask.
bool CausalMask::isConstantOfMatrix(Value v, IsUniform isUniform) {
  if (select && v == select.getResult())
    v = masked;
  if (auto argument = dyn_cast<BlockArgument>(v))
    return argument.getArgNumber() > kColumn && isUniform(argument);
  Operation *op = v.getDefiningOp();
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), [&](Value x) {
           return isConstantOfMatrix(x, isUniform);
         });
}

/// Adds `v` to `sum`, or subtracts it; false if it is not such a sum.
bool CausalMask::add(Sum &sum, Value v, bool subtract, IsUniform isUniform) {
  int64_t sign = subtract ? -1 : 1;
  auto argument = dyn_cast<BlockArgument>(v);
  if (argument && argument.getArgNumber() == kRow)
    sum.row += sign;
  else if (argument && argument.getArgNumber() == kColumn)
    sum.column += sign;
  else if (IntegerAttr c; matchPattern(v, m_Constant(&c))) {
    if (c.getValue().getSignificantBits() > 32)
      return false;
    sum.constant += sign * c.getValue().getSExtValue();
  } else if (isConstantOfMatrix(v, isUniform)) {
    if (sum.term)
      return false;
    sum.term = v;
    sum.subtracted = subtract;
  } else if (auto cast = v.getDefiningOp<arith::IndexCastOp>())
    return add(sum, cast.getIn(), subtract, isUniform);
  else if (auto x = v.getDefiningOp<arith::AddIOp>())
    return add(sum, x.getLhs(), subtract, isUniform) &&
           add(sum, x.getRhs(), subtract, isUniform);
  else if (auto x = v.getDefiningOp<arith::SubIOp>())
    return add(sum, x.getLhs(), subtract, isUniform) &&
           add(sum, x.getRhs(), !subtract, isUniform);
  else
    return false;
  return std::abs(sum.constant) <= kMaxConstant;
}

/// `hides`: the score is masked where the condition holds.
bool CausalMask::readCondition(Value condition, bool hides,
                               IsUniform isUniform) {
  using arith::CmpIPredicate;
  auto test = comparisonOf(condition).getDefiningOp<arith::CmpIOp>();
  if (!test)
    return false;
  CmpIPredicate predicate =
      hides ? arith::invertPredicate(test.getPredicate()) : test.getPredicate();
  bool less =
      predicate == CmpIPredicate::sle || predicate == CmpIPredicate::slt;
  if (!less && predicate != CmpIPredicate::sge &&
      predicate != CmpIPredicate::sgt)
    return false;
  // lhs - rhs >= 0, or rhs - lhs >= 0.
  bool strict =
      predicate == CmpIPredicate::sgt || predicate == CmpIPredicate::slt;
  visible = {};
  visible.constant = strict ? -1 : 0;
  return add(visible, test.getLhs(), less, isUniform) &&
         add(visible, test.getRhs(), !less, isUniform) && visible.row == 1 &&
         visible.column == -1;
}

std::optional<CausalMask> CausalMask::find(mlir::Block &region,
                                           IsUniform isUniform) {
  CausalMask mask;
  mask.yielded = cast<tile::YieldOp>(region.getTerminator()).getValue();
  for (auto select : region.getOps<arith::SelectOp>())
    for (bool hides : {false, true}) {
      mask.select = nullptr;
      mask.masked = hides ? select.getTrueValue() : select.getFalseValue();
      if (!mask.isConstantOfMatrix(mask.masked, isUniform) ||
          !mask.readCondition(select.getCondition(), hides, isUniform))
        continue;
      mask.select = select;
      if (mask.isConstantOfMatrix(mask.yielded, isUniform))
        return mask;
    }
  return std::nullopt;
}

Value CausalMask::emit(OpBuilder &b, Value v, IRMapping &map) const {
  if (v == select.getResult())
    v = masked;
  if (Value known = map.lookupOrNull(v))
    return known;
  Operation *op = v.getDefiningOp();
  for (Value x : op->getOperands())
    if (Value y = emit(b, x, map); x != y)
      map.map(x, y);
  b.clone(*op, map);
  return map.lookup(v);
}

Value CausalMask::emitOffset(OpBuilder &b, Location loc, IRMapping &map) const {
  Value offset = arith::ConstantIndexOp::create(b, loc, visible.constant);
  if (!visible.term)
    return offset;
  Value term = emit(b, visible.term, map);
  if (!term.getType().isIndex())
    term = arith::IndexCastOp::create(b, loc, b.getIndexType(), term);
  return visible.subtracted
             ? arith::SubIOp::create(b, loc, offset, term).getResult()
             : arith::AddIOp::create(b, loc, offset, term).getResult();
}

Value CausalMask::emitMasked(OpBuilder &b, IRMapping &map) const {
  return emit(b, yielded, map);
}

} // namespace tenon::passes
