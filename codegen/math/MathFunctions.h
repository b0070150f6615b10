//===- MathFunctions.h - functions as arithmetic ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Each function emits the code of one elementary function for f32 or a vector
// of f32.  Error bounds stand beside the definitions, in units in the last
// place of the exact value (of the smallest normal number where that is
// denormal). ExpandMath_test sweeps the f32 bit patterns; TENON_MATH_STRIDE=1
// sweeps all. NaN gives NaN; infinities, zeros and their signs follow IEEE 754
// and C annex F.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace tenon::codegen {

/// Instructions beyond plain arithmetic. The last bits of a result may depend
/// on them (exp, log1p), never on whether it is computed alone or in a
/// vector.
struct MathIsa {
  bool avx2 = false;   // true with AVX-512
  bool avx512 = false; // with VL
  bool avx512bf16 = false;
};

inline constexpr float kLeastOfNormal = -87.3365f; // log(2^-126) is less

/// What is known of an exponential, and allowed.
struct ExpUse {
  /// Results below a limit between 2^-127 and 2^-126 are 0, before denormal
  /// numbers cost time.
  bool isNormal = false;
  bool isFinite = false; // no x is above 88
  bool isLarge = false;  // nor below kLeastOfNormal
  /// x was rounded, as differences are, or for another reason is off by 2^-25
  /// of itself: the result may be off by another 2^-28 of x.
  bool isOfDifference = false;
  /// The result is rounded to 11 bits or fewer: it may be off by 2^-18.
  bool isNarrowed = false;
  /// What x lost when it was rounded, if that is known, or null: the result is
  /// that of the sum.
  mlir::Value lost = {};
};

mlir::Value emitExp(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                    MathIsa extra = {}, ExpUse use = {});
mlir::Value emitExp2(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                     MathIsa extra = {});
mlir::Value emitExpM1(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitLog(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
/// `isFraction`: x is from 0 to 1, or NaN.
mlir::Value emitLog1p(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                      MathIsa extra = {}, bool isFraction = false);
mlir::Value emitTanh(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
/// erfc(t / sqrt 2) / 2, the upper tail of the normal distribution, over
/// exp(-t^2 / 2), for t from 0 to 14.5, or NaN.
mlir::Value emitNormalTailRatio(mlir::OpBuilder &b, mlir::Location loc,
                                mlir::Value t);
mlir::Value emitPow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                    mlir::Value y, MathIsa extra = {});
mlir::Value emitRsqrt(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);

/// f32 to bf16, round to nearest even, NaN stays NaN. `isNormal`: no x but 0 is
/// smaller than any normal number; the instruction takes such for 0.
mlir::Value emitTruncToBF16(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value x, MathIsa extra = {},
                            bool isNormal = false);
/// The upper half of an f32: exact where it is a number of bf16, or NaN.
mlir::Value emitCutToBF16(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::Value x);
/// bf16 to f32, exact.
mlir::Value emitExtendBF16(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value x);

} // namespace tenon::codegen
