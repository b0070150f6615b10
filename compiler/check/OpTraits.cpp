//===- OpTraits.cpp - what checking needs to know of operations -----------===//
//
// See OpTraits.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/OpTraits.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace tenon::check {

using graph::Dims;

namespace {

template <size_t N>
bool contains(const std::string_view (&list)[N], std::string_view kind) {
  return std::find(std::begin(list), std::end(list), kind) != std::end(list);
}

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
  if (op.kind.ends_with("BackwardWeights")) // batch and positions
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
  bool sumsOverFull =
      op.kind == "ConvTranspose" || op.kind == "ConvolutionBackwardData";
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
  return kind == "MatMul" || kind.starts_with("Conv");
}

bool isMovement(std::string_view kind) {
  constexpr std::string_view kinds[] = {"StaticReshape", "StaticTranspose",
                                        "Reorder", "TypeCast"};
  return contains(kinds, kind);
}

bool isTranscendental(std::string_view kind) {
  constexpr std::string_view kinds[] = {"Elu",
                                        "Exp",
                                        "GELU",
                                        "LRN",
                                        "Log",
                                        "LSTM",
                                        "LogSoftmax",
                                        "Mish",
                                        "Pow",
                                        "Sigmoid",
                                        "SoftMax",
                                        "SoftPlus",
                                        "Tanh",
                                        "SigmoidBackward",
                                        "Sqrt",
                                        "Divide",
                                        "Reciprocal",
                                        "ReduceL2",
                                        "LogSoftmaxBackward"};
  for (std::string_view forward : kinds)
    if (kind == forward ||
        (kind.ends_with("Backward") && kind.starts_with(forward)))
      return true;
  return kind.find("Norm") != std::string_view::npos;
}

double roundingsOf(const graph::Graph &graph, const graph::Op &op,
                   bool fastMath) {
  if (isMovement(op.kind) || op.kind == "Concat" || op.kind == "Select")
    return 0;
  double length = static_cast<double>(reductionLength(graph, op));
  double sums = length > 1 ? kWalk * std::sqrt(length) : 0;
  if (op.kind.starts_with("LRN"))
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
  constexpr std::string_view none[] = {
      "Abs",     "AbsBackward", "Clamp",        "ClampBackward", "Concat",
      "End",     "GenIndex",    "GreaterEqual", "MaxPool",       "Maximum",
      "Minimum", "ReLU",        "ReLUBackward", "ReduceMax",     "ReduceMin",
      "Round",   "Select"};
  constexpr std::string_view alone[] = {"Add",
                                        "BiasAdd",
                                        "Dequantize",
                                        "Divide",
                                        "Dropout",
                                        "Exp",
                                        "LeakyReLU",
                                        "DynamicDequantize",
                                        "Log",
                                        "Multiply",
                                        "PReLU",
                                        "Pow",
                                        "Sigmoid",
                                        "Reciprocal",
                                        "Sqrt",
                                        "Square",
                                        "Subtract",
                                        "Tanh",
                                        "SquaredDifference"};
  if (isMovement(op.kind) || contains(none, op.kind))
    return {};
  // A scale may be inverted, and a zero point added, before the sum is rounded;
  // what it is rounded to is the meaning.
  if (op.kind == "Quantize" || op.kind == "DynamicQuantize")
    return {3, 0};
  double all = roundingsOf(graph, op, fastMath);
  const FunctionError *stated = functionErrorOf(op);
  if (contains(alone, op.kind))
    return {0, all, stated};
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

bool squaresOperand(std::string_view kind) {
  return kind == "ReduceL2" || kind.starts_with("LRN") ||
         kind.find("Norm") != std::string_view::npos;
}

/// Elements of a row, channel or group of channels; for the gradient of a
/// LayerNorm also the rows that gamma and beta sum over.
static int64_t normLength(const graph::Op &op, const Dims &src) {
  int64_t all = count(src), rank = static_cast<int64_t>(src.size());
  if (op.kind.starts_with("LayerNorm") || op.kind == "RMSNorm") {
    int64_t axis = op.attrOr<int64_t>("begin_norm_axis", -1);
    int64_t row = 1;
    for (int64_t d = axis < 0 ? axis + rank : axis; d < rank; ++d)
      row *= dimAt(src, d);
    bool sums = op.kind == "LayerNormBackward" && op.outputs.size() > 1;
    return sums ? std::max(row, all / std::max<int64_t>(row, 1)) : row;
  }
  if (op.kind == "GroupNorm")
    return all / std::max<int64_t>(
                     dimAt(src, 0) * op.attrOr<int64_t>("groups", 1), 1);
  bool ncx = op.attrOr<std::string>("data_format", "NXC") == "NCX";
  return all / std::max<int64_t>(dimAt(src, ncx && rank > 2 ? 1 : -1), 1);
}

std::optional<double> filteredRoundings(const graph::Graph &graph,
                                        const graph::Op &op, double walk) {
  constexpr double kGrowth = 8.2, kTransforms = 16, kTaps = 9;
  // Narrow floats may be computed in f32.
  static constexpr std::string_view kKinds[] = {"Convolution", "ConvTranspose",
                                                "ConvolutionBackwardData",
                                                "ConvTransposeBackwardData"};
  if (std::ranges::find(kKinds, op.kind) == std::end(kKinds) ||
      op.inputs.size() < 2 || !graph.tensor(op.inputs[1]).hasStaticShape())
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
  if (op.kind == "LRN")
    return beta * w + function + 1;
  double share = (beta + 1) * w + function + 2; // s dd w^(-beta - 1)
  return share + sum + 3; // their sum, times factor and s, subtracted
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
  const std::string &kind = op.kind;
  int64_t length = 1;
  if (kind == "MatMul")
    length = matMulLength(op, *src);
  else if (isContraction(kind) && second)
    length = convolutionLength(op, *src, *second, *dst);
  else if (kind.starts_with("Reduce") || kind == "BiasAddBackward")
    length = count(*src) / count(*dst);
  else if (kind.find("Pool") != std::string::npos)
    length = count(op.attrOr<Dims>("kernel", {}));
  else if (kind.starts_with("SoftMax"))
    length = dimAt(*src, op.attrOr<int64_t>("axis", 1));
  else if (kind.starts_with("LogSoftmax"))
    length = dimAt(*src, op.attrOr<int64_t>("axis", -1));
  else if (kind.find("Norm") != std::string::npos)
    length = normLength(op, *src);
  else if (kind == "LSTM" && second)
    // One step's sums over x and h; a gate forgets earlier errors.
    length = dimAt(*src, -1) + dimAt(*dst, -1);
  else if (kind == "PReLUBackward" && second)
    length = count(*src) / count(*second);
  else if (kind.starts_with("LRN"))
    length = lrnLength(op, *src);
  else if (kind == "Interpolate" &&
           op.attrOr<std::string>("mode", "nearest") != "nearest")
    // Two neighbours per spatial dim.
    length = int64_t{1} << (std::clamp<size_t>(src->size(), 2, 62) - 2);
  else if (kind == "InterpolateBackward" && second)
    length = std::max<int64_t>(count(*second) / count(*src), 1) * 2;
  return std::max<int64_t>(length, 1);
}

} // namespace tenon::check
