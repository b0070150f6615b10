//===- Quant.h - quantised tensors of several operators --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/onnx/NodeContext.h"

namespace tenon::onnx {

/// A quantised tensor, or what it is to become: scales and zero points, which
/// may be left out, of all elements, of each index along `axis`, or with
/// `block` above 0 of so many neighbours along it.
struct Scheme {
  Value scale, zeroPoint;
  int64_t axis;
  DType type;
  int64_t block = 0;
  /// Of codes of 16 bits, which are s32 here.
  std::optional<reference::Range> range = std::nullopt;
};

/// The scheme whose operands, scale and zero point, are `first` and the next
/// one of the node. Without a zero point the type is u8.
Scheme schemeAt(NodeContext &n, size_t first, int64_t axis);

/// saturate(round(x / scale) + zero point).
Value quantized(NodeContext &n, Value x, const Scheme &scheme);

/// (x - zero point) * scale, f32.
Value dequantized(NodeContext &n, Value x, const Scheme &scheme);

/// Codes from 0 to 255, their scale and their zero point, u8, by the range of
/// the elements of `x` and 0.
struct DynamicCodes {
  Value codes, scale, zeroPoint;
};
DynamicCodes dynamicCodes(NodeContext &n, Value x);

/// The product of integers of 8 bits less their zero points, which may be left
/// out: s32, exact. Those of `a` are of each row, of `b` of each column, or
/// one.
Value integerProduct(NodeContext &n, Value a, Value zeroA, Value b,
                     Value zeroB);

} // namespace tenon::onnx
