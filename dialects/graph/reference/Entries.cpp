// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/Entries.h"

namespace tenon::reference {

Tensor firstEntries(const Tensor &tensor, int axis, int64_t count) {
  graph::Dims shape = tensor.shape;
  auto along = static_cast<size_t>(axis);
  int64_t inner = 1;
  for (size_t i = along + 1; i < shape.size(); ++i)
    inner *= shape[i];
  int64_t size = shape[along];
  shape[along] = count;
  Tensor result = zeros(tensor.dtype, shape);
  for (int64_t i = 0; i < result.numElements(); ++i) {
    int64_t outer = i / (inner * count), rest = i % (inner * count);
    auto from = static_cast<size_t>(outer * size * inner + rest);
    auto to = static_cast<size_t>(i);
    if (result.isS64())
      result.integers[to] = tensor.integers[from];
    else
      result.data[to] = tensor.data[from];
  }
  return result;
}

} // namespace tenon::reference
