// SPDX-License-Identifier: Apache-2.0
#include "examples/transformers/Transformers.h"

#include "examples/transformers/Layers.h"

namespace tenon::examples {

using graph::Dims;
using graph::DType;

//===----------------------------------------------------------------------===//
// BERT-base
//===----------------------------------------------------------------------===//

static constexpr int64_t kHidden = 768, kHeads = 12, kHeadSize = 64,
                         kFeedForward = 3072;

static Tensor bertAttention(GraphBuilder &b, const std::string &name, Tensor x,
                            Tensor mask) {
  auto heads = [&](const std::string &which) {
    std::string full = name + "." + which;
    Tensor y = dense(b, full, x, kHidden, kHidden);
    y = b.reshape(full + ".split", y, {"batch", "tokens", kHeads, kHeadSize});
    return transpose(b, full + ".heads", y, {0, 2, 1, 3});
  };
  Tensor q = heads("q"), k = heads("k"), v = heads("v");
  Tensor s = b.op("MatMul", name + ".scores", {q, k}, {{"transpose_b", true}});
  // 1 / sqrt(head size), which the caller fills in.
  s = b.op("Multiply", name + ".scale", {s, b.constant({1})});
  s = b.op("Add", name + ".mask", {s, mask});
  Tensor p = b.op("SoftMax", name + ".softmax", {s}, {{"axis", int64_t(-1)}});
  Tensor y = b.op("MatMul", name + ".context", {p, v});
  y = transpose(b, name + ".tokens", y, {0, 2, 1, 3});
  y = b.reshape(name + ".merge", y, {"batch", "tokens", kHidden});
  return dense(b, name + ".out", y, kHidden, kHidden);
}

Expected<graph::Graph> bert(int layers) {
  constexpr float kEpsilon = 1e-12f;
  GraphBuilder b;
  Tensor ids = b.input(DType::s64, {"batch", "tokens"}),
         positions = b.input(DType::s64, {"batch", "tokens"}),
         types = b.input(DType::s64, {"batch", "tokens"}),
         kept = b.input({"batch", "tokens"});
  Tensor x = gather(b, "words", b.constant({30522, kHidden}), ids);
  Tensor p = gather(b, "places", b.constant({512, kHidden}), positions);
  Tensor t = gather(b, "types", b.constant({2, kHidden}), types);
  x = b.op("Add", "words_places", {x, p});
  x = b.op("Add", "embeddings", {x, t});
  x = layerNorm(b, "embeddings.norm", x, kHidden, kEpsilon);
  // (kept - 1) * a large number, which the caller fills in as well.
  Tensor mask = b.reshape("mask.rows", kept, {"batch", 1, 1, "tokens"});
  mask = b.op("Subtract", "mask.hidden", {mask, b.constant({1})});
  mask = b.op("Multiply", "mask", {mask, b.constant({1})});
  for (int i = 0; i < layers; ++i) {
    std::string name = "layer" + std::to_string(i);
    Tensor y = bertAttention(b, name + ".attn", x, mask);
    x = b.op("Add", name + ".attn.residual", {y, x});
    x = layerNorm(b, name + ".attn.norm", x, kHidden, kEpsilon);
    y = dense(b, name + ".ffn.up", x, kHidden, kFeedForward);
    y = b.op("GELU", name + ".ffn.gelu", {y},
             {{"mode", std::string("gelu_erf")}});
    y = dense(b, name + ".ffn.down", y, kFeedForward, kHidden);
    x = b.op("Add", name + ".ffn.residual", {y, x});
    x = layerNorm(b, name + ".ffn.norm", x, kHidden, kEpsilon);
  }
  Tensor first = b.first("pooler.first", x, 1, {"batch", 1, kHidden});
  first = b.reshape("pooler.token", first, {"batch", kHidden});
  Tensor pooled = dense(b, "pooler", first, kHidden, kHidden);
  pooled = b.op("Tanh", "pooler.tanh", {pooled});
  return b.finish({x, pooled});
}

//===----------------------------------------------------------------------===//
// GPT-2 small
//===----------------------------------------------------------------------===//

Expected<graph::Graph> gpt2(int layers) {
  constexpr int64_t kWords = 50257, kPlaces = 1024;
  constexpr float kEpsilon = 1e-5f;
  GraphBuilder b;
  Tensor ids = b.input(DType::s64, {"batch", "tokens"}),
         positions = b.input(DType::s64, {"tokens", 1}),
         past = b.input(DType::s32, {1}), mask = b.input({"batch", "total"});
  Tensor words = b.constant({kWords, kHidden});
  Tensor places = b.reshape("places.ids", positions, {"tokens"});
  Tensor x = gather(b, "words", words, ids);
  Tensor p = gather(b, "places", b.constant({kPlaces, kHidden}), places);
  x = b.op("Add", "embeddings", {x, p});
  mask = b.reshape("mask", mask, {"batch", 1, 1, "total"});
  std::vector<Tensor> outputs;
  for (int i = 0; i < layers; ++i) {
    std::string name = "layer" + std::to_string(i);
    auto cache = [&] {
      return b.input({"capacity", "batch", kHeads, kHeadSize});
    };
    Tensor y = layerNorm(b, name + ".norm", x, kHidden, kEpsilon);
    auto heads = [&](const std::string &which) {
      Tensor h = dense(b, name + "." + which, y, kHidden, kHidden);
      return b.reshape(name + "." + which + ".split", h,
                       {"batch", "tokens", kHeads, kHeadSize});
    };
    Tensor q = transpose(b, name + ".q.heads", heads("q"), {0, 2, 1, 3});
    Cached k = cached(b, name + ".keys", heads("k"), cache(), positions, kHeads,
                      kHeadSize);
    Cached v = cached(b, name + ".values", heads("v"), cache(), positions,
                      kHeads, kHeadSize);
    outputs.insert(outputs.end(), {k.cache, v.cache});
    y = causalAttention(b, name + ".attn", q, k.rows, v.rows, mask, past);
    y = transpose(b, name + ".tokens", y, {0, 2, 1, 3});
    y = b.reshape(name + ".merge", y, {"batch", "tokens", kHidden});
    y = dense(b, name + ".out", y, kHidden, kHidden);
    x = b.op("Add", name + ".residual", {y, x});
    y = layerNorm(b, name + ".ffn.norm", x, kHidden, kEpsilon);
    y = dense(b, name + ".ffn.up", y, kHidden, kFeedForward);
    y = b.op("GELU", name + ".ffn.gelu", {y},
             {{"mode", std::string("gelu_tanh")}});
    y = dense(b, name + ".ffn.down", y, kFeedForward, kHidden);
    x = b.op("Add", name + ".ffn.residual", {y, x});
  }
  x = layerNorm(b, "norm", x, kHidden, kEpsilon);
  x = b.op("MatMul", "logits", {x, words}, {{"transpose_b", true}});
  outputs.insert(outputs.begin(), x);
  return b.finish(outputs);
}

//===----------------------------------------------------------------------===//
// Llama 3.2 1B
//===----------------------------------------------------------------------===//

namespace {

class LlamaBlock {
public:
  /// What all blocks read: positions, the tokens before, cosines and sines of
  /// the angles of these positions, and the mask.
  struct Shared {
    Tensor positions, past, cosines, sines, mask;
  };

