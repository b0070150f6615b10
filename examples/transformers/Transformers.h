//===- Transformers.h - models of any batch and length ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Sizes are named: batch, tokens (of this execution) and, where there is a
// cache, total (tokens of this execution and those before) and capacity (rows
// of the cache).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "examples/GraphBuilder.h"

namespace tenon::examples {

/// BERT-base of so many layers, with embeddings and pooler.
///
/// Inputs: ids, positions and types, s64 [batch, tokens]; mask, f32
/// [batch, tokens], 1 for tokens that count and 0 for others; then weights.
/// Outputs: hidden states, f32 [batch, tokens, 768], and the pooled first
/// token, [batch, 768].
Expected<graph::Graph> bert(int layers);

/// GPT-2 small of so many layers, for a prompt and for one token alike.
///
/// Inputs: ids, s64 [batch, tokens]; positions, s64 [tokens, 1], past to
/// past + tokens - 1; past, s32 [1], the number of tokens before; mask, f32
/// [batch, total], 0 for tokens that count and a number far below for others;
/// for each layer a cache of keys and one of values, f32
/// [capacity, batch, 12, 64]; and weights.
/// Outputs: logits, f32 [batch, tokens, 50257], and the caches with rows
/// `positions` written; they may have the memory of the caches given.
Expected<graph::Graph> gpt2(int layers);

/// Blocks of Llama 3.2 1B, with the same caches, of 8 heads of 64.
///
/// Inputs: hidden states, f32 [batch, tokens, 2048]; positions, past and mask;
/// cosines and sines, f32 [capacity, 32], of the angles of a position; caches;
/// weights.
/// Outputs: hidden states and caches.
Expected<graph::Graph> llama(int layers);

} // namespace tenon::examples
