//===- OpExampleData.h - a small form of an operation ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Internal to OpExample.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/OpTable.h"
#include "dialects/graph/reference/Tensor.h"

#include <optional>

namespace tenon::cli {

/// An operand or result of an example.
struct ExampleValue {
  std::string name; // of the table; a number follows where there are many
  graph::LogicalTensor about;
  /// What it holds, or should hold.
  reference::Tensor values;
};

/// One operation with numbers.
struct ExampleData {
  graph::Op op;
  std::vector<ExampleValue> operands, results;
};

/// The form of `info` that is easiest to read: small sizes that differ from
/// each other, the first rank that is usual, optional operands as far as they
/// are common, no attributes that are not needed, and results that are finite.
/// Absent if there is none whose elements C++ has types for.
std::optional<ExampleData> exampleData(const graph::OpInfo &info);

} // namespace tenon::cli
