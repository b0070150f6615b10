//===- Mistakes.h - what can be wrong with an operation ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// From a valid form of an operation, every mistake that the operation table
// knows of: counts, types, ranks, sizes, strides, and attributes that are
// missing, unknown, of another type or out of their range.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/forms/OpForms.h"

#include <set>
#include <string>
#include <vector>

namespace tenon::test {

using forms::OpForm;

/// A form with one mistake in it.
struct Mistake {
  std::string what; // for people
  OpForm form;
  /// One of the errors has one of these codes; empty: any code that blames the
  /// user will do, and the form may even be valid after all.
  std::set<ErrorCode> codes;
  /// Words of that error: who and what is wrong, and the offending number.
  std::vector<std::string> says;
};

/// All mistakes in `form`, a valid form of `info`.
std::vector<Mistake> mistakesIn(const graph::OpInfo &info, const OpForm &form);

/// The name in the table of operand (or result) `i`, as messages have it.
std::string roleName(std::span<const graph::ValueInfo> values, size_t i);

} // namespace tenon::test
