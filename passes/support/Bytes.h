//===- Bytes.h - sizes of buffers that may be too large ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/BuiltinTypes.h"

#include <cstdint>

namespace tenon::passes {

/// More than any memory has: to ask for as many bytes fails.
inline constexpr int64_t kTooManyBytes = int64_t(1) << 62;

inline int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) || sum > kTooManyBytes
             ? kTooManyBytes
             : sum;
}

inline int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) || product > kTooManyBytes
             ? kTooManyBytes
             : product;
}

/// Bytes of the dimensions that are known; kTooManyBytes if there are more.
inline int64_t knownBytes(mlir::ShapedType type) {
  int64_t bytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
  for (int64_t d : type.getShape())
    if (d == 0)
      return 0;
  for (int64_t d : type.getShape())
    if (!mlir::ShapedType::isDynamic(d))
      bytes = saturatingMul(bytes, d);
  return bytes;
}

} // namespace tenon::passes
