//===- EvalBinary.cpp - elementwise operations with several operands ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Add, And, Atan2, BiasAdd, Divide, Equal, Greater, GreaterEqual, Maximum,
// Minimum, Multiply, Or, Pow, PReLU, Remainder, Select, SquaredDifference,
// Subtract.
//
// Decisions.  Integer results wrap around; integer division truncates and gives
// 0 for a divisor of 0.  Maximum and Minimum hand on NaN.  Booleans are 0 or 1,
// whatever byte they were.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Functions.h"
#include "dialects/graph/reference/OpContext.h"

#include <functional>

namespace tenon::reference {
namespace {

/// The common shape of operands `a` and `b` under attribute auto_broadcast.
std::optional<Dims> resultShape(OpContext &c, size_t a, size_t b) {
  const Dims &left = c.in(a).shape, &right = c.in(b).shape;
  bool numpy = c.text("auto_broadcast", "numpy") != "none";
  std::optional<Dims> shape;
  if (numpy)
    shape = broadcastShapes(left, right);
  else if (left == right)
    shape = left;
  if (!shape)
    c.fail(ErrorCode::ShapeMismatch,
           "shapes " + shapeText(left) + " and " + shapeText(right) +
               (numpy ? " do not broadcast" : " differ"),
           numpy ? "right-aligned dims must be equal or 1"
                 : "use auto_broadcast = numpy to broadcast");
  return shape;
}

template <typename F> bool apply(OpContext &c, F f) {
  auto shape = resultShape(c, 0, 1);
  if (!shape || !c.setShape(0, *shape))
    return false;
  const Tensor &a = c.in(0), &b = c.in(1);
  Tensor &dst = c.out();
  if (a.shape == b.shape) {
    for (size_t i = 0; i < dst.data.size(); ++i)
      dst.data[i] = f(a.data[i], b.data[i]);
    return true;
  }
  forEachIndex<2>(
      *shape,
      {*broadcastStrides(a.shape, *shape), *broadcastStrides(b.shape, *shape)},
      [&](int64_t i, const std::array<int64_t, 2> &at) {
        dst.data[i] = f(a.data[at[0]], b.data[at[1]]);
      });
  return true;
}

/// As apply, wrapping the result when it is an integer tensor.
template <typename F> bool applyWrapping(OpContext &c, F f) {
  if (!apply(c, f))
    return false;
  Tensor &dst = c.out();
  if (!graph::isFloat(dst.dtype) && dst.dtype != DType::undef)
    for (double &value : dst.data)
      value = wrapTo(dst.dtype, value);
  return true;
}

bool isInteger(DType dtype) {
  return !graph::isFloat(dtype) && dtype != DType::undef;
}

/// Whether both operands and the result are integers or booleans.
bool ofIntegers(OpContext &c) {
  return isInteger(c.in(0).dtype) && isInteger(c.in(1).dtype) &&
         isInteger(c.out().dtype);
}

/// `f` of the elements as integers, which wraps around to the type of dst.
template <typename F> bool applyIntegers(OpContext &c, F f) {
  auto shape = resultShape(c, 0, 1);
  if (!shape || !c.setShape(0, *shape))
    return false;
  const Tensor &a = c.in(0), &b = c.in(1);
  forEachIndex<2>(
      *shape,
      {*broadcastStrides(a.shape, *shape), *broadcastStrides(b.shape, *shape)},
      [&](int64_t i, const std::array<int64_t, 2> &at) {
        setInteger(c.out(), i, f(integerAt(a, at[0]), integerAt(b, at[1])));
      });
  return true;
}

// Sums and products of 64 bits wrap around as unsigned numbers do.
int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }

bool isBoolean(OpContext &c) { return c.out().dtype == DType::boolean; }

bool evalAdd(OpContext &c) {
  if (!ofIntegers(c))
    return applyWrapping(c, [](double a, double b) { return a + b; });
  if (isBoolean(c))
    return applyIntegers(c, [](int64_t a, int64_t b) { return a | b; });
  return applyIntegers(c,
                       [](uint64_t a, uint64_t b) { return wrapped(a + b); });
}

bool evalSubtract(OpContext &c) {
  if (!ofIntegers(c))
    return applyWrapping(c, [](double a, double b) { return a - b; });
  return applyIntegers(c,
                       [](uint64_t a, uint64_t b) { return wrapped(a - b); });
}

bool evalMultiply(OpContext &c) {
  if (!ofIntegers(c))
    return applyWrapping(c, [](double a, double b) { return a * b; });
  return applyIntegers(c,
                       [](uint64_t a, uint64_t b) { return wrapped(a * b); });
}

/// The quotient without its fraction, 0 for a divisor of 0.
int64_t quotient(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  return b == -1 ? wrapped(-static_cast<uint64_t>(a)) : a / b;
}

bool evalDivide(OpContext &c) {
  if (ofIntegers(c))
    return applyIntegers(c, quotient);
  DType dtype = c.out().dtype;
  if (graph::isFloat(dtype) || dtype == DType::undef)
    return apply(c, [](double a, double b) { return a / b; });
  return applyWrapping(
      c, [](double a, double b) { return b == 0 ? 0.0 : std::trunc(a / b); });
}

bool evalRemainder(OpContext &c) {
  bool floor = c.text("mode", "floor") == "floor";
  if (ofIntegers(c))
    return applyIntegers(c, [=](int64_t a, int64_t b) {
      int64_t rest = b == -1 ? 0 : b == 0 ? a : a % b;
      return floor && b != 0 && rest != 0 && (rest < 0) != (b < 0) ? rest + b
                                                                   : rest;
    });
  return apply(c, [=](double a, double b) {
    double rest = std::fmod(a, b);
    if (floor && rest != 0 && (rest < 0) != (b < 0))
      return rest + b;
    return rest;
  });
}

bool evalMaximum(OpContext &c) {
  if (ofIntegers(c))
    return applyIntegers(c,
                         [](int64_t a, int64_t b) { return std::max(a, b); });
  return apply(c, maximum);
}

bool evalMinimum(OpContext &c) {
  if (ofIntegers(c))
    return applyIntegers(c,
                         [](int64_t a, int64_t b) { return std::min(a, b); });
  return apply(c, minimum);
}

bool evalSquaredDifference(OpContext &c) {
  return apply(c, [](double a, double b) { return (a - b) * (a - b); });
}

bool evalAtan2(OpContext &c) {
  return apply(c, [](double y, double x) { return std::atan2(y, x); });
}

/// `compare` is generic: of doubles, or of integers.
template <typename Compare> bool evalComparison(OpContext &c, Compare compare) {
  if (isInteger(c.in(0).dtype))
    return applyIntegers(
        c, [&](int64_t a, int64_t b) { return int64_t{compare(a, b)}; });
  return apply(c,
               [&](double a, double b) { return compare(a, b) ? 1.0 : 0.0; });
}

bool evalEqual(OpContext &c) { return evalComparison(c, std::equal_to<>()); }

bool evalGreater(OpContext &c) { return evalComparison(c, std::greater<>()); }

bool evalGreaterEqual(OpContext &c) {
  return evalComparison(c, std::greater_equal<>());
}

bool evalAnd(OpContext &c) { return applyIntegers(c, std::bit_and<int64_t>()); }

bool evalPow(OpContext &c) {
  auto power = [](double s, double exponent) { return std::pow(s, exponent); };
  if (c.hasIn(1))
    return apply(c, power);
  const Tensor &src = c.in(0);
  double beta = c.f32("beta", 1);
  if (!c.setShape(0, src.shape))
    return false;
  for (int64_t i = 0; i < src.numElements(); ++i)
    c.out().data[i] = power(src.data[i], beta);
  return true;
}

bool evalOr(OpContext &c) { return applyIntegers(c, std::bit_or<int64_t>()); }

bool evalBiasAdd(OpContext &c) {
  const Tensor &src = c.in(0), &bias = c.in(1);
  if (!c.requireRank(0, 2) || !c.setShape(0, src.shape))
    return false;
  int channel = c.channelDim(src.rank());
  if (!c.requireShape(1, {src.shape[channel]}))
    return false;
  AxisSplit split = splitAt(src.shape, channel);
  for (int64_t i = 0; i < src.numElements(); ++i)
    c.out().data[i] = src.data[i] + bias.data[i / split.inner % split.length];
  return true;
}

/// Strides of a PReLU slope seen with the shape of src.
std::optional<Dims> slopeStrides(OpContext &c) {
  const Tensor &src = c.in(0), &slope = c.in(1);
  bool perChannel = c.flag("per_channel_broadcast", true);
  if (slope.rank() == 1 && perChannel && src.rank() > 1) {
    int channel = c.channelDim(src.rank());
    if (slope.shape[0] == src.shape[channel]) {
      Dims strides(src.rank(), 0);
      strides[channel] = 1;
      return strides;
    }
  } else if (auto strides = broadcastStrides(slope.shape, src.shape)) {
    return strides;
  }
  c.fail(ErrorCode::ShapeMismatch,
         "slope " + shapeText(slope.shape) + " does not broadcast to src " +
             shapeText(src.shape),
         slope.rank() == 1 && perChannel
             ? "with per_channel_broadcast it has one entry per channel"
             : "its dims are right-aligned, each equal to src or 1");
  return std::nullopt;
}

bool evalPRelu(OpContext &c) {
  const Tensor &src = c.in(0), &slope = c.in(1);
  auto strides = slopeStrides(c);
  if (!strides || !c.setShape(0, src.shape))
    return false;
  forEachIndex<1>(src.shape, {*strides},
                  [&](int64_t i, const std::array<int64_t, 1> &at) {
                    double s = src.data[i];
                    c.out().data[i] = s >= 0 ? s : slope.data[at[0]] * s;
                  });
  return true;
}

bool evalSelect(OpContext &c) {
  auto shape = resultShape(c, 1, 2);
  if (!shape)
    return false;
  const Tensor &cond = c.in(0), &a = c.in(1), &b = c.in(2);
  auto condStrides = broadcastStrides(cond.shape, *shape);
  bool numpy = c.text("auto_broadcast", "numpy") != "none";
  if (!condStrides || (!numpy && cond.shape != *shape))
    return c.fail(ErrorCode::ShapeMismatch,
                  "condition " + shapeText(cond.shape) +
                      " does not broadcast to " + shapeText(*shape));
  if (!c.setShape(0, *shape))
    return false;
  auto copy = [&](const auto &yes, const auto &no, auto &dst) {
    forEachIndex<3>(*shape,
                    {*condStrides, *broadcastStrides(a.shape, *shape),
                     *broadcastStrides(b.shape, *shape)},
                    [&](int64_t i, const std::array<int64_t, 3> &at) {
                      dst[i] = cond.data[at[0]] != 0 ? yes[at[1]] : no[at[2]];
                    });
  };
  if (c.out().isS64())
    copy(a.integers, b.integers, c.out().integers);
  else
    copy(a.data, b.data, c.out().data);
  return true;
}

} // namespace

std::span<const OpEntry> binaryOps() {
  static constexpr OpEntry entries[] = {
      {"Add", evalAdd, S64Use::moved},
      {"And", evalAnd, S64Use::moved},
      {"Atan2", evalAtan2},
      {"BiasAdd", evalBiasAdd},
      {"Divide", evalDivide, S64Use::moved},
      {"Equal", evalEqual, S64Use::any},
      {"Greater", evalGreater, S64Use::any},
      {"GreaterEqual", evalGreaterEqual, S64Use::any},
      {"Maximum", evalMaximum, S64Use::moved},
      {"Minimum", evalMinimum, S64Use::moved},
      {"Multiply", evalMultiply, S64Use::moved},
      {"Or", evalOr, S64Use::moved},
      {"PReLU", evalPRelu},
      {"Pow", evalPow},
      {"Remainder", evalRemainder, S64Use::moved},
      {"Select", evalSelect, S64Use::any},
      {"SquaredDifference", evalSquaredDifference},
      {"Subtract", evalSubtract, S64Use::moved},
  };
  return entries;
}

} // namespace tenon::reference
