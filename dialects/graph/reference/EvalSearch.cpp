//===- EvalSearch.cpp - extremes, orders, running sums along a dim --------===//
// SPDX-License-Identifier: Apache-2.0
//
// ArgMax, ArgMin, CumSum, NonZero, TopK.
//
// Decisions. NaN comes before all numbers in ArgMax, ArgMin and TopK of the
// largest, and after them in TopK of the smallest. -0 equals +0.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/OpContext.h"

#include <cmath>
#include <numeric>

namespace tenon::reference {
namespace {

/// Calls `line(i, first)` for each line of elements first + k * split.inner;
/// lines are counted in row-major order of the other dims.
template <typename Line>
void forEachLine(OpContext &c, const AxisSplit &split, Line line) {
  parallelFor(c.threads, split.outer * split.inner, 16,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i)
                  line(i, i / split.inner * split.length * split.inner +
                              i % split.inner);
              });
}

/// Which of two elements a search finds first; neither of equal ones.
struct Order {
  bool largest;  // from the largest on, or from the smallest
  bool nanFirst; // NaN before all numbers, or after them

  bool operator()(double a, double b) const {
    if (std::isnan(a) || std::isnan(b))
      return nanFirst ? !std::isnan(b) : !std::isnan(a);
    return largest ? a > b : a < b;
  }
  bool operator()(int64_t a, int64_t b) const {
    return largest ? a > b : a < b;
  }
};

bool evalArgExtreme(OpContext &c, bool largest) {
  const Tensor &src = c.in(0);
  auto axis = c.axis("axis", 0, src.rank());
  if (!axis)
    return false;
  if (src.shape[*axis] == 0)
    return c.fail(ErrorCode::BadDim,
                  "dim " + std::to_string(*axis) + " of " +
                      shapeText(src.shape) +
                      " is empty, and so has no extreme element");
  Dims shape = src.shape;
  if (c.flag("keep_dims", true))
    shape[*axis] = 1;
  else
    shape.erase(shape.begin() + *axis);
  if (!c.setShape(0, shape))
    return false;
  bool last = c.flag("last_index", false);
  AxisSplit split = splitAt(src.shape, *axis);
  Order before{largest, /*nanFirst=*/true};
  visitElements(src, [&](const auto &elements) {
    forEachLine(c, split, [&](int64_t i, int64_t first) {
      int64_t best = 0;
      for (int64_t k = 1; k < split.length; ++k) {
        auto found = elements[first + best * split.inner];
        auto other = elements[first + k * split.inner];
        if (last ? !before(found, other) : before(other, found))
          best = k;
      }
      setInteger(c.out(), i, best);
    });
  });
  return true;
}

bool evalArgMax(OpContext &c) { return evalArgExtreme(c, /*largest=*/true); }
bool evalArgMin(OpContext &c) { return evalArgExtreme(c, /*largest=*/false); }

/// k of TopK, by the operand or the attribute; absent after an error.
std::optional<int64_t> topCount(OpContext &c, int64_t size) {
  if (c.hasIn(1) && !c.requireLength(1, 1))
    return std::nullopt;
  int64_t k = c.hasIn(1) ? integerAt(c.in(1), 0) : c.s64("k", -1);
  if (k >= 0 && k <= size)
    return k;
  c.fail(c.hasIn(1) ? ErrorCode::BadTensorData : ErrorCode::AttrValue,
         "k is " + std::to_string(k) + ", the dim has " + std::to_string(size) +
             " elements",
         "k is from 0 to the size of the dim");
  return std::nullopt;
}

bool evalTopK(OpContext &c) {
  const Tensor &src = c.in(0);
  auto axis = c.axis("axis", -1, src.rank());
  auto k = axis ? topCount(c, src.shape[*axis]) : std::nullopt;
  if (!k)
    return false;
  Dims shape = src.shape;
  shape[*axis] = *k;
  if (!c.setShape(0, shape) || !c.setShape(1, shape))
    return false;
  AxisSplit split = splitAt(src.shape, *axis);
  bool largest = c.flag("largest", true);
  Order before{largest, /*nanFirst=*/largest};
  moveElements(src, c.out(), [&](const auto &from, auto &to) {
    forEachLine(c, split, [&](int64_t i, int64_t first) {
      std::vector<int64_t> order(split.length);
      std::iota(order.begin(), order.end(), 0);
      auto at = [&](int64_t n) { return from[first + n * split.inner]; };
      std::partial_sort(order.begin(), order.begin() + *k, order.end(),
                        [&](int64_t a, int64_t b) {
                          return before(at(a), at(b)) ||
                                 (!before(at(b), at(a)) && a < b);
                        });
      int64_t result = i / split.inner * *k * split.inner + i % split.inner;
      for (int64_t n = 0; n < *k; ++n, result += split.inner) {
        to[result] = at(order[n]);
        if (c.hasOut(1))
          setInteger(c.out(1), result, order[n]);
      }
    });
  });
  return true;
}

/// a + b in the element type; floats are not rounded.
int64_t add(DType, int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}
double add(DType dtype, double a, double b) {
  return graph::isFloat(dtype) ? a + b : wrapTo(dtype, a + b);
}

bool evalCumSum(OpContext &c) {
  const Tensor &src = c.in(0);
  auto axis = c.axis("axis", 0, src.rank());
  if (!axis || !c.setShape(0, src.shape))
    return false;
  bool exclusive = c.flag("exclusive", false),
       reverse = c.flag("reverse", false);
  AxisSplit split = splitAt(src.shape, *axis);
  moveElements(src, c.out(), [&](const auto &from, auto &to) {
    forEachLine(c, split, [&](int64_t, int64_t first) {
      std::decay_t<decltype(from[0])> sum = 0;
      for (int64_t n = 0; n < split.length; ++n) {
        int64_t k = reverse ? split.length - 1 - n : n;
        int64_t i = first + k * split.inner;
        auto before = sum;
        sum = add(src.dtype, sum, from[i]);
        to[i] = exclusive ? before : sum;
      }
    });
  });
  return true;
}

bool evalNonZero(OpContext &c) {
  const Tensor &src = c.in(0);
  int64_t room = src.numElements(), count = 0;
  if (!c.setShape(0, {src.rank(), room}) || !c.setShape(1, {}))
    return false;
  Dims strides = graph::denseStrides(src.shape);
  visitElements(src, [&](const auto &elements) {
    for (int64_t i = 0; i < room; ++i) {
      if (elements[i] == 0)
        continue;
      for (int d = 0; d < src.rank(); ++d)
        setInteger(c.out(), d * room + count, i / strides[d] % src.shape[d]);
      ++count;
    }
  });
  setInteger(c.out(1), 0, count);
  return true;
}

} // namespace

std::span<const OpEntry> searchOps() {
  static constexpr OpEntry entries[] = {
      {"ArgMax", evalArgMax, S64Use::any},
      {"ArgMin", evalArgMin, S64Use::any},
      {"CumSum", evalCumSum, S64Use::any},
      {"NonZero", evalNonZero, S64Use::any},
      {"TopK", evalTopK, S64Use::any},
  };
  return entries;
}

} // namespace tenon::reference
