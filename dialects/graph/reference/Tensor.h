//===- Tensor.h - a tensor of doubles --------------------------*- C++ -*-===//
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
#include <vector>

namespace tenon::reference {

/// Elements in row-major logical order whatever the strides of the edge.
struct Tensor {
  graph::DType dtype = graph::DType::undef;
  graph::Dims shape;
  std::vector<double> data;

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t numElements() const { return static_cast<int64_t>(data.size()); }
};

/// Product of `shape`, or -1 when a dim is negative or the product exceeds
/// 2^62.  A rank-0 shape has one element.
int64_t elementCount(const graph::Dims &shape);

/// A tensor of zeros; requires elementCount(shape) >= 0.
Tensor zeros(graph::DType dtype, graph::Dims shape);

/// Rounds every element to the tensor's dtype.
void roundToDType(Tensor &tensor);

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
