//===- Group.h - which operations may share a group ------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>
#include <vector>

namespace tenon::fusion {

/// What decides how a group is lowered.
enum class GroupKind {
  elementwise,
  rows,
  contraction,
  /// Several groups with a product or a window each, a band of rows at a time.
  chain,
  attention,
  window,
  concat,
  pack,
  recurrence
};
llvm::StringRef name(GroupKind kind);

/// A view costs nothing: it changes sizes and strides of a buffer.
bool isView(mlir::Operation *op);
/// What `v` shows through views.
mlir::Value behindViews(mlir::Value v);
/// Reductions and what is built on them: one pass over rows.
bool isRowOp(mlir::Operation *op);
/// A result that needs a buffer even if nobody reads it: the state that a
/// recurrence carries from step to step.
bool isState(mlir::Value v);
/// The group that `op` starts; none for views and literals.
std::optional<GroupKind> kindOfGroup(mlir::Operation *op);

/// The Concat of a group of that kind.
mlir::Operation *concatOf(mlir::func::FuncOp group);
/// What the call of such a group has in place (kInPlaceAttr), as values of the
/// caller that the Concat joins; null for the others.
llvm::SmallVector<mlir::Value> joinedInPlace(mlir::func::CallOp call,
                                             mlir::func::FuncOp group);

/// Whether elementwise operations may follow `first`, the first operation of a
/// group, where it stores: products, pooling and depthwise convolutions.
bool takesEpilogue(mlir::Operation *first);
/// Whether the values of `op` fit into an epilogue: none has 64 bits.
bool fitsEpilogue(mlir::Operation *op);
/// Where the channels of a tensor of `rank` dimensions are (data_format).
int64_t channelDim(mlir::Operation *op, int64_t rank);
/// Dimensions of src along which the slope of a PReLU or its gradient goes, one
/// per dimension of the slope.
llvm::SmallVector<int64_t> slopeDims(mlir::Operation *op);

/// The rows of a row operation.
struct RowSpace {
  /// Which dimensions of operand 0 are reduced.  With `groups`, dimension
  /// `channel` counts as two, groups x channels of one group.
  llvm::SmallVector<bool> reduced;
  int64_t groups = 0;
  int64_t channel = 0;

  bool operator==(const RowSpace &other) const = default;
};
RowSpace rowSpace(mlir::Operation *op);

struct Group {
  GroupKind kind;
  std::vector<mlir::Operation *> ops; // in order
  /// The iteration space: the shape of elementwise results, of the operand of
  /// row operations, of the product.
  llvm::SmallVector<int64_t> space;
  RowSpace rows; // of its row operations
};

/// Whether the row operation `op` has the rows of `group`.
bool sharesRows(mlir::Operation *op, const Group &group);

/// Values of the first `n` operations of `group` that others read.
llvm::SmallVector<mlir::Value> escaping(const Group &group, size_t n);

/// Why `op` does not join `group`; empty: it may.
std::string whyNot(mlir::Operation *op, const Group &group,
                   const llvm::DenseMap<mlir::Operation *, int> &groupOf,
                   int groupIndex, int64_t maxOps);

} // namespace tenon::fusion
