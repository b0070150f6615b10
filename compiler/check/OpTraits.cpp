//===- OpTraits.cpp - what checking needs to know of operations -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// See OpTraits.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/OpTraits.h"
#include "dialects/graph/OpTable.h"
#include "dialects/graph/reference/Tensor.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace tenon::check {

using graph::Dims;
using graph::DType;
using graph::factsOf;
using graph::forwardOf;
using graph::OpClass;
using graph::OpInfo;
using graph::Rounding;

namespace {

int64_t count(const Dims &shape) {
  int64_t result = 1;
  for (int64_t dim : shape)
    result *= std::max<int64_t>(dim, 1);
  return result;
}

int64_t dimAt(const Dims &shape, int64_t axis) {
  auto rank = static_cast<int64_t>(shape.size());
  axis = axis < 0 ? axis + rank : axis;
  return axis >= 0 && axis < rank ? shape[axis] : 1;
}

/// Spatial size of a weights tensor times its channels other than `full`.
int64_t convolutionLength(const graph::Op &op, const Dims &src,
                          const Dims &weights, const Dims &dst) {
  const OpInfo &info = factsOf(op.kind);
  if (graph::isWeightsGradient(info)) // batch and positions
    return count(weights) /
           std::max<int64_t>(
               dimAt(weights,
                     op.attrOr<std::string>("data_format", "NXC") == "NXC" ? -1
                                                                           : 1),
               1);
  std::string format = op.attrOr<std::string>("weights_format", "XIO");
  bool spatialFirst = format[0] == 'X';
  auto rank = static_cast<int64_t>(weights.size());
  int64_t full = dimAt(weights, spatialFirst ? rank - 1 : 0);
  int64_t part = dimAt(weights, spatialFirst ? rank - 2 : 1);
  int64_t kernel = count(weights) / std::max<int64_t>(full * part, 1);
  // The gradient by data of the one is what the other computes.
  bool isForward = info.backwardOf.empty();
  bool sumsOverFull =
      isForward == (forwardOf(info).shapeRule == "conv_transpose");
  int64_t groups = std::max<int64_t>(op.attrOr<int64_t>("groups", 1), 1);
  return kernel * (sumsOverFull ? full / groups : part);
}

int64_t matMulLength(const graph::Op &op, const Dims &src) {
  bool transposed = op.attrOr<bool>("transpose_a", false) && src.size() > 1;
  return dimAt(src, transposed ? -2 : -1);
}

/// Elements of a window.
int64_t lrnLength(const graph::Op &op, const Dims &src) {
  int64_t size = op.attrOr<int64_t>("size", 5);
  bool ncx = op.attrOr<std::string>("data_format", "NXC") == "NCX";
  bool within = op.attrOr<std::string>("algorithm", "") == "within_channel";
  auto rank = static_cast<int64_t>(src.size());
  int64_t channel = ncx ? 1 : rank - 1, length = 1;
  for (int64_t d = 1; d < rank; ++d)
    if (within == (d != channel))
      length *= std::clamp<int64_t>(src[d], 1, std::max<int64_t>(size, 1));
  return length;
}

} // namespace

bool isContraction(std::string_view kind) {
  return graph::isContraction(factsOf(kind));
}

bool isMovement(std::string_view kind) {
  const OpInfo &info = factsOf(kind);
  return graph::isMovement(info) && !info.operands[0].variadic;
}

bool isCast(std::string_view kind) { return graph::isCast(factsOf(kind)); }

bool copiesValues(std::string_view kind) {
  return factsOf(kind).rounding == Rounding::copies;
}

bool isTranscendental(std::string_view kind) {
  return factsOf(kind).transcendental;
}

double roundingsOf(const graph::Graph &graph, const graph::Op &op,
                   bool fastMath) {
  if (copiesValues(op.kind))
    return 0;
  double length = static_cast<double>(reductionLength(graph, op));
  double sums = length > 1 ? kWalk * std::sqrt(length) : 0;
  if (forwardOf(factsOf(op.kind)).shapeRule == "lrn")
    return lrnRoundings(op, sums, kFunctionRoundings);
  // Small results are measured by larger ones.
  const FunctionError *stated = functionErrorOf(op);
  double function =
      stated ? stated->ofLarge / kF32Roundoff
             : 1 + (isTranscendental(op.kind) ? kFunctionRoundings : 0);
  double roundings = sums + function;
  auto filtered = fastMath ? filteredRoundings(graph, op, kWalk) : std::nullopt;
  return std::max(roundings, filtered.value_or(0));
}

