//===- PlainOp.h - between MLIR entities and plain data -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Types, attributes and single operations.  Convert.h does whole graphs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/GraphDialect.h"

namespace tenon::graph {

// Discardable attributes that carry what MLIR has no place for.

/// On operations and arguments and results of the function: its id, ui64.
inline constexpr llvm::StringLiteral kIdAttr = "graph.id";
/// On arguments and results of the function: LogicalTensor::name; absent: none.
inline constexpr llvm::StringLiteral kNameAttr = "graph.name";
/// On operations: one id per result; the bits of uint64_t.
inline constexpr llvm::StringLiteral kResultIdsAttr = "graph.result_ids";
/// On arguments: "variable", "constant" or "host_scalar"; absent: undef.
inline constexpr llvm::StringLiteral kPropertyAttr = "graph.property";
/// On operations: one string per result; absent: all undef.
inline constexpr llvm::StringLiteral kResultPropertiesAttr =
    "graph.result_properties";
/// On arguments of unknown rank, whose type has no room for a layout.
inline constexpr llvm::StringLiteral kLayoutAttr = "graph.layout";
/// On operations: one layout per result; read for results of unknown rank.
inline constexpr llvm::StringLiteral kResultLayoutsAttr =
    "graph.result_layouts";

/// On arguments: an array with an expression for each dim, which may be empty;
/// absent: none.
inline constexpr llvm::StringLiteral kSizesAttr = "graph.sizes";
/// On operations: one such array per result.
inline constexpr llvm::StringLiteral kResultSizesAttr = "graph.result_sizes";

/// On the function: what is declared of names in such expressions, a dictionary
/// by name of {min, max, multiple_of, likely}, each of which may be left out:
///   {tokens = {max = 4096, multiple_of = 8, likely = array<i64: 8, 128>}}
inline constexpr llvm::StringLiteral kSizeFactsAttr = "graph.size_facts";

mlir::DictionaryAttr sizeFactsAttrOf(const NamedSizeFacts &all,
                                     mlir::MLIRContext *context);
/// What kSizeFactsAttr says on `function`, if it has it. Errors: WrongType.
Expected<NamedSizeFacts> sizeFactsOf(mlir::Operation *function);

/// The expressions of `tensor` as an array.
mlir::ArrayAttr sizesAttrOf(const LogicalTensor &tensor,
                            mlir::MLIRContext *context);
/// The expressions that belong to `value`; null if there are none.
mlir::ArrayAttr sizesOf(mlir::Value value);

/// The element type that stands for `dtype`.
mlir::Type elementTypeOf(DType dtype, mlir::MLIRContext *context);
/// Absent when no DType stands behind the type.
std::optional<DType> dtypeOf(mlir::Type elementType);

/// The layout of `tensor`; null for dense row-major, also when spelled out.
/// Strides that are not known, or not one per dim, are left out.
LayoutAttr layoutAttrOf(const LogicalTensor &tensor,
                        mlir::MLIRContext *context);
/// Tensor of the shape, dtype and, if the rank is known, layout of `tensor`.
mlir::TensorType typeOf(const LogicalTensor &tensor,
                        mlir::MLIRContext *context);
/// Everything that is known about `value` but its id, which is 0.  Requires
/// isGraphTensor(value.getType()).
LogicalTensor describe(mlir::Value value);
/// The id that `value` carries, if any.
std::optional<uint64_t> idOf(mlir::Value value);

/// si64, f32, bool, string, array<i64>, array<f32>.
mlir::Attribute attributeOf(const AttrValue &value, mlir::MLIRContext *context);
/// Absent when the attribute is of no kind that operations have.
std::optional<AttrValue> valueOf(mlir::Attribute attribute);

/// The name in `location`, for example of a NameLoc; empty when there is none.
llvm::StringRef nameOf(mlir::Location location);

/// An operation with its operands and results; the tensor ids are positions.
struct PlainOp {
  Op op;
  std::vector<LogicalTensor> inputs;
  std::vector<LogicalTensor> outputs;
};

/// `op` must be of the graph dialect, on graph tensors.  An attribute that no
/// operation could have becomes an empty string, for the checker to refuse.
PlainOp plainOf(mlir::Operation *op);

/// The attributes with which MLIR says which optional operands and results are
/// given.
inline constexpr llvm::StringLiteral kOperandSegments = "operandSegmentSizes";
inline constexpr llvm::StringLiteral kResultSegments = "resultSegmentSizes";

/// Adds the segment sizes that operations with several optional operands or
/// results need; keeps those that are there. Bit i of a mask says that operand
/// or result i is left out; those after the last given one need no bit.
void addSegmentSizes(mlir::OperationState &state, const OpInfo &info,
                     uint64_t absentOperands = 0, uint64_t absentResults = 0);

/// The mask that such an attribute stands for; 0 if it is null.
uint64_t absentOf(mlir::Attribute segmentSizes);

} // namespace tenon::graph
