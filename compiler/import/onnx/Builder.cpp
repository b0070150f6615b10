// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Builder.h"

#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Infer.h"
#include "dialects/graph/reference/Evaluator.h"

#include <algorithm>
#include <cmath>

namespace tenon::onnx {

/// Shapes, paddings and the like have fewer elements.
static constexpr int64_t kMaxKnown = 4096;
/// What is evaluated of a whole model, in elements. More is not known: loops
/// that are written out would take memory and time without a bound.
static constexpr int64_t kMaxEvaluated = int64_t{1} << 26;
/// The same for operations, and elements of constants that are no weights.
static constexpr size_t kMaxOps = size_t{1} << 19;
static constexpr int64_t kMaxConstants = int64_t{1} << 27;

std::string textOf(const Sizes &sizes) {
  std::string text;
  for (const Size &size : sizes) {
    text += text.empty() ? "" : ", ";
    if (size.isKnown())
      text += std::to_string(size.number);
    else
      text += size.expression.empty() ? "?" : size.expression;
  }
  return "[" + text + "]";
}

void Builder::enter(std::string operatorName, std::string opType) {
  entered = {std::move(operatorName), std::move(opType), failures.size(),
             false};
}

void Builder::fail(ErrorCode code, std::string message, std::string hint) {
  failures.push_back(Error{code,
                           std::move(message),
                           entered.type,
                           entered.name,
                           {},
                           std::move(hint)});
}

graph::DType Builder::dtypeOf(DataType type) {
  std::optional<graph::DType> dtype = onnx::dtypeOf(type, doubles);
  if (!dtype)
    fail(ErrorCode::UnsupportedDType,
         "elements of type " + nameOf(type) + " do not exist in Tenon");
  return dtype.value_or(graph::DType::f32);
}

/// `dims` with the numbers that `expressions` have in trial `k`; an empty one
/// has none.
static graph::Dims numbersIn(SizeTrials &trials, graph::Dims dims,
                             const std::vector<std::string> &expressions,
                             size_t k) {
  for (size_t i = 0; i < dims.size() && i < expressions.size(); ++i) {
    if (dims[i] != graph::kUnknownDim || expressions[i].empty())
      continue;
    if (auto numbers = trials.numbersOf(expressions[i]))
      dims[i] = (*numbers)[k].value_or(graph::kUnknownDim);
  }
  return dims;
}

Value Builder::newTensor(graph::DType dtype, std::optional<graph::Dims> shape,
                         graph::PropertyType property) {
  graph::Dims known = shape.value_or(graph::Dims{});
  std::erase(known, graph::kUnknownDim);
  if (reference::elementCount(known) < 0) {
    fail(ErrorCode::BadDim, "impossible sizes");
    shape = graph::Dims(shape->size(), 0);
  }
  graph::LogicalTensor tensor;
  tensor.id = ++lastValue;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.property = property;
  graph.tensors.emplace(lastValue, std::move(tensor));
  return lastValue;
}

Value Builder::input(std::string name, graph::DType dtype,
                     std::optional<Sizes> shape) {
  std::optional<graph::Dims> known;
  std::vector<std::string> expressions;
  if (shape) {
    known.emplace();
    for (const Size &size : *shape) {
      known->push_back(size.number);
      expressions.push_back(size.isKnown() ? std::to_string(size.number)
                                           : size.expression);
    }
  }
  inputs.push_back(newTensor(dtype, known, graph::PropertyType::variable));
  graph::LogicalTensor &tensor = graph.tensors.at(inputs.back());
  tensor.name = std::move(name);
  if (!known || tensor.hasStaticShape())
    return inputs.back();
  tensor.sizes = expressions;
  for (size_t k = 0; k < tried.size(); ++k)
    tried[k].shapes[inputs.back()] = numbersIn(trials, *known, expressions, k);
  return inputs.back();
}

Value Builder::weight(const TensorProto &tensor) {
  if (auto found = weightValues.find(&tensor); found != weightValues.end())
    return found->second;
  Value value = newTensor(dtypeOf(tensor.type), tensor.dims,
                          graph::PropertyType::constant);
  setName(value, std::string(tensor.name));
  weightTensors.emplace(value, &tensor);
  weightValues.emplace(&tensor, value);
  return value;
}

Value Builder::packedWeight(Value weight, DataType type, graph::Dims dims) {
  auto found = weightTensors.find(weight);
  if (found == weightTensors.end() || !found->second->isRaw ||
      found->second->isExternal)
    return kNone;
  graph::DType dtype = dtypeOf(type);
  if (reference::elementCount(dims) < 0 ||
      reference::spannedBytes(dtype, dims, graph::denseStrides(dims)) !=
          static_cast<int64_t>(found->second->raw.size()))
    return kNone;
  TensorProto tensor = *found->second;
  tensor.type = type;
  tensor.dims = std::move(dims);
  return this->weight(packedTensors->emplace_back(std::move(tensor)));
}

Value Builder::constant(reference::Tensor tensor) {
  Value value =
      newTensor(tensor.dtype, tensor.shape, graph::PropertyType::constant);
  if (tensor.numElements() > kMaxConstants - constantElements) {
    fail(ErrorCode::TooLarge, "constants that are made of the model have more "
                              "than " +
                                  std::to_string(kMaxConstants) + " elements");
    return value;
  }
  constantElements += tensor.numElements();
  constantTensors.emplace(value, std::move(tensor));
  return value;
}

void Builder::bind(Value value, reference::Tensor elements) {
  knownTensors.insert_or_assign(value, std::move(elements));
}

const graph::LogicalTensor &Builder::tensor(Value value) const {
  static const graph::LogicalTensor none = [] {
    graph::LogicalTensor scalar;
    scalar.dtype = graph::DType::f32;
    scalar.shape = graph::Dims{};
    return scalar;
  }();
  auto found = graph.tensors.find(value);
  return found == graph.tensors.end() ? none : found->second;
}

bool Builder::isComputed(Value value) const { return computed.contains(value); }

const reference::Tensor *Builder::known(Value value) {
  if (auto found = constantTensors.find(value); found != constantTensors.end())
    return found->second.numElements() <= kMaxKnown ? &found->second : nullptr;
  if (auto found = knownTensors.find(value); found != knownTensors.end())
    return &found->second;
  auto weight = weightTensors.find(value);
  if (weight == weightTensors.end())
    return nullptr;
  int64_t count = reference::elementCount(weight->second->dims);
  if (count < 0 || count > kMaxKnown)
    return nullptr;
  auto elements = readElements(*weight->second, doubles);
  if (!elements) {
    for (const Error &error : elements.errors())
      fail(error.code, error.message);
    return nullptr;
  }
  return &knownTensors.emplace(value, std::move(*elements)).first->second;
}

std::vector<Value> Builder::add(std::string_view kind,
                                std::vector<Value> operands,
                                graph::AttrMap attrs,
                                std::vector<graph::DType> results,
                                std::vector<std::string> sizes) {
  std::vector<Value> none(results.size(), kNone);
  if (graph.ops.size() >= kMaxOps && !failed())
    fail(ErrorCode::TooLarge, "the model becomes more than " +
                                  std::to_string(kMaxOps) + " operations");
  if (failed())
    return none;
  while (!results.empty() && results.back() == graph::DType::undef)
    results.pop_back();
  while (!operands.empty() && operands.back() == kNone)
    operands.pop_back();
  if (guard != kNone)
    operands = withIndicesChecked(kind, std::move(operands), attrs);
  graph::Op op;
  op.id = graph.ops.size();
  op.name = entered.name;
  op.kind = kind;
  op.attrs = std::move(attrs);
  std::vector<graph::LogicalTensor> ins, outs;
  for (Value operand : operands) {
    if (operand == kNone) {
      op.leaveOutInput();
      continue;
    }
    op.inputs.push_back(operand);
    ins.push_back(tensor(operand));
  }
  std::vector<Value> values;
  for (graph::DType dtype : results) {
    if (dtype == graph::DType::undef) {
      values.push_back(kNone);
      op.leaveOutOutput();
      continue;
    }
    values.push_back(
        newTensor(dtype, std::nullopt, graph::PropertyType::variable));
    op.outputs.push_back(values.back());
    outs.push_back(tensor(values.back()));
  }
  if (!sizes.empty() && !outs.empty())
    outs[0].sizes = sizes;
  if (auto errors = graph::inferOp(op, ins, outs); !errors.empty()) {
    for (const Error &error : errors)
      fail(error.code, op.kind + ": " + error.message);
    return none;
  }
  for (graph::LogicalTensor &out : outs)
    graph.tensors[out.id] = std::move(out);
  computed.insert(op.outputs.begin(), op.outputs.end());
  evaluate(op);
  for (size_t k = 0; k < tried.size() && !trials.empty(); ++k)
    tryOut(k, op, sizes);
  if (!sizes.empty())
    completeSizes(values.front());
  notePositions(op);
  graph.ops.push_back(std::move(op));
  values.resize(none.size(), kNone);
  return values;
}

bool Builder::affords(int64_t elements) {
  if (elements > kMaxEvaluated - evaluated)
    return false;
  evaluated += elements;
  return true;
}

/// Makes the results of `op` known if its operands are.
void Builder::evaluate(const graph::Op &op) {
  graph::Graph one;
  std::map<uint64_t, reference::Tensor> values;
  int64_t elements = 0;
  for (uint64_t id : op.outputs) {
    const graph::LogicalTensor &t = one.tensors[id] = tensor(id);
    if (!t.hasStaticShape() || t.numElements() > kMaxKnown)
      return;
    elements += t.numElements();
  }
  for (uint64_t id : op.inputs) {
    const reference::Tensor *operand = known(id);
    if (!operand)
      return;
    elements += operand->numElements();
    values.emplace(id, *operand);
    one.tensors[id] = tensor(id);
  }
  if (!affords(elements))
    return;
  one.ops.push_back(op);
  one.outputPorts = op.outputs;
  // What cannot be evaluated is not known; compiling says why.
  if (auto results = reference::evaluate(one, std::move(values)))
    for (uint64_t id : op.outputs)
      knownTensors.insert_or_assign(id, std::move(results->at(id)));
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

std::optional<graph::Dims> Builder::triedShape(size_t k, Value value) const {
  const graph::LogicalTensor &t = tensor(value);
  if (t.hasStaticShape())
    return t.shape;
  auto found = tried[k].shapes.find(value);
  if (found == tried[k].shapes.end())
    return std::nullopt;
  return found->second;
}

const reference::Tensor *Builder::triedElements(size_t k, Value value) {
  auto found = tried[k].elements.find(value);
  return found == tried[k].elements.end() ? known(value) : &found->second;
}

void Builder::tryOut(size_t k, const graph::Op &op,
                     const std::vector<std::string> &sizes) {
  graph::Op copy = op; // inference may change it
  std::vector<graph::LogicalTensor> ins, outs;
  for (Value operand : op.inputs) {
    std::optional<graph::Dims> shape = triedShape(k, operand);
    if (!shape)
      return;
    ins.push_back(tensor(operand));
    ins.back().shape = shape;
  }
  for (Value result : op.outputs) {
    outs.push_back(tensor(result));
    if (outs.size() == 1 && !sizes.empty())
      outs[0].shape = numbersIn(trials, *outs[0].shape, sizes, k);
    else if (!outs.back().hasStaticShape())
      outs.back().shape.reset();
  }
  if (!graph::inferOp(copy, ins, outs).empty())
    return;
  for (graph::LogicalTensor &out : outs)
    if (out.hasStaticShape() && !tensor(out.id).hasStaticShape())
      tried[k].shapes[out.id] = *out.shape;
  evaluateTrial(k, std::move(copy));
}

/// Makes the results of `op` known in trial `k` if its operands are, or if they
/// are nothing but sizes.
void Builder::evaluateTrial(size_t k, graph::Op op) {
  graph::Graph one;
  std::map<uint64_t, reference::Tensor> values;
  bool isKnown = true;
  int64_t count = 0;
  for (uint64_t id : op.outputs) {
    std::optional<graph::Dims> shape = triedShape(k, id);
    if (!shape || reference::elementCount(*shape) > kMaxKnown)
      return;
    count += std::max<int64_t>(reference::elementCount(*shape), 0);
    graph::LogicalTensor &t = one.tensors[id] = tensor(id);
    t.shape = shape;
    t.sizes.clear();
    isKnown &= knownTensors.contains(id);
  }
  if (isKnown)
    return;
  if (op.kind == "Shape") { // reads no element
    if (std::optional<graph::Dims> dims = triedShape(k, op.inputs[0])) {
      auto part = dims->begin() + op.attrOr<int64_t>("start", 0);
      tried[k].elements.insert_or_assign(
          op.outputs[0],
          reference::Tensor{
              graph::DType::s64, {count}, {}, graph::Dims(part, part + count)});
    }
    return;
  }
  for (uint64_t id : op.inputs) {
    const reference::Tensor *elements = triedElements(k, id);
    graph::LogicalTensor &t = one.tensors[id] = tensor(id);
    t.shape = triedShape(k, id);
    t.sizes.clear();
    if (!elements || elements->shape != *t.shape)
      return;
    count += elements->numElements();
    values.emplace(id, *elements);
  }
  if (!affords(count))
    return;
  one.outputPorts = op.outputs;
  std::vector<uint64_t> outputs = op.outputs;
  one.ops.push_back(std::move(op));
  if (auto results = reference::evaluate(one, std::move(values)))
    for (uint64_t id : outputs)
      tried[k].elements.insert_or_assign(id, std::move(results->at(id)));
}

Sizes Builder::sizesFrom(const graph::Dims &known,
                         const TriedDims &numbers) const {
  Sizes sizes;
  for (size_t i = 0; i < known.size(); ++i) {
    Size &size = sizes.emplace_back();
    size.number = known[i];
    if (size.isKnown())
      continue;
    SizeTrials::Numbers of;
    for (size_t k = 0; k < of.size(); ++k)
      if (numbers[k] && i < numbers[k]->size() &&
          (*numbers[k])[i] != graph::kUnknownDim)
        of[k] = (*numbers[k])[i];
    size.expression = trials.expressionOf(of).value_or("");
  }
  return sizes;
}

std::optional<Sizes> Builder::sizesOf(Value value) {
  const graph::LogicalTensor &t = tensor(value);
  if (!t.shape)
    return std::nullopt;
  TriedDims numbers;
  for (size_t k = 0; k < numbers.size() && !t.hasStaticShape(); ++k)
    numbers[k] = triedShape(k, value);
  return sizesFrom(*t.shape, numbers);
}

Size Builder::restOf(Value value, const Sizes &sizes) {
  SizeTrials::Numbers rest;
  for (size_t k = 0; k < rest.size(); ++k) {
    std::optional<graph::Dims> shape = triedShape(k, value);
    int64_t left = shape ? reference::elementCount(*shape) : -1;
    for (const Size &size : sizes) {
      int64_t number = size.number;
      if (!size.isKnown()) {
        auto numbers = trials.numbersOf(size.expression);
        number = numbers ? (*numbers)[k].value_or(0) : 0;
      }
      if (number == -1)
        continue;
      left = number > 0 && left % number == 0 ? left / number : -1;
    }
    if (left >= 0)
      rest[k] = left;
  }
  return {graph::kUnknownDim, trials.expressionOf(rest).value_or("")};
}

/// Gives the sizes of a result that nothing tells the expressions that they
/// have in the trials.
void Builder::completeSizes(Value value) {
  Sizes sizes = sizesOf(value).value_or(Sizes{});
  graph::LogicalTensor &t = graph.tensors.at(value);
  if (t.hasStaticShape()) {
    t.sizes.clear();
    return;
  }
  t.sizes.resize(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i)
    if (t.sizes[i].empty())
      t.sizes[i] = sizes[i].isKnown() ? std::to_string(sizes[i].number)
                                      : sizes[i].expression;
}

std::optional<Sizes> Builder::elementsAsSizes(Value value) {
  // Exporters count in f32, too.
  bool isFloat = graph::isFloat(tensor(value).dtype);
  auto integers =
      [isFloat](
          const reference::Tensor &elements) -> std::optional<graph::Dims> {
    graph::Dims dims;
    for (int64_t i = 0; i < elements.numElements(); ++i) {
      constexpr double kExact = 1 << 24;
      if (isFloat && !(std::abs(elements.at(i)) <= kExact &&
                       elements.at(i) == std::floor(elements.at(i))))
        return std::nullopt;
      dims.push_back(isFloat ? static_cast<int64_t>(elements.at(i))
                             : reference::integerAt(elements, i));
    }
    return dims;
  };
  if (const reference::Tensor *elements = known(value)) {
    auto numbers = integers(*elements);
    return numbers ? std::optional(sizesFrom(*numbers, {})) : std::nullopt;
  }
  TriedDims numbers;
  std::optional<size_t> first;
  for (size_t k = 0; k < numbers.size(); ++k) {
    const reference::Tensor *elements = triedElements(k, value);
    if (!elements)
      continue;
    numbers[k] = integers(*elements);
    if (!numbers[k])
      return std::nullopt;
    first = first.value_or(k);
    if (numbers[k]->size() != numbers[*first]->size())
      return std::nullopt;
  }
  if (!first)
    return std::nullopt;
  Sizes sizes = sizesFrom(
      graph::Dims(numbers[*first]->size(), graph::kUnknownDim), numbers);
  // Some are the same number whatever the sizes are.
  for (Size &size : sizes) {
    if (size.expression.empty())
      return std::nullopt;
    const std::string &text = size.expression;
    if (text.find_first_not_of("-0123456789") == text.npos)
      size = {std::stoll(text), ""};
  }
  return sizes;
}

/// Sizes of the result of a window, channels first, that is rounded down.
void Builder::notePositions(const graph::Op &op) {
  bool isConvolution = op.kind == "Convolution";
  if ((!isConvolution && op.kind != "MaxPool" && op.kind != "AvgPool") ||
      tensor(op.outputs[0]).hasStaticShape() ||
      op.attrOr<std::string>("auto_pad", "None") != "None" ||
      op.attrOr<std::string>("rounding_type", "floor") != "floor")
    return;
  auto numbers = [&](std::string_view name, size_t rank, int64_t fallback) {
    graph::Dims given = op.attrOr<graph::Dims>(name, {});
    given.resize(rank, fallback);
    return given;
  };
  std::optional<Sizes> src = sizesOf(op.inputs[0]);
  if (!src || src->size() < 3)
    return;
  size_t rank = src->size() - 2;
  graph::Dims kernel = numbers("kernel", rank, 1);
  if (isConvolution) { // O, I, spatial dims
    const graph::LogicalTensor &weights = tensor(op.inputs[1]);
    if (!weights.hasStaticShape() || weights.shape->size() != rank + 2)
      return;
    kernel.assign(weights.shape->begin() + 2, weights.shape->end());
  }
  graph::Dims begins = numbers("pads_begin", rank, 0),
              ends = numbers("pads_end", rank, 0),
              strides = numbers("strides", rank, 1),
              dilations = numbers("dilations", rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const std::string &size = (*src)[i + 2].expression;
    if (size.empty())
      continue;
    int64_t more =
        begins[i] + ends[i] - dilations[i] * (kernel[i] - 1) - 1 + strides[i];
    if (more != 0 || strides[i] != 1)
      trials.addPositions(size, more, strides[i]);
  }
}

std::optional<graph::Dims> Builder::fixedElements(Value value) {
  auto tells = [&](size_t k) { return triedElements(k, value) != nullptr; };
  if (!std::ranges::any_of(SizeTrials::kPrimes, tells))
    return std::nullopt;
  std::optional<Sizes> sizes = elementsAsSizes(value);
  if (!sizes)
    return std::nullopt;
  graph::Dims numbers;
  for (const Size &size : *sizes) {
    if (!size.isKnown())
      return std::nullopt;
    numbers.push_back(size.number);
  }
  return numbers;
}

Size Builder::sizeOf(const std::string &expression) {
  auto numbers = trials.numbersOf(expression);
  std::string text = (numbers ? trials.expressionOf(*numbers) : std::nullopt)
                         .value_or(expression);
  if (text.find_first_not_of("0123456789") == text.npos && text.size() < 18)
    return {std::stoll(text), ""};
  return {graph::kUnknownDim, std::move(text)};
}

/// Leaves out results of `op` that nobody needs, where the operation may go
/// without: they would be outputs of the graph.
void Builder::leaveOutUnread(graph::Op &op,
                             const std::set<Value> &needed) const {
  const graph::OpInfo *info = graph::lookupOp(op.kind);
  graph::Op rest = op;
  rest.outputs.clear();
  rest.absentOutputs = 0;
  std::vector<graph::LogicalTensor> ins, outs;
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    size_t slot = op.outputSlot(i);
    if (info && slot < info->results.size() && info->results[slot].optional &&
        !needed.contains(op.outputs[i]))
      continue;
    while (rest.outputSlot(rest.outputs.size()) < slot)
      if (!rest.leaveOutOutput())
        return;
    rest.outputs.push_back(op.outputs[i]);
    outs.push_back(tensor(op.outputs[i]));
  }
  if (rest.outputs.size() == op.outputs.size())
    return;
  for (Value input : op.inputs)
    ins.push_back(tensor(input));
  // An attribute may ask for results.
  if (graph::inferOp(rest, ins, outs).empty())
    op = std::move(rest);
}

graph::Graph Builder::take(const std::vector<Value> &outputs) {
  std::set<Value> needed(outputs.begin(), outputs.end());
  std::vector<graph::Op> ops;
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    if (std::none_of(op->outputs.begin(), op->outputs.end(),
                     [&](Value value) { return needed.contains(value); }))
      continue;
    leaveOutUnread(*op, needed);
    needed.insert(op->inputs.begin(), op->inputs.end());
    needed.insert(op->outputs.begin(), op->outputs.end());
    ops.push_back(std::move(*op));
  }
  std::reverse(ops.begin(), ops.end());
  graph.ops = std::move(ops);
  std::erase_if(graph.tensors,
                [&](auto &entry) { return !needed.contains(entry.first); });
  std::erase_if(weightTensors,
                [&](auto &entry) { return !needed.contains(entry.first); });
  std::erase_if(constantTensors,
                [&](auto &entry) { return !needed.contains(entry.first); });
  for (Value input : inputs)
    if (needed.contains(input))
      graph.inputPorts.push_back(input);
  for (const auto &[value, tensor] : weightTensors)
    graph.inputPorts.push_back(value);
  for (const auto &[value, tensor] : constantTensors)
    graph.inputPorts.push_back(value);
  for (Value output : outputs)
    graph.outputPorts.push_back(output);
  return std::move(graph);
}

} // namespace tenon::onnx
