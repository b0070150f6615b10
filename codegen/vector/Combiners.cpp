//===- Combiners.cpp - how reductions combine -----------------------------===//
#include "codegen/vector/Combiners.h"

#include "mlir/Dialect/Math/IR/Math.h"
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

} // namespace tenon::codegen
