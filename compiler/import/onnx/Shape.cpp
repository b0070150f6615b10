// SPDX-License-Identifier: Apache-2.0
//
// Sizes as elements, and tensors made of sizes.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>
#include <cmath>

namespace tenon::onnx {

static bool isStatic(const Dims &dims) {
  return std::find(dims.begin(), dims.end(), graph::kUnknownDim) == dims.end();
}

static void shape(NodeContext &n) {
  Dims dims = n.shape(n.in(0));
  auto rank = static_cast<int64_t>(dims.size());
  auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t start = clamped(n.integer("start", 0));
  int64_t end = clamped(n.integer("end", rank));
  if (!isStatic(dims))
    return n.out(0, n.op("Shape", {n.in(0)},
                         {{"start", start}, {"end", std::max(start, end)}},
                         DType::s64));
  Dims part;
  for (int64_t i = start; i < end; ++i)
    part.push_back(dims[i]);
  n.out(0, n.integersConstant(part));
}

static void size(NodeContext &n) {
  Dims dims = n.shape(n.in(0));
  if (!isStatic(dims)) {
    Value sizes = n.op("Shape", {n.in(0)}, {}, DType::s64);
    return n.out(0, n.reduce("ReduceProd", sizes, {0}, false));
  }
  int64_t count = reference::elementCount(dims);
  n.out(0, n.constant(reference::Tensor{DType::s64, {}, {}, {count}}));
}

static void constant(NodeContext &n) {
  const AttributeProto *value = n.find("value");
  if (value && !value->tensors.empty())
    return n.out(0, n.weight(value->tensors[0]));
  auto length = [](const auto &list) {
    return Dims{static_cast<int64_t>(list.size())};
  };
  if (const AttributeProto *f = n.find("value_float"))
    return n.out(0, n.scalar(f->f, DType::f32));
  if (const AttributeProto *i = n.find("value_int"))
    return n.out(0, n.constant(reference::Tensor{DType::s64, {}, {}, {i->i}}));
  if (auto floats = n.numbers("value_floats"))
    return n.out(0, n.constant(reference::Tensor{
                        DType::f32, length(*floats),
                        std::vector<double>(floats->begin(), floats->end())}));
  if (auto ints = n.integers("value_ints"))
    return n.out(0, n.integersConstant(*ints));
  n.refuse("a constant that is text or sparse");
}

static void constantOfShape(NodeContext &n) {
  const AttributeProto *value = n.find("value");
  Value element = value && !value->tensors.empty()
                      ? n.reshape(n.weight(value->tensors[0]), {})
                      : n.scalar(0, DType::f32);
  if (std::optional<Dims> shape = n.known(n.in(0)))
    return n.out(0, n.op("Expand", {element}, {{"shape", *shape}}));
  if (std::optional<Sizes> sizes = n.elementsAsSizes(n.in(0)))
    return n.out(0, n.expandTo(element, *sizes));
  n.out(0, n.op("Expand", {element, n.in(0)}));
}

/// A range whose ends depend on sizes: the index of each number, times delta,
/// and the start. Whether it is one.
static bool rangeOfSizes(NodeContext &n) {
  std::optional<Sizes> start = n.elementsAsSizes(n.in(0)),
                       limit = n.elementsAsSizes(n.in(1)),
                       delta = n.elementsAsSizes(n.in(2));
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 ||
      delta->size() != 1 || !delta->front().isKnown() ||
      delta->front().number < 1)
    return false;
  auto textOf = [](const Size &size) {
    return size.isKnown() ? std::to_string(size.number) : size.expression;
  };
  int64_t step = delta->front().number;
  std::string count =
      "(" + textOf(limit->front()) + ") - (" + textOf(start->front()) + ")";
  if (step != 1)
    count = "(" + count + " + " + std::to_string(step - 1) + ") // " +
            std::to_string(step);
  DType type = n.type(n.in(0));
  Value places = n.expandTo(n.scalar(0, DType::s64), {n.sizeOf(count)});
  Value numbers = n.cast(n.indexAlong(places, 0), type);
  if (step != 1)
    numbers = n.op("Multiply", {numbers, n.reshape(n.in(2), {})});
  if (!start->front().isKnown() || start->front().number != 0)
    numbers = n.op("Add", {numbers, n.reshape(n.in(0), {})});
  n.out(0, numbers);
  return true;
}

