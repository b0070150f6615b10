//===- Tensor.h - the values of a tensor -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The value type of the reference evaluator, and its exchange with memory that
// holds real element types.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/reference/Numeric.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tenon::reference {

/// Elements in row-major logical order whatever the strides of the edge.
///
/// A double holds every value of every element type but s64, so that operations
/// are formulas on doubles whatever the types of their operands. An s64 has up
/// to 63 bits and a double only 53: an s64 tensor keeps integers instead. The
/// operations that take s64 (OpEntry::s64) compute with those.
struct Tensor {
  graph::DType dtype = graph::DType::undef;
  graph::Dims shape;
  std::vector<double> data = {};      // of all types but s64
  std::vector<int64_t> integers = {}; // of s64

  int rank() const { return static_cast<int>(shape.size()); }
  bool isS64() const { return dtype == graph::DType::s64; }
  int64_t numElements() const {
    return static_cast<int64_t>(isS64() ? integers.size() : data.size());
  }
  /// Element `i`; an s64 beyond 2^53 is rounded.
  double at(int64_t i) const {
    return isS64() ? static_cast<double>(integers[i]) : data[i];
  }
  /// Element `i` as text: integers with all digits, floats with `digits`.
  std::string text(int64_t i, int digits) const;
};

/// Element `i` of a tensor of integers; of booleans 0 or 1.
int64_t integerAt(const Tensor &tensor, int64_t i);
/// Sets element `i` to `value`, modulo 2^bits as the integer dtype represents
/// it; a boolean to 1 for any number but 0.
void setInteger(Tensor &tensor, int64_t i, int64_t value);

/// |a[i] - b[i]| of two tensors of one type, rounded; 0 where both are the same
/// number, the same infinity, or NaN.
double difference(const Tensor &a, const Tensor &b, int64_t i);

/// Product of `shape`, or -1 when a dim is negative or the product exceeds
/// 2^62.  A rank-0 shape has one element.
int64_t elementCount(const graph::Dims &shape);

/// A tensor of zeros; requires elementCount(shape) >= 0.
Tensor zeros(graph::DType dtype, graph::Dims shape);

/// Rounds every element to the tensor's dtype.
void roundToDType(Tensor &tensor);

/// Gives the tensor another dtype. To s64, elements are rounded to the nearest
/// s64 (NaN to 0); from s64, to the nearest value of `dtype`, and of `undef` to
/// that of double. Between the others they stay as they are, not rounded.
void setDType(Tensor &tensor, graph::DType dtype);

/// Bytes that a tensor with these strides (in elements) spans; 0 when empty.
/// s4 and u4 are packed two to a byte, low half first.
int64_t spannedBytes(graph::DType dtype, const graph::Dims &shape,
                     const graph::Dims &strides);

/// Reads a strided tensor.  `strides` are in elements, non-negative and as many
/// as dims; `bytes` covers spannedBytes().  Otherwise: BadTensorData.
Expected<Tensor> fromMemory(graph::DType dtype, const graph::Dims &shape,
                            const graph::Dims &strides,
                            std::span<const std::byte> bytes);

/// Writes `tensor`, rounding to its dtype; bytes between the elements stay
/// untouched.  Same requirements as fromMemory.
std::vector<Error> toMemory(const Tensor &tensor, const graph::Dims &strides,
                            std::span<std::byte> bytes);

} // namespace tenon::reference
