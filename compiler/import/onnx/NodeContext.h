//===- NodeContext.h - what a conversion of an operator sees ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// One node of a model and the graph it becomes a part of. After an error the
// functions go on and make nothing, so that conversions need not check.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/onnx/ControlFlow.h"

#include <string>

namespace tenon::onnx {

struct OpConversion;

using Values = std::vector<Value>;
using graph::Dims;
using graph::DType;

class NodeContext {
public:
  /// `operands` has kNone for operands that are left out. `opset` is the
  /// version of the operator set of the node's domain.
  NodeContext(Builder &builder, Subgraphs &subgraphs, const NodeProto &node,
              const OpConversion &conversion, int64_t opset, Values operands);

  // The node.

  const OpConversion &conversion() const { return row; }
  int64_t opset() const { return version; }
  size_t numInputs() const { return operands.size(); }
  size_t numOutputs() const { return node.outputs.size(); }
  /// Operand `i`, or kNone.
  Value in(size_t i) const;
  /// Takes `value` in place of operand `i`.
  void setIn(size_t i, Value value) { operands.at(i) = value; }
  /// Whether result `i` has a name, so that somebody may read it.
  bool wants(size_t i) const;
  /// Sets result `i`. With `count`, it has an entry for as many of its entries
  /// along `axis` as that scalar says.
  void out(size_t i, Value value) { outNamed(i, {value}); }
  void outCounted(size_t i, Value value, Value count, int axis) {
    outNamed(i, {value, count, axis});
  }
  void outNamed(size_t i, Named named);
  const std::vector<Named> &results() const { return outs; }

  // Attributes.

