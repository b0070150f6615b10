//===- IndexMath.h - index arithmetic that folds constants -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Sizes and strides are `OpFoldResult`s: a constant where the shape is static,
// an SSA value where it is not.  These helpers fold what is constant and
// remember what they built, so that equal products are the same value.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>
#include <tuple>

namespace tenon::tiling {

using Ofr = mlir::OpFoldResult;

class IndexMath {
public:
  IndexMath(mlir::OpBuilder &builder, mlir::Location loc)
      : b(builder), loc(loc) {}

  static std::optional<int64_t> constant(Ofr value) {
    return mlir::getConstantIntValue(value);
  }
  static bool isConstant(Ofr value, int64_t c) { return constant(value) == c; }
  Ofr attr(int64_t c) { return b.getIndexAttr(c); }
  /// The value, made an SSA value of type index.
  mlir::Value value(Ofr v);
  mlir::Value value(int64_t c) { return value(attr(c)); }

  Ofr mul(Ofr x, Ofr y);
  Ofr add(Ofr x, Ofr y);
  Ofr sub(Ofr x, Ofr y);
  Ofr ceilDiv(Ofr x, Ofr y);
  Ofr floorDiv(Ofr x, Ofr y);
  Ofr rem(Ofr x, Ofr y);
  Ofr min(Ofr x, Ofr y);
  Ofr max(Ofr x, Ofr y);
  Ofr product(llvm::ArrayRef<Ofr> values);

  mlir::OpBuilder &builder() { return b; }
  mlir::Location location() const { return loc; }

private:
  enum class Kind { mul, add, sub, ceilDiv, floorDiv, rem, min, max };
  Ofr build(Kind kind, Ofr x, Ofr y);
  mlir::Value create(Kind kind, Ofr x, Ofr y);

  mlir::OpBuilder &b;
  mlir::Location loc;
  /// What was built so far in `memoBlock`: equal products are one value, which
  /// is how equal dynamic strides are recognised.
  using Key = std::tuple<int, const void *, const void *>;
  llvm::DenseMap<Key, mlir::Value> memo;
  mlir::Block *memoBlock = nullptr;
};

} // namespace tenon::tiling
