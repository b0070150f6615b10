//===- RecurrentText.h - recurrent operations as text -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Graphs of one recurrent operation, or of a training forward and its gradient,
// in the grammar of GraphText.h, from a choice of cell, sizes, options and
// optional operands.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace tenon::test {

struct RecurrentChoice {
  std::string cell = "LSTM"; // RNN, LSTM, GRU, AUGRU
  std::string activation = "tanh";
  bool linearBeforeReset = false;
  std::string direction = "left2right";
  bool concatenated = false; // stacking
  bool batchFirst = false;
  std::string type = "f32"; // f32, bf16, f16, u8
  int64_t steps = 3, batch = 2, layers = 1, inputs = 5, hidden = 5;
  int64_t projection = 0; // DIC; 0: there is none
  int64_t ownStates = 0;  // SIC; 0: that of h
  bool bias = true, srcIter = true, srcIterC = true, peephole = false;
  bool lengths = false, dstIter = true, dstIterC = true;
  bool constantWeights = true;
  bool backward = false, accumulate = false;
  bool stateGradients = true; // diff_dst_iter, diff_dst_iter_c

  int64_t directions() const {
    return direction.starts_with("bidirectional") ? 2 : 1;
  }
  int64_t outputs() const { return projection ? projection : hidden; }
};

/// Corrects what cannot be combined, so that any choice becomes a legal one.
RecurrentChoice legal(RecurrentChoice c);

/// The graph of a legal choice.
std::string textOf(const RecurrentChoice &c);

/// Legal choice number `i` of a list without end, each drawn from `i` alone.
RecurrentChoice randomChoice(uint64_t i);

} // namespace tenon::test
