//===- EvalBinary.cpp - elementwise operations with several operands ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Add, BiasAdd, Divide, GreaterEqual, Maximum, Minimum, Multiply, PReLU,
// Select, SquaredDifference, Subtract.
//
// Decisions.  Integer results wrap around; integer division truncates and gives
// 0 for a divisor of 0.  Maximum and Minimum hand on NaN.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Functions.h"
#include "dialects/graph/reference/OpContext.h"

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

bool evalAdd(OpContext &c) {
  return applyWrapping(c, [](double a, double b) { return a + b; });
}

bool evalSubtract(OpContext &c) {
  return applyWrapping(c, [](double a, double b) { return a - b; });
}

bool evalMultiply(OpContext &c) {
  bool integers = c.in(0).dtype == DType::s32 && c.in(1).dtype == DType::s32 &&
                  c.out().dtype == DType::s32;
  if (!integers)
    return applyWrapping(c, [](double a, double b) { return a * b; });
  // The low half; the whole has more digits than a double.
  return apply(c, [](double a, double b) {
    auto product = static_cast<int64_t>(a) * static_cast<int64_t>(b);
    return static_cast<double>(static_cast<int32_t>(product));
  });
}

bool evalDivide(OpContext &c) {
  DType dtype = c.out().dtype;
  if (graph::isFloat(dtype) || dtype == DType::undef)
    return apply(c, [](double a, double b) { return a / b; });
  return applyWrapping(
      c, [](double a, double b) { return b == 0 ? 0.0 : std::trunc(a / b); });
}

bool evalMaximum(OpContext &c) { return apply(c, maximum); }

bool evalMinimum(OpContext &c) { return apply(c, minimum); }

bool evalSquaredDifference(OpContext &c) {
  return apply(c, [](double a, double b) { return (a - b) * (a - b); });
}

bool evalGreaterEqual(OpContext &c) {
  return apply(c, [](double a, double b) { return a >= b ? 1.0 : 0.0; });
}

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
  forEachIndex<3>(*shape,
                  {*condStrides, *broadcastStrides(a.shape, *shape),
                   *broadcastStrides(b.shape, *shape)},
                  [&](int64_t i, const std::array<int64_t, 3> &at) {
                    c.out().data[i] =
                        cond.data[at[0]] != 0 ? a.data[at[1]] : b.data[at[2]];
                  });
  return true;
}

} // namespace

std::span<const OpEntry> binaryOps() {
  static constexpr OpEntry entries[] = {
      {"Add", evalAdd},           {"BiasAdd", evalBiasAdd},
      {"Divide", evalDivide},     {"GreaterEqual", evalGreaterEqual},
      {"Maximum", evalMaximum},   {"Minimum", evalMinimum},
      {"Multiply", evalMultiply}, {"PReLU", evalPRelu},
      {"Select", evalSelect},     {"SquaredDifference", evalSquaredDifference},
      {"Subtract", evalSubtract},
  };
  return entries;
}

} // namespace tenon::reference
