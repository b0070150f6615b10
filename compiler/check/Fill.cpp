//===- Fill.cpp - data for the inputs of a graph --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Fill.h.  First every input gets a role from its readers, looked for
// through operations that only move data; then its values are drawn.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/Fill.h"
#include "compiler/check/Exactness.h"
#include "compiler/check/OpTraits.h"
#include "compiler/check/Random.h"
#include "dialects/graph/OpTable.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace tenon::check {

using graph::DType;
using reference::Tensor;

namespace {

/// What an input is for; the later ones win over the earlier.
enum class Role {
  data,
  positive,    // Sqrt, Log, Pow
  divisor,     // Divide, Reciprocal
  variance,    // normalisations
  probability, // results of SoftMax, Sigmoid
  openUnit,    // results of Tanh
  negative,    // results of LogSoftmax
  mask,        // added before SoftMax
  quantized,   // read by Quantize
  score,       // bytes of a product before SoftMax
  scale,       // dynamic quantisation
  zeroPoint,
  box,    // two corners
  half,   // probability of Dropout
  length, // of sequences
  index,  // into another operand
};

/// The operation table gives what does not depend on other operations.
Role roleOf(graph::Domain domain) {
  switch (domain) {
  case graph::Domain::any:
    return Role::data;
  case graph::Domain::positive:
    return Role::positive;
  case graph::Domain::divisor:
    return Role::divisor;
  case graph::Domain::variance:
    return Role::variance;
  case graph::Domain::probability:
    return Role::probability;
  case graph::Domain::openUnit:
    return Role::openUnit;
  case graph::Domain::negative:
    return Role::negative;
  case graph::Domain::quantized:
    return Role::quantized;
  case graph::Domain::scale:
    return Role::scale;
  case graph::Domain::zeroPoint:
    return Role::zeroPoint;
  case graph::Domain::half:
    return Role::half;
  case graph::Domain::length:
    return Role::length;
  case graph::Domain::index:
    return Role::index;
  }
  return Role::data;
}

graph::Domain domainAt(const graph::Op &op, size_t position) {
  const graph::OpInfo &info = graph::factsOf(op.kind);
  size_t operand = op.inputSlot(position);
  if (operand >= info.operands.size())
    return graph::Domain::any;
  bool isSrc = info.operands[operand].name == "src_or_dst" &&
               !op.attrOr<bool>("use_dst", true);
  return isSrc ? graph::forwardOf(info).operands[0].domain
               : info.operands[operand].domain;
}

/// Whether operand `position` is read by shape inference alone.
bool isShapeOf(const graph::Op &op, size_t position) {
  const graph::OpInfo &info = graph::factsOf(op.kind);
  size_t operand = op.inputSlot(position);
  return operand < info.operands.size() && info.operands[operand].isShape;
}

struct Use {
  Role role = Role::data;
  double scale = 1; // of the Quantize or Dequantize that reads it
  double zeroPoint = 0;
  /// Factor on fractions, a power of two: keeps products of long rows from
  /// growing from layer to layer.
  double gain = 1;
  /// The most steps that a length may count.
  std::optional<int64_t> steps;
  /// The size of the dim that an index is for; such an index may be negative.
  std::optional<int64_t> indexed;
  /// The elements, where only these give a result its shape.
  graph::Dims elements = {};
  /// The number of places that an index chooses from.
  std::optional<int64_t> places;
  /// Where boxes are: from 0 to this.
  int64_t extent = 4;
};

/// The steps of a recurrent operation; 0, which every length may be, if they
/// are not known.
int64_t stepsOf(const graph::Graph &graph, const graph::Op &op) {
  const graph::LogicalTensor &src = graph.tensor(op.inputs[0]);
  size_t dim = op.attrOr<bool>("batch_first", false) ? 1 : 0;
  return src.hasStaticShape() && dim < src.shape->size() ? (*src.shape)[dim]
                                                         : 0;
}

/// The size of the dim of operand 0 that indices of `op` count in, of several
/// the least; 0, for which no index is right, if it is not known.
int64_t indexedSize(const graph::Graph &graph, const graph::Op &op) {
  const graph::LogicalTensor &src = graph.tensor(op.inputs[0]);
  if (!src.hasStaticShape() || src.shape->empty())
    return 0;
  auto rank = static_cast<int64_t>(src.shape->size());
  auto begin = op.attrOr<int64_t>("axis", 0), count = int64_t{1};
  std::string_view rule = graph::factsOf(op.kind).shapeRule;
  if (rule == "gather_nd" || rule == "scatter_nd") {
    begin = op.attrOr<int64_t>("batch_dims", 0);
    const auto &rows = graph.tensor(op.inputs[1]).shape;
    count = rows && !rows->empty() ? rows->back() : 0;
  }
  begin += begin < 0 ? rank : 0;
  if (begin < 0 || count <= 0 || begin + count > rank)
    return 0;
  auto first = src.shape->begin() + begin;
  return *std::min_element(first, first + count);
}

/// What operand `slot` of `op` holds if the result has the shape that the graph
/// says; empty if that is not known, or the operand is not about all dims.
graph::Dims sizesFor(const graph::Graph &graph, const graph::Op &op,
                     size_t slot) {
  const graph::LogicalTensor &dst = graph.tensor(op.outputs[0]);
  if (!dst.hasStaticShape())
    return {};
  const graph::OpInfo &info = graph::factsOf(op.kind);
  if (info.shapeRule != "slice")
    return *dst.shape;
  // From the first element on, or backwards from the last one.
  graph::Dims axes(dst.shape->size()), numbers;
  std::iota(axes.begin(), axes.end(), 0);
  axes = op.attrOr<graph::Dims>("axes", axes);
  graph::Dims steps =
      op.attrOr<graph::Dims>("steps", graph::Dims(axes.size(), 1));
  for (size_t i = 0; i < axes.size() && i < steps.size(); ++i) {
    auto rank = static_cast<int64_t>(dst.shape->size());
    int64_t axis = axes[i] + (axes[i] < 0 ? rank : 0);
    int64_t first = steps[i] < 0 ? -1 : 0;
    bool isBegin = info.operands[slot].name == "begins_tensor";
    numbers.push_back(isBegin ? first : first + (*dst.shape)[axis] * steps[i]);
  }
  return numbers;
}

/// The sizes of the images of RoiAlign, in the numbers of rois: of the shorter
/// side.
int64_t extentOf(const graph::Graph &graph, const graph::Op &op) {
  const graph::LogicalTensor &src = graph.tensor(op.inputs[0]);
  if (!src.hasStaticShape() || src.shape->size() != 4)
    return 1;
  const graph::Dims &shape = *src.shape;
  size_t first = op.attrOr<std::string>("data_format", "NXC") == "NXC" ? 1 : 2;
  auto shorter = static_cast<float>(std::min(shape[first], shape[first + 1]));
  float scale = std::fabs(op.attrOr<float>("spatial_scale", 1));
  return std::max<int64_t>(std::llround(std::min(shorter / scale, 1e6f)), 1);
}

/// 1 / sqrt(length), as a power of two.
double gainFor(int64_t length) {
  double exponent = 0.5 * std::log2(static_cast<double>(length));
  return std::ldexp(1, -static_cast<int>(std::lround(exponent)));
}

/// Readers of tensors.
class Readers {
public:
  explicit Readers(const graph::Graph &graph) : graph(graph) {
    for (const graph::Op &op : graph.ops)
      for (size_t i = 0; i < op.inputs.size(); ++i)
        readers[op.inputs[i]].push_back({&op, i});
  }

