//===- RecurrentCell.cpp - sizes of recurrent operations ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See RecurrentCell.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/RecurrentCell.h"

#include "dialects/graph/OpTable.h"

#include <algorithm>
#include <utility>

namespace tenon::graph {

std::string_view name(CellSize size) {
  static constexpr std::string_view names[] = {
      "T",   "N",   "L", "D",  "SLC",           "SIC", "DHC",
      "DIC", "DLC", "G", "Gb", "S * DHC + DIC", "3",   "1"};
  static_assert(std::size(names) == kNumCellSizes);
  return names[static_cast<size_t>(size)];
}

std::vector<CellSize> cellDims(std::string_view value, bool batchFirst) {
  constexpr std::string_view gradient = "diff_", before = "_before";
  if (value.starts_with(gradient))
    value.remove_prefix(gradient.size());
  if (value.ends_with(before))
    value.remove_suffix(before.size());
  using enum CellSize;
  static const std::pair<std::string_view, std::vector<CellSize>> forms[] = {
      {"src_layer", {steps, batch, inputs}},
      {"dst_layer", {steps, batch, results}},
      {"attention", {steps, batch, one}},
      {"weights_layer", {layers, directions, inputs, gates, hidden}},
      {"weights_iter", {layers, directions, states, gates, hidden}},
      {"weights_peephole", {layers, directions, three, hidden}},
      {"weights_projection", {layers, directions, hidden, outputs}},
      {"bias", {layers, directions, biasRows, hidden}},
      {"src_iter", {layers, directions, batch, states}},
      {"dst_iter", {layers, directions, batch, outputs}},
      {"src_iter_c", {layers, directions, batch, hidden}},
      {"dst_iter_c", {layers, directions, batch, hidden}},
      {"sequence_lengths", {batch}},
      {"workspace", {layers, directions, steps, batch, saved}}};
  for (const auto &[known, dims] : forms) {
    if (known != value)
      continue;
    std::vector<CellSize> form = dims;
    if (batchFirst && form[0] == steps)
      std::swap(form[0], form[1]);
    return form;
  }
  return {};
}

CellInfo cellInfo(const Op &op) {
  bool linear = op.attrOr<bool>("linear_before_reset", false);
  std::string_view kind = forwardOf(factsOf(op.kind)).kind;
  if (kind == "RNN")
    return {1, 1, 1, false};
  if (kind == "LSTM")
    return {4, 4, 5, false};
  return {3, linear ? 4 : 3, linear ? 4 : 3, true}; // GRU, AUGRU
}

int64_t cellDirections(std::string_view direction) {
  return direction.starts_with("bidirectional") ? 2 : 1;
}

} // namespace tenon::graph
