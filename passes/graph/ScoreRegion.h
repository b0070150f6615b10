//===- ScoreRegion.h - elementwise work on scores --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Between the products of attention, forwards and backwards, scores pass
// through elementwise operations: scales, masks, exponentials. Nobody matches
// their spelling. An operation belongs to the region if it depends on a
// product, or on GenIndex, which becomes the row or the column of the score.
// Every other operand is an epilogue operand.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace tenon::passes {

/// Operations of a region: a bound for its code and for searches.
inline constexpr unsigned kMaxScoreOps = 48;

/// Whether `op` transposes the last two dimensions and nothing else.
bool swapsLastTwo(mlir::Operation *op);
/// Whether `op` passes its operand on unchanged.
bool isIdentity(mlir::Operation *op);
/// Whether `op` casts a float to another.
bool isFloatCast(mlir::Operation *op);

/// The first value to which elementwise operations of its shape, or Dropout,
/// lead back from `v`, and that is the result of a product, or that with its
/// last two dimensions exchanged; null if there is none, or only `except`.
mlir::Value productBehind(mlir::Value v, mlir::Operation *except = nullptr);
/// The product whose result `v`, from productBehind, shows.
mlir::Operation *productOf(mlir::Value v);

/// The operations between products over matrices of scores.
class ScoreRegion {
public:
  struct Options {
    bool alongRows = false;    // scores are [.., N, M]: softmax runs along n
    bool takesDropout = false; // blocks know the number of a score
  };
  /// Scores have `shape`, [.., M, N].
  ScoreRegion(llvm::ArrayRef<int64_t> shape, Options options)
      : shape(shape), options(options) {}

  /// Lets the region begin at `v`, the result of a product.
  void addProduct(mlir::Value v) { products.insert(v); }
  /// Finds the operations that make `v`, and their operands.
  void collect(mlir::Value v);

  const llvm::SetVector<mlir::Operation *> &operations() const {
    return inside;
  }
  /// The operands of the operations that none of them makes.
  const llvm::SetVector<mlir::Value> &epilogueOperands() const {
    return operands;
  }
  /// Adds operands that code outside of the region needs.
  void addOperand(mlir::Value v) { operands.insert(v); }
  /// Whether the product must exist for `v`: also if it only lends its shape.
  bool isBuiltOnProducts(mlir::Value v);
  /// The first that reads `v` beside the operations of the region and what
  /// `isKnown` names, if there is one.
  mlir::Operation *
  otherReader(mlir::Value v,
              llvm::function_ref<bool(mlir::Operation *)> isKnown) const;
  /// Why the region cannot be emitted: it is too large, or an operand does not
  /// broadcast to the scores.
  std::string whyNot() const;

  /// Arguments of a block that code reads: a value of the graph as a scalar ...
  void define(mlir::Value v, mlir::Value scalar) { scalars[v] = scalar; }
  /// ... the row and the column, and the number of the score, an i64.
  void defineIndices(mlir::Value row, mlir::Value column,
                     mlir::Value element = {}) {
    indices = {row, column};
    number = element;
  }
  /// Forgets all definitions and what was emitted.
  void beginBlock() { scalars.clear(); }
  /// Code for one element of `v`.
  mlir::Value emit(mlir::OpBuilder &b, mlir::Value v);

private:
  bool contains(mlir::Value v, unsigned depth = 0);
  std::optional<unsigned> indexOf(mlir::Operation *genIndex) const;
  mlir::Value emitDropout(mlir::OpBuilder &b, mlir::Operation *dropout);

  llvm::SmallVector<int64_t> shape;
  Options options;
  llvm::DenseSet<mlir::Value> products;
  llvm::SetVector<mlir::Operation *> inside;
  llvm::SetVector<mlir::Value> operands;
  llvm::DenseMap<mlir::Value, bool> contained, builtOnProducts;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars; // inside the block
  std::array<mlir::Value, 2> indices = {};
  mlir::Value number;
};

/// A block of `region` for scalars: `types`, then the epilogue operands.
mlir::Block *createScalarBlock(mlir::OpBuilder &b, mlir::Region &region,
                               mlir::ValueRange epilogueOperands,
                               llvm::SmallVector<mlir::Type> types);

} // namespace tenon::passes
