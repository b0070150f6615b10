//===- FunctionErrors.h - the table of docs/accuracy.md --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// How far results of elementwise functions may be off in f32.  The build takes
// the rows from the table of docs/accuracy.md, which is the one place that has
// them: tests/ops/Accuracy_test holds compiled code to it, and checks derive
// what they allow.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <span>
#include <string_view>

namespace tenon::check {

/// What "large" means in a row.
inline constexpr double kLargeResult = 0x1p-10;

/// A row: an operation with its attributes, and the error of its results.
struct FunctionError {
  std::string_view op; // "GELU mode=gelu_erf"
  /// Relative to a result below kLargeResult, and to one from there.
  double ofSmall = 0, ofLarge = 0;
  /// The error where that is more.
  double floor = 0;
  /// The same for src between -2 and 0, where a gradient may change its sign.
  double nearZero = 0;

  double relativeTo(double result) const {
    bool isLarge = result >= kLargeResult || result <= -kLargeResult;
    return isLarge ? ofLarge : ofSmall;
  }
};

std::span<const FunctionError> functionErrors();

/// The row of an operation: that of its attributes, or of those with its kind
/// the one with the largest error; null where there is none.
const FunctionError *functionErrorOf(const graph::Op &op);

} // namespace tenon::check
