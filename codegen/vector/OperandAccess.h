//===- OperandAccess.h - linear accesses of a linalg op --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <string>
#include <vector>

namespace tenon::codegen {

/// Stride, size or extent known at run time only.
inline constexpr int64_t kDynamic = mlir::ShapedType::kDynamic;

/// How one operand of a linalg operation is addressed: element address =
/// offset + sum over loop dims d of iv[d] * stride[d], where a dim with runs
/// counts as (iv[d] floordiv run[d]) * run[d] + phase[d].
struct OperandAccess {
  mlir::Value value;
  /// Element type; the type itself for a scalar operand.
  mlir::Type element;
  bool isMemref = false;
  bool isOutput = false;
  /// Per memref dim: coefficient of each loop dim, and the constant term.
  llvm::SmallVector<llvm::SmallVector<int64_t>> coefficients;
  llvm::SmallVector<int64_t> constants;
  /// Strides of the memref in elements, or kDynamic, and its offset.
  llvm::SmallVector<int64_t> memrefStrides;
  int64_t memrefOffset = 0;
  /// Per loop dim: 0 when the operand does not depend on it, the number of
  /// elements one step moves, or kDynamic.
  llvm::SmallVector<int64_t> stride;
  /// The block argument's value is used by the body.
  bool isRead = true;

  /// Per loop dim of an input: so many neighbours read the same element, that
  /// number `phase` of as many.
  llvm::SmallVector<int64_t> run, phase;

  bool dependsOn(unsigned dim) const { return stride[dim] != 0; }
  bool hasRuns() const {
    return llvm::any_of(run, [](int64_t n) { return n > 1; });
  }
};

/// Everything the vectoriser needs to know about an operation's loops.
struct LoopAccess {
  std::vector<OperandAccess> operands;
  /// Trip counts, or kDynamic.
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<bool> isReduction;
  /// Where a dynamic trip count comes from: operand and memref dim.
  llvm::SmallVector<std::pair<unsigned, unsigned>> sizeSource;

  unsigned rank() const { return sizes.size(); }
};

/// Analyses `op`, which must have buffer semantics.  On failure `reason` says
/// what has no linear form.
mlir::FailureOr<LoopAccess> analyseAccess(mlir::linalg::LinalgOp op,
                                          std::string &reason);

} // namespace tenon::codegen
