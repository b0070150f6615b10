//===- LoopBuilder.h - values of a group as nodes of loops -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Builds the LoopProgram of an elementwise or a reduction group: finds the node
// of a value, aligns tensors of fewer dimensions with the space, and offers the
// arithmetic in which reductions are written.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/ops/OpKinds.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/loops/LoopProgram.h"

namespace tenon::passes {

class LoopBuilder {
public:
  using Node = LoopProgram::Node;
  using Reduction = LoopProgram::Reduction;

  /// Loops over a tensor of `shape` as `rows` sees it.
  LoopBuilder(GroupContext &ctx, llvm::ArrayRef<Index> shape,
              const ReductionSpace &rows);

  // Arithmetic in f32.
  Node constant(double v);
  Node add(Node x, Node y);
  Node sub(Node x, Node y);
  Node mul(Node x, Node y);
  Node div(Node x, Node y);
  Node fma(Node x, Node y, Node z);
  Node abs(Node x);
  Node exp(Node x); // emitExpOrZero
  Node expOfDifference(Node x, Node y);
  Node log(Node x);
  Node log1p(Node x);
  Node sqrt(Node x);
  /// 2^-e for x = 2^e f, 1 <= f < 2; no less than 2^-125, no more than 2^126.
  Node inversePower(Node x);
  /// x > y ? a : b, and x == y ? a : b.
  Node selectGreater(Node x, Node y, Node a, Node b);
  Node selectEqual(Node x, Node y, Node a, Node b);
  Node reduce(Reduction kind, Node x);
  /// x as a value that depends on `later`. What is computed from it belongs to
  /// the same pass as what is computed from `later`, and is not stored earlier.
  Node after(Node later, Node x);
  /// The sum of x y; products need not be rounded.
  Node sumOfProducts(Node x, Node y);
  /// The same for rows of which `condition` is not 0 (LoopProgram::reduceIf).
  Node sumOfProductsIf(Node condition, Node x, Node y);
  Node chooseIf(Node condition, Node rare, Node other) {
    return program.chooseIf(condition, rare, other);
  }
  /// The number of reduced elements, and 1 over it.
  Node count();
  Node inverseCount() { return div(constant(1), count()); }
  /// Terms of a mean are multiplied with this power of two, no more than 1 /
  /// count, so that no sum of finite numbers overflows; sums of them by
  /// `restOfMean`. Nothing is rounded but what is denormal.
  Node partOfMean();
  Node restOfMean() { return div(inverseCount(), partOfMean()); }
  Node mean(Node x) {
    return mul(sumOfProducts(x, partOfMean()), restOfMean());
  }

  /// The node of a value that is aligned with the space from the right.
  Node nodeOf(mlir::Value v);
  /// The same in f32, whatever the type of `v` is.
  Node f32Of(mlir::Value v);
  /// The same of integers, in 64 bits if they have as many, else in 32, with
  /// their sign; of booleans 0 or 1.
  Node integerOf(mlir::Value v);
  /// Of integers, which have signs here; the last is the constant `v` of the
  /// type of x.
  Node integerAbs(Node x);
  Node integerMax(Node x, Node y);
  Node integerMin(Node x, Node y);
  Node integerLike(Node x, int64_t v);
  /// A tensor whose dimension i goes along dimension `dims[i]` of the space;
  /// in f32.
  Node along(mlir::Value v, llvm::ArrayRef<int64_t> dims);

  /// Says how `v` is computed: `n`, rounded to the type of `v`.
  void define(mlir::Value v, Node n);
  /// The same for a value that has only the dimensions `dims` of the space.
  void define(mlir::Value v, Node n, llvm::ArrayRef<int64_t> dims);
  /// Dimensions of the space that are not reduced.
  llvm::SmallVector<int64_t> keptDims() const;

  mlir::LogicalResult build();

private:
  template <typename Op> Node unary(Node x);
  template <typename Op> Node binary(Node x, Node y);
  Node productOf(Node x, Node y);
  Node converted(Node n, mlir::Type from, mlir::Type to);
  Index reducedElements();
  /// Of `constant`, or null.
  const double *literalOf(Node n) const;
  Node inputOf(mlir::Value v, Strided memory);
  Node convertedFrom(mlir::Value v, Node n);
  void scalarOp(mlir::Operation *op);
  void genIndex(mlir::Operation *op);
  Node numberOf(mlir::Value v);
  void dropout(mlir::Operation *op);
  void randomUniform(mlir::Operation *op);
  Node singleOf(mlir::Value v);
  Node indexNode(llvm::ArrayRef<Index> strides, mlir::Type type);
  Strided splitChannels(Strided s);
  Strided aligned(const Strided &s);
  Strided alignedAt(const Strided &s, llvm::ArrayRef<int64_t> dims);

  GroupContext &ctx;
  llvm::SmallVector<Index> shape; // of the tensors
  ReductionSpace rows;
  llvm::SmallVector<Index> space; // `shape` with channels split into groups
  LoopProgram program;
  llvm::DenseMap<mlir::Value, Node> nodes;
  llvm::DenseMap<Node, double> literals;
  /// The dimensions of values that do not have all of the space.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> dimsOf;
  mlir::Type f32;
};

/// Defines the results of an operation that reduces (graph::isReductionLike).
mlir::LogicalResult buildReduction(LoopBuilder &b, mlir::Operation *op);

} // namespace tenon::passes
