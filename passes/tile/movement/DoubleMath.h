//===- DoubleMath.h - scalar code in f64 ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Places of boxes and of samples decide what is taken and what is read. They
// are computed as the evaluator does, in f64, from the elements in f32.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tenon::passes {

struct DoubleMath {
  mlir::OpBuilder &b;
  mlir::Location loc;
  using Predicate = mlir::arith::CmpFPredicate;
  using Value = mlir::Value;

  Value constant(double v) const {
    return mlir::arith::ConstantOp::create(b, loc, b.getF64FloatAttr(v));
  }
  /// Of an f32.
  Value widened(Value v) const {
    return mlir::arith::ExtFOp::create(b, loc, b.getF64Type(), v);
  }
  Value add(Value x, Value y) const {
    return mlir::arith::AddFOp::create(b, loc, x, y);
  }
  Value sub(Value x, Value y) const {
    return mlir::arith::SubFOp::create(b, loc, x, y);
  }
  Value mul(Value x, Value y) const {
    return mlir::arith::MulFOp::create(b, loc, x, y);
  }
  Value div(Value x, Value y) const {
    return mlir::arith::DivFOp::create(b, loc, x, y);
  }
  Value compare(Predicate predicate, Value x, Value y) const {
    return mlir::arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) const {
    return mlir::arith::SelectOp::create(b, loc, condition, x, y);
  }
  /// std::min and std::max: x, unless y is less, or greater.
  Value min(Value x, Value y) const {
    return select(compare(Predicate::OLT, y, x), y, x);
  }
  Value max(Value x, Value y) const {
    return select(compare(Predicate::OLT, x, y), y, x);
  }
  Value either(Value x, Value y) const {
    return mlir::arith::OrIOp::create(b, loc, x, y);
  }
  Value both(Value x, Value y) const {
    return mlir::arith::AndIOp::create(b, loc, x, y);
  }
};

} // namespace tenon::passes
