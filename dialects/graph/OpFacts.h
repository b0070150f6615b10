//===- OpFacts.h - what the table says about an operation ------*- C++ -*-===//
//
// The facts of dialects/graph/*.td for passes, which hold MLIR operations.  A
// pass should ask here what it needs to know, not for kinds by name: then an
// operation that comes later is answered for by its row of the table.
//
// Every question may be asked of any operation.  One of another dialect has an
// empty row, and the answer to all questions is no.
//
// What a row says and what a pass can lower are two things: whether there is
// scalar code for an elementwise operation, for one, its lowering knows.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/OpTable.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace tenon::graph {

/// The row of `op`; that of no class and no rules when `op` is of another
/// dialect. infoOf() is for operations that are known to be of this one.
const OpInfo &factsOf(mlir::Operation *op);

inline OpClass classOf(mlir::Operation *op) { return factsOf(op).opClass; }

/// One element of the result needs those of the operands at its index.
/// BatchNormInference is one, but not GenIndex and Dropout, whose elements
/// depend on the index itself: isIndexed.
inline bool isElementwise(mlir::Operation *op) {
  return classOf(op) == OpClass::elementwise;
}
inline bool isIndexed(mlir::Operation *op) {
  return classOf(op) == OpClass::indexed;
}

/// StaticReshape and StaticTranspose, whose elements may stay in their place.
inline bool isView(mlir::Operation *op) { return classOf(op) == OpClass::view; }

/// A result has nothing but elements of operands, if need be in another type:
/// views, and what copies.
inline bool isMovement(mlir::Operation *op) {
  return isView(op) || classOf(op) == OpClass::movement;
}

/// One element needs all elements of the operand along some dims: reductions,
/// normalisations and softmax, and their gradients.
inline bool isReductionLike(mlir::Operation *op) {
  return classOf(op) == OpClass::reduction ||
         classOf(op) == OpClass::normalization;
}

/// Pooling, resampling, LRN and their gradients; convolutions are contractions.
inline bool isWindow(mlir::Operation *op) {
  return classOf(op) == OpClass::window;
}

/// MatMul, convolutions and their gradients.
inline bool isContraction(mlir::Operation *op) {
  return classOf(op) == OpClass::contraction;
}

/// Of few instructions: to compute it twice costs less than to store it.
inline bool isCheap(mlir::Operation *op) { return factsOf(op).cheap; }

/// Has functions or quotients, which take many instructions.
inline bool isTranscendental(mlir::Operation *op) {
  return factsOf(op).transcendental;
}

/// Whether `op` is the gradient of another operation.
inline bool isBackward(mlir::Operation *op) {
  return !factsOf(op).backwardOf.empty();
}

/// What `v` is a view of, or `v`.
mlir::Value skipViews(mlir::Value v);

} // namespace tenon::graph
