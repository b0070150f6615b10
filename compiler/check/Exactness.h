//===- Exactness.h - which edges are exact in floating point ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Given the values of the inputs, follows for every edge the largest magnitude
// and a power of two that divides all its values.  While their ratio fits the
// mantissa, every sum and product is exact in any order, so results can be
// compared for equality.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/reference/Tensor.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace tenon::check {

/// All values are multiples of `granule` (a power of two) with magnitude up to
/// `largest`.
struct Grid {
  double largest = 0;
  double granule = 1;

  /// Whether `bits` bits of mantissa hold every such value.
  bool fits(int bits) const;
};

/// The grid of a tensor's values; nullopt with NaN or infinities.
std::optional<Grid> gridOf(const reference::Tensor &tensor);

/// Whether there is a rule of this name, which the operation table gives as
/// grid.
bool isGridRule(std::string_view name);

/// The edges whose values are exact when computed in f32 (or, for integer
/// edges, in integers) in any order.  The entry of a narrow floating edge is
/// the value before its rounding.  Edges not listed round.
std::map<uint64_t, Grid>
exactEdges(const graph::Graph &graph,
           const std::map<uint64_t, reference::Tensor> &inputs);

} // namespace tenon::check
