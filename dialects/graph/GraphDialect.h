//===- GraphDialect.h - the graph dialect ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The user's graph as MLIR: one operation per node, generated from the .td
// files of this folder, on builtin tensor types.  See Rationale.md.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/OpTable.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tenon::graph {

/// A tensor, ranked or not, of an element type that a DType stands for.
bool isGraphTensor(mlir::Type type);
/// Whether elements of `type` are words, to which passes widen bytes where the
/// target multiplies no bytes. No graph comes with them, and no rule of the
/// table is checked for operations on them.
bool isWord(mlir::Type type);

/// Of a module, a string: how products may round f32 (Graph::fpmathMode).
inline constexpr llvm::StringLiteral kFpmathAttr = "graph.fpmath_mode";

/// The row of the operation table; `op` must be of the graph dialect.
const OpInfo &infoOf(mlir::Operation *op);

// What every generated operation class forwards to.

/// Emits one diagnostic per problem that the plain checker finds.
mlir::LogicalResult verifyGraphOp(mlir::Operation *op);
/// `graph.Kind %a, %b {attributes} : (types) -> types`.  Attributes equal to
/// their defaults are not printed; numbers and lists of integers are written
/// and read without types.  Left-out optional operands and results are counted
/// from the end unless the segment sizes are spelled out.
mlir::ParseResult parseGraphOp(mlir::OpAsmParser &parser,
                               mlir::OperationState &result);
void printGraphOp(mlir::Operation *op, mlir::OpAsmPrinter &printer);

} // namespace tenon::graph

#include "dialects/graph/GraphEnums.h.inc"

#include "dialects/graph/GraphDialect.h.inc"
#include "dialects/graph/GraphInterfaces.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/graph/GraphTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/graph/GraphOps.h.inc"
