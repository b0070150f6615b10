// SPDX-License-Identifier: Apache-2.0
// An encoder layer of BERT-base: self-attention of 12 heads with an additive
// mask, and the feed-forward net with GELU; residual and layer norm after
// both.  Batch 1, 128 tokens, hidden size 768.
//
//   bert_layer [FOLDER]     writes bert_layer.json
#include "examples/GraphBuilder.h"

using namespace tenon;
using examples::GraphBuilder;
using examples::Tensor;
using graph::Dims;

static constexpr int64_t kBatch = 1, kTokens = 128, kHidden = 768, kHeads = 12,
                         kHeadSize = kHidden / kHeads, kFeedForward = 3072;

static Tensor dense(GraphBuilder &b, const std::string &name, Tensor x,
                    int64_t in, int64_t out) {
  x = b.op("MatMul", name, {x, b.constant({in, out})});
  return b.op("BiasAdd", name + ".bias", {x, b.constant({out})});
}

/// [batch, tokens, hidden] -> [batch, heads, tokens, head size].
static Tensor splitHeads(GraphBuilder &b, const std::string &name, Tensor x) {
  x = b.op("StaticReshape", name + ".split", {x},
           {{"shape", Dims{kBatch, kTokens, kHeads, kHeadSize}},
            {"special_zero", false}});
  return b.op("StaticTranspose", name + ".heads", {x},
              {{"order", Dims{0, 2, 1, 3}}});
}

static Tensor attention(GraphBuilder &b, Tensor x, Tensor mask) {
  auto heads = [&](const std::string &name) {
    return splitHeads(b, name, dense(b, name, x, kHidden, kHidden));
  };
  Tensor q = heads("attn.q"), k = heads("attn.k"), v = heads("attn.v");
  Tensor scores =
      b.op("MatMul", "attn.scores", {q, k}, {{"transpose_b", true}});
  // 1 / sqrt(head size), a constant that the caller fills.
  scores = b.op("Multiply", "attn.scale", {scores, b.constant({1})});
  scores = b.op("Add", "attn.mask", {scores, mask});
  Tensor weights =
      b.op("SoftMax", "attn.softmax", {scores}, {{"axis", int64_t(-1)}});
  Tensor y = b.op("MatMul", "attn.context", {weights, v});
  y = b.op("StaticTranspose", "attn.tokens", {y},
           {{"order", Dims{0, 2, 1, 3}}});
  y = b.op(
      "StaticReshape", "attn.merge", {y},
      {{"shape", Dims{kBatch, kTokens, kHidden}}, {"special_zero", false}});
  return dense(b, "attn.out", y, kHidden, kHidden);
}

static Tensor addAndNorm(GraphBuilder &b, const std::string &name, Tensor x,
                         Tensor residual) {
  x = b.op("Add", name + ".residual", {x, residual});
  Tensor gamma = b.constant({kHidden}), beta = b.constant({kHidden});
  return b.op("LayerNorm", name + ".norm", {x, gamma, beta},
              {{"keep_stats", false}, {"epsilon", 1e-12f}});
}

static Expected<graph::Graph> bertLayer() {
  GraphBuilder b;
  Tensor x = b.input({kBatch, kTokens, kHidden});
  Tensor mask = b.input({kBatch, 1, 1, kTokens});
  x = addAndNorm(b, "attn", attention(b, x, mask), x);
  Tensor up = dense(b, "ffn.up", x, kHidden, kFeedForward);
  up = b.op("GELU", "ffn.gelu", {up}, {{"mode", std::string("gelu_erf")}});
  Tensor down = dense(b, "ffn.down", up, kFeedForward, kHidden);
  x = addAndNorm(b, "ffn", down, x);
  return b.finish({x});
}

int main(int argc, char **argv) {
  return examples::writeGraph(bertLayer(), argc > 1 ? argv[1] : ".",
                              "bert_layer.json");
}
