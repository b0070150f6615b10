// SPDX-License-Identifier: Apache-2.0
//
// Attention operators of com.microsoft.
#include "compiler/import/onnx/Attention.h"
#include "compiler/import/onnx/Conversions.h"
#include "compiler/import/onnx/Quant.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::onnx {

/// Entry `i` of dim `axis`, which goes.
static Value entry(NodeContext &n, Value x, int64_t axis, int64_t i) {
  std::optional<Sizes> sizes = n.sizesOf(x);
  if (!sizes || axis >= static_cast<int64_t>(sizes->size()))
    return kNone;
  sizes->erase(sizes->begin() + axis);
  return n.reshapeTo(n.slice(x, axis, i, i + 1), std::move(*sizes));
}

/// How often there is an entry of `numbers` for each of `of`, a size: 1, 2, or
/// 0 for anything else.
static int timesOf(NodeContext &n, const Size &numbers, const Size &of) {
  auto text = [](const Size &size) {
    return size.isKnown() ? std::to_string(size.number) : size.expression;
  };
  if (text(of).empty())
    return 0;
  std::string given = text(numbers);
  if (given == text(of))
    return 1;
  return given == text(n.sizeOf("2 * (" + text(of) + ")")) ? 2 : 0;
}

/// B, keys: whether a key is one of its sample's. `mask` has the number of keys
/// of each sample, and then perhaps the first one.
static Value withinLengths(NodeContext &n, Value mask, Value keys) {
  std::optional<Sizes> all = n.sizesOf(keys), given = n.sizesOf(mask);
  int times = all && given ? timesOf(n, (*given)[0], (*all)[0]) : 0;
  if (!times) {
    n.refuse("a mask of rank 1 that is not one length, or an end and a "
             "beginning, for each sample, as far as sizes are known");
    return kNone;
  }
  Value key = n.indexAlong(keys, 2); // B, H, keys, D
  key = entry(n, entry(n, key, 3, 0), 1, 0);
  Value bounds =
      n.reshapeTo(n.cast(mask, DType::s64), {Size{times}, (*all)[0], Size{1}});
  Value seen = n.less(key, entry(n, bounds, 0, 0));
  if (times == 1)
    return seen;
  return n.op("And", {seen, n.op("GreaterEqual", {key, entry(n, bounds, 0, 1)},
                                 {}, NodeContext::kBool)});
}

/// A mask of keys as numbers that are added to scores: 0 where it is not 0,
/// else `hidden`. B, keys; B, S, keys; or B, 1, S, keys. A mask of rank 1 has
/// the number of keys of each sample, and then perhaps the first one.
static void addKeyMask(NodeContext &n, Value mask, float hidden, Value keys,
                       AttentionForm &form) {
  if (mask == kNone || n.failed())
    return;
  Dims dims = n.shape(mask);
  DType type = n.type(keys);
  Value seen;
  if (dims.size() == 1) {
    seen = withinLengths(n, mask, keys);
    if (n.failed())
      return;
    dims = {dims[0], 0};
  } else {
    seen = n.cast(mask, NodeContext::kBool);
  }
  if (dims.size() == 2)
    seen = n.unsqueeze(seen, {1, 2});
  else if (dims.size() == 3)
    seen = n.unsqueeze(seen, {1});
  Value zero = n.expandLike(n.scalar(0, type), seen);
  form.masks.push_back(n.select(seen, zero, n.scalar(hidden, type)));
}

/// Keys that a query would see in front of it have the lowest number.
static void makeCausal(NodeContext &n, AttentionForm &form, Value past) {
  if (!n.integer("unidirectional", 0))
    return;
  form.causal = true;
  if (past != kNone)
    form.offset = sizeOf(n, past, 2);
}

static float scaleOf(NodeContext &n, Value heads) {
  float given = n.number("scale", 0);
  return given != 0 ? given : defaultScale(n, heads);
}

//===----------------------------------------------------------------------===//
// Attention and QAttention
//===----------------------------------------------------------------------===//

