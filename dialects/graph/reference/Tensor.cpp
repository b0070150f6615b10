//===- Tensor.cpp - the values of a tensor --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Tensor.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace tenon::reference {

using graph::Dims;
using graph::DType;

namespace {

bool isHalfByte(DType dtype) {
  return dtype == DType::s4 || dtype == DType::u4;
}

Error badData(std::string message) {
  Error error;
  error.code = ErrorCode::BadTensorData;
  error.message = std::move(message);
  return error;
}

/// Calls `visit(logical index, element offset)` for every element.
template <typename Visit>
void forEachElement(const Dims &shape, const Dims &strides, Visit visit) {
  int64_t count = elementCount(shape);
  Dims index(shape.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(i, offset);
    for (size_t d = shape.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < shape[d])
        break;
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

/// Empty when the memory can be addressed.
std::vector<Error> checkMemory(DType dtype, const Dims &shape,
                               const Dims &strides, size_t bytes) {
  if (dtype == DType::undef)
    return {badData("the tensor has no data type")};
  if (strides.size() != shape.size())
    return {badData("there are " + std::to_string(strides.size()) +
                    " strides for rank " + std::to_string(shape.size()))};
  for (int64_t stride : strides)
    if (stride < 0)
      return {badData("stride " + std::to_string(stride) + " is negative")};
  int64_t needed = spannedBytes(dtype, shape, strides);
  if (needed < 0)
    return {badData("the shape or its strides overflow")};
  if (static_cast<uint64_t>(needed) > bytes)
    return {badData("the tensor spans " + std::to_string(needed) +
                    " bytes, there are " + std::to_string(bytes))};
  return {};
}

} // namespace

int64_t elementCount(const Dims &shape) {
  __int128 count = 1;
  for (int64_t dim : shape)
    if (dim < 0)
      return -1;
  for (int64_t dim : shape) {
    if (dim == 0)
      return 0;
    count *= dim;
    if (count > __int128{1} << 62)
      count = (__int128{1} << 62) + 1; // too large, unless a later dim is 0
  }
  return count > __int128{1} << 62 ? -1 : static_cast<int64_t>(count);
}

Tensor zeros(DType dtype, Dims shape) {
  Tensor tensor;
  tensor.dtype = dtype;
  auto count = static_cast<size_t>(elementCount(shape));
  if (tensor.isS64())
    tensor.integers.assign(count, 0);
  else
    tensor.data.assign(count, 0.0);
  tensor.shape = std::move(shape);
  return tensor;
}

void roundToDType(Tensor &tensor) {
  if (tensor.dtype == DType::undef || tensor.isS64())
    return;
  if (tensor.dtype == DType::f32) {
    // The host's conversion is this very rounding, and much faster.
    for (double &value : tensor.data)
      value = static_cast<float>(value);
    return;
  }
  for (double &value : tensor.data)
    value = roundTo(tensor.dtype, value);
}

void setDType(Tensor &tensor, DType dtype) {
  tensor.dtype = dtype;
  if (tensor.isS64() && tensor.integers.empty()) {
    for (double value : tensor.data)
      tensor.integers.push_back(nearestS64(value));
    tensor.data = {};
  } else if (!tensor.isS64() && !tensor.integers.empty()) {
    for (int64_t value : tensor.integers)
      tensor.data.push_back(nearestTo(dtype, value));
    tensor.integers = {};
  }
}

std::string Tensor::text(int64_t i, int digits) const {
  if (isS64())
    return std::to_string(integers[i]);
  if (!graph::isFloat(dtype) && dtype != DType::undef)
    return std::to_string(static_cast<int64_t>(data[i]));
  char text[64];
  std::snprintf(text, sizeof(text), "%.*g", digits, data[i]);
  return text;
}

int64_t integerAt(const Tensor &tensor, int64_t i) {
  if (tensor.isS64())
    return tensor.integers[i];
  auto value = static_cast<int64_t>(tensor.data[i]);
  return tensor.dtype == DType::boolean ? value != 0 : value;
}

void setInteger(Tensor &tensor, int64_t i, int64_t value) {
  if (tensor.isS64())
    tensor.integers[i] = value;
  else
    tensor.data[i] = castFromS64(tensor.dtype, value);
}

double difference(const Tensor &a, const Tensor &b, int64_t i) {
  if (a.isS64()) {
    int64_t x = a.integers[i], y = b.integers[i];
    auto low = static_cast<uint64_t>(std::min(x, y));
    return static_cast<double>(static_cast<uint64_t>(std::max(x, y)) - low);
  }
  double x = a.data[i], y = b.data[i];
  return x == y || (std::isnan(x) && std::isnan(y)) ? 0 : std::fabs(x - y);
}

int64_t spannedBytes(DType dtype, const Dims &shape, const Dims &strides) {
  int64_t count = elementCount(shape);
  if (count <= 0)
    return count;
  __int128 last = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    last += static_cast<__int128>(shape[d] - 1) * strides[d];
  if (last > __int128{1} << 58)
    return -1;
  auto elements = static_cast<int64_t>(last) + 1;
  if (isHalfByte(dtype))
    return (elements + 1) / 2;
  return elements * static_cast<int64_t>(graph::byteSize(dtype));
}

Expected<Tensor> fromMemory(DType dtype, const Dims &shape, const Dims &strides,
                            std::span<const std::byte> bytes) {
  if (auto errors = checkMemory(dtype, shape, strides, bytes.size());
      !errors.empty())
    return errors;
  Tensor tensor = zeros(dtype, shape);
  auto size = static_cast<size_t>(graph::byteSize(dtype));
  forEachElement(shape, strides, [&](int64_t i, int64_t offset) {
    uint64_t bits = 0;
    if (isHalfByte(dtype))
      bits = std::to_integer<uint64_t>(bytes[offset / 2]) >> (offset % 2 * 4);
    else
      std::memcpy(&bits, bytes.data() + offset * size, size);
    if (tensor.isS64())
      tensor.integers[i] = static_cast<int64_t>(bits);
    else
      tensor.data[i] = decode(dtype, bits);
  });
  return tensor;
}

std::vector<Error> toMemory(const Tensor &tensor, const Dims &strides,
                            std::span<std::byte> bytes) {
  DType dtype = tensor.dtype;
  if (auto errors = checkMemory(dtype, tensor.shape, strides, bytes.size());
      !errors.empty())
    return errors;
  if (elementCount(tensor.shape) != tensor.numElements())
    return {badData("the tensor holds " + std::to_string(tensor.numElements()) +
                    " elements, its shape has " +
                    std::to_string(elementCount(tensor.shape)))};
  auto size = static_cast<size_t>(graph::byteSize(dtype));
  forEachElement(tensor.shape, strides, [&](int64_t i, int64_t offset) {
    uint64_t bits = tensor.isS64() ? static_cast<uint64_t>(tensor.integers[i])
                                   : encode(dtype, tensor.data[i]);
    if (!isHalfByte(dtype)) {
      std::memcpy(bytes.data() + offset * size, &bits, size);
      return;
    }
    int shift = static_cast<int>(offset % 2 * 4);
    auto kept = std::to_integer<unsigned>(bytes[offset / 2]) & ~(0xfu << shift);
    bytes[offset / 2] =
        static_cast<std::byte>(kept | static_cast<unsigned>(bits) << shift);
  });
  return {};
}

} // namespace tenon::reference
