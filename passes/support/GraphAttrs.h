//===- GraphAttrs.h - reading graph operations generically -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Passes meet many operations of one family. These read kinds and attributes
// by the names of the operation table, with the table's defaults.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/tile/AttrNames.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace tenon::passes {

/// "MatMul" of `graph.MatMul`; empty when `op` is of another dialect. This is
/// for texts; ask OpFacts.h, or for a class of GraphDialect.h, what `op` is.
llvm::StringRef kindOf(mlir::Operation *op);

// The attribute, else the default of the table, else `fallback`.
double floatAttr(mlir::Operation *op, llvm::StringRef name,
                 double fallback = 0);
int64_t intAttr(mlir::Operation *op, llvm::StringRef name,
                int64_t fallback = 0);
bool boolAttr(mlir::Operation *op, llvm::StringRef name, bool fallback = false);
std::string stringAttr(mlir::Operation *op, llvm::StringRef name);
llvm::SmallVector<int64_t> intsAttr(mlir::Operation *op, llvm::StringRef name);

/// `axis` counted from the front.
inline int64_t normalizedAxis(int64_t axis, int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}

/// The type of the elements as memory and arithmetic see them: integers
/// without sign, booleans and floats of 8 bits as bytes.
mlir::Type storageType(mlir::Type elementType);
mlir::RankedTensorType rankedType(mlir::Value value);
/// Bytes of all elements; unknown sizes count as 1.
int64_t bytesAtLeast(mlir::RankedTensorType type);

/// Name of the operation at `loc`: the innermost NameLoc, else "".
std::string nameOf(mlir::Location loc);

/// The literal that `v` is, if all its elements are one value; else null.
mlir::DenseElementsAttr splatLiteral(mlir::Value v);
/// Its elements, in the type they are stored in; null if it is no such literal.
mlir::TypedAttr splatElement(mlir::Value v);

/// Whether `v`, of an entry, is known before the first execution: a constant,
/// or what operations of one operand make of it. More is one after the phase
/// of constants.
bool isKnownOnce(mlir::Value v);

/// Rows of a product that share each matrix of `shared` [.., K, N]: those of
/// dst [.., M, N], times dims over which `shared` is broadcast; none: not
/// known.
std::optional<int64_t> rowsOfMatrix(mlir::RankedTensorType dst,
                                    mlir::RankedTensorType shared);

/// Whether a convolution is a product of each position with one matrix.
bool isPointwise(llvm::ArrayRef<int64_t> taps, llvm::ArrayRef<int64_t> strides,
                 llvm::ArrayRef<int64_t> padsBegin,
                 llvm::ArrayRef<int64_t> padsEnd, int64_t groups);

} // namespace tenon::passes
