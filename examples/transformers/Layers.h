//===- Layers.h - what the three models share -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "examples/GraphBuilder.h"

namespace tenon::examples {

/// x . w, and + bias unless `bias` is false.
inline Tensor dense(GraphBuilder &b, const std::string &name, Tensor x,
                    int64_t in, int64_t out, bool bias = true) {
  x = b.op("MatMul", name, {x, b.constant({in, out})});
  return bias ? b.op("BiasAdd", name + ".bias", {x, b.constant({out})}) : x;
}

inline Tensor layerNorm(GraphBuilder &b, const std::string &name, Tensor x,
                        int64_t size, float epsilon) {
  return b.op("LayerNorm", name, {x, b.constant({size}), b.constant({size})},
              {{"keep_stats", false}, {"epsilon", epsilon}});
}

inline Tensor transpose(GraphBuilder &b, const std::string &name, Tensor x,
                        graph::Dims order) {
  return b.op("StaticTranspose", name, {x}, {{"order", std::move(order)}});
}

/// Rows of `table` at `indices`, a result of type f32.
inline Tensor gather(GraphBuilder &b, const std::string &name, Tensor table,
                     Tensor indices) {
  return b.op("Gather", name, {table, indices}, {{"axis", int64_t(0)}});
}

/// The keys or values of all tokens so far.
struct Cached {
  Tensor cache; // [capacity, batch, heads, size], with the new rows
  Tensor rows;  // [batch, heads, total, size]
};

/// Writes `x`, [batch, tokens, heads, size], to the rows `positions` of a
/// cache.
inline Cached cached(GraphBuilder &b, const std::string &name, Tensor x,
                     Tensor cache, Tensor positions, int64_t heads,
                     int64_t size) {
  Tensor rows = transpose(b, name + ".rows", x, {1, 0, 2, 3});
  Cached c;
  c.cache = b.op("ScatterND", name + ".write", {cache, positions, rows});
  Tensor read =
      b.first(name + ".read", c.cache, 0, {"total", "batch", heads, size});
  c.rows = transpose(b, name + ".heads", read, {1, 2, 0, 3});
  return c;
}

/// softmax(q . k^T * scale + mask) . v, where query i of this execution sees
/// the keys up to past + i. `q` is [.., tokens, size]; `mask` broadcasts to
/// [.., tokens, total].
inline Tensor causalAttention(GraphBuilder &b, const std::string &name,
                              Tensor q, Tensor k, Tensor v, Tensor mask,
                              Tensor past) {
  Tensor s = b.op("MatMul", name + ".scores", {q, k}, {{"transpose_b", true}});
  // 1 / sqrt(size) and a number far below 0, which the caller fills in.
  s = b.op("Multiply", name + ".scale", {s, b.constant({1})});
  Tensor row = b.op(graph::DType::s32, "GenIndex", name + ".row", {s},
                    {{"axis", int64_t(-2)}});
  Tensor column = b.op(graph::DType::s32, "GenIndex", name + ".column", {s},
                       {{"axis", int64_t(-1)}});
  row = b.op(graph::DType::s32, "Add", name + ".position", {row, past});
  Tensor visible = b.op(graph::DType::boolean, "GreaterEqual",
                        name + ".visible", {row, column});
  s = b.op("Select", name + ".causal", {visible, s, b.constant({1})});
  s = b.op("Add", name + ".mask", {s, mask});
  Tensor p = b.op("SoftMax", name + ".softmax", {s}, {{"axis", int64_t(-1)}});
  return b.op("MatMul", name + ".context", {p, v});
}

} // namespace tenon::examples
