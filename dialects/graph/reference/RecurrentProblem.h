//===- RecurrentProblem.h - recurrent cells in tests -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Every recurrent operation with operands of small numbers, for tests that ask
// the same of all of them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/OpTable.h"
#include "dialects/graph/reference/TestOps.h"

#include <algorithm>
#include <map>

namespace tenon::reference {

using graph::Dims;
using graph::DType;

/// What differs between the cases of one cell.
struct Variant {
  std::string direction = "left2right", stacking = "independent";
  int64_t layers = 1;
  bool batchFirst = false, lengths = false;
  bool optional = true; // bias, states, peephole
  bool projected = false, accumulates = false;
};

struct Cell {
  const char *kind;
  graph::AttrMap attrs;
  int64_t gates, biasRows;
};

inline const Cell cells[] = {
    {"RNN", {{"activation", std::string("tanh")}}, 1, 1},
    {"RNN", {{"activation", std::string("relu")}, {"alpha", 0.25f}}, 1, 1},
    {"RNN", {{"activation", std::string("logistic")}}, 1, 1},
    {"LSTM", {}, 4, 4},
    {"GRU", {}, 3, 3},
    {"GRU", {{"linear_before_reset", true}}, 3, 4},
    {"AUGRU", {}, 3, 3},
    {"AUGRU", {{"linear_before_reset", true}}, 3, 4},
};

/// A cell with operands of small numbers, by name.
class Problem {
public:
  Problem(const Cell &cell, const Variant &variant)
      : cell(cell), variant(variant) {
    D = variant.direction.starts_with("bidirectional") ? 2 : 1;
    L = variant.layers;
    O = variant.projected ? 3 : H;
    int64_t read = variant.stacking == "concatenated" ? D * O : O;
    SLC = L > 1 ? read : 4;
    attrs = cell.attrs;
    attrs["direction"] = variant.direction;
    attrs["stacking"] = variant.stacking;
    attrs["batch_first"] = variant.batchFirst;
    for (const graph::ValueInfo &value : graph::factsOf(cell.kind).operands)
      add(std::string(value.name));
  }

  Tensor operand(const std::string &name) const {
    auto found = operands.find(name);
    return found == operands.end() ? Tensor{} : found->second;
  }

  /// Which operand of the forward operation it is.
  size_t slot(std::string_view name) const {
    std::span<const graph::ValueInfo> values =
        graph::factsOf(cell.kind).operands;
    return static_cast<size_t>(
        std::ranges::find(values, name, &graph::ValueInfo::name) -
        values.begin());
  }

  /// The forward operation with all its results, of which workspace is last.
  OneOp forward() const {
    OneOp op{cell.kind, {}, attrs, {}};
    for (const graph::ValueInfo &value : graph::factsOf(cell.kind).operands)
      op.inputs.push_back(operand(std::string(value.name)));
    op.results.assign(graph::factsOf(cell.kind).results.size(), DType::f32);
    return op;
  }

  /// The gradient, whose incoming gradients are `weights` of the results.
  OneOp backward(const std::vector<Tensor> &results,
                 const std::vector<Tensor> &weights) const {
    const graph::OpInfo &info = graph::factsOf(kindOfGradient());
    std::map<std::string, Tensor> all = operands;
    const graph::OpInfo &forwardInfo = graph::factsOf(cell.kind);
    for (size_t i = 0; i < results.size(); ++i) {
      std::string name(forwardInfo.results[i].name);
      if (name == "workspace")
        all[name] = results[i];
      else
        all["diff_" + name] = weights[i];
    }
    OneOp op{std::string(info.kind), {}, attrs, {}};
    for (const graph::ValueInfo &value : info.results) {
      std::string name(value.name.substr(std::string("diff_").size()));
      bool given = name == "bias" || name.starts_with("src_iter") ||
                   operands.contains(name);
      op.results.push_back(given ? DType::f32 : DType::undef);
      if (variant.accumulates && given)
        all["diff_" + name + "_before"] =
            make(shapeOf(name), ramp(elementCount(shapeOf(name)), 0.07));
    }
    if (variant.accumulates)
      op.attrs["diff_weights"] = std::string("accumulate");
    for (const graph::ValueInfo &value : info.operands) {
      auto found = all.find(std::string(value.name));
      op.inputs.push_back(found == all.end() ? Tensor{} : found->second);
    }
    return op;
  }

  std::string kindOfGradient() const {
    return std::string(cell.kind) + "Backward";
  }

  Dims shapeOf(const std::string &name) const {
    int64_t G = cell.gates;
    if (name == "src_layer")
      return data(SLC);
    if (name == "attention")
      return data(1);
    if (name == "weights_layer")
      return {L, D, SLC, G, H};
    if (name == "weights_iter")
      return {L, D, O, G, H};
    if (name == "weights_peephole")
      return {L, D, 3, H};
    if (name == "weights_projection")
      return {L, D, H, O};
    if (name == "bias")
      return {L, D, cell.biasRows, H};
    if (name == "src_iter")
      return {L, D, N, O};
    return {L, D, N, H}; // src_iter_c
  }

  static constexpr int64_t T = 3, N = 2, H = 2;
  int64_t D, L, O, SLC;
  const Cell &cell;
  const Variant variant;

private:
  Dims data(int64_t channels) const {
    return variant.batchFirst ? Dims{N, T, channels} : Dims{T, N, channels};
  }

  void add(const std::string &name) {
    bool isOptional = name == "bias" || name.starts_with("src_iter") ||
                      name == "weights_peephole";
    if ((isOptional && !variant.optional) ||
        (name == "weights_projection" && !variant.projected))
      return;
    if (name == "sequence_lengths") {
      if (variant.lengths)
        operands[name] = make({N}, {2, 0}, DType::s32);
      return;
    }
    // Other numbers for each operand, none near a kink of relu.
    auto step = 0.31 + 0.03 * static_cast<double>(operands.size());
    std::vector<double> values = ramp(elementCount(shapeOf(name)), step);
    for (double &value : values)
      value *= name == "src_layer" ? 0.5 : 0.3;
    operands[name] = make(shapeOf(name), values);
  }

  graph::AttrMap attrs;
  std::map<std::string, Tensor> operands;
};

} // namespace tenon::reference
