//===- ScalarCalc.h - arithmetic on scalars, written briefly ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace tenon::passes {

/// Writes arithmetic on values of one float type without ceremony.
struct Calc {
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Operation *op;
  llvm::SmallVector<mlir::Value> in;

  mlir::Value x() { return in[0]; }
  mlir::Type type() { return in[0].getType(); }
  mlir::Value c(double v) {
    return mlir::arith::ConstantOp::create(b, loc, b.getFloatAttr(type(), v));
  }
  mlir::Value a(llvm::StringRef name) { return c(floatAttr(op, name)); }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddFOp::create(b, loc, x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return mlir::arith::SubFOp::create(b, loc, x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulFOp::create(b, loc, x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return mlir::arith::DivFOp::create(b, loc, x, y);
  }
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z) {
    return mlir::math::FmaOp::create(b, loc, x, y, z);
  }
  mlir::Value neg(mlir::Value x) {
    return mlir::arith::NegFOp::create(b, loc, x);
  }
  /// The greater one, or NaN; of -0 and 0 any. Three instructions, where the
  /// maximum of IEEE 754 takes five.
  mlir::Value max(mlir::Value x, mlir::Value y) {
    return orNaN(x, select(gt(x, y), x, y));
  }
  mlir::Value min(mlir::Value x, mlir::Value y) {
    return orNaN(x, select(lt(x, y), x, y));
  }
  mlir::Value orNaN(mlir::Value x, mlir::Value other) {
    return select(cmp(mlir::arith::CmpFPredicate::UNO, x, x), x, other);
  }
  mlir::Value exp(mlir::Value x) {
    return mlir::math::ExpOp::create(b, loc, x);
  }
  mlir::Value expm1(mlir::Value x) {
    return mlir::math::ExpM1Op::create(b, loc, x);
  }
  mlir::Value log(mlir::Value x) {
    return mlir::math::LogOp::create(b, loc, x);
  }
  mlir::Value tanh(mlir::Value x) {
    return mlir::math::TanhOp::create(b, loc, x);
  }
  mlir::Value sqrt(mlir::Value x) {
    return mlir::math::SqrtOp::create(b, loc, x);
  }
  mlir::Value abs(mlir::Value x) {
    return mlir::math::AbsFOp::create(b, loc, x);
  }
  mlir::Value cmp(mlir::arith::CmpFPredicate p, mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpFOp::create(b, loc, p, x, y);
  }
  mlir::Value gt(mlir::Value x, mlir::Value y) {
    return cmp(mlir::arith::CmpFPredicate::OGT, x, y);
  }
  mlir::Value ge(mlir::Value x, mlir::Value y) {
    return cmp(mlir::arith::CmpFPredicate::OGE, x, y);
  }
  mlir::Value lt(mlir::Value x, mlir::Value y) {
    return cmp(mlir::arith::CmpFPredicate::OLT, x, y);
  }
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y) {
    return mlir::arith::SelectOp::create(b, loc, c, x, y);
  }
  mlir::Value logistic(mlir::Value x) { return emitLogistic(b, loc, x); }
  /// ln(1 + exp(x)) without overflow: max(x, 0) + log1p(exp(-|x|)).
  mlir::Value softplus(mlir::Value x) {
    mlir::Value e = emitExpOrZero(b, loc, sub(c(0), abs(x)), /*isFinite=*/true);
    // Its operand is from 0 to 1.
    mlir::Value log = mlir::math::Log1pOp::create(
        b, loc, e, mlir::arith::FastMathFlags::ninf);
    return add(atLeast(x, c(0)), log);
  }
  /// A limit, which is a number, instead of what is beyond it; NaN and -0 stay.
  /// One instruction, where the maximum of IEEE 754 takes three.
  mlir::Value atLeast(mlir::Value x, mlir::Value limit) {
    return select(lt(x, limit), limit, x);
  }
  mlir::Value atMost(mlir::Value x, mlir::Value limit) {
    return select(gt(x, limit), limit, x);
  }
  mlir::Value clamp(mlir::Value x, mlir::Value lo, mlir::Value hi) {
    return atMost(atLeast(x, lo), hi);
  }
  /// d of a *Backward operation whose input 0 is src or dst.
  bool usesDst() { return boolAttr(op, "use_dst", true); }
};

// Functions of ScalarFunctions.cpp, of the operands of `k`.
mlir::Value erf(Calc &k);
mlir::Value sine(Calc &k);
mlir::Value cosine(Calc &k);
/// The angle of the point (in[1], in[0]), as atan2 gives it.
mlir::Value arcTangent(Calc &k);
/// What division by in[1] leaves of in[0]; attribute `mode`.
mlir::Value remainder(Calc &k);

} // namespace tenon::passes