namespace {

/// Operands of Attention, and of QAttention after they are dequantised.
struct AttentionOperands {
  Value x, weights, bias, mask, past, scoreBias;
};

} // namespace

/// One product makes queries, keys and values: B, S, the channels of the three
/// side by side. Past and present are 2, B, H, steps, D.
static void attendToProduct(NodeContext &n, const AttentionOperands &in) {
  int64_t heads = n.integer("num_heads", 0);
  if (n.integer("do_rotary", 0) || n.integer("past_present_share_buffer", 0))
    return n.refuse("attention that rotates, or writes to its operands");
  Value product = n.op("MatMul", {in.x, in.weights, in.bias});
  Dims dims = n.shape(product);
  if (n.failed())
    return;
  if (dims.size() != 3 || dims[2] < 0)
    return n.refuse("channels of an unknown number");
  Dims sizes = n.integers("qkv_hidden_sizes").value_or(Dims(3, dims[2] / 3));
  if (sizes.size() != 3)
    return n.refuse("other than three sizes of queries, keys and values");
  int64_t begin = 0;
  Values parts;
  for (int64_t size : sizes) {
    parts.push_back(
        splitHeads(n, n.slice(product, 2, begin, begin + size), heads));
    begin += size;
  }
  if (n.failed())
    return;
  AttentionForm form;
  form.scale = scaleOf(n, parts[0]);
  Value k = parts[1], v = parts[2];
  if (in.past != kNone) {
    Value pastKeys = entry(n, in.past, 0, 0);
    makeCausal(n, form, pastKeys);
    k = appended(n, pastKeys, k);
    v = appended(n, entry(n, in.past, 0, 1), v);
  } else {
    makeCausal(n, form, kNone);
  }
  addKeyMask(n, in.mask, n.number("mask_filter_value", -10000), k, form);
  if (in.scoreBias != kNone)
    form.masks.push_back(in.scoreBias);
  n.out(0, joinHeads(n, attend(n, parts[0], k, v, form).result));
  if (n.wants(1))
    n.out(1, n.op("Concat", {n.unsqueeze(k, {0}), n.unsqueeze(v, {0})},
                  {{"axis", int64_t{0}}}));
}

static void attention(NodeContext &n) {
  attendToProduct(n, {n.in(0), n.in(1), n.in(2), n.in(3), n.in(4), n.in(5)});
}

