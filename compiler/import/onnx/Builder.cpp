// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Builder.h"

#include "dialects/graph/OpTable.h"
#include "dialects/graph/SizeExpr.h"
#include "dialects/graph/infer/Infer.h"
#include "dialects/graph/reference/Evaluator.h"

#include <algorithm>

namespace tenon::onnx {

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
  std::optional<graph::DType> dtype = onnx::dtypeOf(type);
  foundDoubles |= type == DataType::f64;
  if (!dtype)
    fail(ErrorCode::UnsupportedDType,
         "elements of type " + nameOf(type) + " do not exist in Tenon");
  return dtype.value_or(graph::DType::f32);
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
    tried[k].shapes[inputs.back()] = numbersIn(k, *known, expressions);
  return inputs.back();
}

Value Builder::weight(const TensorProto &tensor) {
  if (auto found = weightValues.find(&tensor); found != weightValues.end())
    return found->second;
  Value value = kNone;
  if (auto range = shortRange(tensor.type)) {
    value = shortWeight(tensor);
    shortRanges.emplace(value, *range);
  } else {
    value = newTensor(dtypeOf(tensor.type), tensor.dims,
                      graph::PropertyType::constant);
    weightTensors.emplace(value, &tensor);
  }
  setName(value, std::string(tensor.name));
  weightValues.emplace(&tensor, value);
  return value;
}

Value Builder::shortWeight(const TensorProto &tensor) {
  auto elements = readElements(tensor);
  if (elements)
    return constant(std::move(*elements));
  for (const Error &error : elements.errors())
    fail(error.code, error.message);
  return newTensor(graph::DType::s32, tensor.dims,
                   graph::PropertyType::constant);
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
  auto elements = readElements(*weight->second);
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
  noteSizes(op);
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

/// Adds inputs that the graph needs for nothing but their sizes: expressions
/// have names that no other input has for a dim. Facts about names that nothing
/// needs are forgotten.
void Builder::needInputsOfSizes(std::set<Value> &needed) {
  std::set<std::string, std::less<>> names, given;
  auto note = [&](Value value) {
    for (const std::string &size : graph.tensors.at(value).sizes)
      if (auto parsed = graph::SizeExpr::parse(size))
        for (const graph::SizeExpr::Token &token : parsed->postfix())
          if (token.kind == graph::SizeExpr::Kind::name)
            names.insert(token.name);
  };
  auto give = [&](Value input) {
    for (const std::string &size : graph.tensors.at(input).sizes)
      given.insert(size);
  };
  std::ranges::for_each(needed, note);
  for (Value input : inputs)
    if (needed.contains(input))
      give(input);
  // The sizes of one that is added may be made of further names.
  for (bool isDone = false; !isDone;) {
    isDone = true;
    for (Value input : inputs) {
      const graph::LogicalTensor &t = graph.tensors.at(input);
      bool gives = std::ranges::any_of(t.sizes, [&](const std::string &size) {
        return names.contains(size) && !given.contains(size);
      });
      if (!gives)
        continue;
      needed.insert(input);
      note(input);
      give(input);
      isDone = false;
    }
  }
  std::erase_if(graph.sizeFacts,
                [&](const auto &fact) { return !names.contains(fact.first); });
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
  needInputsOfSizes(needed);
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
