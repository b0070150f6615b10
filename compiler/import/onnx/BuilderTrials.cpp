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
#include <numeric>

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

/// Gives `other` the sizes of `x`, counted from the last one, before the last
/// `own` dims. A dim of 1 is repeated, and tells nothing of the other one.
static void takeSizes(const graph::Dims &x, graph::Dims &other, size_t own) {
  for (size_t i = own + 1; i <= std::min(x.size(), other.size()); ++i) {
    int64_t size = x[x.size() - i], &same = other[other.size() - i];
    if (size != 1 && same != 1)
      same = size;
  }
}

/// The dim of the operand of a product that is summed over.
static int64_t &summed(const graph::Op &op, graph::LogicalTensor &operand,
                       bool isLast, const char *transposed) {
  graph::Dims &dims = *operand.shape;
  return dims[dims.size() - (isLast != op.attrOr(transposed, false) ? 1 : 2)];
}

/// Makes sizes those of the first operand where an execution is an error unless
/// they are the same. Whether `op` has such ones.
static bool makeAgree(const graph::Op &op,
                      std::vector<graph::LogicalTensor> &ins) {
  static constexpr std::string_view elementwise[] = {
      "Add",   "Subtract", "Multiply", "Divide",       "Maximum", "Minimum",
      "Equal", "Greater",  "Select",   "GreaterEqual", "And",     "Or"};
  if (op.kind == "MatMul" && ins[0].shape->size() > 1 &&
      ins[1].shape->size() > 1) {
    takeSizes(*ins[0].shape, *ins[1].shape, 2);
    summed(op, ins[1], false, "transpose_b") =
        summed(op, ins[0], true, "transpose_a");
    return true;
  }
  if (op.kind == "Concat") {
    auto rank = static_cast<int64_t>(ins[0].shape->size());
    auto axis = op.attrOr<int64_t>("axis", 0);
    for (graph::LogicalTensor &other : ins)
      for (int64_t i = 0; i < rank; ++i)
        if (other.shape->size() == ins[0].shape->size() &&
            i != (axis < 0 ? axis + rank : axis))
          (*other.shape)[i] = (*ins[0].shape)[i];
    return true;
  }
  if (std::ranges::find(elementwise, op.kind) == std::end(elementwise))
    return false;
  // Of all pairs, since the first one may lack the dim or have 1 there.
  for (size_t a = 0; a < ins.size(); ++a)
    for (size_t b = a + 1; b < ins.size(); ++b)
      takeSizes(*ins[a].shape, *ins[b].shape, 0);
  return true;
}

void Builder::tryOut(size_t k, const graph::Op &op,
                     const std::vector<std::string> &sizes) {
  if (tried[k].isOver)
    return;
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
  if (std::vector<graph::LogicalTensor> first = outs;
      !graph::inferOp(copy, ins, outs).empty()) {
    // Here it does not fit, since names that are one size in each execution are
    // several, or a table is too short. Where it fits, the sizes are as said,
    // or those of operands that do.
    if (said && !sizes.empty())
      return tryAsSaid(k, op, std::move(*said), *ins[0].shape);
    copy = op;
    outs = std::move(first);
    if (makeAgree(op, ins) && graph::inferOp(copy, ins, outs).empty())
      noteTriedShapes(k, outs);
    return;
  }
  noteTriedShapes(k, outs);
  // Of an image without a single window nothing is to be learnt.
  bool isWindow =
      op.kind == "Convolution" || op.kind == "MaxPool" || op.kind == "AvgPool";
  tried[k].isOver = isWindow && std::ranges::count(*outs[0].shape, 0) > 0;
  evaluateTrial(k, std::move(copy));
}

void Builder::noteTriedShapes(size_t k,
                              const std::vector<graph::LogicalTensor> &outs) {
  for (const graph::LogicalTensor &out : outs)
    if (out.hasStaticShape() && !tensor(out.id).hasStaticShape())
      tried[k].shapes[out.id] = *out.shape;
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

/// The product of `sizes` by that of `others`, of which one is -1 and does not
/// count; empty if one has no expression. Where the division leaves a rest the
/// elements do not fit, which is an error of the execution.
static std::string quotientOf(const Sizes &sizes, const Sizes &others) {
  int64_t number = 1, divisor = 1;
  std::vector<std::string> terms, divisors;
  for (const Size &size : sizes)
    if (!size.isKnown())
      terms.push_back(size.expression);
    else if (__builtin_mul_overflow(number, size.number, &number))
      return "";
  for (const Size &size : others) {
    if (size.number == -1)
      continue;
    auto same = std::ranges::find(terms, size.expression);
    if (size.isKnown() &&
        __builtin_mul_overflow(divisor, size.number, &divisor))
      return "";
    if (size.isKnown())
      continue;
    if (same != terms.end())
      terms.erase(same);
    else
      divisors.push_back(size.expression);
  }
  if (number < 1 || divisor < 1)
    return "";
  int64_t common = std::gcd(number, divisor);
  auto product = [](int64_t factor, const std::vector<std::string> &factors) {
    std::string text;
    for (const std::string &each : factors)
      text += (text.empty() ? "(" : " * (") + each + ")";
    if (factor != 1 || text.empty())
      text += (text.empty() ? "" : " * ") + std::to_string(factor);
    return text;
  };
  if (std::ranges::count(terms, "") || std::ranges::count(divisors, ""))
    return "";
  std::string top = product(number / common, terms),
              bottom = product(divisor / common, divisors);
  return bottom == "1" ? top : top + " // (" + bottom + ")";
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
  if (auto found = trials.expressionOf(rest))
    return {graph::kUnknownDim, *found};
  return sizeOf(quotientOf(sizesOf(value).value_or(Sizes{}), sizes));
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
      if (isNegated &&
          (__builtin_sub_overflow(0, number, &number) || number < 0))
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
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string &text = sizes[i].expression;
    if (text.empty())
      return std::nullopt;
    // Some are the same number whatever the sizes are.
    if (text.find_first_not_of("-0123456789") == text.npos) {
      sizes[i] = {std::stoll(text), ""};
      continue;
    }
    // What is never above 0 is no size but one times -1.
    bool isAbove = std::ranges::any_of(
        numbers, [&](const auto &dims) { return dims && (*dims)[i] > 0; });
    if (!isAbove)
      return std::nullopt;
  }
  return sizes;
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
  if (expression.empty())
    return {};
  auto numbers = trials.numbersOf(expression);
  auto found = numbers ? trials.expressionOf(*numbers) : std::nullopt;
  if (!found)
    trials.note(expression);
  std::string text = found.value_or(expression);
  if (text.find_first_not_of("0123456789") == text.npos && text.size() < 18)
    return {std::stoll(text), ""};
  return {graph::kUnknownDim, std::move(text)};
}

} // namespace tenon::onnx
