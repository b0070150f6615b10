//===- Fill.h - data for the inputs of a graph -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Deterministic data with a meaning: what an input feeds decides what it holds.
//
//   feeds                                     holds
//   MatMul, convolutions, sums, ...           small integers, so few and small
//                                             that all arithmetic is exact
//   Add before SoftMax, as the second side    0 and -inf, no row without a 0
//   variance of a normalisation               positive
//   divisor, Reciprocal                       magnitude of at least 1
//   Sqrt, Log, Pow                            positive, modest
//   Quantize                                  values away from ties
//   Dequantize of a product before SoftMax    bytes around the zero point
//   boolean, integers                         0 and 1; in range of the type
//   dynamic scales, zero points               powers of two; small integers
//   Dropout                                   a seed, an offset, 1/2
//   indices                                   places in the dim, from either
//   end sizes of a result                         those that the graph gives it
//   SoftMaxBackward's dst, use_dst forms      in the range of the function
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/reference/Tensor.h"

#include <cstdint>
#include <map>
#include <set>

namespace tenon::check {

enum class FillMode {
  /// Integers where they make the results exact, else as `real`.
  semantic,
  /// Never integers only because of exactness: fractions in the same ranges.
  real
};

/// Values for all inputs (input ports and tensors without a producer), already
/// representable in their dtype.  The same graph, seed and mode give the same
/// values on every machine; each tensor has its own random sequence.
/// Inputs in `given` have values already and get none; then mode is real.
/// Errors: UnknownShape, TooLarge (more than 2^28 elements), UnsupportedDType.
Expected<std::map<uint64_t, reference::Tensor>>
fillInputs(const graph::Graph &graph, uint64_t seed,
           FillMode mode = FillMode::semantic,
           const std::set<uint64_t> &given = {});

} // namespace tenon::check
