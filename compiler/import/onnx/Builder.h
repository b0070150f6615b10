//===- Builder.h - a graph in the making ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What conversions of ONNX's operators write to: each operation is checked and
// its shapes are inferred as it is added, since what the next one becomes
// depends on them. Small tensors whose elements are known are evaluated along,
// so that shapes which a model computes become numbers; with sizes that are not
// known, all this is done for each set of numbers of SizeTrials.h, too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/onnx/Elements.h"
#include "compiler/import/onnx/SizeTrials.h"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace tenon::onnx {

/// The id of a tensor. kNone is an operand that is left out, and what there is
/// instead of a result after an error: whatever is made of it is nothing, too.
using Value = uint64_t;
inline constexpr Value kNone = 0;

/// A size, or an expression of named ones that is it.
struct Size {
  int64_t number = graph::kUnknownDim;
  std::string expression = {};

  bool isKnown() const { return number != graph::kUnknownDim; }
};
using Sizes = std::vector<Size>;
/// "[batch, 3, ?]"
std::string textOf(const Sizes &sizes);

/// Not thread-safe.
class Builder {
public:
  /// The element type; if Tenon does not have it, an error, and f32.
  graph::DType dtypeOf(DataType type);

  /// The operator that what follows is for, as errors name it, and what was
  /// wrong before.
  struct Operator {
    std::string name, type;
    size_t failedBefore = 0;
    bool isAbandoned = false;
  };
  void enter(std::string operatorName, std::string opType);
  /// Goes back to an operator that was left for those of a graph in it, whose
  /// errors are its own.
  const Operator &current() const { return entered; }
  void resume(Operator outer) { entered = std::move(outer); }

  /// A tensor that the caller gives at each execution. Sizes that are not known
  /// have expressions.
  Value input(std::string name, graph::DType dtype, std::optional<Sizes> shape);
  /// A tensor of the model, which must live as long as this. The same one is
  /// one weight however often it is given.
  Value weight(const TensorProto &tensor);
  /// The range of a weight of integers of 16 bits, which is s32 here.
  std::optional<reference::Range> shortRangeOf(Value value) const {
    auto found = shortRanges.find(value);
    return found == shortRanges.end() ? std::nullopt
                                      : std::optional(found->second);
  }
  /// The bytes of a weight read as elements of another type in other dims;
  /// kNone if `weight` has none, or other than these take.
  Value packedWeight(Value weight, DataType type, graph::Dims dims);
  Value constant(reference::Tensor tensor);
  /// The elements of an input that will not change: they count as known.
  void bind(Value input, reference::Tensor elements);

  /// Adds an operation. Operands that are kNone are left out. Results have the
  /// types `results`; those of type undef are left out, too.
  /// `sizes` has an expression for each size of result 0 that the attribute
  /// "shape" leaves open, or is empty.
  std::vector<Value> add(std::string_view kind, std::vector<Value> operands,
                         graph::AttrMap attrs,
                         std::vector<graph::DType> results,
                         std::vector<std::string> sizes = {});

  /// From here on, indices that an operation requires to be right are so only
  /// where this boolean scalar holds; kNone: always. Gives what was said
  /// before.
  Value checkIndicesWhere(Value condition) {
    return std::exchange(guard, condition);
  }

  /// A description; of kNone, of a scalar.
  const graph::LogicalTensor &tensor(Value value) const;
  /// Whether an operation has it as a result.
  bool isComputed(Value value) const;
  /// The elements, if they are known and few; else null.
  const reference::Tensor *known(Value value);
  /// The sizes, those that are not known as expressions where one is found.
  /// None: the rank is not known.
  std::optional<Sizes> sizesOf(Value value);
  /// The elements of a tensor of whole numbers in the same way; none: they
  /// depend on more than sizes. With `isNegated` they are those times -1, none
  /// of which may be below 0.
  std::optional<Sizes> elementsAsSizes(Value value, bool isNegated = false);
  /// The elements of a tensor of whole numbers that are the same whatever the
  /// sizes are, also those that are no multiples of each other.
  std::optional<graph::Dims> fixedElements(Value value);
  /// The limit, where the only element of `number` seems to be the size of dim
  /// `axis` of `value`, but no more than a limit. Others give the same in all
  /// trials: code has to check it.
  std::optional<int64_t> limitOf(Value number, Value value, size_t axis);
  /// A size by an expression, as simple as one is found; a number if it is one.
  Size sizeOf(const std::string &expression);
  /// What is made counts on an expression that is not 0: an execution where a
  /// name makes it 0 is an error.
  void requireNotZero(const std::string &expression);
  /// What is left of the elements of a tensor for the one of `sizes` that is
  /// -1.
  Size restOf(Value value, const Sizes &sizes);
  /// Gives a tensor the name that users know it by.
  void setName(Value value, std::string name) {
    graph.tensors.at(value).name = std::move(name);
  }