/// Operands x, weights, bias, their scales, the mask, zero points, past.
static void qAttention(NodeContext &n) {
  Value x = dequantized(n, n.in(0), {n.in(3), n.in(6), -1, DType::u8});
  Value weights = dequantized(n, n.in(1), {n.in(4), n.in(7), 1, DType::u8});
  attendToProduct(n, {x, weights, n.in(2), n.in(5), n.in(8), kNone});
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

/// Queries, keys and values as heads, from operands 0 to 2: B, S, channels
/// each; keys and values as heads already; B, S, H, 2, D of keys and values;
/// or B, S, H, 3, D of all. The bias is that of all three side by side.
static Values headsOfOperands(NodeContext &n, int64_t heads) {
  Value bias = n.in(3);
  int64_t offset = 0;
  auto flat = [&](Value x) {
    Dims dims = n.shape(x);
    if (bias != kNone && dims.size() == 3 && dims[2] > 0) {
      x = n.op("Add", {x, n.slice(bias, 0, offset, offset + dims[2])});
      offset += dims[2];
    }
    return splitHeads(n, x, heads);
  };
  auto packed = [&](Value x, int64_t i) {
    return n.transpose(entry(n, x, 3, i), {0, 2, 1, 3});
  };
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  bool isPacked = n.rank(q) == 5;
  if (bias != kNone && (isPacked || (k != kNone && n.rank(k) == 5))) {
    n.refuse("a bias of packed heads");
    return Values(3, kNone);
  }
  if (isPacked)
    return {packed(q, 0), packed(q, 1), packed(q, 2)};
  if (k == kNone) {
    n.refuse("keys that are left out");
    return Values(3, kNone);
  }
  q = flat(q);
  if (n.rank(k) == 5)
    return {q, packed(k, 0), packed(k, 1)};
  if (n.rank(k) == 4)
    return {q, k, v};
  return {q, flat(k), flat(v)};
}

/// Operands query, key, value, bias, mask of keys, bias of scores, past key,
/// past value.
static void multiHeadAttention(NodeContext &n) {
  Values qkv = headsOfOperands(n, n.integer("num_heads", 0));
  if (n.failed())
    return;
  if (n.in(8) != kNone || n.in(9) != kNone)
    return n.refuse("a past that is written to");
  AttentionForm form;
  form.scale = scaleOf(n, qkv[0]);
  form.wantsScores = n.wants(3);
  makeCausal(n, form, n.in(6));
  Value k = appended(n, n.in(6), qkv[1]), v = appended(n, n.in(7), qkv[2]);
  if (n.failed() || n.rank(k) != 4)
    return n.refuse("keys of other than 4 dims");
  addKeyMask(n, n.in(4), n.number("mask_filter_value", -10000), k, form);
  if (n.in(5) != kNone)
    form.masks.push_back(n.in(5));
  Attended made = attend(n, qkv[0], k, v, form);
  n.out(0, joinHeads(n, made.result));
  n.out(1, k);
  n.out(2, v);
  n.out(3, made.scores);
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

/// B or 1, S, half of the channels: rows of a table at the position of each
/// step.
static Value atPositions(NodeContext &n, Value table, Value positions) {
  return n.op("Gather", {table, positions}, {{"axis", int64_t{0}}});
}

/// 0, 1, ... for the steps of heads, B, H, S, D: 1, S.
static Value stepsOf(NodeContext &n, Value heads) {
  Value all = n.indexAlong(heads, 2);
  return n.reshape(n.slice(n.slice(n.slice(all, 0, 0, 1), 1, 0, 1), 3, 0, 1),
                   {1, n.dim(heads, 2)});
}

/// Operands X, positions, cosines, sines. One position is that of the first
/// step.
static void rotaryEmbedding(NodeContext &n) {
  Value x = n.in(0), positions = n.cast(n.in(1), DType::s64);
  if (n.number("scale", 1) != 1 || n.integer("is_packed_batching", 0))
    return n.refuse("rotations that are scaled, or of packed samples");
  Rotation rotation{n.integer("interleaved", 0) != 0,
                    n.integer("rotary_embedding_dim", 0)};
  bool isFlat = n.rank(x) == 3;
  if (isFlat) {
    int64_t heads = n.integer("num_heads", 0);
    Dims table = n.shape(n.in(2)), dims = n.shape(x);
    if (!heads && table.size() == 2 && table[1] > 0 && dims[2] > 0)
      heads = dims[2] / (2 * table[1]);
    x = splitHeads(n, x, heads);
  }
  if (n.failed())
    return;
  if (n.rank(x) != 4)
    return n.refuse("heads of other than 4 dims");
  if (n.rank(positions) == 1)
    positions = n.op("Add", {stepsOf(n, x), positions});
  x = rotated(n, x, atPositions(n, n.in(2), positions),
              atPositions(n, n.in(3), positions), rotation);
  n.out(0, isFlat ? joinHeads(n, x) : x);
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

namespace {

/// Operands query, key, value, past key, past value, last key of each sample,
/// number of keys, cosines, sines, positions, bias of scores, sinks. A sample
/// of the past may have fewer keys than others, those at its beginning.
class GroupQueries {
public:
  explicit GroupQueries(NodeContext &n)
      : n(n), heads(n.integer("num_heads", 0)),
        keyHeads(n.integer("kv_num_heads", 0)) {}

  void run() {
    if (heads < 1 || keyHeads < 1 || heads > (1 << 20) || keyHeads > heads)
      return n.refuse("strange numbers of heads");
    if (n.has("kv_cache_bit_width") || n.text("k_quant_type", "NONE") != "NONE")
      return n.refuse("a past that is quantised");
    split();
    if (n.failed())
      return;
    last = n.op("Add", {n.cast(n.in(5), DType::s64), n.scalar(1, DType::s64)});
    last = n.reshape(last, {n.dim(q, 0)});
    Value zero = n.scalar(0, DType::s64);
    before = n.op("Maximum", {n.op("Subtract", {last, sizeOf(n, q, 2)}), zero});
    for (size_t i : {3, 4})
      if (n.in(i) != kNone && n.rank(n.in(i)) != 4)
        return n.refuse("a past of other than 4 dims");
    if (n.in(3) == kNone || n.dim(n.in(3), 2) == 0)
      before = n.op("Multiply", {before, zero});
    if (n.integer("do_rotary", 0))
      rotate();
    Value keys = behindPast(n.in(3), k), values = behindPast(n.in(4), v);
    AttentionForm form;
    form.scale = scaleOf(n, q);
    form.softcap = n.number("softcap", 0);
    form.causal = true;
    form.offset = before;
    int64_t window = n.integer("local_window_size", -1);
    form.left = window > 0 ? window - 1 : -1;
    if (n.in(10) != kNone)
      form.masks = {n.in(10)};
    form.sink = n.in(11);
    if (n.integer("smooth_softmax", 0) && form.sink == kNone)
      form.sink = n.op("Expand", {n.like(q, 0)}, {{"shape", Dims{heads}}});
    n.out(0, joinHeads(n, attend(n, q, keys, values, form).result));
    n.out(1, keys);
    n.out(2, values);
  }

private:
  /// Queries alone, or queries, keys and values side by side.
  void split() {
    q = n.in(0);
    if (n.in(1) != kNone) {
      k = splitHeads(n, n.in(1), keyHeads);
      v = splitHeads(n, n.in(2), keyHeads);
      q = splitHeads(n, q, heads);
      return;
    }
    Value all = splitHeads(n, q, heads + 2 * keyHeads);
    q = n.slice(all, 1, 0, heads);
    k = n.slice(all, 1, heads, heads + keyHeads);
    v = n.slice(all, 1, heads + keyHeads, heads + 2 * keyHeads);
  }

  void rotate() {
    if (n.in(7) == kNone || n.in(8) == kNone)
      return n.refuse("cosines and sines that are left out");
    Value positions =
        n.in(9) != kNone
            ? n.cast(n.in(9), DType::s64)
            : n.op("Add", {stepsOf(n, q), n.unsqueeze(before, {1})});
    Value cosines = atPositions(n, n.in(7), positions);
    Value sines = atPositions(n, n.in(8), positions);
    Rotation rotation{n.integer("rotary_interleaved", 0) != 0, 0};
    if (Dims table = n.shape(n.in(7)); table.size() == 2 && table[1] > 0)
      rotation.channels = 2 * table[1];
    q = rotated(n, q, cosines, sines, rotation);
    k = rotated(n, k, cosines, sines, rotation);
  }

  /// Step t of a sample that has `before` steps in the past is t of the past,
  /// or t - before of what is new.
  Value behindPast(Value past, Value x) {
    if (past == kNone)
      return x;
    Dims dims = n.shape(past);
    Value both = appended(n, past, x);
    // Of one sample, or without a past, new steps are behind it anyway.
    if (n.failed() || dims[0] == 1 || dims[2] == 0)
      return both;
    Value step = n.indexAlong(both, 2);
    Value start = n.unsqueeze(before, {1, 2, 3});
    Value moved =
        n.op("Subtract", {n.op("Add", {step, sizeOf(n, past, 2)}), start});
    Value end = n.op("Subtract", {sizeOf(n, both, 2), n.scalar(1, DType::s64)});
    moved = n.op("Minimum", {moved, end});
    Value source = n.select(n.less(step, start), step, moved);
    return n.op("GatherElements", {both, source}, {{"axis", int64_t{2}}});
  }

  NodeContext &n;
  int64_t heads, keyHeads;
  Value q = kNone, k = kNone, v = kNone;
  /// Keys of each sample with the new ones, and without them.
  Value last = kNone, before = kNone;
};

} // namespace

static void groupQueryAttention(NodeContext &n) { GroupQueries(n).run(); }

//===----------------------------------------------------------------------===//
// RelativePositionBias
//===----------------------------------------------------------------------===//

/// Numbers of the first buckets have one distance each, those behind them ever
/// more, up to `most`. Computed in f32, as models were trained.
static int64_t bucketOf(int64_t distance, int64_t buckets, int64_t most) {
  int64_t exact = buckets / 2;
  if (distance < exact)
    return distance;
  auto ratio = [&](int64_t x) {
    return static_cast<double>(x) / static_cast<double>(exact);
  };
  float part = std::log(static_cast<float>(ratio(distance))) /
               static_cast<float>(std::log(ratio(most))) *
               static_cast<float>(buckets - exact);
  return std::min(exact + static_cast<int64_t>(part), buckets - 1);
}

/// Operands are a bias of each bucket and head, whose elements are in the order
/// of heads, buckets although the dims are the other way round, and the numbers
/// of queries and of keys. The result, 1, H, S, keys, is added to scores.
static void relativePositionBias(NodeContext &n) {
  Dims dims = n.knownShape(n.in(0));
  std::optional<Sizes> queries = n.elementsAsSizes(n.in(1)),
                       keys = n.elementsAsSizes(n.in(2));
  bool bothWays = n.integer("is_bidirectional", 0) != 0;
  int64_t most = n.integer("max_distance", 128);
  if (n.failed())
    return;
  if (!queries || !keys || queries->size() != 1 || keys->size() != 1)
    return n.refuse("numbers of queries and keys that are not known sizes");
  int64_t buckets = dims.size() == 2 ? dims[0] / (bothWays ? 2 : 1) : 0;
  if (buckets < 2 || most <= buckets / 2 || most > (1 << 20))
    return n.refuse(
        "strange numbers of buckets, or a strange largest distance");
  auto table = n.table(DType::s64, {most + 1});
  if (!table)
    return;
  for (int64_t i = 0; i <= most; ++i)
    setInteger(*table, i, bucketOf(i, buckets, most));
  Value zero = n.scalar(0, DType::s64);
  Value all = n.expandTo(zero, {(*queries)[0], (*keys)[0]});
  Value query = n.indexAlong(all, 0), key = n.indexAlong(all, 1);
  Value before = n.op("Subtract", {query, key});
  Value distance = n.op(
      "Maximum", {before, bothWays ? n.op("Subtract", {key, query}) : zero});
  distance =
      n.op("Minimum", {distance, n.like(distance, static_cast<double>(most))});
  graph::AttrMap axis{{"axis", int64_t{0}}};
  Value bucket =
      n.op("Gather", {n.constant(std::move(*table)), distance}, axis);
  if (bothWays) {
    Value isBehind = n.cast(n.greater(key, query), DType::s64);
    bucket =
        n.op("Add",
             {bucket,
              n.op("Multiply",
                   {isBehind, n.like(bucket, static_cast<double>(buckets))})});
  }
  Value biases = n.reshape(n.in(0), {dims[1], dims[0]});
  Value bias =
      n.op("Gather", {biases, bucket}, {{"axis", int64_t{1}}}); // H, S, keys
  n.out(0, n.unsqueeze(bias, {0}));
}

std::span<const OpConversion> microsoftAttentionConversions() {
  static constexpr OpConversion table[] = {
      microsoft("Attention", attention),
      microsoft("GroupQueryAttention", groupQueryAttention),
      microsoft("MultiHeadAttention", multiHeadAttention),
      microsoft("QAttention", qAttention),
      microsoft("RelativePositionBias", relativePositionBias),
      microsoft("RotaryEmbedding", rotaryEmbedding),
  };
  return table;
}

} // namespace tenon::onnx
