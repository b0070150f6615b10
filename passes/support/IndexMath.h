//===- IndexMath.h - index arithmetic that folds constants -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Sizes, strides and positions are constants where shapes are static and SSA
// values where they are not. An `Index` is either, and arithmetic on it reads
// like arithmetic:
//
//   Index first = position * d.stride + tap * d.dilation - d.pad;
//
// What is constant folds. Other results are operations, which the `IndexMath`
// of the operands creates at its builder's place and remembers, so that equal
// products in one block are the same value. What is declared of a size (learn)
// is known of all that is computed from it (facts), and folds what it decides:
// of 1 to 16 rows there is one block of 24.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/support/Rounding.h"
#include "passes/support/IndexFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>
#include <tuple>

namespace tenon::passes {

class IndexMath;

/// A constant, or an SSA value of type index together with the IndexMath that
/// computes with it, which must outlive it. Division and remainder expect
/// operands that are not negative where they are not constant.
class Index {
public:
  Index() = default; // 0
  Index(int64_t constant) : number(constant) {}

  /// The number, if it is known.
  std::optional<int64_t> constant() const {
    return ssa ? std::nullopt : std::optional(number);
  }
  /// Whether it is known to be `c`.
  bool isConstant(int64_t c) const { return !ssa && number == c; }
  /// The SSA value of what is no constant.
  mlir::Value dynamic() const {
    assert(ssa && "a constant has no value yet: IndexMath::value creates it");
    return ssa;
  }

  /// What is known of it.
  IndexFacts facts() const;
  /// From now on `more` is known of it, too.
  void learn(const IndexFacts &more) const;

  /// Whether both are the same constant or the same SSA value. Different values
  /// may still be equal when the code runs.
  friend bool operator==(Index x, Index y) {
    return x.ssa == y.ssa && (x.ssa || x.number == y.number);
  }

  friend Index operator+(Index x, Index y);
  friend Index operator-(Index x, Index y);
  friend Index operator*(Index x, Index y);
  /// Rounded down. A constant over the constant 0 is 0.
  friend Index operator/(Index x, Index y);
  friend Index operator%(Index x, Index y);
  friend Index ceilDiv(Index x, Index y);
  friend Index min(Index x, Index y);
  friend Index max(Index x, Index y);

  Index &operator+=(Index y) { return *this = *this + y; }
  Index &operator-=(Index y) { return *this = *this - y; }
  Index &operator*=(Index y) { return *this = *this * y; }

private:
  friend class IndexMath;
  enum class Kind { mul, add, sub, ceilDiv, floorDiv, rem, min, max };
  static int64_t evaluate(Kind kind, int64_t x, int64_t y);
  static IndexFacts combine(Kind kind, const IndexFacts &x,
                            const IndexFacts &y);
  /// What the operators above return where no operand makes it trivial.
  static Index build(Kind kind, Index x, Index y);

  Index(IndexMath &math, mlir::Value value) : math(&math), ssa(value) {}

  IndexMath *math = nullptr; // of `ssa`
  mlir::Value ssa;           // null: `number`
  int64_t number = 0;
};

/// The product of all; of none 1.
Index product(llvm::ArrayRef<Index> values);

/// Where index arithmetic is written: the place of `builder`, wherever that is
/// when an operator is called. All code of a group has one.
class IndexMath {
public:
  IndexMath(mlir::OpBuilder &builder, mlir::Location loc)
      : b(builder), loc(loc) {}
  IndexMath(const IndexMath &) = delete; // an Index points to it

  /// `value`, of type index, for arithmetic.
  Index operator()(mlir::Value value);
  Index operator()(mlir::OpFoldResult value);
  llvm::SmallVector<Index> operator()(llvm::ArrayRef<mlir::OpFoldResult> list);

  /// An SSA value of type index; a constant is created anew each time.
  mlir::Value value(Index x);
  /// What operations take that keep constants as attributes.
  mlir::OpFoldResult folded(Index x);
  llvm::SmallVector<mlir::OpFoldResult> folded(llvm::ArrayRef<Index> list);

  mlir::OpBuilder &builder() { return b; }
  mlir::Location location() const { return loc; }

private:
  friend class Index;
  using Kind = Index::Kind;
  mlir::Value create(Kind kind, Index x, Index y);

  mlir::OpBuilder &b;
  mlir::Location loc;
  /// What was built so far in each block: equal products are one value, which
  /// is how equal dynamic strides are recognised.
  using Operand = std::pair<const void *, int64_t>;
  using Key = std::tuple<mlir::Block *, int, Operand, Operand>;
  llvm::DenseMap<Key, mlir::Value> memo;
  /// Of values of which something is known.
  llvm::DenseMap<mlir::Value, IndexFacts> facts;
};

} // namespace tenon::passes
