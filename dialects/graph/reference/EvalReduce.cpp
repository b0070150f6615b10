//===- EvalReduce.cpp - reductions ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Decisions.  Axes come from the attribute or, when there is a second operand,
// from its values.  No axes: identity.  Over nothing: sum and L1, L2 give 0,
// product 1, mean NaN, max -inf, min +inf.  Max and min hand on NaN.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Functions.h"
#include "dialects/graph/reference/OpContext.h"

#include <limits>

namespace tenon::reference {
namespace {

/// Which dims are reduced; fails on a bad or repeated axis.
std::optional<std::vector<bool>> reducedDims(OpContext &c) {
  int rank = c.in(0).rank();
  Dims axes = c.list("axes");
  if (c.hasIn(1))
    for (double value : c.in(1).data)
      axes.push_back(static_cast<int64_t>(value));
  std::vector<bool> reduced(rank, false);
  for (int64_t axis : axes) {
    int64_t dim = axis < 0 ? axis + rank : axis;
    if (dim < 0 || dim >= rank || reduced[dim]) {
      c.fail(ErrorCode::AttrValue,
             "axis " + std::to_string(axis) +
                 (dim < 0 || dim >= rank
                      ? " is outside rank " + std::to_string(rank)
                      : " is named twice"));
      return std::nullopt;
    }
    reduced[dim] = true;
  }
  return reduced;
}

/// d = finish(fold of step over the reduced elements, their number).
template <typename Step, typename Finish>
bool reduce(OpContext &c, double start, Step step, Finish finish) {
  const Tensor &src = c.in(0);
  auto reduced = reducedDims(c);
  if (!reduced)
    return false;
  bool keep = c.flag("keep_dims", false);
  Dims shape, kept, keptStrides, gone, goneStrides;
  Dims strides = graph::denseStrides(src.shape);
  for (int d = 0; d < src.rank(); ++d) {
    bool r = (*reduced)[d];
    (r ? gone : kept).push_back(src.shape[d]);
    (r ? goneStrides : keptStrides).push_back(strides[d]);
    if (!r || keep)
      shape.push_back(r ? 1 : src.shape[d]);
  }
  if (!c.setShape(0, shape))
    return false;
  Tensor &dst = c.out();
  auto count = static_cast<double>(elementCount(gone));
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t base = 0, rest = i;
      for (size_t d = kept.size(); d-- > 0; rest /= kept[d])
        base += rest % kept[d] * keptStrides[d];
      double value = start;
      forEachIndex<1>(gone, {goneStrides},
                      [&](int64_t, const std::array<int64_t, 1> &at) {
                        value = step(value, src.data[base + at[0]]);
                      });
      dst.data[i] = finish(value, count);
    }
  };
  parallelFor(c.threads, dst.numElements(), 64, run);
  return true;
}

double keepValue(double value, double) { return value; }

bool evalSum(OpContext &c) {
  return reduce(c, 0, [](double a, double s) { return a + s; }, keepValue);
}

/// Without axes nothing is reduced: dst is src, not its norm.
bool reducesNothing(const OpContext &c) {
  return !c.hasIn(1) && c.list("axes").empty();
}

bool evalL1(OpContext &c) {
  if (reducesNothing(c))
    return evalSum(c);
  return reduce(
      c, 0, [](double a, double s) { return a + std::fabs(s); }, keepValue);
}

bool evalL2(OpContext &c) {
  if (reducesNothing(c))
    return evalSum(c);
  return reduce(
      c, 0, [](double a, double s) { return a + s * s; },
      [](double a, double) { return std::sqrt(a); });
}

bool evalMax(OpContext &c) {
  return reduce(c, -std::numeric_limits<double>::infinity(), maximum,
                keepValue);
}

bool evalMean(OpContext &c) {
  return reduce(
      c, 0, [](double a, double s) { return a + s; },
      [](double a, double n) { return a / n; });
}

bool evalMin(OpContext &c) {
  return reduce(c, std::numeric_limits<double>::infinity(), minimum, keepValue);
}

bool evalProd(OpContext &c) {
  return reduce(c, 1, [](double a, double s) { return a * s; }, keepValue);
}

} // namespace

std::span<const OpEntry> reduceOps() {
  static constexpr OpEntry entries[] = {
      {"ReduceL1", evalL1},   {"ReduceL2", evalL2},
      {"ReduceMax", evalMax}, {"ReduceMean", evalMean},
      {"ReduceMin", evalMin}, {"ReduceProd", evalProd},
      {"ReduceSum", evalSum},
  };
  return entries;
}

} // namespace tenon::reference
