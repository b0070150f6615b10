// SPDX-License-Identifier: Apache-2.0
//
// Sizes that no search finds, by how they come about: positions of windows,
// sums of what is joined, and what models compute step by step.
#include "compiler/import/onnx/Builder.h"

#include <algorithm>
#include <limits>

namespace tenon::onnx {

/// An attribute with a number for each of `rank` dims.
static graph::Dims numbersOf(const graph::Op &op, std::string_view name,
                             size_t rank, int64_t fallback) {
  graph::Dims given = op.attrOr<graph::Dims>(name, {});
  given.resize(rank, fallback);
  return given;
}

void Builder::noteSizes(const graph::Op &op) {
  if (trials.empty() || op.outputs.empty())
    return;
  if (tensor(op.outputs[0]).hasStaticShape())
    return noteArithmetic(op);
  if (op.kind == "Concat")
    noteSum(op);
  else if (op.kind == "Pad")
    notePads(op);
  else if (op.kind == "Slice")
    noteSlice(op);
  else if (op.kind == "ConvTranspose")
    noteTransposed(op);
  else
    notePositions(op);
}

/// Sizes of the result of a window, channels first, that is rounded down.
void Builder::notePositions(const graph::Op &op) {
  bool isConvolution = op.kind == "Convolution";
  if ((!isConvolution && op.kind != "MaxPool" && op.kind != "AvgPool") ||
      op.attrOr<std::string>("auto_pad", "None") != "None" ||
      op.attrOr<std::string>("rounding_type", "floor") != "floor")
    return;
  std::optional<Sizes> src = sizesOf(op.inputs[0]);
  if (!src || src->size() < 3)
    return;
  size_t rank = src->size() - 2;
  graph::Dims kernel = numbersOf(op, "kernel", rank, 1);
  if (isConvolution) { // O, I, spatial dims
    const graph::LogicalTensor &weights = tensor(op.inputs[1]);
    if (!weights.hasStaticShape() || weights.shape->size() != rank + 2)
      return;
    kernel.assign(weights.shape->begin() + 2, weights.shape->end());
  }
  graph::Dims begins = numbersOf(op, "pads_begin", rank, 0),
              ends = numbersOf(op, "pads_end", rank, 0),
              strides = numbersOf(op, "strides", rank, 1),
              dilations = numbersOf(op, "dilations", rank, 1);
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

/// Positions of a window the other way round: each one but the last begins
/// `stride` entries before the next one.
void Builder::noteTransposed(const graph::Op &op) {
  const graph::LogicalTensor &weights = tensor(op.inputs[1]);
  std::optional<Sizes> src = sizesOf(op.inputs[0]);
  if (op.attrOr<std::string>("auto_pad", "None") != "None" || !src ||
      src->size() < 3 || !weights.hasStaticShape() ||
      weights.shape->size() != src->size())
    return;
  size_t rank = src->size() - 2;
  graph::Dims begins = numbersOf(op, "pads_begin", rank, 0),
              ends = numbersOf(op, "pads_end", rank, 0),
              strides = numbersOf(op, "strides", rank, 1),
              dilations = numbersOf(op, "dilations", rank, 1),
              extra = numbersOf(op, "output_padding", rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    const std::string &size = (*src)[i + 2].expression;
    int64_t more = dilations[i] * ((*weights.shape)[i + 2] - 1) + 1 + extra[i] -
                   begins[i] - ends[i] - strides[i];
    if (!size.empty())
      trials.note("(" + size + ") * " + std::to_string(strides[i]) +
                  (more < 0 ? " - " : " + ") + std::to_string(std::abs(more)));
  }
}

void Builder::notePads(const graph::Op &op) {
  std::optional<Sizes> src = sizesOf(op.inputs[0]);
  size_t rank = src ? src->size() : 0;
  graph::Dims begins = numbersOf(op, "pads_begin", rank, 0),
              ends = numbersOf(op, "pads_end", rank, 0);
  for (size_t i = 0; i < rank; ++i)
    if (int64_t more = begins[i] + ends[i];
        more && !(*src)[i].expression.empty())
      trials.note("(" + (*src)[i].expression + ")" +
                  (more < 0 ? " - " : " + ") + std::to_string(std::abs(more)));
}

/// What is left of dims without a few of the first and of the last entries.
void Builder::noteSlice(const graph::Op &op) {
  constexpr int64_t kBeyond = std::numeric_limits<int32_t>::max();
  graph::Dims begins = op.attrOr<graph::Dims>("begins", {}),
              ends = op.attrOr<graph::Dims>("ends", {}),
              axes = op.attrOr<graph::Dims>("axes", {}),
              steps = op.attrOr<graph::Dims>("steps", {});
  std::optional<Sizes> src = sizesOf(op.inputs[0]);
  for (size_t i = 0; src && i < begins.size() && i < ends.size(); ++i) {
    int64_t axis = i < axes.size() ? axes[i] : static_cast<int64_t>(i);
    axis += axis < 0 ? static_cast<int64_t>(src->size()) : 0;
    bool isFromEnd = ends[i] < 0 && ends[i] > -kBeyond;
    if ((i < steps.size() && steps[i] != 1) || begins[i] < 0 ||
        begins[i] >= kBeyond || (!isFromEnd && ends[i] < kBeyond) ||
        (*src)[axis].expression.empty())
      continue;
    SizeTrials::Numbers numbers;
    for (size_t k = 0; k < numbers.size(); ++k)
      if (auto shape = triedShape(k, op.outputs[0]))
        numbers[k] = (*shape)[axis];
    int64_t less = begins[i] - (isFromEnd ? ends[i] : 0);
    trials.note("(" + (*src)[axis].expression + ") - " + std::to_string(less),
                numbers);
  }
}

void Builder::noteSum(const graph::Op &op) {
  auto axis = op.attrOr<int64_t>("axis", 0);
  std::string sum;
  for (Value operand : op.inputs) {
    std::optional<Sizes> sizes = sizesOf(operand);
    if (!sizes || sizes->empty())
      return;
    auto rank = static_cast<int64_t>(sizes->size());
    const Size &size = (*sizes)[axis < 0 ? axis + rank : axis];
    if (!size.isKnown() && size.expression.empty())
      return;
    sum += (sum.empty() ? "" : " + ") + (size.isKnown()
                                             ? std::to_string(size.number)
                                             : "(" + size.expression + ")");
  }
  trials.note(sum);
}

/// Element `i` of integers in the trials; of a tensor of one element, that.
SizeTrials::Numbers Builder::triedNumbers(Value value, int64_t i) {
  SizeTrials::Numbers numbers;
  for (size_t k = 0; k < numbers.size(); ++k) {
    const reference::Tensor *elements = triedElements(k, value);
    int64_t count = elements ? elements->numElements() : 0;
    if (count == 1 || i < count)
      numbers[k] = reference::integerAt(*elements, count == 1 ? 0 : i);
  }
  return numbers;
}

/// Sums, differences, products and quotients of a few integers: a search that
/// does not find the result may have found the operands.
void Builder::noteArithmetic(const graph::Op &op) {
  static constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {"Add", " + "},
      {"Subtract", " - "},
      {"Multiply", " * "},
      {"Divide", " // "}};
  constexpr int64_t kMost = 16; // dims of a shape
  auto kind = std::ranges::find(
      kinds, op.kind, &std::pair<std::string_view, std::string_view>::first);
  Value result = op.outputs[0];
  if (kind == std::end(kinds) || op.inputs.size() != 2 ||
      graph::isFloat(tensor(result).dtype) || known(result) ||
      tensor(result).numElements() > kMost)
    return;
  for (int64_t i = 0; i < tensor(result).numElements(); ++i) {
    auto a = trials.expressionOf(triedNumbers(op.inputs[0], i)),
         b = trials.expressionOf(triedNumbers(op.inputs[1], i));
    if (!a || !b)
      continue;
    std::string text;
    // Nothing on the way may be below 0: 7 + -1 is 7 - 1.
    if (op.kind == "Add" && a->starts_with("-"))
      text = "(" + *b + ") - " + a->substr(1);
    else if (op.kind == "Add" && b->starts_with("-"))
      text = "(" + *a + ") - " + b->substr(1);
    else
      text = "(" + *a + ")" + std::string(kind->second) + "(" + *b + ")";
    trials.note(text, triedNumbers(result, i));
  }
}

} // namespace tenon::onnx
