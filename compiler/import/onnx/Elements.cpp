// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Elements.h"

#include <cstring>

namespace tenon::onnx {

using graph::DType;

std::optional<DType> dtypeOf(DataType type) {
  switch (type) {
  case DataType::f32:
  case DataType::f64:
    return DType::f32;
  case DataType::f16:
    return DType::f16;
  case DataType::bf16:
    return DType::bf16;
  case DataType::s64:
    return DType::s64;
  case DataType::s32:
    return DType::s32;
  case DataType::s8:
    return DType::s8;
  case DataType::u8:
    return DType::u8;
  case DataType::boolean:
    return DType::boolean;
  case DataType::u4:
    return DType::u4;
  case DataType::s4:
    return DType::s4;
  case DataType::f8e4m3:
    return DType::f8_e4m3;
  case DataType::f8e5m2:
    return DType::f8_e5m2;
  case DataType::f8e8m0:
    return DType::f8_e8m0;
  default:
    return std::nullopt;
  }
}

std::optional<DType> portDTypeOf(DataType type) {
  return type == DataType::f64 ? DType::f64 : dtypeOf(type);
}

std::optional<reference::Range> shortRange(DataType type) {
  if (type == DataType::u16)
    return reference::Range{0, 65535};
  if (type == DataType::s16)
    return reference::Range{-32768, 32767};
  return std::nullopt;
}

static Error failure(const TensorProto &tensor, ErrorCode code,
                     const std::string &what) {
  return Error{code, "tensor \"" + std::string(tensor.name) + "\" " + what,
               "",   "",
               {},   ""};
}

/// Elements of the list that `tensor` has for its type.
static reference::Tensor fromLists(const TensorProto &tensor, DType dtype) {
  reference::Tensor result{dtype, tensor.dims};
  if (dtype == DType::s64) {
    result.integers = tensor.int64s;
  } else if (tensor.type == DataType::f64) {
    result.data = tensor.doubles;
    reference::roundToDType(result);
  } else if (dtype == DType::f32) {
    result.data.assign(tensor.floats.begin(), tensor.floats.end());
  } else if (dtype == DType::u4 || dtype == DType::s4) {
    // Each number is a byte of two elements, the first one in the low half.
    int64_t count = reference::elementCount(tensor.dims);
    for (int32_t byte : tensor.int32s)
      for (int shift : {0, 4})
        if (static_cast<int64_t>(result.data.size()) < count)
          result.data.push_back(reference::decode(
              dtype, static_cast<uint32_t>(byte) >> shift & 15));
  } else {
    // Of f16 and bf16 the numbers are bit patterns, and so they may be of all.
    for (int32_t bits : tensor.int32s)
      result.data.push_back(
          reference::decode(dtype, static_cast<uint32_t>(bits)));
  }
  return result;
}

/// The same from bytes of doubles, which must be 8 for each element.
static reference::Tensor fromDoubles(const TensorProto &tensor) {
  reference::Tensor result{DType::f32, tensor.dims};
  result.data.resize(tensor.raw.size() / sizeof(double));
  if (!result.data.empty())
    std::memcpy(result.data.data(), tensor.raw.data(), tensor.raw.size());
  reference::roundToDType(result);
  return result;
}

/// Integers of 16 bits.
static reference::Tensor fromShorts(const TensorProto &tensor) {
  reference::Tensor result{DType::s32, tensor.dims};
  auto add = [&](uint16_t bits) {
    bool isSigned = tensor.type == DataType::s16;
    result.data.push_back(isSigned ? static_cast<int16_t>(bits) : bits);
  };
  for (int32_t number : tensor.int32s)
    add(static_cast<uint16_t>(number));
  for (size_t at = 0; at + 2 <= tensor.raw.size(); at += 2) {
    uint16_t bits = 0;
    std::memcpy(&bits, tensor.raw.data() + at, 2);
    add(bits);
  }
  return result;
}

Expected<reference::Tensor> readElements(const TensorProto &tensor) {
  bool isShort = shortRange(tensor.type).has_value();
  std::optional<DType> dtype = isShort ? DType::s32 : dtypeOf(tensor.type);
  if (!dtype)
    return failure(tensor, ErrorCode::UnsupportedDType,
                   "has elements of type " + nameOf(tensor.type));
  if (tensor.isExternal)
    return failure(tensor, ErrorCode::UnsupportedForm,
                   "has its elements in another file");
  int64_t count = reference::elementCount(tensor.dims);
  if (count < 0)
    return failure(tensor, ErrorCode::BadTensorData, "has impossible dims");
  if (tensor.isRaw && !isShort) {
    auto bytes = std::as_bytes(std::span(tensor.raw));
    graph::Dims strides = graph::denseStrides(tensor.dims);
    bool isDouble = tensor.type == DataType::f64;
    int64_t size = reference::spannedBytes(*dtype, tensor.dims, strides);
    if (size * (isDouble ? 2 : 1) != static_cast<int64_t>(bytes.size()))
      return failure(tensor, ErrorCode::BadTensorData,
                     "has " + std::to_string(bytes.size()) +
                         " bytes, which its dims do not");
    if (isDouble)
      return fromDoubles(tensor);
    return reference::fromMemory(*dtype, tensor.dims, strides, bytes);
  }
  reference::Tensor result =
      isShort ? fromShorts(tensor) : fromLists(tensor, *dtype);
  if (result.numElements() != count)
    return failure(tensor, ErrorCode::BadTensorData,
                   "has " + std::to_string(result.numElements()) +
                       " elements, not " + std::to_string(count));
  return result;
}

} // namespace tenon::onnx
