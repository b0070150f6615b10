//===- Permutations.h - tensors in another order ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tenon::passes {

/// On an operation that computes a tensor of the graph with its dimensions in
/// another order: dim i of the graph's tensor is dim order[i] of the result.
inline constexpr llvm::StringLiteral kOrderAttr = "graph.order";

using Order = llvm::SmallVector<int64_t>;

/// Where images, volumes and sequences have their channels: in dim 1 (NCX) or
/// in the last one (NXC).
enum class Channels { first, last };

inline Channels other(Channels channels) {
  return channels == Channels::first ? Channels::last : Channels::first;
}

/// The order of the transpose that brings channels there from the other place.
Order orderInto(Channels channels, int64_t rank);

/// Sizes as a transpose of `order` has them.
llvm::SmallVector<int64_t> permuted(llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> order);
mlir::RankedTensorType permuted(mlir::RankedTensorType type,
                                llvm::ArrayRef<int64_t> order);

/// Whether no dimension of more than one element moves past another: elements
/// of a tensor of `shape` keep their places in memory.
bool keepsMemory(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> order);

/// The order of the dimensions in memory of `strides`, outermost first, where
/// elements lie side by side: dim i of memory is dim order[i] of the tensor.
std::optional<Order> orderInMemory(llvm::ArrayRef<int64_t> shape,
                                   llvm::ArrayRef<int64_t> strides);

/// The order of the StaticTranspose that makes `v`: dim i of `v` is dim
/// order[i] of its operand; empty: something else makes `v`.
Order orderOf(mlir::Value v);

/// A value as transposes of another show it.
struct Transposed {
  mlir::Value source; // no transpose makes it
  Order order;        // dim i of the value is dim order[i] of source

  /// Whether elements lie in memory as in `source`.
  bool isSame() const;
};
Transposed skipTransposes(mlir::Value v);

/// Strides, of the dims of the transposed value, of the caller's buffer that
/// `source` is; empty where it is none, or has no strides of its own.
llvm::SmallVector<int64_t> callerStrides(const Transposed &value);

/// Whether `v`, or a view of it, is a result of the entry with strides of the
/// caller's own: it may lie in that buffer.
bool isStridedResult(mlir::Value v);

/// Strides with which memory of `shape` and `strides` is that of a row-major
/// reshape to `to`; none where there are no such strides, or one of the sizes
/// is 0 or dynamic.
std::optional<llvm::SmallVector<int64_t>>
reshapedStrides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                llvm::ArrayRef<int64_t> to);

/// Strides of the operand of the view that makes `v`, where `v` has `strides`,
/// and the other way round; none where no strides show the one as the other.
std::optional<llvm::SmallVector<int64_t>>
stridesBeforeView(mlir::Value v, llvm::ArrayRef<int64_t> strides);
std::optional<llvm::SmallVector<int64_t>>
stridesBehindView(mlir::Value v, llvm::ArrayRef<int64_t> strides);

/// Strides of the result `i` of the entry: the caller's, or those of a dense
/// tensor.
llvm::SmallVector<int64_t> resultStrides(mlir::func::FuncOp entry, unsigned i);

/// What the result `i` of the entry shows through transposes and reshapes, if
/// that has rows of neighbours in the caller's buffer: it is written there as
/// it is computed, without a copy. Null where it is not, or there is no view.
mlir::Value writtenAsComputed(mlir::func::FuncOp entry, unsigned i);

} // namespace tenon::passes
