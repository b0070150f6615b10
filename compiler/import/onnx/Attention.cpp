// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Attention.h"

#include "compiler/import/onnx/Conversions.h"

#include <cmath>
#include <limits>

namespace tenon::onnx {

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

Value splitHeads(NodeContext &n, Value x, int64_t heads) {
  Dims dims = n.shape(x);
  if (dims.size() != 3 || heads < 1 || dims[2] == graph::kUnknownDim ||
      dims[2] % heads) {
    n.refuse("channels that are not those of so many heads");
    return kNone;
  }
  x = n.reshape(x, {dims[0], dims[1], heads, dims[2] / heads});
  return n.transpose(x, {0, 2, 1, 3});
}

Value joinHeads(NodeContext &n, Value x) {
  Dims dims = n.shape(x);
  if (dims.size() != 4 || dims[1] < 0 || dims[3] < 0) {
    n.refuse("heads, or their channels, of an unknown number");
    return kNone;
  }
  return n.reshape(n.transpose(x, {0, 2, 1, 3}),
                   {dims[0], dims[2], dims[1] * dims[3]});
}

Value appended(NodeContext &n, Value past, Value x) {
  return past == kNone ? x : n.op("Concat", {past, x}, {{"axis", int64_t{2}}});
}

float defaultScale(NodeContext &n, Value heads) {
  Dims dims = n.shape(heads);
  if (dims.empty() || dims.back() < 1) {
    n.refuse("channels of heads of an unknown number");
    return 1;
  }
  return 1 / std::sqrt(static_cast<float>(dims.back()));
}

Value sizeOf(NodeContext &n, Value x, int64_t axis) {
  Dims dims = n.shape(x);
  if (axis >= static_cast<int64_t>(dims.size()))
    return n.scalar(0, DType::s64);
  if (dims[axis] != graph::kUnknownDim)
    return n.scalar(static_cast<double>(dims[axis]), DType::s64);
  Value size =
      n.op("Shape", {x}, {{"start", axis}, {"end", axis + 1}}, DType::s64);
  return n.reshape(size, {});
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {

/// Computes attention; with groups of heads of queries, B, H, S, D of queries
/// becomes B, heads of keys, group, S, D.
class Attender {
public:
  Attender(NodeContext &n, const AttentionForm &form) : n(n), form(form) {}

  Attended run(Value q, Value k, Value v) {
    Dims queries = n.shape(q), keys = n.shape(k);
    if (queries.size() != 4 || keys.size() != 4 || n.rank(v) != 4 ||
        queries[1] < 1 || keys[1] < 1 || queries[1] % keys[1]) {
      n.refuse("heads of queries and of keys that do not fit");
      return {};
    }
    heads = queries[1];
    group = heads / keys[1];
    if (group > 1) {
      q = grouped(q);
      k = n.unsqueeze(k, {2});
      v = n.unsqueeze(v, {2});
    }
    Attended made{};
    Value scores = n.op("MatMul", {q, k}, {{"transpose_b", true}});
    scores = n.op("Multiply", {scores, n.like(scores, form.scale)});
    made.scores = wanted(scores);
    if (form.softcap > 0) {
      Value cap = n.like(scores, form.softcap);
      Value bent = n.op("Tanh", {n.op("Divide", {scores, cap})});
      scores = n.op("Multiply", {bent, cap});
    }
    made.capped = wanted(scores);
    scores = masked(scores);
    made.masked = wanted(scores);
    Value weights = weightsOf(scores);
    made.weights = wanted(weights);
    made.result = ungrouped(n.op("MatMul", {weights, v}));
    return made;
  }

private:
  /// B, H, x, y becomes B, heads of keys, group, x, y.
  Value grouped(Value x) {
    Dims d = n.shape(x);
    return n.reshape(x, {d[0], heads / group, group, d[2], d[3]});
  }

  Value ungrouped(Value x) {
    Dims d = n.shape(x);
    return group == 1 || d.size() != 5
               ? x
               : n.reshape(x, {d[0], heads, d[3], d[4]});
  }

  Value wanted(Value x) { return form.wantsScores ? ungrouped(x) : kNone; }

  /// A mask for scores that may be in groups.
  Value maskInGroups(Value mask) {
    Dims d = n.shape(mask);
    if (group == 1 || d.size() < 3)
      return mask;
    size_t at = d.size() - 3;
    if (d[at] == 1)
      return n.unsqueeze(mask, {static_cast<int64_t>(at) + 1});
    Dims apart = d;
    apart[at] = heads / group;
    apart.insert(apart.begin() + static_cast<int64_t>(at) + 1, group);
    return n.reshape(mask, apart);
  }

  /// One number for each sample, or for all, to broadcast with scores.
  Value perSample(Value value) {
    if (n.rank(value) == 0)
      return value;
    Dims dims{n.dim(value, 0), 1, 1, 1};
    if (group > 1)
      dims.push_back(1);
    return n.reshape(value, dims);
  }

  Value seenWhere(Value scores, Value condition) {
    double infinity = std::numeric_limits<double>::infinity();
    return n.select(condition, scores, n.like(scores, -infinity));
  }

  Value masked(Value scores) {
    for (Value mask : form.masks) {
      mask = maskInGroups(mask);
      scores = n.type(mask) == NodeContext::kBool
                   ? seenWhere(scores, mask)
                   : n.op("Add", {scores, n.cast(mask, n.type(scores))});
    }
    auto atLeast = [&](Value a, Value b) {
      return n.op("GreaterEqual", {a, b}, {}, NodeContext::kBool);
    };
    Value key = n.indexAlong(scores, -1), query = n.indexAlong(scores, -2);
    if (form.offset != kNone)
      query = n.op("Add", {query, perSample(form.offset)});
    auto moved = [&](int64_t by) {
      return n.op("Add",
                  {query, n.scalar(static_cast<double>(by), DType::s64)});
    };
    if (form.causal)
      scores = seenWhere(scores, atLeast(query, key));
    if (form.left >= 0)
      scores = seenWhere(scores, atLeast(key, moved(-form.left)));
    if (form.right >= 0)
      scores = seenWhere(scores, atLeast(moved(form.right), key));
    if (form.lengths != kNone)
      scores = seenWhere(scores, n.greater(perSample(form.lengths), key));
    return scores;
  }

  Value weightsOf(Value scores) {
    DType type = n.type(scores);
    if (form.precision != DType::undef)
      scores = n.cast(scores, form.precision);
    Value sink = form.sink;
    if (sink != kNone) {
      // One more key, whose weight is dropped.
      Dims line =
          group > 1 ? Dims{heads / group, group, 1, 1} : Dims{heads, 1, 1};
      sink = n.reshape(n.cast(sink, n.type(scores)), line);
      Value column = n.slice(scores, -1, 0, 1);
      sink = n.expandLike(sink, column);
      scores = n.op("Concat", {sink, scores}, {{"axis", int64_t{-1}}});
    }
    Value weights = n.op("SoftMax", {scores},
                         {{"axis", int64_t{-1}}, {"mode", "inf_as_zero"}});
    if (sink != kNone)
      weights = n.slice(weights, -1, 1, std::numeric_limits<int64_t>::max());
    return n.cast(weights, type);
  }

  NodeContext &n;
  const AttentionForm &form;
  int64_t heads = 1, group = 1;
};

} // namespace

Attended attend(NodeContext &n, Value q, Value k, Value v,
                const AttentionForm &form) {
  return Attender(n, form).run(q, k, v);
}

/// As wide as there are keys: what is missing of a mask hides keys.
static Value paddedMask(NodeContext &n, Value mask, int64_t keys) {
  Dims dims = n.shape(mask);
  if (dims.empty() || keys < 0 || dims.back() < 0 || dims.back() >= keys ||
      dims.back() == 1)
    return mask;
  bool isBool = n.type(mask) == NodeContext::kBool;
  Dims ends(dims.size(), 0);
  ends.back() = keys - dims.back();
  double hidden = isBool ? 0 : -std::numeric_limits<double>::infinity();
  return n.op("Pad", {mask, n.like(mask, hidden)},
              {{"pads_begin", Dims(dims.size(), 0)}, {"pads_end", ends}});
}

/// Operands Q, K, V, mask, past key, past value, lengths of keys.
static void attention(NodeContext &n) {
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  bool isFlat = n.rank(q) == 3;
  if (isFlat) {
    q = splitHeads(n, q, n.integer("q_num_heads", 0));
    k = splitHeads(n, k, n.integer("kv_num_heads", 0));
    v = splitHeads(n, v, n.integer("kv_num_heads", 0));
  }
  AttentionForm form;
  form.scale = n.has("scale") ? n.number("scale", 1) : defaultScale(n, q);
  form.softcap = n.number("softcap", 0);
  form.causal = n.integer("is_causal", 0) != 0;
  form.left = n.integer("left_window_size", -1);
  form.right = n.integer("right_window_size", -1);
  form.wantsScores = n.wants(3);
  if (n.integer("softmax_precision", 0))
    form.precision =
        n.dtypeOf(static_cast<DataType>(n.integer("softmax_precision", 0)));
  if (n.in(4) != kNone)
    form.offset = sizeOf(n, n.in(4), 2);
  k = appended(n, n.in(4), k);
  v = appended(n, n.in(5), v);
  if (n.failed())
    return;
  if (n.rank(q) != 4 || n.rank(k) != 4)
    return n.refuse("heads of other than 4 dims");
  if (n.in(6) != kNone) {
    form.lengths = n.cast(n.in(6), DType::s64);
    if (n.in(4) == kNone)
      form.offset = n.op("Subtract", {form.lengths, sizeOf(n, q, 2)});
  }
  if (n.in(3) != kNone)
    form.masks = {paddedMask(n, n.in(3), n.dim(k, 2))};
  Attended made = attend(n, q, k, v, form);
  n.out(0, isFlat ? joinHeads(n, made.result) : made.result);
  n.out(1, k);
  n.out(2, v);
  if (n.wants(3)) {
    Value choices[] = {made.scores, made.capped, made.masked, made.weights};
    int64_t which = n.integer("qk_matmul_output_mode", 0);
    if (which < 0 || which > 3)
      return n.refuse("an unknown qk_matmul_output_mode");
    n.out(3, choices[which]);
  }
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

static Value part(NodeContext &n, Value x, int64_t begin, int64_t end,
                  int64_t step = 1) {
  return n.op("Slice", {x},
              {{"axes", Dims{-1}},
               {"begins", Dims{begin}},
               {"ends", Dims{end}},
               {"steps", Dims{step}}});
}

Value rotated(NodeContext &n, Value x, Value cosines, Value sines,
              Rotation rotation) {
  Dims dims = n.shape(x);
  if (dims.size() != 4 || dims[3] < 0) {
    n.refuse("channels of heads of an unknown number");
    return kNone;
  }
  int64_t all = dims[3];
  int64_t turned = rotation.channels ? rotation.channels : all;
  if (turned < 2 || turned > all || turned % 2) {
    n.refuse("a number of channels that are rotated which is odd or too large");
    return kNone;
  }
  Value cos = n.cast(n.unsqueeze(cosines, {1}), n.type(x));
  Value sin = n.cast(n.unsqueeze(sines, {1}), n.type(x));
  bool apart = rotation.interleaved;
  Value first = apart ? part(n, x, 0, turned, 2) : part(n, x, 0, turned / 2);
  Value second =
      apart ? part(n, x, 1, turned, 2) : part(n, x, turned / 2, turned);
  Value real = n.op("Subtract", {n.op("Multiply", {cos, first}),
                                 n.op("Multiply", {sin, second})});
  Value imaginary = n.op(
      "Add", {n.op("Multiply", {sin, first}), n.op("Multiply", {cos, second})});
  Value result;
  if (apart) {
    result =
        n.op("Concat", {n.unsqueeze(real, {4}), n.unsqueeze(imaginary, {4})},
             {{"axis", int64_t{4}}});
    result = n.reshape(result, {dims[0], dims[1], dims[2], turned});
  } else {
    result = n.op("Concat", {real, imaginary}, {{"axis", int64_t{3}}});
  }
  if (turned == all)
    return result;
  return n.op("Concat", {result, part(n, x, turned, all)},
              {{"axis", int64_t{3}}});
}

/// Operands X, cosines and sines of positions, position of each step. Without
/// the last one the first ones are those of each step.
static void rotaryEmbedding(NodeContext &n) {
  Value x = n.in(0), cosines = n.in(1), sines = n.in(2);
  bool isFlat = n.rank(x) == 3;
  if (isFlat)
    x = splitHeads(n, x, n.integer("num_heads", 0));
  if (n.in(3) != kNone) {
    cosines = n.op("Gather", {cosines, n.in(3)}, {{"axis", int64_t{0}}});
    sines = n.op("Gather", {sines, n.in(3)}, {{"axis", int64_t{0}}});
  }
  x = rotated(
      n, x, cosines, sines,
      {n.integer("interleaved", 0) != 0, n.integer("rotary_embedding_dim", 0)});
  n.out(0, isFlat ? joinHeads(n, x) : x);
}

std::span<const OpConversion> attentionConversions() {
  static constexpr OpConversion table[] = {
      {"Attention", 23, attention},
      {"RotaryEmbedding", 23, rotaryEmbedding},
  };
  return table;
}

} // namespace tenon::onnx
