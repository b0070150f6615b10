// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Builder.h"

#include "dialects/graph/infer/Infer.h"
#include "dialects/graph/reference/Evaluator.h"

#include <algorithm>

namespace tenon::onnx {

/// Shapes, paddings and the like have fewer elements.
static constexpr int64_t kMaxKnown = 4096;

void Builder::enter(std::string operatorName, std::string opType) {
  nodeName = std::move(operatorName);
  nodeType = std::move(opType);
}

void Builder::fail(ErrorCode code, std::string message) {
  failures.push_back(
      Error{code, std::move(message), nodeType, nodeName, {}, ""});
}

graph::DType Builder::dtypeOf(DataType type) {
  std::optional<graph::DType> dtype = onnx::dtypeOf(type, doubles);
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

Value Builder::input(graph::DType dtype, std::optional<graph::Dims> shape) {
  inputs.push_back(
      newTensor(dtype, std::move(shape), graph::PropertyType::variable));
  return inputs.back();
}

Value Builder::weight(const TensorProto &tensor) {
  Value value = newTensor(dtypeOf(tensor.type), tensor.dims,
                          graph::PropertyType::constant);
  weightTensors.emplace(value, &tensor);
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
                                std::vector<graph::DType> results) {
  std::vector<Value> none(results.size(), kNone);
  if (!failures.empty())
    return none;
  while (!results.empty() && results.back() == graph::DType::undef)
    results.pop_back();
  while (!operands.empty() && operands.back() == kNone)
    operands.pop_back();
  graph::Op op;
  op.id = graph.ops.size();
  op.name = nodeName;
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
  if (auto errors = graph::inferOp(op, ins, outs); !errors.empty()) {
    for (const Error &error : errors)
      fail(error.code, op.kind + ": " + error.message);
    return none;
  }
  for (graph::LogicalTensor &out : outs)
    graph.tensors[out.id] = std::move(out);
  computed.insert(op.outputs.begin(), op.outputs.end());
  evaluate(op);
  graph.ops.push_back(std::move(op));
  values.resize(none.size(), kNone);
  return values;
}

/// Makes the results of `op` known if its operands are.
void Builder::evaluate(const graph::Op &op) {
  graph::Graph one;
  std::map<uint64_t, reference::Tensor> values;
  for (uint64_t id : op.outputs) {
    const graph::LogicalTensor &t = one.tensors[id] = tensor(id);
    if (!t.hasStaticShape() || t.numElements() > kMaxKnown)
      return;
  }
  for (uint64_t id : op.inputs) {
    const reference::Tensor *elements = known(id);
    if (!elements)
      return;
    values.emplace(id, *elements);
    one.tensors[id] = tensor(id);
  }
  one.ops.push_back(op);
  one.outputPorts = op.outputs;
  // What cannot be evaluated is not known; compiling says why.
  if (auto results = reference::evaluate(one, std::move(values)))
    for (uint64_t id : op.outputs)
      knownTensors.insert_or_assign(id, std::move(results->at(id)));
}

graph::Graph Builder::take(const std::vector<Value> &outputs) {
  std::set<Value> needed(outputs.begin(), outputs.end());
  std::vector<graph::Op> ops;
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    if (std::none_of(op->outputs.begin(), op->outputs.end(),
                     [&](Value value) { return needed.contains(value); }))
      continue;
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
  for (Value output : outputs)
    graph.outputPorts.push_back(output);
  return std::move(graph);
}

} // namespace tenon::onnx
