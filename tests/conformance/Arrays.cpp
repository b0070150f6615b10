//===- Arrays.cpp - stored arrays as tensors ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Arrays.h.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/Arrays.h"

#include <cstring>
#include <span>

namespace tenon::conformance {

using graph::DType;
using reference::Tensor;

namespace {

Error makeError(std::string message) {
  Error error;
  error.code = ErrorCode::BadTensorData;
  error.message = std::move(message);
  return error;
}

/// A number of the array; `bits` holds its bytes.
template <typename T> double numberAs(const std::byte *bits) {
  T value;
  std::memcpy(&value, bits, sizeof(T));
  return static_cast<double>(value);
}

double numberOf(const std::string &descr, const std::byte *bits) {
  char kind = descr[1];
  int size = descr[2] - '0';
  if (kind == 'f')
    return size == 4 ? numberAs<float>(bits) : numberAs<double>(bits);
  if (kind == 'i')
    return size == 1   ? numberAs<int8_t>(bits)
           : size == 2 ? numberAs<int16_t>(bits)
           : size == 4 ? numberAs<int32_t>(bits)
                       : numberAs<int64_t>(bits);
  return size == 1   ? numberAs<uint8_t>(bits)
         : size == 2 ? numberAs<uint16_t>(bits)
         : size == 4 ? numberAs<uint32_t>(bits)
                     : numberAs<uint64_t>(bits);
}

/// Bytes per element, 0 when the type string is not understood.
size_t elementSize(const std::string &descr) {
  constexpr std::string_view known[] = {"f4", "f8", "i1", "i2", "i4", "i8",
                                        "u1", "u2", "u4", "u8", "b1"};
  if (descr.size() == 3 && (descr[0] == '<' || descr[0] == '|'))
    for (std::string_view type : known)
      if (descr.substr(1) == type)
        return static_cast<size_t>(descr[2] - '0');
  return 0;
}

} // namespace

Expected<Tensor> toTensor(const cli::NpyArray &array, DType dtype) {
  size_t width = elementSize(array.type);
  int64_t count = reference::elementCount(array.shape);
  bool isTransposed = array.isFortran && array.shape.size() > 1;
  if (width == 0 || count < 0 || isTransposed ||
      static_cast<uint64_t>(count) != array.bytes.size() / width)
    return makeError("array of " + array.type +
                     ", in another order, or of another size");
  auto bytes = std::as_bytes(std::span(array.bytes));
  bool raw = graph::isFloat(dtype) && array.type[1] == 'u';
  if (raw && width != static_cast<size_t>(graph::byteSize(dtype)))
    return makeError("array of " + array.type + " for a tensor of " +
                     std::string(graph::name(dtype)));
  if (array.type == "<i8") { // no double holds all of these
    auto tensor = reference::fromMemory(
        DType::s64, array.shape, graph::denseStrides(array.shape), bytes);
    if (tensor)
      reference::setDType(*tensor, dtype);
    return tensor;
  }
  Tensor tensor = reference::zeros(DType::undef, array.shape);
  for (size_t i = 0; i < tensor.data.size(); ++i) {
    double value = numberOf(array.type, bytes.data() + i * width);
    tensor.data[i] =
        raw ? reference::decode(dtype, static_cast<uint64_t>(value)) : value;
  }
  reference::setDType(tensor, dtype);
  return tensor;
}

} // namespace tenon::conformance
