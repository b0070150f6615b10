//===- EvalElementwise.cpp - operations with one operand ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// d[i] = f(s[i]).  NaN goes in, NaN comes out, in every one of them.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Functions.h"
#include "dialects/graph/reference/OpContext.h"

namespace tenon::reference {
namespace {

template <typename F> bool apply(OpContext &c, F f) {
  const Tensor &src = c.in(0);
  if (!c.setShape(0, src.shape))
    return false;
  Tensor &dst = c.out();
  parallelFor(c.threads, src.numElements(), 1 << 14,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i)
                  dst.data[i] = f(src.data[i]);
              });
  return true;
}

bool isInteger(DType dtype) {
  return !graph::isFloat(dtype) && dtype != DType::undef;
}

/// `f` of the elements as integers, which wraps around to the type of dst.
template <typename F> bool applyIntegers(OpContext &c, F f) {
  const Tensor &src = c.in(0);
  if (!c.setShape(0, src.shape))
    return false;
  for (int64_t i = 0; i < src.numElements(); ++i)
    setInteger(c.out(), i, f(integerAt(src, i)));
  return true;
}

bool evalAbs(OpContext &c) {
  if (isInteger(c.in(0).dtype))
    return applyIntegers(c, [](int64_t s) {
      return s < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(s)) : s;
    });
  return apply(c, [](double s) { return std::fabs(s); });
}

bool evalClamp(OpContext &c) {
  double min = c.f32("min", 0), max = c.f32("max", 0);
  if (min > max)
    return c.fail(ErrorCode::AttrValue, "min " + std::to_string(min) +
                                            " exceeds max " +
                                            std::to_string(max));
  DType dtype = c.in(0).dtype;
  if (isInteger(dtype)) {
    // The nearest integers between the bounds; s64 has none of 2^63.
    auto bound = [&](double v) {
      return dtype == DType::s64 ? nearestS64(v)
                                 : static_cast<int64_t>(roundTo(dtype, v));
    };
    int64_t low = bound(std::ceil(min)), high = bound(std::floor(max));
    return applyIntegers(c, [=](int64_t s) {
      return s < low ? low : s > high ? high : s;
    });
  }
  return apply(c, [=](double s) { return clamp(s, min, max); });
}

bool evalCos(OpContext &c) {
  return apply(c, [](double s) { return std::cos(s); });
}

bool evalElu(OpContext &c) {
  double alpha = c.f32("alpha", 0);
  return apply(c, [=](double s) { return s > 0 ? s : alpha * std::expm1(s); });
}

bool evalErf(OpContext &c) {
  return apply(c, [](double s) { return std::erf(s); });
}

bool evalExp(OpContext &c) {
  return apply(c, [](double s) { return std::exp(s); });
}

bool evalExpm1(OpContext &c) {
  return apply(c, [](double s) { return std::expm1(s); });
}

bool evalFloor(OpContext &c) {
  return apply(c, [](double s) { return std::floor(s); });
}

bool evalGelu(OpContext &c) {
  if (c.text("mode", "gelu_erf") == "gelu_erf")
    return apply(c, [](double s) { return s * normalCdf(s); });
  return apply(c, [](double s) {
    // (1 + tanh(u)) / 2 = sigmoid(2u) does not cancel for negative u.
    return s * sigmoid(2 * geluScale * (s + geluCubic * s * s * s));
  });
}

bool evalHardSigmoid(OpContext &c) {
  double alpha = c.f32("alpha", 0), beta = c.f32("beta", 0);
  return apply(c, [=](double s) { return clamp(alpha * s + beta, 0, 1); });
}

bool evalHardSwish(OpContext &c) {
  return apply(c, [](double s) { return s * clamp(s + 3, 0, 6) / 6; });
}

bool evalLeakyRelu(OpContext &c) {
  double alpha = c.f32("alpha", 0);
  return apply(c, [=](double s) { return s >= 0 ? s : alpha * s; });
}

bool evalLog(OpContext &c) {
  return apply(c, [](double s) { return std::log(s); });
}

bool evalLog1p(OpContext &c) {
  return apply(c, [](double s) { return std::log1p(s); });
}

bool evalMish(OpContext &c) {
  return apply(c, [](double s) { return s * std::tanh(logOnePlusExp(s)); });
}

bool evalNot(OpContext &c) {
  bool isBoolean = c.in(0).dtype == DType::boolean;
  return applyIntegers(c, [=](int64_t s) { return isBoolean ? s ^ 1 : ~s; });
}

bool evalReciprocal(OpContext &c) {
  return apply(c, [](double s) { return 1 / s; });
}

bool evalRelu(OpContext &c) {
  return apply(c, [](double s) { return s < 0 ? 0 : s; });
}

bool evalRound(OpContext &c) {
  return apply(c, [](double s) { return roundHalfEven(s); });
}

bool evalSigmoid(OpContext &c) { return apply(c, sigmoid); }

bool evalSin(OpContext &c) {
  return apply(c, [](double s) { return std::sin(s); });
}

bool evalSoftPlus(OpContext &c) {
  double beta = c.f32("beta", 1);
  return apply(c, [=](double s) { return logOnePlusExp(beta * s) / beta; });
}

bool evalSqrt(OpContext &c) {
  return apply(c, [](double s) { return std::sqrt(s); });
}

bool evalSquare(OpContext &c) {
  return apply(c, [](double s) { return s * s; });
}

bool evalTanh(OpContext &c) {
  return apply(c, [](double s) { return std::tanh(s); });
}

} // namespace

std::span<const OpEntry> elementwiseOps() {
  static constexpr OpEntry entries[] = {
      {"Abs", evalAbs, S64Use::moved},
      {"Clamp", evalClamp, S64Use::moved},
      {"Cos", evalCos},
      {"Elu", evalElu},
      {"Erf", evalErf},
      {"Exp", evalExp},
      {"Expm1", evalExpm1},
      {"Floor", evalFloor},
      {"GELU", evalGelu},
      {"HardSigmoid", evalHardSigmoid},
      {"HardSwish", evalHardSwish},
      {"LeakyReLU", evalLeakyRelu},
      {"Log", evalLog},
      {"Log1p", evalLog1p},
      {"Mish", evalMish},
      {"Not", evalNot, S64Use::moved},
      {"ReLU", evalRelu},
      {"Reciprocal", evalReciprocal},
      {"Round", evalRound},
      {"Sigmoid", evalSigmoid},
      {"Sin", evalSin},
      {"SoftPlus", evalSoftPlus},
      {"Sqrt", evalSqrt},
      {"Square", evalSquare},
      {"Tanh", evalTanh},
  };
  return entries;
}

} // namespace tenon::reference
