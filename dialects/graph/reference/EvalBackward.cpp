//===- EvalBackward.cpp - gradients of elementwise operations -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Also BiasAddBackward.  Where use_dst allows the forward result as operand 0,
// the formula is the one in terms of that result.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Functions.h"
#include "dialects/graph/reference/OpContext.h"

namespace tenon::reference {
namespace {

/// diff_src[i] = f(src or dst[i], diff_dst[i]).
template <typename F> bool apply(OpContext &c, F f) {
  const Tensor &src = c.in(0), &diffDst = c.in(1);
  if (!c.requireShape(1, src.shape) || !c.setShape(0, src.shape))
    return false;
  for (size_t i = 0; i < src.data.size(); ++i)
    c.out().data[i] = f(src.data[i], diffDst.data[i]);
  return true;
}

bool useDst(const OpContext &c) { return c.flag("use_dst", true); }

bool evalAbs(OpContext &c) {
  return apply(c, [](double s, double dd) {
    return s > 0 ? dd : s < 0 ? -dd : 0;
  });
}

bool evalClamp(OpContext &c) {
  double min = c.f32("min", 0), max = c.f32("max", 0);
  return apply(
      c, [=](double s, double dd) { return s > min && s < max ? dd : 0; });
}

bool evalElu(OpContext &c) {
  double alpha = c.f32("alpha", 0);
  if (useDst(c))
    return apply(
        c, [=](double d, double dd) { return d > 0 ? dd : dd * (d + alpha); });
  return apply(c, [=](double s, double dd) {
    return s > 0 ? dd : dd * alpha * std::exp(s);
  });
}

bool evalGelu(OpContext &c) {
  if (c.text("mode", "gelu_erf") == "gelu_erf")
    return apply(c, [](double s, double dd) {
      double density = std::exp(-s * s / 2) / std::sqrt(2 * std::numbers::pi);
      return dd * (normalCdf(s) + s * density);
    });
  return apply(c, [](double s, double dd) {
    double u = geluScale * (s + geluCubic * s * s * s);
    double du = geluScale * (1 + 3 * geluCubic * s * s);
    // sigmoid(2u) = (1 + tanh u) / 2, sigmoid(-2u) = (1 - tanh u) / 2.
    double up = sigmoid(2 * u), down = sigmoid(-2 * u);
    return dd * (up + 2 * s * up * down * du);
  });
}

bool evalHardSigmoid(OpContext &c) {
  double alpha = c.f32("alpha", 0), beta = c.f32("beta", 0);
  return apply(c, [=](double s, double dd) {
    double x = alpha * s + beta;
    return x > 0 && x < 1 ? dd * alpha : 0;
  });
}

bool evalHardSwish(OpContext &c) {
  return apply(c, [](double s, double dd) {
    return s <= -3 ? 0 : s >= 3 ? dd : dd * (2 * s + 3) / 6;
  });
}

bool evalMish(OpContext &c) {
  return apply(c, [](double s, double dd) {
    // d/ds s tanh(p(s)), p = ln(1 + e^s), p' = sigmoid(s): the same as the
    // quotient of exponentials in the specification, without its overflow. At
    // infinities the limits: s outgrows no exponential.
    if (std::isinf(s))
      return dd * (s > 0 ? 1 : 0);
    double t = std::tanh(logOnePlusExp(s));
    return dd * (t + s * (1 - t * t) * sigmoid(s));
  });
}

bool evalRelu(OpContext &c) {
  bool propagates = c.flag("propagate_nan", false);
  return apply(c, [=](double s, double dd) {
    return s > 0 || (propagates && std::isnan(s)) ? dd : 0;
  });
}

bool evalSigmoid(OpContext &c) {
  bool dst = useDst(c);
  return apply(c, [=](double s, double dd) {
    // 1 - sigmoid(s) would cancel.
    return dst ? dd * s * (1 - s) : dd * sigmoid(s) * sigmoid(-s);
  });
}

bool evalSoftPlus(OpContext &c) {
  double beta = c.f32("beta", 1);
  return apply(c, [=](double s, double dd) { return dd * sigmoid(beta * s); });
}

bool evalSqrt(OpContext &c) {
  bool dst = useDst(c);
  return apply(c, [=](double s, double dd) {
    return dd / (2 * (dst ? s : std::sqrt(s)));
  });
}

bool evalTanh(OpContext &c) {
  bool dst = useDst(c);
  return apply(c, [=](double s, double dd) {
    if (dst)
      return dd * ((1 - s) * (1 + s));
    // 1 - tanh(s)^2, which would cancel.
    double inverse = 1 / std::cosh(s);
    return dd * inverse * inverse;
  });
}

/// Strides of the slope over src: length 1 or channel for 1-D, else
/// right-aligned.
std::optional<Dims> slopeStrides(OpContext &c) {
  const Dims &src = c.in(0).shape, &slope = c.in(1).shape;
  if (slope.size() == 1 && slope[0] != 1 && src.size() > 1) {
    int channel = c.channelDim(c.in(0).rank());
    if (slope[0] == src[channel]) {
      Dims strides(src.size(), 0);
      strides[channel] = 1;
      return strides;
    }
  } else if (auto strides = broadcastStrides(slope, src)) {
    return strides;
  }
  c.fail(ErrorCode::ShapeMismatch, "slope " + shapeText(slope) +
                                       " does not broadcast to src " +
                                       shapeText(src));
  return std::nullopt;
}

bool evalPRelu(OpContext &c) {
  const Tensor &src = c.in(0), &slope = c.in(1), &diffDst = c.in(2);
  auto strides = slopeStrides(c);
  if (!strides || !c.requireShape(2, src.shape) || !c.setShape(0, src.shape) ||
      !c.setShape(1, slope.shape))
    return false;
  forEachIndex<1>(src.shape, {*strides},
                  [&](int64_t i, const std::array<int64_t, 1> &at) {
                    double s = src.data[i], dd = diffDst.data[i];
                    c.out(0).data[i] = s > 0 ? dd : dd * slope.data[at[0]];
                    if (!(s > 0))
                      c.out(1).data[at[0]] += dd * s;
                  });
  return true;
}

bool evalBiasAdd(OpContext &c) {
  const Tensor &diffDst = c.in(0);
  if (!c.requireRank(0, 2))
    return false;
  AxisSplit split = splitAt(diffDst.shape, c.channelDim(diffDst.rank()));
  if (!c.setShape(0, {split.length}))
    return false;
  for (int64_t i = 0; i < diffDst.numElements(); ++i)
    c.out().data[i / split.inner % split.length] += diffDst.data[i];
  return true;
}

} // namespace

std::span<const OpEntry> backwardOps() {
  static constexpr OpEntry entries[] = {
      {"AbsBackward", evalAbs},
      {"BiasAddBackward", evalBiasAdd},
      {"ClampBackward", evalClamp},
      {"EluBackward", evalElu},
      {"GELUBackward", evalGelu},
      {"HardSigmoidBackward", evalHardSigmoid},
      {"HardSwishBackward", evalHardSwish},
      {"MishBackward", evalMish},
      {"PReLUBackward", evalPRelu},
      {"ReLUBackward", evalRelu},
      {"SigmoidBackward", evalSigmoid},
      {"SoftPlusBackward", evalSoftPlus},
      {"SqrtBackward", evalSqrt},
      {"TanhBackward", evalTanh},
  };
  return entries;
}

} // namespace tenon::reference
