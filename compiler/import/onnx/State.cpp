// SPDX-License-Identifier: Apache-2.0
//
// Operators that take the state of the steps before and give that of the next
// ones.
#include "compiler/import/onnx/Attention.h"
#include "compiler/import/onnx/Conversions.h"

#include <limits>

namespace tenon::onnx {

/// Each step of linear attention is written out.
static constexpr int64_t kMaxSteps = 256;

/// Operands input N, C, L, weights C, 1, K, bias, the K - 1 columns before.
static void causalConv(NodeContext &n) {
  Dims weights = n.knownShape(n.in(1));
  if (n.failed())
    return;
  if (weights.size() != 3 || n.rank(n.in(0)) != 3 || weights[2] < 1)
    return n.refuse("a convolution along other than one dim");
  int64_t before = weights[2] - 1;
  Value x = n.in(0);
  if (n.in(3) != kNone)
    x = appended(n, n.in(3), x);
  else
    x = n.op("Pad", {x},
             {{"pads_begin", Dims{0, 0, before}}, {"pads_end", Dims{0, 0, 0}}});
  Value result = n.op("Convolution", {x, n.in(1), n.in(2)},
                      {{"data_format", "NCX"},
                       {"weights_format", "OIX"},
                       {"groups", weights[0]},
                       {"strides", Dims{1}},
                       {"dilations", Dims{1}},
                       {"pads_begin", Dims{0}},
                       {"pads_end", Dims{0}}});
  std::string activation = n.text("activation", "none");
  if (activation == "silu" || activation == "swish")
    result = n.op("Multiply", {result, n.op("Sigmoid", {result})});
  else if (activation != "none")
    return n.refuse("activation " + activation);
  n.out(0, result);
  int64_t end = std::numeric_limits<int64_t>::max();
  n.out(1, before ? n.slice(x, 2, -before, end) : n.slice(x, 2, 0, 0));
}

namespace {

/// Operands query, key, value, past state, decay, beta. The state of a head is
/// keys x values; each step adds the product of its key and value.
class LinearAttention {
public:
  explicit LinearAttention(NodeContext &n)
      : n(n), rule(n.text("update_rule", "gated_delta")),
        heads(n.integer("q_num_heads", 0)),
        keyHeads(n.integer("kv_num_heads", 0)) {}

  void run() {
    DType type = n.type(n.in(0));
    q = inHeads(n.in(0), heads);
    k = inHeads(n.in(1), keyHeads);
    v = inHeads(n.in(2), keyHeads);
    if (n.failed())
      return;
    Dims keys = n.knownShape(k), values = n.knownShape(v);
    if (n.failed() || heads % keyHeads || keys[2] < 1 || keys[2] > kMaxSteps)
      return n.refuse("more steps than are written out, or odd heads");
    bool decays = rule == "gated" || rule == "gated_delta";
    corrects = rule == "delta" || rule == "gated_delta";
    if ((!decays && rule != "linear" && rule != "delta") ||
        (decays && n.in(4) == kNone) || (corrects && n.in(5) == kNone))
      return n.refuse("update rule " + rule);
    if (decays)
      decay = n.op("Exp", {inHeads(n.in(4), keyHeads)});
    if (corrects) {
      Dims dims = n.shape(n.in(5));
      beta = inHeads(n.in(5), dims.empty() ? 0 : dims.back());
    }
    float given = n.number("scale", 0);
    scale = given != 0 ? given : defaultScale(n, q);
    DType stateType = n.in(3) == kNone ? type : n.type(n.in(3));
    state =
        n.in(3) != kNone
            ? n.cast(n.in(3), DType::f32)
            : n.op("Expand", {n.scalar(0, DType::f32)},
                   {{"shape", Dims{keys[0], keyHeads, keys[3], values[3]}}});
    Values steps;
    for (int64_t i = 0; i < keys[2] && !n.failed(); ++i)
      steps.push_back(step(i));
    Value result = n.op("Concat", steps, {{"axis", int64_t{2}}});
    n.out(0, n.cast(joinHeads(n, result), type));
    n.out(1, n.cast(state, stateType));
  }

private:
  Value inHeads(Value x, int64_t count) {
    return n.cast(splitHeads(n, x, count), DType::f32);
  }

  Value at(Value x, int64_t i) { return n.slice(x, 2, i, i + 1); }

  /// B, heads, 1, values.
  Value step(int64_t i) {
    Value key = n.transpose(at(k, i), {0, 1, 3, 2}), value = at(v, i);
    if (decay != kNone) {
      Value factor = n.transpose(at(decay, i), {0, 1, 3, 2});
      state = n.op("Multiply", {state, factor});
    }
    if (corrects) {
      Value found = n.op("MatMul", {at(k, i), state});
      value = n.op("Multiply", {at(beta, i), n.op("Subtract", {value, found})});
    }
    state = n.op("Add", {state, n.op("Multiply", {key, value})});
    Value query = at(q, i);
    if (n.failed())
      return kNone;
    Dims dims = n.shape(query);
    query = n.reshape(query, {dims[0], keyHeads, heads / keyHeads, dims[3]});
    Value read = n.op("MatMul", {query, state});
    if (n.rank(read) != 4)
      return kNone;
    read = n.op("Multiply", {read, n.like(read, scale)});
    return n.reshape(read, {dims[0], heads, 1, n.shape(read).back()});
  }

  NodeContext &n;
  std::string rule;
  int64_t heads, keyHeads;
  bool corrects = false;
  float scale = 1;
  Value q = kNone, k = kNone, v = kNone, decay = kNone, beta = kNone;
  Value state = kNone;
};

} // namespace

static void linearAttention(NodeContext &n) { LinearAttention(n).run(); }

/// Operands cache, update, and where to begin in each sample.
static void tensorScatter(NodeContext &n) {
  Value cache = n.in(0), update = n.in(1);
  int rank = n.rank(cache);
  int64_t axis = n.axisOf(n.integer("axis", -2), rank);
  Value places = n.indexAlong(update, axis);
  if (n.in(2) != kNone) {
    Dims behind;
    for (int64_t i = 1; i < rank; ++i)
      behind.push_back(i);
    Value begin = n.unsqueeze(n.cast(n.in(2), DType::s64), behind);
    places = n.op("Add", {places, begin});
  }
  if (n.text("mode", "linear") == "circular")
    places = n.op("Remainder", {places, sizeOf(n, cache, axis)},
                  {{"mode", "floor"}});
  n.out(0, n.op("ScatterElements", {cache, places, update}, {{"axis", axis}}));
}

/// Operands Q, K, V; graphs that change scores or weights are not converted.
static void flexAttention(NodeContext &n) {
  if (n.has("score_mod") || n.has("prob_mod"))
    return n.refuse("scores that a graph changes");
  AttentionForm form;
  form.scale = n.has("scale") ? n.number("scale", 1) : defaultScale(n, n.in(0));
  n.out(0, attend(n, n.in(0), n.in(1), n.in(2), form).result);
}

std::span<const OpConversion> stateConversions() {
  static constexpr OpConversion table[] = {
      {"CausalConvWithState", 27, causalConv},
      {"FlexAttention", 1, flexAttention, {}, "ai.onnx.preview"},
      {"LinearAttention", 27, linearAttention},
      {"TensorScatter", 24, tensorScatter},
  };
  return table;
}

} // namespace tenon::onnx
