//===- OpFacts.h - what the table says about an operation ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The facts of dialects/graph/*.td for passes, which hold MLIR operations.  A
// pass should ask here what it needs to know, not for kinds by name: then an
// operation that comes later is answered for by its row of the table.  What is
// about one operation and no other is asked with isa<graph::SoftMaxOp>(op) and
// its like (GraphDialect.h).
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

// These are explained in OpTable.h.
inline bool isView(mlir::Operation *op) { return isView(factsOf(op)); }
inline bool isMovement(mlir::Operation *op) { return isMovement(factsOf(op)); }
inline bool isCast(mlir::Operation *op) { return isCast(factsOf(op)); }
inline bool isContraction(mlir::Operation *op) {
  return isContraction(factsOf(op));
}
inline bool isConvolution(mlir::Operation *op) {
  return isConvolution(factsOf(op));
}
inline bool isWeightsGradient(mlir::Operation *op) {
  return isWeightsGradient(factsOf(op));
}
inline bool isPooling(mlir::Operation *op) { return isPooling(factsOf(op)); }
inline bool isBackward(mlir::Operation *op) { return isBackward(factsOf(op)); }

/// One element needs all elements of the operand along some dims (ReducedDims):
/// reductions, normalisations and softmax, and their gradients.
inline bool isReductionLike(mlir::Operation *op) {
  return factsOf(op).reducedDims != ReducedDims::none;
}

/// Pooling, resampling, LRN and their gradients; convolutions are contractions.
inline bool isWindow(mlir::Operation *op) {
  return classOf(op) == OpClass::window;
}

/// Quantize, Dequantize and those whose scales are operands.
inline bool isQuantization(mlir::Operation *op) {
  return classOf(op) == OpClass::quantization;
}

/// Of few instructions: to compute it twice costs less than to store it.
inline bool isCheap(mlir::Operation *op) { return factsOf(op).cheap; }

/// Has functions or quotients, which take many instructions.
inline bool isTranscendental(mlir::Operation *op) {
  return factsOf(op).transcendental;
}

/// What `v` is a view of, or `v`.
mlir::Value skipViews(mlir::Value v);

} // namespace tenon::graph