  Use useOf(uint64_t id) {
    Use use;
    visit(id, use, 0);
    return use;
  }

private:
  struct Reader {
    const graph::Op *op;
    size_t operand;
  };
  static constexpr int kMaxDepth = 8;

  void visit(uint64_t id, Use &use, int depth) {
    auto found = readers.find(id);
    if (found == readers.end() || depth > kMaxDepth)
      return;
    for (const Reader &reader : found->second) {
      Role role = roleAt(*reader.op, reader.operand);
      if (role > use.role)
        use.role = role;
      const std::string &kind = reader.op->kind;
      const graph::OpInfo &info = graph::factsOf(kind);
      if (info.grid == "quantize" || role == Role::score) {
        auto scales = reader.op->attrOr<std::vector<float>>("scales", {});
        auto zps = reader.op->attrOr<std::vector<int64_t>>("zps", {});
        use.scale = scales.empty() ? 1 : std::fabs(scales[0]);
        use.zeroPoint = zps.empty() ? 0 : static_cast<double>(zps[0]);
      }
      bool isRecurrent = info.opClass == graph::OpClass::recurrent;
      bool weights = (isContraction(kind) && reader.operand == 1) ||
                     (isRecurrent && reader.operand > 0 && reader.operand < 3);
      if (weights)
        use.gain = gainFor(reductionLength(graph, *reader.op));
      if (role == Role::length) {
        int64_t steps = stepsOf(graph, *reader.op);
        use.steps = std::min(use.steps.value_or(steps), steps);
      }
      if (info.shapeRule == "roi_align") {
        const graph::LogicalTensor &src = graph.tensor(reader.op->inputs[0]);
        if (role == Role::box)
          use.extent = extentOf(graph, *reader.op);
        else if (role == Role::index && src.hasStaticShape())
          use.places = (*src.shape)[0];
      } else if (role == Role::index) {
        int64_t size = indexedSize(graph, *reader.op);
        use.indexed = std::min(use.indexed.value_or(size), size);
      }
      if (isShapeOf(*reader.op, reader.operand)) {
        use.elements =
            sizesFor(graph, *reader.op, reader.op->inputSlot(reader.operand));
        continue;
      }
      bool isConcat = info.shapeRule == "concat";
      if (isMovement(kind) || isConcat)
        for (uint64_t result : reader.op->outputs)
          visit(result, use, depth + 1);
    }
  }