  LlamaBlock(GraphBuilder &b, std::string name, const Shared &shared)
      : b(b), name(std::move(name)), shared(shared) {}

  static constexpr int64_t kWidth = 2048, kQueries = 32, kKeys = 8, kSize = 64,
                           kGroup = kQueries / kKeys, kInner = 8192;

  /// The hidden states after the block; appends its caches to `outputs`.
  Tensor emit(Tensor x, std::vector<Tensor> &outputs) {
    Tensor y = b.op("RMSNorm", name + ".norm", {x, b.constant({kWidth})});
    y = attention(y, outputs);
    x = b.op("Add", name + ".residual", {y, x});
    y = b.op("RMSNorm", name + ".ffn.norm", {x, b.constant({kWidth})});
    Tensor gate = dense(b, name + ".gate", y, kWidth, kInner, false),
           up = dense(b, name + ".up", y, kWidth, kInner, false);
    Tensor s = b.op("Sigmoid", name + ".sigmoid", {gate});
    y = b.op("Multiply", name + ".swish", {gate, s});
    y = b.op("Multiply", name + ".gated", {y, up});
    y = dense(b, name + ".down", y, kInner, kWidth, false);
    return b.op("Add", name + ".ffn.residual", {y, x});
  }

private:
  Tensor heads(const std::string &which, Tensor x, int64_t count) {
    Tensor y = dense(b, name + "." + which, x, kWidth, count * kSize, false);
    return b.reshape(name + "." + which + ".split", y,
                     {"batch", "tokens", count, kSize});
  }