ErrorModel errorModelOf(const graph::Graph &graph, const graph::Op &op,
                        bool fastMath) {
  switch (factsOf(op.kind).rounding) {
  case Rounding::copies:
  case Rounding::exact:
    return {};
  case Rounding::quantizes:
    // A scale may be inverted, and a zero point added, before the sum is
    // rounded; what it is rounded to is the meaning.
    return {3, 0};
  case Rounding::once:
    return {0, roundingsOf(graph, op, fastMath), functionErrorOf(op)};
  case Rounding::several:
    break;
  }
  double all = roundingsOf(graph, op, fastMath);
  const FunctionError *stated = functionErrorOf(op);
  double length = static_cast<double>(reductionLength(graph, op));
  if (length == 1)
    return {all / 4, all / 2, stated};
  auto filtered = fastMath ? filteredRoundings(graph, op, 1) : std::nullopt;
  return {std::max(std::sqrt(length) / 2, filtered.value_or(0)), all / 2};
}

double fpmathRoundoff(const graph::Graph &graph) {
  const std::string &mode = graph.fpmathMode;
  if (mode == "bf16" || mode == "any")
    return 0x1p-8;
  return mode == "f16" || mode == "tf32" ? 0x1p-11 : 0;
}

double roundoffOf(DType dtype) {
  if (graph::isFloat(dtype))
    return reference::epsilonOf(dtype) / 2;
  // One step of a quantised tensor, relative to its range.
  if (dtype == DType::s8 || dtype == DType::u8)
    return 1.0 / 128;
  return 0;
}

double roundoffInside(const graph::Graph &graph, const graph::Op &op) {
  const OpInfo &info = factsOf(op.kind);
  if (info.opClass != OpClass::recurrent || op.inputs.size() < 2)
    return 0;
  const graph::LogicalTensor &src = graph.tensor(op.inputs[0]);
  const graph::LogicalTensor &weights = graph.tensor(op.inputs[1]);
  if (!graph::isFloat(src.dtype) || src.dtype == DType::f32)
    return 0;
  double times = info.backwardOf.empty() ? 1 : 2;
  if (src.hasStaticShape() && weights.hasStaticShape()) {
    int64_t steps = dimAt(*src.shape, op.attrOr<bool>("batch_first", false));
    times *= std::sqrt(static_cast<double>(std::max<int64_t>(steps, 1)) *
                       static_cast<double>(layersOf(graph, op)));
  }
  return times * roundoffOf(src.dtype);
}

int64_t layersOf(const graph::Graph &graph, const graph::Op &op) {
  if (factsOf(op.kind).opClass != OpClass::recurrent || op.inputs.size() < 2)
    return 1;
  const graph::LogicalTensor &weights = graph.tensor(op.inputs[1]);
  return weights.hasStaticShape()
             ? std::max<int64_t>(dimAt(*weights.shape, 0), 1)
             : 1;
}

double codeOfStates(const graph::Graph &graph, const graph::Op &op) {
  bool isInt8 = factsOf(op.kind).opClass == OpClass::recurrent &&
                graph.tensor(op.inputs[0]).dtype == DType::u8;
  return isInt8 ? 1 / std::fabs(op.attrOr<float>("data_scale", 1)) : 0;
}

bool squaresOperand(std::string_view kind) { return factsOf(kind).squares; }