  bool has(std::string_view name) const { return find(name); }
  int64_t integer(std::string_view name, int64_t fallback) const;
  float number(std::string_view name, float fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::optional<Dims> integers(std::string_view name) const;
  std::optional<std::vector<float>> numbers(std::string_view name) const;
  const AttributeProto *find(std::string_view name) const;
  /// The graph that attribute `name` is; null after an error if there is none.
  const GraphProto *graph(std::string_view name);
  /// The outputs of `graph`, which count only where the scalar `condition`
  /// holds; kNone: always.
  std::vector<Named> convertGraph(const GraphProto &graph,
                                  const Values &arguments,
                                  Value condition = kNone);

  // Tensors.

  DType type(Value value) const { return builder.tensor(value).dtype; }
  DType dtypeOf(DataType type) { return builder.dtypeOf(type); }
  bool isFloat(Value value) const { return graph::isFloat(type(value)); }
  /// The sizes, an unknown one being kUnknownDim. Of unknown rank: an error.
  Dims shape(Value value);
  int rank(Value value) { return static_cast<int>(shape(value).size()); }
  /// The size of dim `i`; 0 after an error where there is none.
  int64_t dim(Value value, size_t i);
  /// The sizes where all of them are needed; else an error.
  Dims knownShape(Value value);
  /// `axis` from 0 to `rank` - 1 for a negative one, too; else an error, and 0.
  int64_t axisOf(int64_t axis, int rank);
  /// The elements of integers, if they are known.
  std::optional<Dims> known(Value value);
  /// The elements of anything, if they are known; else null.
  const reference::Tensor *elements(Value value) {
    return builder.known(value);
  }
  /// As Builder has them.
  std::optional<Sizes> sizesOf(Value value) { return builder.sizesOf(value); }
  std::optional<Sizes> elementsAsSizes(Value value, bool isNegated = false) {
    return builder.elementsAsSizes(value, isNegated);
  }
  std::optional<int64_t> limitOf(Value number, Value value, size_t axis) {
    return builder.limitOf(number, value, axis);
  }
  Size sizeOf(const std::string &expression) {
    return builder.sizeOf(expression);
  }
  void requireNotZero(const std::string &expression) {
    builder.requireNotZero(expression);
  }
  /// Whether it is the same in all executions, also where its elements are too
  /// many to be known.
  bool isConstant(Value value) const {
    return builder.tensor(value).property == graph::PropertyType::constant;
  }
  /// How many operations there are: another number for each node, also for
  /// those of loops that are written out.
  size_t operationCount() const { return builder.operationCount(); }
  /// The elements of operand `i`, or an error that calls it `what`.
  Dims needed(size_t i, std::string_view what);
  /// The first element of operand `i` the same way; `fallback` if left out.
  double neededNumber(size_t i, std::string_view what, double fallback);

  // Making operations. Results have the type of the first operand that is
  // given, where none is named.

  Value op(std::string_view kind, Values operands, graph::AttrMap attrs = {});
  Value op(std::string_view kind, Values operands, graph::AttrMap attrs,
           DType result);
  Values ops(std::string_view kind, Values operands, graph::AttrMap attrs,
             const std::vector<DType> &results);
  /// With a result whose sizes `attrs` leave open: those of `sizes` that are
  /// expressions.
  Value sized(std::string_view kind, Values operands, graph::AttrMap attrs,
              const Sizes &sizes);

  /// A scalar with the value and the element type.
  Value scalar(double value, DType dtype);
  /// A scalar of the type of `like`.
  Value like(Value value, double number) { return scalar(number, type(value)); }
  Value integersConstant(const Dims &values);
  Value constant(reference::Tensor tensor) {
    return builder.constant(std::move(tensor));
  }
  /// Zeros, to be filled and to become a constant; none, after an error, where
  /// sizes are impossible or too large for that.
  std::optional<reference::Tensor> table(DType dtype, Dims dims);
  Value weight(const TensorProto &tensor) { return builder.weight(tensor); }
  std::optional<reference::Range> shortRangeOf(Value value) const {
    return builder.shortRangeOf(value);
  }
  Value packedWeight(Value weight, DataType type, Dims dims) {
    return builder.packedWeight(weight, type, std::move(dims));
  }

  /// The index along `axis` of each element of `value`, s64.
  Value indexAlong(Value value, int64_t axis);
  /// The same elements in another type; `value` if it has this type.
  Value cast(Value value, DType dtype);
  /// `shape` may have kUnknownDim where a size of `value` is not known.
  Value reshape(Value value, Dims shape);
  /// The same to sizes that may be expressions; one may be -1, what is left.
  Value reshapeTo(Value value, Sizes sizes);
  /// Broadcast to these sizes; an error where one is neither known nor an
  /// expression. Absent entries mean what "Expand" says.
  Value expandTo(Value value, const Sizes &sizes);
  Value transpose(Value value, Dims order);
  /// Entries `begin` to `end` of dim `axis`, counted as Slice does.
  Value slice(Value value, int64_t axis, int64_t begin, int64_t end);
  /// Broadcast with the shape of `like`.
  Value expandLike(Value value, Value like);
  /// With dims of 1 put in, at these places of the result.
  Value unsqueeze(Value value, const Dims &axes);
  /// Comparisons and logic, all with boolean results.
  Value less(Value a, Value b) { return op("Greater", {b, a}, {}, kBool); }
  Value equal(Value a, Value b) { return op("Equal", {a, b}, {}, kBool); }
  Value greater(Value a, Value b) { return op("Greater", {a, b}, {}, kBool); }
  Value select(Value condition, Value a, Value b);
  Value reduce(std::string_view kind, Value value, Dims axes, bool keep);

  /// Records an error.
  void refuse(std::string why, std::string hint = {}) {
    fail(ErrorCode::UnsupportedForm, std::move(why), std::move(hint));
  }
  void fail(ErrorCode code, std::string why, std::string hint = {}) {
    builder.fail(code, std::move(why), std::move(hint));
  }
  bool failed() const { return builder.failed(); }

  static constexpr DType kBool = DType::boolean;

  /// The order of dims that puts `axis` behind the others, and the one that
  /// undoes it.
  static std::pair<Dims, Dims> ordersWithLast(int64_t axis, int64_t rank);

private:
  Builder &builder;
  Subgraphs &subgraphs;
  const NodeProto &node;
  const OpConversion &row;
  int64_t version;
  Values operands;
  std::vector<Named> outs;
};

/// The expression of a size, in parentheses, or its number.
std::string termOf(const Size &size);

/// The product of sizes from `from` on, before `to`; neither a number nor an
/// expression if it is too large.
Size productOf(const Sizes &sizes, int64_t from, int64_t to);

} // namespace tenon::onnx
