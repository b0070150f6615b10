//===- MaxSearch.h - the greatest element of a window ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

namespace tenon::passes {

/// Where a maximum begins, and whether `x` is taken instead of `best`, which is
/// at `at`, an integer; negative: nothing was taken yet.
struct MaxSearch {
  bool propagatesNan;
  double lowest = std::numeric_limits<float>::lowest(); // finite one

  double start() const {
    return propagatesNan ? -std::numeric_limits<double>::infinity() : lowest;
  }
  mlir::Value takes(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                    mlir::Value best, mlir::Value at) const {
    using namespace mlir;
    using enum arith::CmpFPredicate;
    // Strictly greater: the first maximum stays, NaN is never selected.
    if (!propagatesNan)
      return arith::CmpFOp::create(b, loc, OGT, x, best);
    // The first element is, be it -inf, and the first NaN.
    Value wins =
        arith::OrIOp::create(b, loc, isNone(b, loc, at),
                             arith::CmpFOp::create(b, loc, UGT, x, best));
    return arith::AndIOp::create(
        b, loc, wins, arith::CmpFOp::create(b, loc, ORD, best, best));
  }
  /// Whether nothing was taken yet.
  static mlir::Value isNone(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value at) {
    using namespace mlir;
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(at.getType()));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at, zero);
  }
};

} // namespace tenon::passes
