// SPDX-License-Identifier: Apache-2.0
//
// Operators of com.microsoft: those of ONNX joined with what stands before or
// after them.
#include "compiler/import/onnx/Conversions.h"

#include <limits>

namespace tenon::onnx {

//===----------------------------------------------------------------------===//
// Activation functions
//===----------------------------------------------------------------------===//

/// GELU of the sum of both operands, the second of which may be left out.
static void biasGelu(NodeContext &n) {
  Value x = n.in(1) == kNone ? n.in(0) : n.op("Add", {n.in(0), n.in(1)});
  n.out(0, n.op("GELU", {x}, {{"mode", std::string(n.conversion().kind)}}));
}

/// x * sigmoid(alpha * x).
static void quickGelu(NodeContext &n) {
  Value x = n.in(0), alpha = n.like(x, n.number("alpha", 1.702f));
  Value gate = n.op("Sigmoid", {n.op("Multiply", {x, alpha})});
  n.out(0, n.op("Multiply", {x, gate}));
}

/// The function `name` of `x` with up to two numbers.
static Value activated(NodeContext &n, Value x, const std::string &name,
                       const std::vector<float> &numbers) {
  auto number = [&](size_t i, float fallback) {
    return i < numbers.size() ? numbers[i] : fallback;
  };
  if (name.empty())
    return x;
  if (name == "Relu")
    return n.op("ReLU", {x});
  if (name == "Sigmoid" || name == "Tanh" || name == "HardSwish")
    return n.op(name, {x});
  if (name == "LeakyRelu")
    return n.op("LeakyReLU", {x}, {{"alpha", number(0, 0.01f)}});
  if (name == "HardSigmoid")
    return n.op("HardSigmoid", {x},
                {{"alpha", number(0, 0.2f)}, {"beta", number(1, 0.5f)}});
  if (name == "Clip") {
    float most = std::numeric_limits<float>::max();
    return n.op("Clamp", {x},
                {{"min", number(0, -most)}, {"max", number(1, most)}});
  }
  n.refuse("activation " + name);
  return x;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static void fusedMatMul(NodeContext &n) {
  if (n.integer("transBatchA", 0) || n.integer("transBatchB", 0))
    return n.refuse("a batch in another place");
  Value product = n.op("MatMul", {n.in(0), n.in(1)},
                       {{"transpose_a", n.integer("transA", 0) != 0},
                        {"transpose_b", n.integer("transB", 0) != 0}});
  if (float alpha = n.number("alpha", 1); alpha != 1)
    product = n.op("Multiply", {product, n.like(product, alpha)});
  n.out(0, product);
}

static void fusedGemm(NodeContext &n) {
  std::vector<float> numbers;
  for (const char *name : {"activation_alpha", "activation_beta"})
    if (n.has(name))
      numbers.push_back(n.number(name, 0));
  n.out(0, activated(n, gemmOf(n), n.text("activation", ""), numbers));
}

/// Operands X, W, B, and what is added before the activation.
static void fusedConv(NodeContext &n) {
  Value result = n.op("Convolution", {n.in(0), n.in(1), n.in(2)},
                      convAttrs(n, n.in(1), "OIX"));
  if (n.in(3) != kNone)
    result = n.op("Add", {result, n.in(3)});
  n.out(0, activated(
               n, result, n.text("activation", ""),
               n.numbers("activation_params").value_or(std::vector<float>{})));
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

/// Operands input, skip, gamma, beta unless simplified, bias. Result 3 is what
/// is normalised.
static void skipLayerNorm(NodeContext &n) {
  bool simplified = n.conversion().kind == "RMSNorm";
  Value sum = n.op("Add", {n.in(0), n.in(1)});
  if (Value bias = n.in(simplified ? 3 : 4); bias != kNone)
    sum = n.op("Add", {sum, bias});
  Value gamma = simplified ? n.in(2) : statistic(n, n.in(2));
  Values operands{sum, gamma};
  graph::AttrMap attrs{{"begin_norm_axis", int64_t{-1}},
                       {"epsilon", n.number("epsilon", 1e-12f)}};
  if (!simplified) {
    operands.push_back(n.in(3) != kNone
                           ? statistic(n, n.in(3))
                           : n.expandLike(n.like(gamma, 0), gamma));
    attrs.emplace("keep_stats", false);
  }
  n.out(0, n.op(n.conversion().kind, operands, attrs));
  n.out(3, sum);
}

/// Operands ids of words and of segments, tables of words, positions and
/// segments, gamma, beta, a mask, positions. Results are the sum of rows
/// normalised, the number of words of each sample, and the sum.
static void embedLayerNorm(NodeContext &n) {
  auto rows = [&](Value table, Value ids) {
    return n.op("Gather", {table, ids}, {{"axis", int64_t{0}}});
  };
  Value ids = n.in(0), positions = n.in(8);
  if (positions == kNone)
    positions = n.indexAlong(ids, 1);
  Value sum = n.op("Add", {rows(n.in(2), ids), rows(n.in(3), positions)});
  if (n.in(1) != kNone && n.in(4) != kNone)
    sum = n.op("Add", {sum, rows(n.in(4), n.in(1))});
  n.out(0,
        n.op("LayerNorm", {sum, statistic(n, n.in(5)), statistic(n, n.in(6))},
             {{"begin_norm_axis", int64_t{-1}},
              {"keep_stats", false},
              {"epsilon", n.number("epsilon", 1e-12f)}}));
  if (n.wants(1)) {
    Value mask = n.in(7);
    if (mask == kNone)
      mask = n.expandLike(n.scalar(0, DType::s32), ids);
    n.out(1, n.reduce("ReduceSum", mask, {1}, false));
  }
  n.out(2, sum);
}

//===----------------------------------------------------------------------===//
// What is not converted
//===----------------------------------------------------------------------===//

static void inverse(NodeContext &n) {
  n.refuse("the inverse of a matrix: Tenon has no such operation");
}

std::span<const OpConversion> microsoftConversions() {
  static constexpr OpConversion table[] = {
      microsoft("BiasGelu", biasGelu, "gelu_erf"),
      microsoft("EmbedLayerNormalization", embedLayerNorm),
      microsoft("FastGelu", biasGelu, "gelu_tanh"),
      microsoft("FusedConv", fusedConv),
      microsoft("FusedGemm", fusedGemm),
      microsoft("FusedMatMul", fusedMatMul),
      microsoft("Gelu", biasGelu, "gelu_erf"),
      microsoft("Inverse", inverse),
      microsoft("QuickGelu", quickGelu),
      microsoft("SkipLayerNormalization", skipLayerNorm, "LayerNorm"),
      microsoft("SkipSimplifiedLayerNormalization", skipLayerNorm, "RMSNorm"),
  };
  return table;
}

} // namespace tenon::onnx