  Role roleAt(const graph::Op &op, size_t operand) const;
  bool feedsSoftMax(uint64_t id, int depth, bool products = false) const;

  const graph::Graph &graph;
  std::map<uint64_t, std::vector<Reader>> readers;
};

/// Whether `id` reaches SoftMax through at most a few elementwise steps, and
/// `products`.
bool Readers::feedsSoftMax(uint64_t id, int depth, bool products) const {
  auto found = readers.find(id);
  if (found == readers.end() || depth > kMaxDepth)
    return false;
  for (const Reader &reader : found->second) {
    const std::string &kind = reader.op->kind;
    std::string_view rule = graph::factsOf(kind).shapeRule;
    if (rule == "softmax" || rule == "log_softmax")
      return true;
    bool scales = isCast(kind) || kind == "Divide" || kind == "Multiply";
    bool passes = isMovement(kind) || kind == "Add" || kind == "Select" ||
                  (products && (kind == "MatMul" || scales));
    for (uint64_t result : reader.op->outputs)
      if (passes && feedsSoftMax(result, depth + 1, products))
        return true;
  }
  return false;
}

Role Readers::roleAt(const graph::Op &op, size_t operand) const {
  if (op.kind == "Add" && operand == 1 && feedsSoftMax(op.outputs[0], 0))
    return Role::mask;
  bool dequantizes = graph::factsOf(op.kind).grid == "dequantize";
  if (dequantizes && feedsSoftMax(op.outputs[0], 0, /*products=*/true))
    return Role::score;
  std::string_view rule = graph::factsOf(op.kind).shapeRule;
  if ((rule == "roi_align" && operand == 1) ||
      (rule == "non_max_suppression" && operand == 0))
    return Role::box;
  return roleOf(domainAt(op, operand));
}

/// Scores of 64 such products, divided by 8, are a few units apart: in
/// narrow types exponentials of larger ones are nothing but rounding.
constexpr double kLargestOfScore = 2;

/// Integers of the dtype up to `magnitude`, or index-like values.
double drawInteger(Random &random, DType dtype, const Use &use,
                   int64_t magnitude) {
  if (dtype == DType::boolean)
    return static_cast<double>(random.integer(0, 1));
  if (use.role == Role::zeroPoint)
    return static_cast<double>(random.integer(0, 3));
  if (use.role == Role::length)
    return static_cast<double>(random.integer(0, use.steps.value_or(0)));
  if (use.role == Role::index && use.places)
    return static_cast<double>(
        random.integer(0, std::max<int64_t>(*use.places, 1) - 1));
  if (use.role == Role::index) {
    int64_t size = use.indexed.value_or(0);
    return size > 0 ? static_cast<double>(random.integer(-size, size - 1)) : 0;
  }
  if (dtype == DType::s32 || dtype == DType::s64)
    return static_cast<double>(random.integer(0, 7));
  reference::Range range = reference::rangeOf(dtype);
  if (use.role == Role::score) {
    auto steps = std::llround(std::min(kLargestOfScore / use.scale, range.max));
    auto value = static_cast<double>(random.integer(-steps, steps));
    return std::clamp(value + use.zeroPoint, range.min, range.max);
  }
  double value =
      range.min < 0 ? static_cast<double>(random.integer(-magnitude, magnitude))
                    : static_cast<double>(random.integer(0, 2 * magnitude));
  return std::clamp(value, range.min, range.max);
}

double sign(Random &random) { return random.next() & 1 ? 1 : -1; }

/// A value of a role other than data.
double drawSpecial(Random &random, const Use &use, bool integers) {
  switch (use.role) {
  case Role::positive:
    return integers ? static_cast<double>(random.integer(1, 4))
                    : random.real(0.25, 4);
  case Role::divisor: {
    double size = integers
                      ? std::ldexp(1, static_cast<int>(random.integer(0, 2)))
                      : random.real(1, 3);
    return sign(random) * size;
  }
  case Role::variance:
    return integers ? std::ldexp(1, static_cast<int>(random.integer(0, 2)))
                    : random.real(0.5, 2);
  case Role::probability:
    return random.real(0.0625, 0.9375);
  case Role::openUnit:
    return random.real(-0.9375, 0.9375);
  case Role::negative:
    return random.real(-4, -0.125);
  case Role::quantized: {
    // Whole steps, or a quarter of one beside them: never near a tie.
    auto steps = static_cast<double>(random.integer(-40, 40));
    if (!integers)
      steps += 0.25 * static_cast<double>(random.integer(-1, 1));
    return use.scale * steps;
  }
  case Role::scale:
    return std::ldexp(1, -static_cast<int>(random.integer(0, 2)));
  case Role::half:
    return 0.5;
  default:
    return 0;
  }
}

double draw(Random &random, DType dtype, const Use &use, int64_t magnitude) {
  if (!graph::isFloat(dtype))
    return drawInteger(random, dtype, use, magnitude ? magnitude : 64);
  if (use.role != Role::data)
    return drawSpecial(random, use, magnitude != 0);
  double value =
      magnitude ? static_cast<double>(random.integer(-magnitude, magnitude))
                : random.real(-2, 2) * use.gain;
  bool hasSign = reference::rangeOf(dtype).min < 0;
  return hasSign ? value : std::fabs(value);
}

/// 0 and -inf over the last dim, always some 0; about one in four is masked.
void drawMask(Random &random, Tensor &tensor) {
  int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    tensor.data[i] = i % row != 0 && random.integer(0, 3) == 0 ? -inf : 0;
}

/// Rows x1, y1, x2, y2 between 0 and `extent`, in quarters, with x1 < x2 and
/// y1 < y2. As centre and size they are boxes, too.
void drawBoxes(Random &random, Tensor &tensor, int64_t extent) {
  for (int64_t i = 0; i + 4 <= tensor.numElements(); i += 4)
    for (int64_t d = i; d < i + 2; ++d) {
      auto low = static_cast<double>(random.integer(0, 2 * extent));
      auto size = static_cast<double>(random.integer(1, 2 * extent));
      tensor.data[d] = low / 4;
      tensor.data[d + 2] = (low + size) / 4;
    }
}

/// Whether two elements may share memory.
bool mayOverlap(const graph::LogicalTensor &edge) {
  const graph::Dims &shape = *edge.shape, &strides = edge.strides;
  if (strides.size() != shape.size())
    return false;
  std::vector<std::pair<int64_t, int64_t>> steps; // stride, size
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] > 1)
      steps.emplace_back(strides[i], shape[i]);
  std::sort(steps.begin(), steps.end());
  int64_t last = 0; // offset of the last element of the dims so far
  for (auto [stride, size] : steps) {
    if (stride <= last)
      return true;
    last += stride * (size - 1);
  }
  return false;
}

