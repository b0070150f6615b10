// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/NodeContext.h"

#include <algorithm>

namespace tenon::onnx {

NodeContext::NodeContext(Builder &builder, Subgraphs &subgraphs,
                         const NodeProto &node, const OpConversion &conversion,
                         int64_t opset, Values operands)
    : builder(builder), subgraphs(subgraphs), node(node), row(conversion),
      version(opset), operands(std::move(operands)), outs(node.outputs.size()) {
}

Value NodeContext::in(size_t i) const {
  return i < operands.size() ? operands[i] : kNone;
}

bool NodeContext::wants(size_t i) const {
  return i < node.outputs.size() && !node.outputs[i].empty();
}

void NodeContext::outNamed(size_t i, Named named) {
  if (i < outs.size())
    outs[i] = named;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const AttributeProto *NodeContext::find(std::string_view name) const {
  for (const AttributeProto &attribute : node.attributes)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}

int64_t NodeContext::integer(std::string_view name, int64_t fallback) const {
  const AttributeProto *attribute = find(name);
  return attribute ? attribute->i : fallback;
}

float NodeContext::number(std::string_view name, float fallback) const {
  const AttributeProto *attribute = find(name);
  return attribute ? attribute->f : fallback;
}

std::string NodeContext::text(std::string_view name,
                              std::string_view fallback) const {
  const AttributeProto *attribute = find(name);
  return std::string(attribute ? attribute->s : fallback);
}

std::optional<Dims> NodeContext::integers(std::string_view name) const {
  const AttributeProto *attribute = find(name);
  return attribute ? std::optional(attribute->ints) : std::nullopt;
}

std::optional<std::vector<float>>
NodeContext::numbers(std::string_view name) const {
  const AttributeProto *attribute = find(name);
  return attribute ? std::optional(attribute->floats) : std::nullopt;
}

const GraphProto *NodeContext::graph(std::string_view name) {
  const AttributeProto *attribute = find(name);
  if (attribute && !attribute->graphs.empty())
    return attribute->graphs.data();
  fail(ErrorCode::MissingAttr,
       "attribute \"" + std::string(name) + "\" has no graph");
  return nullptr;
}

std::vector<Named> NodeContext::convertGraph(const GraphProto &graph,
                                             const Values &arguments,
                                             Value condition) {
  if (condition == kNone)
    return subgraphs.convert(graph, arguments);
  Value outer = builder.checkIndicesWhere(kNone);
  builder.checkIndicesWhere(outer == kNone ? condition
                                           : op("And", {outer, condition}));
  std::vector<Named> results = subgraphs.convert(graph, arguments);
  builder.checkIndicesWhere(outer);
  return results;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Dims NodeContext::shape(Value value) {
  const graph::LogicalTensor &tensor = builder.tensor(value);
  if (tensor.shape)
    return *tensor.shape;
  refuse("the rank of an operand is not known");
  return {};
}

int64_t NodeContext::dim(Value value, size_t i) {
  Dims dims = shape(value);
  if (i < dims.size())
    return dims[i];
  if (!failed())
    builder.fail(ErrorCode::BadRank, "dim " + std::to_string(i) +
                                         " of a tensor of rank " +
                                         std::to_string(dims.size()));
  return 0;
}

Dims NodeContext::knownShape(Value value) {
  Dims dims = shape(value);
  if (std::find(dims.begin(), dims.end(), graph::kUnknownDim) != dims.end())
    refuse("a size is not known");
  return dims;
}

int64_t NodeContext::axisOf(int64_t axis, int rank) {
  int64_t counted = axis < 0 ? axis + rank : axis;
  if (axis >= -rank && axis < rank)
    return counted;
  if (!failed())
    builder.fail(ErrorCode::BadDim, "axis " + std::to_string(axis) +
                                        " of a tensor of rank " +
                                        std::to_string(rank));
  return 0;
}

std::optional<Dims> NodeContext::known(Value value) {
  const reference::Tensor *tensor = builder.known(value);
  if (!tensor || graph::isFloat(tensor->dtype))
    return std::nullopt;
  Dims result;
  for (int64_t i = 0; i < tensor->numElements(); ++i)
    result.push_back(reference::integerAt(*tensor, i));
  return result;
}

Dims NodeContext::needed(size_t i, std::string_view what) {
  if (std::optional<Dims> values = known(in(i)))
    return *values;
  if (std::optional<Dims> values = builder.fixedElements(in(i)))
    return *values;
  refuse(std::string(what) + " is not known when the model is read");
  return {};
}

double NodeContext::neededNumber(size_t i, std::string_view what,
                                 double fallback) {
  if (in(i) == kNone)
    return fallback;
  const reference::Tensor *tensor = builder.known(in(i));
  if (tensor && tensor->numElements() > 0)
    return tensor->at(0);
  refuse(std::string(what) + " is not known when the model is read");
  return fallback;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Values NodeContext::ops(std::string_view kind, Values operands,
                        graph::AttrMap attrs,
                        const std::vector<DType> &results) {
  return builder.add(kind, std::move(operands), std::move(attrs), results);
}

Value NodeContext::op(std::string_view kind, Values operands,
                      graph::AttrMap attrs, DType result) {
  return ops(kind, std::move(operands), std::move(attrs), {result}).front();
}

Value NodeContext::op(std::string_view kind, Values operands,
                      graph::AttrMap attrs) {
  auto given = std::find_if(operands.begin(), operands.end(),
                            [](Value value) { return value != kNone; });
  DType result = given == operands.end() ? DType::f32 : type(*given);
  return op(kind, std::move(operands), std::move(attrs), result);
}

Value NodeContext::scalar(double value, DType dtype) {
  reference::Tensor tensor{DType::undef, {}, {value}};
  reference::setDType(tensor, dtype);
  reference::roundToDType(tensor);
  return builder.constant(std::move(tensor));
}

std::optional<reference::Tensor> NodeContext::table(DType dtype, Dims dims) {
  static constexpr int64_t kMost = int64_t{1} << 24; // elements
  int64_t count = reference::elementCount(dims);
  if (count >= 0 && count <= kMost && !failed())
    return reference::zeros(dtype, std::move(dims));
  if (!failed())
    builder.fail(ErrorCode::TooLarge,
                 "needs a table of more than " + std::to_string(kMost) +
                     " elements that is made when the model is read");
  return std::nullopt;
}

Value NodeContext::integersConstant(const Dims &values) {
  return builder.constant(reference::Tensor{
      DType::s64, {static_cast<int64_t>(values.size())}, {}, values});
}

Value NodeContext::indexAlong(Value value, int64_t axis) {
  return op("GenIndex", {value}, {{"axis", axis}}, DType::s64);
}

Value NodeContext::cast(Value value, DType dtype) {
  return type(value) == dtype ? value : op("TypeCast", {value}, {}, dtype);
}

Value NodeContext::reshape(Value value, Dims shape) {
  // A size that is not known is that of the same dim of `value` while all dims
  // before are the same, too; one other is what the elements leave.
  Dims source = this->shape(value);
  bool isPrefix = true, hasZero = false, repeats = false;
  int left = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    isPrefix &= i < source.size() && source[i] == shape[i];
    hasZero |= shape[i] == 0;
    if (shape[i] != graph::kUnknownDim) {
      left += shape[i] == -1;
    } else if (isPrefix) {
      shape[i] = 0;
      repeats = true;
    } else {
      shape[i] = -1;
      ++left;
    }
  }
  if (left > 1 || (repeats && hasZero))
    refuse("more sizes are not known than a reshape can leave open");
  return op("StaticReshape", {value},
            {{"shape", std::move(shape)}, {"special_zero", repeats}});
}

Value NodeContext::sized(std::string_view kind, Values operands,
                         graph::AttrMap attrs, const Sizes &sizes) {
  std::vector<std::string> expressions;
  for (const Size &size : sizes)
    expressions.push_back(size.expression);
  DType result = type(operands.front());
  return builder
      .add(kind, std::move(operands), std::move(attrs), {result},
           std::move(expressions))
      .front();
}

static Dims numbersOf(const Sizes &sizes) {
  Dims numbers;
  for (const Size &size : sizes)
    numbers.push_back(size.number);
  return numbers;
}

std::string termOf(const Size &size) {
  return size.isKnown() ? std::to_string(size.number)
                        : "(" + size.expression + ")";
}

Size productOf(const Sizes &sizes, int64_t from, int64_t to) {
  Dims known;
  std::string expression;
  for (int64_t i = from; i < to; ++i) {
    if (sizes[i].isKnown()) {
      known.push_back(sizes[i].number);
      continue;
    }
    if (sizes[i].expression.empty())
      return {};
    expression +=
        (expression.empty() ? "(" : " * (") + sizes[i].expression + ")";
  }
  int64_t number = reference::elementCount(known);
  if (number < 0)
    return {};
  if (expression.empty())
    return {number, ""};
  if (number != 1)
    expression += " * " + std::to_string(number);
  return {graph::kUnknownDim, expression};
}

Value NodeContext::reshapeTo(Value value, Sizes sizes) {
  Sizes source = sizesOf(value).value_or(Sizes{});
  Dims shape = numbersOf(sizes);
  // Of sizes without names that have to be equal nothing is found.
  if (std::ranges::any_of(sizes, [](const Size &size) {
        return !size.isKnown() && size.expression.empty();
      }))
    return reshape(value, std::move(shape));
  bool hasRest = std::ranges::count(shape, -1) > 0,
       hasZero = std::ranges::count(shape, 0) > 0, repeats = false;
  std::vector<size_t> open;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].isKnown())
      continue;
    bool isKept = !hasZero && i < source.size() &&
                  source[i].expression == sizes[i].expression &&
                  !sizes[i].expression.empty();
    if (isKept) {
      shape[i] = 0; // the same dim of `value`
      repeats = true;
    } else {
      open.push_back(i);
    }
  }
  // One is what is left of the elements, unless there may be none.
  if (open.size() == 1 && !hasRest && !hasZero) {
    shape[open[0]] = -1;
    open.clear();
  }
  if (open.empty())
    return op("StaticReshape", {value},
              {{"shape", shape}, {"special_zero", repeats}});
  for (Size &size : sizes)
    if (size.number == -1)
      size = builder.restOf(value, sizes);
  for (const Size &size : sizes)
    if (!size.isKnown() && size.expression.empty())
      refuse("a size of the result is not known: it is no sum or product of "
             "those of the inputs: " +
             textOf(sizes));
  return sized("StaticReshape", {value},
               {{"shape", numbersOf(sizes)}, {"special_zero", false}}, sizes);
}