/// As many numbers as fit below the limit.
static void range(NodeContext &n) {
  bool isKnown =
      n.elements(n.in(0)) && n.elements(n.in(1)) && n.elements(n.in(2));
  if (!isKnown && rangeOfSizes(n))
    return;
  double start = n.neededNumber(0, "the operand start", 0);
  double limit = n.neededNumber(1, "the operand limit", 0);
  double delta = n.neededNumber(2, "the operand delta", 1);
  if (n.failed())
    return;
  double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!(count <= 0x1p62))
    return n.refuse("a range that does not end");
  auto numbers = n.table(n.type(n.in(0)), {static_cast<int64_t>(count)});
  if (!numbers)
    return;
  reference::Tensor &result = *numbers;
  for (int64_t i = 0; i < result.numElements(); ++i) {
    double value = start + static_cast<double>(i) * delta;
    if (result.isS64())
      result.integers[i] = static_cast<int64_t>(value);
    else
      result.data[i] = value;
  }
  reference::roundToDType(result);
  n.out(0, n.constant(std::move(result)));
}

static void eyeLike(NodeContext &n) {
  Value x = n.in(0);
  DType type = n.has("dtype")
                   ? n.dtypeOf(static_cast<DataType>(n.integer("dtype", 1)))
                   : n.type(x);
  Value k = n.scalar(static_cast<double>(n.integer("k", 0)), DType::s64);
  Value diagonal = n.op("Add", {n.indexAlong(x, 0), k});
  n.out(0, n.cast(n.equal(diagonal, n.indexAlong(x, 1)), type));
}

/// Values off and on; an index from -depth on counts from the end, and one
/// beyond depth is nowhere on.
static void oneHot(NodeContext &n) {
  Value indices = n.cast(n.in(0), DType::s64);
  auto depth = static_cast<int64_t>(n.neededNumber(1, "the operand depth", 0));
  Dims dims = n.shape(indices);
  int64_t axis =
      n.axisOf(n.integer("axis", -1), static_cast<int>(dims.size()) + 1);
  if (n.failed())
    return;
  Value size = n.scalar(static_cast<double>(depth), DType::s64);
  Value wrapped = n.op("Add", {indices, size});
  indices = n.select(n.less(indices, n.like(indices, 0)), wrapped, indices);
  indices = n.unsqueeze(indices, {axis});
  Dims line(dims.size() + 1, 1);
  line[axis] = depth;
  Value places = n.indexAlong(
      n.op("Expand", {n.scalar(0, DType::u8)}, {{"shape", line}}), axis);
  Value isOn = n.equal(indices, places);
  auto choice = [&](int64_t i) {
    Value one =
        n.op("Slice", {n.in(2)}, {{"begins", Dims{i}}, {"ends", Dims{i + 1}}});
    return n.reshape(one, Dims(dims.size() + 1, 1));
  };
  // Select takes its shape from what it chooses from.
  n.out(0, n.select(isOn, n.expandLike(choice(1), isOn), choice(0)));
}

std::span<const OpConversion> shapeConversions() {
  static constexpr OpConversion table[] = {
      {"Constant", 1, constant}, {"ConstantOfShape", 9, constantOfShape},
      {"EyeLike", 9, eyeLike},   {"OneHot", 9, oneHot},
      {"Range", 11, range},      {"Shape", 1, shape},
      {"Size", 1, size},
  };
  return table;
}

} // namespace tenon::onnx