/// Elements in the same place get the value of the first.
void shareValues(const graph::LogicalTensor &edge, Tensor &tensor) {
  if (tensor.data.empty() || !mayOverlap(edge))
    return;
  std::unordered_map<int64_t, double> memory;
  graph::Dims index(tensor.shape.size(), 0);
  for (double &value : tensor.data) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * edge.strides[d];
    value = memory.try_emplace(offset, value).first->second;
    for (size_t d = index.size(); d > 0; --d) {
      if (++index[d - 1] < tensor.shape[d - 1])
        break;
      index[d - 1] = 0;
    }
  }
}

/// `magnitude` 0: fractions.
Tensor drawTensor(const graph::LogicalTensor &edge, const Use &use,
                  uint64_t seed, int64_t magnitude) {
  // Numbers of every type are small here: doubles, until they are drawn.
  Tensor tensor = reference::zeros(DType::undef, *edge.shape);
  Random random(seed * 0x9E3779B97F4A7C15 + edge.id + 1);
  random.next();
  if (use.role == Role::mask && graph::isFloat(edge.dtype))
    drawMask(random, tensor);
  else if (use.role == Role::box)
    drawBoxes(random, tensor, use.extent);
  else
    for (double &value : tensor.data)
      value = draw(random, edge.dtype, use, magnitude);
  if (use.elements.size() == tensor.data.size())
    std::ranges::copy(use.elements, tensor.data.begin());
  shareValues(edge, tensor);
  reference::setDType(tensor, edge.dtype);
  reference::roundToDType(tensor);
  return tensor;
}

