//===- Steps.h - steps of loops, written out -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What If, Loop and Scan have in common.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/onnx/NodeContext.h"

namespace tenon::onnx {

/// A loop is written out up to so many steps.
inline constexpr int64_t kMaxSteps = 4096;

/// The hint of errors about what has to be known.
inline constexpr const char *kKnownSizes =
    "--input NAME=SHAPExDTYPE gives the sizes of an input, --bind NAME=NUMBERS "
    "its elements";

/// The element of a boolean, if it is known.
std::optional<bool> truthOf(NodeContext &n, Value condition);
/// The scalar that is the one element of `value`, which errors call `what`.
Value scalarOf(NodeContext &n, Value value, DType dtype,
               const std::string &what);
/// A tensor that is there as a whole, else an error.
Value whole(NodeContext &n, const Named &named, const std::string &what);
/// `a` where the condition holds, else `b`, in an operation of the graph. They
/// must have the same shape, as numbers or as expressions.
Value choose(NodeContext &n, Value condition, Value a, Value b,
             const std::string &what);
/// Joins tensors of one shape along a new dim.
Value stack(NodeContext &n, Values parts, int64_t axis,
            const std::string &what);

/// Steps, one after the other, each with its own shapes, and what comes of
/// them: values that each takes from the one before, and entries that it adds
/// to results.
class Steps {
public:
  /// Outputs of `body` are `numConditions`, the carried values, the entries.
  Steps(NodeContext &n, const GraphProto &body, size_t numConditions,
        Values carried);

  /// The next step, whose body gets the carried values between `before` and
  /// `behind`. Gives its condition, if it has one.
  Value add(const Values &before, const Values &behind);
  /// What one entry would be, where there are no steps.
  void measure(const Values &before, const Values &behind);

  /// From here on, steps count only where `condition` holds: as well, or alone.
  void restrictTo(Value condition);
  void countWhere(Value condition) { active = condition; }

  size_t numCarried() const { return carried.size(); }
  size_t numEntries() const { return entries.size(); }
  /// What the last step that counts gave.
  Value carriedValue(size_t i) const { return lasting[i]; }
  /// Whether the last step changed a carried value that is known.
  bool counts() const { return hasCounted; }
  /// The entries for scan output `j`, along `axis` of the result. Those of
  /// steps that do not count are zeros.
  Value stacked(size_t j, int64_t axis, bool reversed = false);
  /// How many steps count; kNone: all.
  Value count();

private:
  std::vector<Named> convertBody(const Values &before, const Values &behind);
  Value noEntries(size_t j, int64_t axis);

  NodeContext &n;
  const GraphProto &body;
  size_t numConditions;
  /// What the next step gets. It is executed only after all others were, so
  /// that these are right where it counts, and counters stay known.
  Values carried;
  Values lasting;
  bool hasCounted = false;
  std::vector<Values> entries; // of each scan output
  Values samples;              // an entry of each where there are no steps
  Value active = kNone;        // whether the next step counts; kNone: it does
  Values actives;
};

} // namespace tenon::onnx
