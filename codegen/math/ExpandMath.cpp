//===- ExpandMath.cpp - transcendental functions as arithmetic ------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %y = math.exp %x : vector<8xf32>
// becomes about twenty arith operations and math.fma (MathFunctions.cpp).
// Other element types, and functions that are instructions, are left alone.
//
//===----------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/math/MathFunctions.h"
#include "dialects/tile/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tenon::codegen {
#define GEN_PASS_DEF_EXPANDMATH
#include "codegen/Passes.h.inc"
} // namespace tenon::codegen

using namespace mlir;

namespace tenon::codegen {
namespace {

bool isShapeOf(Type type) {
  return !isa<ShapedType>(type) || isa<VectorType>(type);
}

/// Scalars or vectors of the two element types.
bool converts(Operation *op, bool (Type::*from)() const,
              bool (Type::*to)() const) {
  Type source = op->getOperand(0).getType(),
       target = op->getResult(0).getType();
  return isShapeOf(source) && (getElementTypeOrSelf(source).*from)() &&
         (getElementTypeOrSelf(target).*to)();
}

bool assumesNormal(arith::FastMathFlags flags) {
  return arith::bitEnumContainsAll(flags, arith::FastMathFlags::afn);
}

bool assumesFinite(arith::FastMathFlags flags) {
  return arith::bitEnumContainsAll(flags, arith::FastMathFlags::ninf);
}

/// Whether `x` has a lower limit from which its exponential is normal.
bool isLarge(Value x) {
  auto limited = x.getDefiningOp<arith::SelectOp>();
  auto below =
      limited ? limited.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  llvm::APFloat limit(0.f);
  return below && below.getPredicate() == arith::CmpFPredicate::OLT &&
         below.getLhs() == limited.getFalseValue() &&
         below.getRhs() == limited.getTrueValue() &&
         matchPattern(below.getRhs(), m_ConstantFloat(&limit)) &&
         limit.convertToDouble() >= kLeastOfNormal;
}

/// Whether `x` becomes a narrower float and, beside, a term of sums.
bool isNarrowed(Value x) {
  auto narrows = [](Operation *user) {
    return isa<arith::TruncFOp>(user) &&
           getElementTypeOrSelf(user->getResult(0)).getIntOrFloatBitWidth() <=
               16;
  };
  return llvm::any_of(x.getUsers(), narrows) &&
         llvm::all_of(x.getUsers(), [&](Operation *user) {
           return narrows(user) || isa<arith::AddFOp>(user);
         });
}

/// What `x`, a product, lost when it was rounded; null: it is none.
Value lostBy(OpBuilder &b, Value x) {
  auto product = x.getDefiningOp<arith::MulFOp>();
  if (!product)
    return {};
  Value rounded = arith::NegFOp::create(b, product.getLoc(), x);
  return math::FmaOp::create(b, product.getLoc(), product.getLhs(),
                             product.getRhs(), rounded);
}

ExpUse useOf(OpBuilder &b, math::ExpOp exp) {
  arith::FastMathFlags flags = exp.getFastmath();
  ExpUse use;
  use.isNormal = assumesNormal(flags);
  use.isFinite = assumesFinite(flags);
  use.isLarge = isLarge(exp.getOperand());
  use.isOfDifference =
      arith::bitEnumContainsAll(flags, arith::FastMathFlags::reassoc);
  use.isNarrowed = use.isOfDifference && isNarrowed(exp.getResult());
  if (arith::bitEnumContainsAll(flags, arith::FastMathFlags::contract))
    use.lost = lostBy(b, exp.getOperand());
  return use;
}

/// Numbers rounded to integers of 32 bits: one instruction, where rounding and
/// conversion are two. Null: `op` is something else.
Value roundToInteger(OpBuilder &b, arith::FPToSIOp op) {
  auto rounded = op.getIn().getDefiningOp<math::RoundEvenOp>();
  if (!rounded || !isShapeOf(op.getType()) ||
      !getElementTypeOrSelf(op.getIn()).isF32() ||
      !getElementTypeOrSelf(op.getType()).isInteger(32))
    return nullptr;
  return LLVM::CallIntrinsicOp::create(b, op.getLoc(), op.getType(),
                                       b.getStringAttr("llvm.lrint"),
                                       rounded.getOperand())
      .getResult(0);
}

/// Whether `x` is one of several numbers of bf16: ReLU, Maximum, Clamp and such
/// give what they were given. Looks at operations not yet expanded.
bool isOfBF16(Value x, int depth = 8) {
  Operation *op = x.getDefiningOp();
  if (!op || depth == 0)
    return false;
  llvm::APFloat number(0.f);
  if (matchPattern(op, m_ConstantFloat(&number))) {
    bool loses = false;
    number.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven,
                   &loses);
    return !loses;
  }
  auto all = [&](ValueRange values) {
    return llvm::all_of(values,
                        [&](Value v) { return isOfBF16(v, depth - 1); });
  };
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return all({select.getTrueValue(), select.getFalseValue()});
  if (isa<math::AbsFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp>(
          op))
    return all(op->getOperands());
  return isa<arith::ExtFOp>(op) &&
         getElementTypeOrSelf(op->getOperand(0)).isBF16();
}

/// The replacement of `op`, or null; `isExact`: its operand is of bf16.
Value expand(OpBuilder &b, Operation *op, MathIsa extra, bool isExact) {
  Location loc = op->getLoc();
  if (auto trunc = dyn_cast<arith::TruncFOp>(op)) {
    auto flags = trunc.getFastmath().value_or(arith::FastMathFlags::none);
    if (!converts(op, &Type::isF32, &Type::isBF16))
      return nullptr;
    return isExact ? emitCutToBF16(b, loc, op->getOperand(0))
                   : emitTruncToBF16(b, loc, op->getOperand(0), extra,
                                     assumesNormal(flags));
  }
  if (isa<arith::ExtFOp>(op))
    return converts(op, &Type::isBF16, &Type::isF32)
               ? emitExtendBF16(b, loc, op->getOperand(0))
               : Value();
  if (auto integer = dyn_cast<arith::FPToSIOp>(op))
    return roundToInteger(b, integer);
  if (!isa<math::MathDialect>(op->getDialect()) || op->getNumResults() != 1 ||
      !converts(op, &Type::isF32, &Type::isF32))
    return nullptr;
  Value x = op->getOperand(0);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp exp) {
        return emitExp(b, loc, x, extra, useOf(b, exp));
      })
      .Case([&](math::Exp2Op) { return emitExp2(b, loc, x, extra); })
      .Case([&](math::ExpM1Op) { return emitExpM1(b, loc, x); })
      .Case([&](math::LogOp) { return emitLog(b, loc, x); })
      .Case([&](math::Log1pOp log) {
        return emitLog1p(b, loc, x, extra, assumesFinite(log.getFastmath()));
      })
      .Case([&](math::TanhOp) { return emitTanh(b, loc, x); })
      .Case([&](math::PowFOp) {
        return emitPow(b, loc, x, op->getOperand(1), extra);
      })
      .Case([&](math::RsqrtOp) { return emitRsqrt(b, loc, x); })
      .Default([](Operation *) { return Value(); });
}

struct ExpandMath : impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    SmallVector<std::pair<Operation *, bool>> candidates;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::TruncFOp, arith::ExtFOp, arith::FPToSIOp>(op) ||
          isa_and_nonnull<math::MathDialect>(op->getDialect()))
        candidates.emplace_back(op, isa<arith::TruncFOp>(op) &&
                                        isOfBF16(op->getOperand(0)));
    });
    tile::TargetAttr target = tile::targetOf(getOperation());
    MathIsa isa{target.getAvx2() || target.getAvx512(), target.getAvx512(),
                target.getAvx512Bf16()};
    for (auto [op, isExact] : candidates) {
      OpBuilder builder(op);
      Value replacement = expand(builder, op, isa, isExact);
      if (!replacement)
        continue;
      op->getResult(0).replaceAllUsesWith(replacement);
      op->erase();
      ++numExpanded;
    }
  }
};

} // namespace
} // namespace tenon::codegen
