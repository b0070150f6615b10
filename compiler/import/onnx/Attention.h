//===- Attention.h - attention of several operators ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What the attention operators of ONNX and com.microsoft have in common. Heads
// are B, H, S, D: batch, heads, steps, channels of a head. Keys and values may
// have fewer heads, each of which serves as many neighbouring heads of queries.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/onnx/NodeContext.h"

namespace tenon::onnx {

/// How scores become weights.
struct AttentionForm {
  float scale = 1;
  /// Scores become cap * tanh(score / cap); 0: they stay.
  float softcap = 0;
  /// Broadcast to B, H, S, keys: true where a query may see a key, or floats
  /// that are added to scores.
  Values masks = {};
  /// The position of the first query among the keys, for what follows: s64, a
  /// scalar or one of each sample; kNone: 0.
  Value offset = kNone;
  /// A query sees no key behind it.
  bool causal = false;
  /// Nor one further before or behind it than this; negative: any.
  int64_t left = -1, right = -1;
  /// s64: how many keys of each sample there are; kNone: all.
  Value lengths = kNone;
  /// A score of each head that takes part in the sums of weights, H; or kNone.
  Value sink = kNone;
  /// The type that weights are computed in; undef: that of scores.
  DType precision = DType::undef;
  /// Whether the scores and weights are results, too.
  bool wantsScores = false;
};

/// Results, B, H, S, D and, if they are wanted, B, H, S, keys. Of a query that
/// sees nothing weights are 0.
struct Attended {
  Value result, scores, capped, masked, weights;
};
Attended attend(NodeContext &n, Value q, Value k, Value v,
                const AttentionForm &form);

/// B, S, H * D becomes B, H, S, D.
Value splitHeads(NodeContext &n, Value x, int64_t heads);
/// B, H, S, D becomes B, S, H * D.
Value joinHeads(NodeContext &n, Value x);
/// `past`, if any, and `x` behind it along the steps of B, H, S, D.
Value appended(NodeContext &n, Value past, Value x);
/// 1 / sqrt of the channels of heads, B, H, S, D.
float defaultScale(NodeContext &n, Value heads);
/// The size of dim `axis` as a scalar, s64.
Value sizeOf(NodeContext &n, Value x, int64_t axis);

struct Rotation {
  /// Pairs are neighbours, instead of halves.
  bool interleaved = false;
  /// The first so many channels are rotated; 0: all.
  int64_t channels = 0;
};
/// Rotates pairs of channels of heads, B, H, S, D, by angles whose cosines and
/// sines are B or 1, S, half of the channels.
Value rotated(NodeContext &n, Value x, Value cosines, Value sines,
              Rotation rotation);

} // namespace tenon::onnx
