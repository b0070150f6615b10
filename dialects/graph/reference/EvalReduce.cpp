//===- EvalReduce.cpp - reductions ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Decisions.  Axes come from the attribute or, when there is a second operand,
// from its values.  No axes: identity.  Over nothing: sum and L1, L2 give 0,
// product 1, mean NaN, max -inf, min +inf, of integers the least and the
// largest number of the type.  Max and min hand on NaN.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Functions.h"
#include "dialects/graph/reference/OpContext.h"

#include <functional>
#include <limits>

namespace tenon::reference {
namespace {

/// Which dims are reduced; fails on a bad or repeated axis.
std::optional<std::vector<bool>> reducedDims(OpContext &c) {
  int rank = c.in(0).rank();
  Dims axes = c.list("axes");
  if (c.hasIn(1))
    for (int64_t i = 0; i < c.in(1).numElements(); ++i)
      axes.push_back(integerAt(c.in(1), i));
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

/// The dims that stay and those that are reduced, with their strides in src.
struct ReducedShape {
  Dims result; // with keep_dims, also those of size 1
  Dims kept, keptStrides, gone, goneStrides;
};

std::optional<ReducedShape> reducedShape(OpContext &c) {
  const Tensor &src = c.in(0);
  auto reduced = reducedDims(c);
  if (!reduced)
    return std::nullopt;
  bool keep = c.flag("keep_dims", false);
  ReducedShape s;
  Dims strides = graph::denseStrides(src.shape);
  for (int d = 0; d < src.rank(); ++d) {
    bool r = (*reduced)[d];
    (r ? s.gone : s.kept).push_back(src.shape[d]);
    (r ? s.goneStrides : s.keptStrides).push_back(strides[d]);
    if (!r || keep)
      s.result.push_back(r ? 1 : src.shape[d]);
  }
  return s;
}

/// store(i, fold of step over the elements at read(offset)) for each result.
template <typename T, typename Read, typename Step, typename Store>
bool fold(OpContext &c, T start, Read read, Step step, Store store) {
  auto s = reducedShape(c);
  if (!s || !c.setShape(0, s->result))
    return false;
  auto count = static_cast<double>(elementCount(s->gone));
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t base = 0, rest = i;
      for (size_t d = s->kept.size(); d-- > 0; rest /= s->kept[d])
        base += rest % s->kept[d] * s->keptStrides[d];
      T value = start;
      forEachIndex<1>(s->gone, {s->goneStrides},
                      [&](int64_t, const std::array<int64_t, 1> &at) {
                        value = step(value, read(base + at[0]));
                      });
      store(i, value, count);
    }
  };
  parallelFor(c.threads, c.out().numElements(), 64, run);
  return true;
}

/// d = finish(fold of step over the reduced elements, their number).
template <typename Step, typename Finish>
bool reduce(OpContext &c, double start, Step step, Finish finish) {
  return fold(
      c, start, [&](int64_t at) { return c.in(0).data[at]; }, step,
      [&](int64_t i, double value, double count) {
        c.out().data[i] = finish(value, count);
      });
}

bool ofIntegers(OpContext &c) {
  DType dtype = c.in(0).dtype;
  return !graph::isFloat(dtype) && dtype != DType::undef;
}

/// The same of integers, as they wrap around.
template <typename Step>
bool reduceIntegers(OpContext &c, int64_t start, Step step) {
  return fold(
      c, start, [&](int64_t at) { return integerAt(c.in(0), at); },
      [&](uint64_t a, uint64_t s) { return static_cast<int64_t>(step(a, s)); },
      [&](int64_t i, int64_t value, double) { setInteger(c.out(), i, value); });
}

/// The least and the largest integer of the type of dst.
int64_t leastOf(DType dtype) {
  return dtype == DType::s64 ? std::numeric_limits<int64_t>::min()
                             : static_cast<int64_t>(rangeOf(dtype).min);
}
int64_t largestOf(DType dtype) {
  return dtype == DType::s64 ? std::numeric_limits<int64_t>::max()
                             : static_cast<int64_t>(rangeOf(dtype).max);
}

double keepValue(double value, double) { return value; }

bool evalSum(OpContext &c) {
  if (ofIntegers(c))
    return reduceIntegers(c, 0, std::plus<>());
  return reduce(c, 0, [](double a, double s) { return a + s; }, keepValue);
}

/// Without axes nothing is reduced: dst is src, not its norm.
bool reducesNothing(const OpContext &c) {
  return !c.hasIn(1) && c.list("axes").empty();
}

bool evalL1(OpContext &c) {
  if (reducesNothing(c))
    return evalSum(c);
  if (ofIntegers(c))
    return reduceIntegers(c, 0, [](uint64_t a, uint64_t s) {
      return a + (static_cast<int64_t>(s) < 0 ? -s : s);
    });
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
  if (ofIntegers(c))
    return reduceIntegers(c, leastOf(c.in(0).dtype),
                          [](int64_t a, int64_t s) { return std::max(a, s); });
  return reduce(c, -std::numeric_limits<double>::infinity(), maximum,
                keepValue);
}

bool evalMean(OpContext &c) {
  return reduce(
      c, 0, [](double a, double s) { return a + s; },
      [](double a, double n) { return a / n; });
}

bool evalMin(OpContext &c) {
  if (ofIntegers(c))
    return reduceIntegers(c, largestOf(c.in(0).dtype),
                          [](int64_t a, int64_t s) { return std::min(a, s); });
  return reduce(c, std::numeric_limits<double>::infinity(), minimum, keepValue);
}

bool evalProd(OpContext &c) {
  if (ofIntegers(c))
    return reduceIntegers(c, 1, std::multiplies<>());
  return reduce(c, 1, [](double a, double s) { return a * s; }, keepValue);
}

} // namespace

std::span<const OpEntry> reduceOps() {
  static constexpr OpEntry entries[] = {
      {"ReduceL1", evalL1, S64Use::any},
      {"ReduceL2", evalL2, S64Use::any},
      {"ReduceMax", evalMax, S64Use::any},
      {"ReduceMean", evalMean, S64Use::any},
      {"ReduceMin", evalMin, S64Use::any},
      {"ReduceProd", evalProd, S64Use::any},
      {"ReduceSum", evalSum, S64Use::any},
  };
  return entries;
}

} // namespace tenon::reference