Value NodeContext::expandTo(Value value, const Sizes &sizes) {
  Dims shape = numbersOf(sizes);
  bool isKnown = true;
  for (const Size &size : sizes) {
    isKnown &= size.isKnown();
    if (!size.isKnown() && size.expression.empty())
      refuse("a size of the result is not known: it is no sum or product of "
             "those of the inputs: " +
             textOf(sizes));
  }
  if (isKnown)
    return op("Expand", {value}, {{"shape", shape}});
  return sized("Expand", {value}, {{"shape", shape}}, sizes);
}

std::pair<Dims, Dims> NodeContext::ordersWithLast(int64_t axis, int64_t rank) {
  Dims order, back(rank);
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      order.push_back(i);
  order.push_back(axis);
  for (int64_t i = 0; i < rank; ++i)
    back[order[i]] = i;
  return {order, back};
}

Value NodeContext::slice(Value value, int64_t axis, int64_t begin,
                         int64_t end) {
  return op(
      "Slice", {value},
      {{"axes", Dims{axis}}, {"begins", Dims{begin}}, {"ends", Dims{end}}});
}

Value NodeContext::transpose(Value value, Dims order) {
  return op("StaticTranspose", {value}, {{"order", std::move(order)}});
}

Value NodeContext::expandLike(Value value, Value like) {
  std::optional<Sizes> known = sizesOf(like);
  if (known && std::ranges::all_of(*known, [](const Size &size) {
        return size.isKnown() || !size.expression.empty();
      }))
    return expandTo(value, *known);
  Value sizes = op("Shape", {like}, {}, DType::s64);
  return op("Expand", {value, sizes});
}

Value NodeContext::unsqueeze(Value value, const Dims &axes) {
  shape(value); // of unknown rank: an error
  Sizes dims = sizesOf(value).value_or(Sizes{});
  int rank = static_cast<int>(dims.size() + axes.size());
  Dims places;
  for (int64_t axis : axes)
    places.push_back(axisOf(axis, rank));
  std::sort(places.begin(), places.end());
  for (int64_t place : places)
    dims.insert(dims.begin() +
                    std::min<int64_t>(place, static_cast<int64_t>(dims.size())),
                Size{1, ""});
  return reshapeTo(value, std::move(dims));
}

Value NodeContext::select(Value condition, Value a, Value b) {
  return op("Select", {condition, a, b}, {}, type(a));
}

Value NodeContext::reduce(std::string_view kind, Value value, Dims axes,
                          bool keep) {
  return op(kind, {value}, {{"axes", std::move(axes)}, {"keep_dims", keep}});
}

} // namespace tenon::onnx
