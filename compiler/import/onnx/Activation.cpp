// SPDX-License-Identifier: Apache-2.0
//
// Activation functions.
#include "compiler/import/onnx/Conversions.h"

namespace tenon::onnx {

static void unary(NodeContext &n) {
  n.out(0, n.op(n.conversion().kind, {n.in(0)}));
}

static void elu(NodeContext &n) {
  n.out(0, n.op("Elu", {n.in(0)}, {{"alpha", n.number("alpha", 1)}}));
}

/// alpha * Elu(x / alpha) with a scale of 1.
static void celu(NodeContext &n) {
  Value x = n.in(0), alpha = n.like(x, n.number("alpha", 1));
  Value inner = n.op("Elu", {n.op("Divide", {x, alpha})}, {{"alpha", 1.0f}});
  n.out(0, n.op("Multiply", {inner, alpha}));
}

static void selu(NodeContext &n) {
  // Before version 6 the defaults had fewer digits.
  float alpha = n.number("alpha", n.opset() < 6 ? 1.6732f : 1.67326319f);
  float gamma = n.number("gamma", n.opset() < 6 ? 1.0507f : 1.05070102f);
  Value inner = n.op("Elu", {n.in(0)}, {{"alpha", alpha}});
  n.out(0, n.op("Multiply", {inner, n.like(inner, gamma)}));
}

static void gelu(NodeContext &n) {
  bool tanh = n.text("approximate", "none") == "tanh";
  n.out(0,
        n.op("GELU", {n.in(0)}, {{"mode", tanh ? "gelu_tanh" : "gelu_erf"}}));
}

static void hardSigmoid(NodeContext &n) {
  n.out(0, n.op("HardSigmoid", {n.in(0)},
                {{"alpha", n.number("alpha", 0.2f)},
                 {"beta", n.number("beta", 0.5f)}}));
}

static void leakyRelu(NodeContext &n) {
  n.out(0, n.op("LeakyReLU", {n.in(0)}, {{"alpha", n.number("alpha", 0.01f)}}));
}

/// Before version 7 a slope of rank 1 is per channel, or a single one; since
/// then dims are paired from the right.
static void prelu(NodeContext &n) {
  bool perChannel = n.opset() < 7 && n.shape(n.in(1)) != Dims{1};
  n.out(0,
        n.op("PReLU", {n.in(0), n.in(1)},
             {{"data_format", "NCX"}, {"per_channel_broadcast", perChannel}}));
}

static void shrink(NodeContext &n) {
  Value x = n.in(0);
  float lambda = n.number("lambd", 0.5f);
  Value bias = n.like(x, n.number("bias", 0)), zero = n.like(x, 0);
  Value below = n.less(x, n.like(x, -lambda));
  Value above = n.greater(x, n.like(x, lambda));
  Value other = n.select(above, n.op("Subtract", {x, bias}), zero);
  n.out(0, n.select(below, n.op("Add", {x, bias}), other));
}

static void softsign(NodeContext &n) {
  Value x = n.in(0);
  Value size = n.op("Add", {n.op("Abs", {x}), n.like(x, 1)});
  n.out(0, n.op("Divide", {x, size}));
}

static void swish(NodeContext &n) {
  Value x = n.in(0), alpha = n.like(x, n.number("alpha", 1));
  Value gate = n.op("Sigmoid", {n.op("Multiply", {x, alpha})});
  n.out(0, n.op("Multiply", {x, gate}));
}

/// a * sigmoid(alpha * a) * b.
static void swiGlu(NodeContext &n) {
  Value a = n.in(0), alpha = n.like(a, n.number("alpha", 1));
  Value gate = n.op("Sigmoid", {n.op("Multiply", {a, alpha})});
  n.out(0, n.op("Multiply", {n.op("Multiply", {a, gate}), n.in(1)}));
}

static void thresholdedRelu(NodeContext &n) {
  Value x = n.in(0);
  Value above = n.greater(x, n.like(x, n.number("alpha", 1)));
  n.out(0, n.select(above, x, n.like(x, 0)));
}

std::span<const OpConversion> activationConversions() {
  static constexpr OpConversion table[] = {
      {"Celu", 12, celu},
      {"Elu", 1, elu},
      {"Gelu", 20, gelu},
      {"HardSigmoid", 1, hardSigmoid},
      {"HardSwish", 14, unary, "HardSwish"},
      {"LeakyRelu", 1, leakyRelu},
      {"Mish", 18, unary, "Mish"},
      {"PRelu", 1, prelu},
      {"Relu", 1, unary, "ReLU"},
      {"Selu", 1, selu},
      {"Shrink", 9, shrink},
      {"Sigmoid", 1, unary, "Sigmoid"},
      {"Softplus", 1, unary, "SoftPlus"},
      {"Softsign", 1, softsign},
      {"SwiGLU", 28, swiGlu},
      {"Swish", 24, swish},
      {"Tanh", 1, unary, "Tanh"},
      {"ThresholdedRelu", 10, thresholdedRelu},
  };
  return table;
}

} // namespace tenon::onnx
