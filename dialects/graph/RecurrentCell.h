//===- RecurrentCell.h - sizes of recurrent operations ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The eight recurrent operations share operands, and these share sizes: which
// of them are the dims of an operand follows from its name in the table. No
// MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <array>
#include <string_view>
#include <vector>

namespace tenon::graph {

/// What a dim of an operand or a result stands for.
enum class CellSize : uint8_t {
  steps,      // T
  batch,      // N
  layers,     // L
  directions, // D
  inputs,     // SLC, channels of src_layer
  states,     // SIC, channels of src_iter
  hidden,     // DHC, channels of a gate
  outputs,    // DIC, channels of h
  results,    // DLC, channels of dst_layer
  gates,      // G
  biasRows,   // Gb
  saved,      // S * DHC + DIC, what the workspace has of one step
  three,      // peephole weights: i, f, o
  one         // attention
};
inline constexpr size_t kNumCellSizes = 14;

/// "T", "N", ..., "S * DHC + DIC", "3", "1".
std::string_view name(CellSize size);

/// One number for each CellSize; kUnknownDim where it is not known.
using CellSizes = std::array<int64_t, kNumCellSizes>;

/// The dims of the operand or result of this name, gradients (`diff_...`) and
/// what they are added to (`..._before`) as what they are the gradient of.
/// Empty if no recurrent operation has it.
std::vector<CellSize> cellDims(std::string_view value, bool batchFirst);

/// The numbers that a cell and its gradient fix.
struct CellInfo {
  int64_t gates;        // G
  int64_t biasRows;     // Gb
  int64_t valuesOfUnit; // S, in the workspace
  bool statesAreHidden; // SIC is DHC
};
/// Of a recurrent operation or its gradient: LSTM, LSTMBackward, ...
CellInfo cellInfo(const Op &op);

/// 2 if `direction` is bidirectional_concat or bidirectional_sum, else 1.
int64_t cellDirections(std::string_view direction);

} // namespace tenon::graph
