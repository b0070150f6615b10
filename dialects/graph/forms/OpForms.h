//===- OpForms.h - random valid forms of any operation ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The operation table says which operands, results, types and words an
// operation has; inference says which shapes fit.  What neither can say, how to
// guess shapes and numbers that have a chance to fit, is here, by shape rule.
// A guess that does not fit is thrown away: inference alone decides.
//
// Gradients need no guess: their operands have the shapes of what the forward
// operation has under the same name.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/OpTable.h"
#include "dialects/graph/forms/Random.h"

namespace tenon::forms {

/// One operation with its tensors; ids are not given out yet.
struct OpForm {
  graph::Op op;
  std::vector<graph::LogicalTensor> inputs, outputs;
};

struct FormOptions {
  /// Sizes that shapes repeat, so that values of one graph fit together.
  graph::Dims palette = {1, 3, 8};
  /// No tensor has more elements.
  int64_t maxElements = 4096;
  /// Types that do not compile are left out, where the table tells.
  bool onlyCompiling = true;
};

/// A form of `info` whose operand 0 has the shape and type of `first`, when
/// given.  The shapes of results are known; auto_pad is not resolved.  Absent
/// when no guess fitted.
std::optional<OpForm> makeForm(const graph::OpInfo &info, Random &random,
                               const FormOptions &options,
                               const graph::LogicalTensor *first = nullptr);

/// A size at which loops go wrong when they do: 1, primes, around the widths
/// of vectors.
int64_t boundaryDim(Random &random);

/// Types that compile, as far as the table tells: those that `compiles` names,
/// or all that the type variable allows when it allows none of these.
std::vector<graph::DType> typesOf(const graph::OpInfo &info,
                                  std::string_view typeVar, bool onlyCompiling);

} // namespace tenon::forms