/// Elements of a row, channel or group of channels; for the gradient of a
/// LayerNorm also the rows that gamma and beta sum over.
static int64_t normLength(const graph::Op &op, const Dims &src) {
  int64_t all = count(src), rank = static_cast<int64_t>(src.size());
  const OpInfo &info = factsOf(op.kind);
  if (info.attr("begin_norm_axis")) {
    int64_t axis = op.attrOr<int64_t>("begin_norm_axis", -1);
    int64_t row = 1;
    for (int64_t d = axis < 0 ? axis + rank : axis; d < rank; ++d)
      row *= dimAt(src, d);
    bool sums = !info.backwardOf.empty() && op.outputs.size() > 1;
    return sums ? std::max(row, all / std::max<int64_t>(row, 1)) : row;
  }
  if (info.shapeRule == "group_norm")
    return all / std::max<int64_t>(
                     dimAt(src, 0) * op.attrOr<int64_t>("groups", 1), 1);
  bool ncx = op.attrOr<std::string>("data_format", "NXC") == "NCX";
  return all / std::max<int64_t>(dimAt(src, ncx && rank > 2 ? 1 : -1), 1);
}

std::optional<double> filteredRoundings(const graph::Graph &graph,
                                        const graph::Op &op, double walk) {
  constexpr double kGrowth = 8.2, kTransforms = 16, kTaps = 9;
  // Narrow floats may be computed in f32.
  const OpInfo &info = factsOf(op.kind);
  bool readsFilter =
      graph::isConvolution(info) && !graph::isWeightsGradient(info);
  if (!readsFilter || op.inputs.size() < 2 ||
      !graph.tensor(op.inputs[1]).hasStaticShape())
    return std::nullopt;
  const Dims &weights = *graph.tensor(op.inputs[1]).shape;
  bool spatialFirst = op.attrOr<std::string>("weights_format", "XIO")[0] == 'X';
  int64_t at = spatialFirst ? 0 : 2;
  auto areOnes = [&](const char *name) {
    return op.attrOr<Dims>(name, {1, 1}) == Dims{1, 1};
  };
  if (weights.size() != 4 || weights[at] != 3 || weights[at + 1] != 3 ||
      !areOnes("strides") || !areOnes("dilations") ||
      op.attrOr<int64_t>("groups", 1) != 1)
    return std::nullopt;
  double channels = static_cast<double>(reductionLength(graph, op)) / kTaps;
  return kGrowth * walk * std::sqrt(channels + kTransforms);
}

double lrnRoundings(const graph::Op &op, double sum, double function) {
  double beta = std::fabs(op.attrOr<float>("beta", 0.75f));
  // k + alpha / n * sum of squares: no cancellation.
  double w = sum + 3;
  if (factsOf(op.kind).backwardOf.empty())
    return beta * w + function + 1;
  double share = (beta + 1) * w + function + 2; // s dd w^(-beta - 1)
  return share + sum + 3; // their sum, times factor and s, subtracted
}

/// Sums over windows: those of pooling, LRN and resampling.
static int64_t windowLength(const graph::Op &op, const Dims &src,
                            const Dims *second, const Dims &dst) {
  const OpInfo &info = factsOf(op.kind);
  if (info.attr("kernel"))
    return count(op.attrOr<Dims>("kernel", {}));
  if (info.attr("algorithm"))
    return lrnLength(op, src);
  std::string mode = op.attrOr<std::string>("mode", "nearest");
  size_t doublings = std::clamp<size_t>(src.size(), 2, 32) - 2;
  if (mode == "cubic")
    doublings *= 2;
  if (!info.backwardOf.empty())
    return second ? std::max<int64_t>(count(*second) / count(src), 1)
                        << (mode == "cubic" ? doublings : 1)
                  : 1;
  // Two neighbours per spatial dim, or four; antialiasing widens filters.
  int64_t wider = op.attrOr<bool>("antialias", false)
                      ? std::max<int64_t>(count(src) / count(dst), 1)
                      : 1;
  return mode == "nearest" ? 1 : wider << doublings;
}

/// Softmax has an axis, whose default is that of the table.
static int64_t rowLength(const graph::Op &op, const Dims &src) {
  const graph::AttrInfo *axis = factsOf(op.kind).attr("axis");
  if (!axis)
    return normLength(op, src);
  return dimAt(src, op.attrOr("axis", std::get<int64_t>(axis->defaultValue())));
}

