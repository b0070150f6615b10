//===- Quantised.h - operands of products that are dequantised -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Builders.h"

#include <optional>
#include <string>

namespace tenon::passes {

/// Int8 products that an instruction for them adds up, as a target's
/// `int8DotWidth`: VNNI and such. With two, int8 operands are multiplied as
/// int16.
inline constexpr int64_t kFullInt8DotWidth = 4;

/// What UnpackInt4 says of bytes that hold so few bits.
inline constexpr char kBitsAttr[] = "graph.bits";

/// Bits that a level of `bytes` needs.
unsigned bitsOf(mlir::Value bytes);

/// An operand of a product: bytes, under views and casts between floats.
struct Quantised {
  mlir::Operation *dequantize = nullptr;
  llvm::SmallVector<mlir::Operation *> views; // from the product backwards
  int64_t axis = -1; // of scales and zero points; -1: one of each

  mlir::Value bytes() const { return dequantize->getOperand(0); }
  unsigned bits() const { return bitsOf(bytes()); }
  bool isDynamic() const;
  bool hasZeroPoint() const;
  /// A known zero point that all have; nothing where it is a tensor, or where
  /// they differ.
  std::optional<int64_t> zeroPoint() const;
  /// Known scales.
  llvm::ArrayRef<float> scales() const;
  /// How many there are, or dynamic.
  int64_t scaleCount() const;
  /// Bytes as the product reads them.
  mlir::Value viewed(mlir::OpBuilder &b) const { return viewed(b, bytes()); }
  /// The views of `v`, which has the dimensions of the bytes.
  mlir::Value viewed(mlir::OpBuilder &b, mlir::Value v) const;
  /// The dim of the product's operand that dim `axis` of the bytes becomes, if
  /// the views only transpose.
  std::optional<int64_t> axisBehind(int64_t axis) const;
};

/// `v`, scales or zero points, in f32 and of shape `dims`. The cast comes last,
/// next to what reads it, but for f8_e8m0, with which nothing else is done.
mlir::Value parameterInF32(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value v, llvm::ArrayRef<int64_t> dims);

/// Whether bytes that the target multiplies as int16 are widened to that in
/// memory, for the MatMul or Convolution `product`.
bool widensToInt16(mlir::Operation *product, int64_t int8DotWidth);

/// Why `product`, a MatMul or a Convolution, of `src` and `weights` is not one
/// of their bytes, of which an instruction adds up `int8DotWidth` products;
/// empty: as far as types and zero points tell, it is.
std::string whyNoInt8Product(mlir::Operation *product, const Quantised &src,
                             const Quantised &weights, int64_t int8DotWidth);

/// Follows `v` to the Dequantize after it; null if something else is there.
Quantised traceQuantised(mlir::Value v);

} // namespace tenon::passes