std::optional<Error> problemOf(const graph::LogicalTensor &edge) {
  constexpr int64_t kMaxElements = int64_t{1} << 28;
  Error error;
  std::string what =
      "input tensor " +
      (edge.name.empty() ? std::to_string(edge.id) : "\"" + edge.name + "\"");
  if (!edge.hasStaticShape()) {
    error.code = ErrorCode::UnknownShape;
    error.message = "the shape of " + what + " is not known";
    error.hint = "give it with --in-shapes";
    return error;
  }
  if (edge.dtype == DType::undef) {
    error.code = ErrorCode::UnsupportedDType;
    error.message = what + " has no data type";
    return error;
  }
  int64_t count = reference::elementCount(*edge.shape);
  if (count < 0 || count > kMaxElements) {
    error.code = ErrorCode::TooLarge;
    error.message =
        what + " has more than " + std::to_string(kMaxElements) + " elements";
    return error;
  }
  return std::nullopt;
}

} // namespace

Expected<std::map<uint64_t, Tensor>>
fillInputs(const graph::Graph &graph, uint64_t seed, FillMode mode,
           const std::set<uint64_t> &given) {
  graph::Graph whole = graph;
  if (auto errors = completePorts(whole); !errors.empty())
    return errors;
  std::vector<Error> errors;
  std::vector<uint64_t> filled;
  for (uint64_t id : whole.inputPorts)
    if (!given.contains(id))
      filled.push_back(id);
  for (uint64_t id : filled)
    if (auto error = problemOf(whole.tensor(id)))
      errors.push_back(*error);
  if (!errors.empty())
    return errors;

  Readers readers(whole);
  auto fill = [&](int64_t magnitude) {
    std::map<uint64_t, Tensor> inputs;
    for (uint64_t id : filled)
      inputs.emplace(
          id, drawTensor(whole.tensor(id), readers.useOf(id), seed, magnitude));
    return inputs;
  };
  // The largest integers with which every output is exact.
  if (mode == FillMode::semantic && given.empty())
    for (int64_t magnitude : {8, 4, 2, 1}) {
      auto inputs = fill(magnitude);
      auto exact = exactEdges(whole, inputs);
      if (std::all_of(whole.outputPorts.begin(), whole.outputPorts.end(),
                      [&](uint64_t id) { return exact.count(id); }))
        return inputs;
    }
  return fill(0);
}

} // namespace tenon::check