/// The sums of all steps, as the next one adds its errors to those of the
/// states that it reads: of one over x and h; on the way back also over the
/// gates, and for weights over the batch.
static int64_t recurrentLength(const graph::Op &op, const Dims &src,
                               const Dims &weights, const Dims &dst) {
  int64_t steps = dimAt(src, op.attrOr<bool>("batch_first", false));
  int64_t batch = dimAt(src, !op.attrOr<bool>("batch_first", false));
  int64_t length = dimAt(src, -1) + dimAt(dst, -1);
  if (!factsOf(op.kind).backwardOf.empty())
    length = std::max({length, dimAt(weights, -1) * dimAt(weights, -2), batch});
  return length * std::max<int64_t>(steps, 1);
}

/// The updates that may all be of one element, and that itself.
static int64_t scatterLength(const graph::Op &op, const Dims &indices) {
  std::string reduction = op.attrOr<std::string>("reduction", "none");
  if (reduction != "add" && reduction != "mul")
    return 1;
  if (factsOf(op.kind).attr("axis"))
    return 1 + dimAt(indices, op.attrOr<int64_t>("axis", 0));
  return 1 + count(indices) / std::max<int64_t>(dimAt(indices, -1), 1);
}

static int64_t lengthByClass(const graph::Op &op, const Dims &src,
                             const Dims *second, const Dims &dst) {
  const OpInfo &info = factsOf(op.kind);
  switch (info.opClass) {
  case OpClass::contraction:
    if (info.shapeRule == "matmul")
      return matMulLength(op, src);
    return second ? convolutionLength(op, src, *second, dst) : 1;
  case OpClass::reduction:
    // Of gradients of parameters all but the parameter's dims.
    if (info.operands.size() == 3)
      return second ? count(src) / count(*second) : 1;
    return count(src) / count(dst);
  case OpClass::window:
    return windowLength(op, src, second, dst);
  case OpClass::normalization:
    return rowLength(op, src);
  case OpClass::search: // Of these CumSum adds.
    return info.grid == "reduce_sum" ? dimAt(src, op.attrOr<int64_t>("axis", 0))
                                     : 1;
  case OpClass::recurrent:
    return second ? recurrentLength(op, src, *second, dst) : 1;
  default:
    if (info.typeRule == "scatter")
      return second ? scatterLength(op, *second) : 1;
    // BatchNormInference has the statistics of channels.
    return info.typeRule == "statistics" ? normLength(op, src) : 1;
  }
}

int64_t reductionLength(const graph::Graph &graph, const graph::Op &op) {
  if (op.inputs.empty() || op.outputs.empty())
    return 1;
  auto shapeOf = [&](uint64_t id) -> const Dims * {
    const graph::LogicalTensor &tensor = graph.tensor(id);
    return tensor.hasStaticShape() ? &*tensor.shape : nullptr;
  };
  const Dims *src = shapeOf(op.inputs[0]), *dst = shapeOf(op.outputs[0]);
  const Dims *second = op.inputs.size() > 1 ? shapeOf(op.inputs[1]) : nullptr;
  if (!src || !dst)
    return 1;
  return std::max<int64_t>(lengthByClass(op, *src, second, *dst), 1);
}

const graph::Op *roundingOp(const graph::Graph &graph, uint64_t outputId) {
  auto producers = graph.producers();
  for (size_t steps = 0; steps <= graph.ops.size(); ++steps) {
    auto found = producers.find(outputId);
    if (found == producers.end())
      return nullptr;
    const graph::Op &op = graph.ops[found->second];
    if (op.inputs.empty())
      return nullptr;
    bool truncates = isCast(op.kind) &&
                     graph::isFloat(graph.tensor(op.inputs[0]).dtype) &&
                     !graph::isFloat(graph.tensor(outputId).dtype);
    const graph::OpInfo &info = graph::factsOf(op.kind);
    if (info.grid == "quantize" || info.grid == "integer" ||
        info.grid == "floor" || truncates)
      return &op;
    bool keepsOrder = op.kind == "Reorder" ||
                      (graph::isView(info) && op.kind != "StaticTranspose");
    if (!keepsOrder)
      return nullptr;
    outputId = op.inputs[0];
  }
  return nullptr;
}

} // namespace tenon::check
