// SPDX-License-Identifier: Apache-2.0
//
// Reductions along dims.
#include "compiler/import/onnx/Conversions.h"

namespace tenon::onnx {

/// The dims to reduce: an attribute, or operand 1 in later versions. Without
/// any, all; or none with noop_with_empty_axes.
static Dims axesOf(NodeContext &n) {
  int rank = n.rank(n.in(0));
  std::optional<Dims> given = n.integers("axes");
  if (n.in(1) != kNone)
    given = n.needed(1, "the operand axes");
  Dims axes;
  if (given && !given->empty()) {
    for (int64_t axis : *given)
      axes.push_back(n.axisOf(axis, rank));
  } else if (!n.integer("noop_with_empty_axes", 0)) {
    for (int axis = 0; axis < rank; ++axis)
      axes.push_back(axis);
  }
  return axes;
}

static Value reduced(NodeContext &n, std::string_view kind, Value value) {
  return n.reduce(kind, value, axesOf(n), n.integer("keepdims", 1) != 0);
}

static void reduce(NodeContext &n) {
  n.out(0, reduced(n, n.conversion().kind, n.in(0)));
}

static void logSum(NodeContext &n) {
  n.out(0, n.op("Log", {reduced(n, "ReduceSum", n.in(0))}));
}

/// Exponents are taken less the maximum, which is added at the end.
static void logSumExp(NodeContext &n) {
  Value x = n.in(0);
  Dims axes = axesOf(n);
  bool keep = n.integer("keepdims", 1) != 0;
  Value top = n.reduce("ReduceMax", x, axes, true);
  Value powers = n.op("Exp", {n.op("Subtract", {x, top})});
  Value sum = n.op("Log", {n.reduce("ReduceSum", powers, axes, keep)});
  Value shift = keep ? top : n.reduce("ReduceMax", x, axes, false);
  n.out(0, n.op("Add", {sum, shift}));
}

static void sumSquare(NodeContext &n) {
  Value square = n.op("Multiply", {n.in(0), n.in(0)});
  n.out(0, reduced(n, "ReduceSum", square));
}

std::span<const OpConversion> reduceConversions() {
  static constexpr OpConversion table[] = {
      {"ReduceL1", 1, reduce, "ReduceL1"},
      {"ReduceL2", 1, reduce, "ReduceL2"},
      {"ReduceLogSum", 1, logSum},
      {"ReduceLogSumExp", 1, logSumExp},
      {"ReduceMax", 1, reduce, "ReduceMax"},
      {"ReduceMean", 1, reduce, "ReduceMean"},
      {"ReduceMin", 1, reduce, "ReduceMin"},
      {"ReduceProd", 1, reduce, "ReduceProd"},
      {"ReduceSum", 1, reduce, "ReduceSum"},
      {"ReduceSumSquare", 1, sumSquare},
  };
  return table;
}

} // namespace tenon::onnx
