//===- KernelProducts.h - one step of a kernel's sums ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/microkernel/KernelCode.h"

namespace tenon::microkernel {

/// Operands of a step of k as the target multiplies them, and their products.
class KernelProducts : protected KernelCode {
protected:
  using KernelCode::KernelCode;

  /// `a` + `steps` elements along k.
  Value advanceK(Value a, int64_t steps);
  Value advanceK(Value a, Value steps);
  /// Vector `v` of a row of B as the product takes it.
  Value loadB(Value b, int64_t v);
  /// Vector `v` of a row of quantized weights as integers, `perRowOfB` in each
  /// lane.
  Value loadQuantized(Value b, int64_t v);
  /// Vector `v` of a row of quantized weights that meet int8 slices, as bytes;
  /// those of its part `part`.
  Value loadPackedQuantized(Value b, int64_t v);
  Value partOfQuantized(Value quantized, int64_t part);
  /// What sums of the int8 slices of a group begin with, for row `a` and vector
  /// `v`.
  llvm::SmallVector<Value> startOfSlices(Value a, int64_t v);
  /// acc + these sums, with the scales of the group.
  Value addSlices(Value a, int64_t v, llvm::ArrayRef<Value> sums, Value acc);
  /// The weights of row `part` of those that `quantized`, vector `v`, holds.
  Value weightsOf(Value quantized, int64_t part, int64_t v);
  /// What a group of quantized weights begins with, at `b` and at `scales`;
  /// returns where its quantized weights are.
  Value loadHead(Value b, Value scales);
  /// One element of A in all lanes.
  Value loadElement(Value a);
  /// `interleave` neighbours of A in all lanes; those from `count` on are 0.
  Value loadGroup(Value a, Value count);
  /// A vector of `type` whose bytes all are `byte`.
  Value splatBytes(VectorType type, uint8_t byte);
  Value multiplyAdd(Value x, Value y, Value acc);
  /// acc + the sums of the products within each group, by one instruction.
  Value addProducts(Value x, Value y, Value acc);

  VectorType groupsOf(Type element) {
    return VectorType::get({spec.lanes * spec.interleave}, element);
  }

  bool multipliesBF16() const {
    return spec.element.isBF16() && spec.interleave > 1;
  }

private:
  /// A vector of it, as the sums have.
  Value splatOf(mlir::TypedAttr number);
  /// Of the group at hand, for each vector.
  llvm::SmallVector<Value> groupScales, groupZeroPoints;

  /// Bytes in pairs are widened to 16 bits, unless they are already: without
  /// VNNI the instruction that multiplies int8 operands saturates, the one for
  /// words does not.
  bool multipliesInt16() const {
    return spec.element.isInteger() && spec.interleave == 2;
  }

  Value loadScalarAs(Value pointer, Type type);
  /// The group put together element by element.
  Value gatherGroup(Value a, Type group, Value count);
  /// Scalars or vectors of elements as the sums have them.
  Value widen(Value x, ByteSign sign = ByteSign::Signed);
  Value extend(Value x, bool isSigned, unsigned bits);
};

} // namespace tenon::microkernel
