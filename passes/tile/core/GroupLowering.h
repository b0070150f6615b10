//===- GroupLowering.h - from a group to sections on buffers ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Each kind of group has one function below. It is given the group's function
// on tensors and the buffers of its arguments and results, and writes
// rt.parallel sections at the builder's place.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/SizeFacts.h"
#include "dialects/tile/Target.h"
#include "dialects/tile/TileDialect.h"
#include "passes/tile/core/Strided.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace tenon::passes {

/// Sizes of all values of one function on tensors, from those of its arguments.
class SizeMap {
public:
  void set(mlir::Value v, llvm::ArrayRef<Index> sizes);
  /// The sizes of `result` where those of operands do not tell them: they are
  /// those of its buffer. Those of operands of elementwise operations follow.
  void expect(mlir::Value result, llvm::ArrayRef<Index> sizes);
  /// The number of columns of weights that `packed` holds in panels, if it is
  /// known and not by its type: the last panel may be filled up with zeros.
  std::optional<Index> columnsOf(mlir::Value packed) const;
  void setColumns(mlir::Value packed, Index columns);
  /// What a name in expressions of sizes stands for; see graph::SizeExpr.
  void setNamed(llvm::StringRef name, Index size) {
    named.insert({name, size});
  }
  /// What is declared of sizes that have names.
  void learn(const graph::NamedSizeFacts &declared);
  /// The value of an expression. Absent if it has a name that is not known.
  std::optional<Index> evaluate(llvm::StringRef expression) const;
  /// Computes and remembers the sizes of the results of `op`. Fails, with an
  /// error on `op`, where they cannot be derived.
  mlir::LogicalResult infer(mlir::Operation *op);
  llvm::ArrayRef<Index> operator[](mlir::Value v) const;

private:
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Index>> sizes, expected;
  llvm::DenseMap<mlir::Value, Index> columns;
  llvm::StringMap<Index> named;
};

/// The elements from `first` on that a slice shows of a dim.
struct PartOfSize {
  Index first, count;
};

/// Those of dim `dim` of the src of `slice`, which has `size` elements. `sizes`
/// knows names.
PartOfSize partOf(tile::SliceOp slice, int64_t dim, Index size,
                  const SizeMap &sizes);

/// How many positions the windows of `op` have along dims of unknown size where
/// they have several taps: 0 is that of a src that is smaller than a window.
/// Empty for what has no windows, and where an empty src has an empty result.
llvm::SmallVector<Index> openPositions(mlir::Operation *op,
                                       const SizeMap &sizes);

struct GroupContext {
  GroupContext(IndexMath &m, mlir::func::FuncOp group, std::string label,
               SizeMap &sizes)
      : m(m), group(group), label(std::move(label)),
        target(tile::targetOf(group)), sizes(sizes) {}

  IndexMath &m;
  mlir::func::FuncOp group; // on tensors
  std::string label;
  tile::TargetAttr target;
  /// Numbers of the operands of a Concat whose producers have written them
  /// directly into its result (concat elision).
  llvm::ArrayRef<int64_t> inPlace;
  /// Buffers of the group's arguments and of the values it returns.
  llvm::DenseMap<mlir::Value, Strided> inputs;
  llvm::MapVector<mlir::Value, llvm::SmallVector<Strided>> outputs;
  SizeMap &sizes;

  llvm::SmallVector<mlir::Operation *> ops() const;
  /// `first` and what is after it.
  llvm::SmallVector<mlir::Operation *> opsFrom(mlir::Operation *first) const;
  /// The buffer of the first value that the group returns.
  const Strided &result() const { return outputs.front().second.front(); }
  /// The buffer of an argument, or the memory of a literal of several values.
  Strided memoryOf(mlir::Value v);
};

mlir::LogicalResult lowerLoops(GroupContext &ctx); // and reductions
mlir::LogicalResult lowerContraction(GroupContext &ctx);
mlir::LogicalResult lowerConvTranspose(GroupContext &ctx,
                                       tile::ConvTransposeOp op);
mlir::LogicalResult lowerConvWeights(GroupContext &ctx, tile::ConvWeightsOp op);
mlir::LogicalResult lowerWinograd(GroupContext &ctx, tile::WinogradOp op);
mlir::LogicalResult lowerPackQuantized(GroupContext &ctx,
                                       tile::PackQuantizedOp op);
mlir::LogicalResult lowerToInt8Slices(GroupContext &ctx,
                                      tile::ToInt8SlicesOp op);
mlir::LogicalResult lowerWinogradWeights(GroupContext &ctx,
                                         tile::WinogradWeightsOp op);
mlir::LogicalResult lowerChain(GroupContext &ctx);
mlir::LogicalResult lowerAttention(GroupContext &ctx);
mlir::LogicalResult lowerAttentionBackward(GroupContext &ctx,
                                           tile::AttentionBackwardOp op);
mlir::LogicalResult lowerWindow(GroupContext &ctx);
mlir::LogicalResult lowerDepthwiseTranspose(GroupContext &ctx,
                                            tile::ConvTransposeOp op);
mlir::LogicalResult lowerDepthwiseWeights(GroupContext &ctx,
                                          tile::ConvWeightsOp op);
mlir::LogicalResult lowerPoolGradient(GroupContext &ctx);
mlir::LogicalResult lowerInterpolate(GroupContext &ctx);
mlir::LogicalResult lowerLrn(GroupContext &ctx);
mlir::LogicalResult lowerConcat(GroupContext &ctx);
mlir::LogicalResult lowerPack(GroupContext &ctx);
mlir::LogicalResult lowerRecurrence(GroupContext &ctx);
mlir::LogicalResult lowerMovement(GroupContext &ctx);
/// A MaxPool with indices.
void lowerMaxIndices(GroupContext &ctx, mlir::Operation *op);

/// A section that copies `from`, or zeros when it is absent, to `to`.
void emitCopy(GroupContext &ctx, std::optional<Strided> from,
              const Strided &to);

} // namespace tenon::passes
