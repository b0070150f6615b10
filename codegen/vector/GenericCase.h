//===- GenericCase.h - vector code against plain loops ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A case is one linalg.generic, written as text from a small description,
// compiled and compared with the same loops over double.  Operands end at an
// unreadable page.  For tests.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/testing/Execute.h"

#include <functional>
#include <string>
#include <vector>

namespace tenon::codegen::testing {

using Dims = std::vector<int64_t>;

/// One operand: the loop dim of each memref dim (-1: constant 0, size 1).
struct OperandSpec {
  std::vector<int> dims;
  std::string type = "f32";
  /// Memref dims in memory order, outer first; empty: as they are.
  std::vector<int> order = {};
  /// Elements between rows beyond what the shape needs.
  int64_t padding = 0;
  int64_t offset = 0;
  /// Along the last memref dim, so many neighbours read the same element: that
  /// number `phase` of as many.
  int64_t run = 1, phase = 0;
};

struct Case {
  Dims sizes;
  std::string reduction; // one letter per loop: p or r
  std::vector<OperandSpec> inputs;
  OperandSpec output;
  /// Uses %a, %b, ... and %out; ends with the name of the result.
  std::string body;
  std::string result;
  /// New output from inputs and old output.
  std::function<double(const std::vector<double> &, double)> reference;
  /// Attributes of the operation, as text: "codegen.jam = 0 : i64".
  std::string attributes = "";
  bool dynamic = false;
  int bits = 256;
  /// Relative to the sum of absolute values.
  double tolerance = 2e-6;
};

/// Expects what `test` says of its compiled form; codegen's passes must be
/// registered.
void run(const Case &test);

} // namespace tenon::codegen::testing