  /// Turns each pair of elements i and i + 32 by the angle of the position.
  Tensor rotated(const std::string &which, Tensor x) {
    std::string full = name + "." + which + ".";
    auto half = [&](const char *part, int64_t from) {
      return b.op("Slice", full + part, {x},
                  {{"begins", Dims{from}},
                   {"ends", Dims{from + kSize / 2}},
                   {"axes", Dims{-1}}});
    };
    auto times = [&](const char *part, Tensor y, Tensor factor) {
      return b.op("Multiply", full + part, {y, factor});
    };
    Tensor low = half("low", 0), high = half("high", kSize / 2);
    Tensor first = b.op("Subtract", full + "first",
                        {times("low_cos", low, shared.cosines),
                         times("high_sin", high, shared.sines)});
    Tensor second = b.op("Add", full + "second",
                         {times("high_cos", high, shared.cosines),
                          times("low_sin", low, shared.sines)});
    return b.op("Concat", full + "rotated", {first, second},
                {{"axis", int64_t(-1)}});
  }

  /// Four heads of queries read one head of keys and values.
  Tensor attention(Tensor x, std::vector<Tensor> &outputs) {
    auto cache = [&] { return b.input({"capacity", "batch", kKeys, kSize}); };
    Tensor q = rotated("q", heads("q", x, kQueries));
    q = transpose(b, name + ".q.heads", q, {0, 2, 1, 3});
    q = b.reshape(name + ".q.groups", q,
                  {"batch", kKeys, kGroup, "tokens", kSize});
    Cached k = cached(b, name + ".keys", rotated("k", heads("k", x, kKeys)),
                      cache(), shared.positions, kKeys, kSize);
    Cached v = cached(b, name + ".values", heads("v", x, kKeys), cache(),
                      shared.positions, kKeys, kSize);
    outputs.insert(outputs.end(), {k.cache, v.cache});
    auto shown = [&](const std::string &which, Tensor rows) {
      return b.reshape(name + "." + which + ".shared", rows,
                       {"batch", kKeys, 1, "total", kSize});
    };
    Tensor y =
        causalAttention(b, name + ".attn", q, shown("keys", k.rows),
                        shown("values", v.rows), shared.mask, shared.past);
    y = b.reshape(name + ".groups", y, {"batch", kQueries, "tokens", kSize});
    y = transpose(b, name + ".tokens", y, {0, 2, 1, 3});
    y = b.reshape(name + ".merge", y, {"batch", "tokens", kWidth});
    return dense(b, name + ".out", y, kWidth, kWidth, false);
  }

  GraphBuilder &b;
  std::string name;
  const Shared &shared;
};

} // namespace

Expected<graph::Graph> llama(int layers) {
  constexpr int64_t kHalf = LlamaBlock::kSize / 2;
  GraphBuilder b;
  Tensor x = b.input({"batch", "tokens", LlamaBlock::kWidth});
  LlamaBlock::Shared shared;
  shared.positions = b.input(DType::s64, {"tokens", 1});
  shared.past = b.input(DType::s32, {1});
  shared.mask = b.reshape("mask", b.input({"batch", "total"}),
                          {"batch", 1, 1, 1, "total"});
  Tensor places = b.reshape("places", shared.positions, {"tokens"});
  auto angles = [&](const std::string &name) {
    Tensor rows = gather(b, name, b.input({"capacity", kHalf}), places);
    return b.reshape(name + ".heads", rows, {"tokens", 1, kHalf});
  };
  shared.cosines = angles("cosines");
  shared.sines = angles("sines");
  std::vector<Tensor> outputs;
  for (int i = 0; i < layers; ++i)
    x = LlamaBlock(b, "layer" + std::to_string(i), shared).emit(x, outputs);
  outputs.insert(outputs.begin(), x);
  return b.finish(outputs);
}

} // namespace tenon::examples
