// SPDX-License-Identifier: Apache-2.0
//
// Sizes that are not known: what they are in each trial (SizeTrials.h), and
// which expressions follow.
#include "compiler/import/onnx/Builder.h"

#include "dialects/graph/SizeExpr.h"
#include "dialects/graph/infer/Infer.h"
#include "dialects/graph/reference/Evaluator.h"

#include <algorithm>
#include <cmath>

namespace tenon::onnx {

graph::Dims Builder::numbersIn(size_t k, graph::Dims dims,
                               const std::vector<std::string> &expressions) {
  for (size_t i = 0; i < dims.size() && i < expressions.size(); ++i) {
    if (dims[i] != graph::kUnknownDim || expressions[i].empty())
      continue;
    if (auto numbers = trials.numbersOf(expressions[i]))
      dims[i] = (*numbers)[k].value_or(graph::kUnknownDim);
  }
  return dims;
}

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
      outs[0].shape = numbersIn(k, *outs[0].shape, sizes);
    else if (!outs.back().hasStaticShape())
      outs.back().shape.reset();
  }
  std::optional<graph::Dims> said = outs.empty() ? std::nullopt : outs[0].shape;
  if (!graph::inferOp(copy, ins, outs).empty()) {
    // Here it does not fit, since names that are one size in each execution are
    // several, or a table is too short. Where it fits, the sizes are as said.
    if (said && !sizes.empty())
      tryAsSaid(k, op, std::move(*said), *ins[0].shape);
    return;
  }
  for (graph::LogicalTensor &out : outs)
    if (out.hasStaticShape() && !tensor(out.id).hasStaticShape())
      tried[k].shapes[out.id] = *out.shape;
  evaluateTrial(k, std::move(copy));
}

/// The result of `op` has the sizes `said`; the part of a tensor has those of
/// its operand, `src`, in dims that are not cut.
void Builder::tryAsSaid(size_t k, const graph::Op &op, graph::Dims said,
                        const graph::Dims &src) {
  if (op.kind == "Slice" && said.size() == src.size())
    for (size_t i = 0; i < said.size(); ++i)
      if (said[i] == graph::kUnknownDim)
        said[i] = src[i];
  if (std::ranges::all_of(said, [](int64_t size) { return size >= 0; }))
    tried[k].shapes[op.outputs[0]] = std::move(said);
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

std::optional<Sizes> Builder::elementsAsSizes(Value value, bool isNegated) {
  // Exporters count in f32, too.
  bool isFloat = graph::isFloat(tensor(value).dtype);
  auto integers =
      [=](const reference::Tensor &elements) -> std::optional<graph::Dims> {
    graph::Dims dims;
    for (int64_t i = 0; i < elements.numElements(); ++i) {
      constexpr double kExact = 1 << 24;
      if (isFloat && !(std::abs(elements.at(i)) <= kExact &&
                       elements.at(i) == std::floor(elements.at(i))))
        return std::nullopt;
      int64_t number = isFloat ? static_cast<int64_t>(elements.at(i))
                               : reference::integerAt(elements, i);
      if (isNegated && __builtin_sub_overflow(0, number, &number))
        return std::nullopt;
      dims.push_back(number);
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

std::optional<int64_t> Builder::limitOf(Value number, Value value,
                                        size_t axis) {
  std::optional<int64_t> limit;
  int64_t longest = 0;
  for (size_t k = 0; k < tried.size(); ++k) {
    const reference::Tensor *elements = triedElements(k, number);
    std::optional<graph::Dims> shape = triedShape(k, value);
    if (!elements || elements->numElements() != 1 || !shape ||
        axis >= shape->size())
      continue;
    int64_t least = reference::integerAt(*elements, 0), size = (*shape)[axis];
    if (least == size) {
      longest = std::max(longest, size);
      continue;
    }
    if (least > size || limit.value_or(least) != least)
      return std::nullopt;
    limit = least;
  }
  return limit && longest <= *limit ? limit : std::nullopt;
}

void Builder::requireNotZero(const std::string &expression) {
  auto parsed = graph::SizeExpr::parse(expression);
  if (!parsed)
    return;
  for (const auto &token : parsed->postfix()) {
    if (token.kind != graph::SizeExpr::Kind::name)
      continue;
    auto value = parsed->evaluate([&](std::string_view name) {
      return std::optional<int64_t>(name != token.name);
    });
    if (value == 0)
      graph.sizeFacts[token.name].min = 1;
  }
}

Size Builder::sizeOf(const std::string &expression) {
  auto numbers = trials.numbersOf(expression);
  std::string text = (numbers ? trials.expressionOf(*numbers) : std::nullopt)
                         .value_or(expression);
  if (text.find_first_not_of("0123456789") == text.npos && text.size() < 18)
    return {std::stoll(text), ""};
  return {graph::kUnknownDim, std::move(text)};
}

} // namespace tenon::onnx