  /// Records an error about the operator.
  void fail(ErrorCode code, std::string message, std::string hint = {});
  /// The operator needs what an earlier error left without a value: nothing is
  /// added for it, and nothing is said.
  void abandon() { entered.isAbandoned = true; }
  bool isAbandoned() const { return entered.isAbandoned; }
  /// Whether the operator has an error or was abandoned.
  bool failed() const {
    return entered.isAbandoned || failures.size() > entered.failedBefore;
  }
  /// Those of all operators.
  const std::vector<Error> &errors() const { return failures; }
  size_t operationCount() const { return graph.ops.size(); }

  /// The graph of what `outputs` depend on, without optional results that
  /// nobody reads. Inputs whose sizes alone are needed are ports, too.
  /// Constants and weights that are read are in the maps, as tensors without a
  /// producer.
  graph::Graph take(const std::vector<Value> &outputs);
  const std::map<Value, const TensorProto *> &weights() const {
    return weightTensors;
  }
  const std::map<Value, reference::Tensor> &constants() const {
    return constantTensors;
  }
  /// What some of the weights are instead of tensors of the model.
  /// Whether dtypeOf was asked for double.
  bool hasDoubles() const { return foundDoubles; }
  std::shared_ptr<const std::deque<TensorProto>> packed() const {
    return packedTensors;
  }

private:
  /// Shapes, paddings and the like have fewer elements.
  static constexpr int64_t kMaxKnown = 4096;
  /// What is known of tensors with the numbers of one trial, where that is more
  /// than what is known anyway.
  struct Trial {
    std::map<Value, graph::Dims> shapes;
    std::map<Value, reference::Tensor> elements;
    /// Whether the rest of the model says nothing in it.
    bool isOver = false;
  };

  /// Operands with indices that are right where `guard` does not hold, too.
  std::vector<Value> withIndicesChecked(std::string_view kind,
                                        std::vector<Value> operands,
                                        const graph::AttrMap &attrs);
  void leaveOutUnread(graph::Op &op, const std::set<Value> &needed) const;
  void needInputsOfSizes(std::set<Value> &needed);
  Value newTensor(graph::DType dtype, std::optional<graph::Dims> shape,
                  graph::PropertyType property);
  void evaluate(const graph::Op &op);
  /// Whether so many elements, read or computed, may be evaluated along.
  bool affords(int64_t elements);
  /// Shapes, and elements, of the results of `op` in trial `k`.
  void tryOut(size_t k, const graph::Op &op,
              const std::vector<std::string> &sizes);
  void tryAsSaid(size_t k, const graph::Op &op, graph::Dims said,
                 const graph::Dims &src);
  std::optional<graph::Dims> triedShape(size_t k, Value value) const;
  const reference::Tensor *triedElements(size_t k, Value value);
  void evaluateTrial(size_t k, graph::Op op);
  /// `dims` with the numbers that `expressions` have in trial `k`; an empty one
  /// has none.
  graph::Dims numbersIn(size_t k, graph::Dims dims,
                        const std::vector<std::string> &expressions);
  void completeSizes(Value value);
  void noteTriedShapes(size_t k, const std::vector<graph::LogicalTensor> &outs);
  /// Notes sizes of the result of `op`, or sizes that are its elements, which
  /// are what it makes of those of its operands.
  void noteSizes(const graph::Op &op);
  void notePositions(const graph::Op &op);
  void noteTransposed(const graph::Op &op);
  void notePads(const graph::Op &op);
  void noteSlice(const graph::Op &op);
  void noteSum(const graph::Op &op);
  void noteArithmetic(const graph::Op &op);
  SizeTrials::Numbers triedNumbers(Value value, int64_t i);
  /// The sizes with these numbers in the trials, where `known` has none.
  using TriedDims = std::array<std::optional<graph::Dims>, SizeTrials::kCount>;
  Sizes sizesFrom(const graph::Dims &known, const TriedDims &numbers) const;

  bool foundDoubles = false;
  graph::Graph graph;
  std::map<Value, const TensorProto *> weightTensors;
  std::map<const TensorProto *, Value> weightValues;
  Value shortWeight(const TensorProto &tensor);
  std::map<Value, reference::Range> shortRanges;
  std::shared_ptr<std::deque<TensorProto>> packedTensors =
      std::make_shared<std::deque<TensorProto>>();
  std::map<Value, reference::Tensor> constantTensors;
  std::map<Value, reference::Tensor> knownTensors; // beside constants
  std::vector<Value> inputs;
  std::set<Value> computed;
  SizeTrials trials;
  std::array<Trial, SizeTrials::kCount> tried;
  std::vector<Error> failures;
  Operator entered;
  Value lastValue = kNone, guard = kNone;
  int64_t evaluated = 0, constantElements = 0;
};

} // namespace tenon::onnx
