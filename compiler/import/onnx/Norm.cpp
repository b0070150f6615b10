// SPDX-License-Identifier: Apache-2.0
//
// Normalisations and softmax.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>

namespace tenon::onnx {

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Before version 13 the dims from axis on are normalised as if they were one:
/// `normalized` gets a tensor and the dim of it to normalise.
template <typename Normalized>
static void overFlattened(NodeContext &n, Normalized normalized) {
  Value x = n.in(0);
  auto rank = static_cast<int64_t>(n.rank(x));
  int64_t axis = n.axisOf(n.integer("axis", 1), static_cast<int>(rank));
  if (n.failed())
    return;
  if (axis == rank - 1)
    return n.out(0, normalized(x, axis));
  Sizes sizes = *n.sizesOf(x);
  Value flat =
      n.reshapeTo(x, {productOf(sizes, 0, axis), productOf(sizes, axis, rank)});
  n.out(0, n.reshapeTo(normalized(flat, 1), sizes));
}

static void softmax1(NodeContext &n) {
  overFlattened(n, [&](Value x, int64_t axis) {
    return n.op(n.conversion().kind, {x}, {{"axis", axis}});
  });
}

static void softmax13(NodeContext &n) {
  n.out(0, n.op(n.conversion().kind, {n.in(0)},
                {{"axis", n.integer("axis", -1)}}));
}

/// 1 at the first maximum, 0 elsewhere.
static Value hardmaxAlong(NodeContext &n, Value x, int64_t axis) {
  Value place = n.op("ArgMax", {x}, {{"axis", axis}}, DType::s64);
  return n.cast(n.equal(n.indexAlong(x, axis), place), n.type(x));
}

static void hardmax1(NodeContext &n) {
  overFlattened(
      n, [&](Value x, int64_t axis) { return hardmaxAlong(n, x, axis); });
}

static void hardmax13(NodeContext &n) {
  n.out(0, hardmaxAlong(n, n.in(0), n.integer("axis", -1)));
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

Value statistic(NodeContext &n, Value numbers) {
  return numbers == kNone ? kNone : n.cast(numbers, DType::f32);
}

static Value invStdDev(NodeContext &n, Value variance, float epsilon) {
  Value sum = n.op("Add", {variance, n.like(variance, epsilon)});
  return n.op("Reciprocal", {n.op("Sqrt", {sum})});
}

static Value zeros(NodeContext &n, Dims shape) {
  return n.op("Expand", {n.scalar(0, DType::f32)},
              {{"shape", std::move(shape)}});
}

/// Mean and 1 / sqrt(variance + epsilon) keep normalised dims with size 1.
static void layerNorm(NodeContext &n) {
  Value x = n.in(0);
  int rank = n.rank(x);
  int64_t axis = n.axisOf(n.integer("axis", -1), rank);
  float epsilon = n.number("epsilon", 1e-5f);
  bool stats = n.wants(1) || n.wants(2);
  graph::AttrMap attrs{{"begin_norm_axis", axis},
                       {"epsilon", epsilon},
                       {"keep_stats", stats},
                       {"use_affine", true}};
  Value beta = n.in(2) != kNone ? statistic(n, n.in(2))
                                : zeros(n, n.knownShape(n.in(1)));
  Values operands{x, statistic(n, n.in(1)), beta};
  if (!stats)
    return n.out(0, n.op("LayerNorm", operands, attrs));
  Values results =
      n.ops("LayerNorm", operands, attrs, {n.type(x), DType::f32, DType::f32});
  Dims added;
  for (int64_t i = axis; i < rank; ++i)
    added.push_back(i);
  n.out(0, results[0]);
  n.out(1, n.unsqueeze(results[1], added));
  n.out(2, n.unsqueeze(invStdDev(n, results[2], epsilon), added));
}

static void instanceNorm(NodeContext &n) {
  Value x = n.in(0);
  Dims dims = n.shape(x);
  if (dims.size() < 2 || dims[1] == graph::kUnknownDim)
    return n.refuse("the number of channels is not known");
  n.out(0, n.op("GroupNorm", {x, statistic(n, n.in(1)), statistic(n, n.in(2))},
                {{"groups", dims[1]},
                 {"keep_stats", false},
                 {"epsilon", n.number("epsilon", 1e-5f)},
                 {"data_format", "NCX"}}));
}

/// gamma * x / sqrt(mean(x^2) + epsilon); result 1 is the divisor's inverse,
/// with dims of 1.
static void rmsNorm(NodeContext &n) {
  Value x = n.in(0), gamma = n.in(1);
  int rank = n.rank(x);
  int64_t axis = n.axisOf(n.integer("axis", -1), rank);
  float epsilon = n.number("epsilon", 1e-5f);
  if (n.failed())
    return;
  Dims dims = n.shape(x);
  Dims normalised(dims.begin() + axis, dims.end());
  if (Dims given = n.shape(gamma); given != normalised && !given.empty() &&
                                   std::count(given.begin(), given.end(), 1))
    gamma = n.op("Expand", {gamma}, {{"shape", normalised}});
  n.out(0, n.op("RMSNorm", {x, gamma},
                {{"begin_norm_axis", axis}, {"epsilon", epsilon}}));
  if (!n.wants(1))
    return;
  Dims axes;
  for (int64_t i = axis; i < rank; ++i)
    axes.push_back(i);
  x = n.cast(x, DType::f32);
  n.out(1, invStdDev(n, n.reduce("ReduceMean", n.op("Square", {x}), axes, true),
                     epsilon));
}

/// Numbers of each group, or since version 21 of each channel, as in Tenon.
static Value ofChannels(NodeContext &n, Value numbers, int64_t groups) {
  Dims dims = n.shape(n.in(0));
  if (n.opset() < 21 && dims.size() > 1 && groups > 0 && dims[1] > 0) {
    Value column = n.reshape(numbers, {groups, 1});
    numbers =
        n.op("Expand", {column}, {{"shape", Dims{groups, dims[1] / groups}}});
    numbers = n.reshape(numbers, {-1});
  }
  return statistic(n, numbers);
}

static void groupNorm(NodeContext &n) {
  int64_t groups = n.integer("num_groups", 1);
  n.out(0, n.op("GroupNorm",
                {n.in(0), ofChannels(n, n.in(1), groups),
                 ofChannels(n, n.in(2), groups)},
                {{"groups", groups},
                 {"keep_stats", false},
                 {"epsilon", n.number("epsilon", 1e-5f)},
                 {"data_format", "NCX"}}));
}

/// Operands are X, scale, B, mean, var.
static void batchNorm(NodeContext &n) {
  float epsilon = n.number("epsilon", 1e-5f);
  if (!n.integer("spatial", 1))
    return n.refuse("statistics per element");
  Value gamma = statistic(n, n.in(1)), beta = statistic(n, n.in(2)),
        mean = statistic(n, n.in(3)), variance = statistic(n, n.in(4));
  if (!n.integer("training_mode", 0))
    return n.out(0, n.op("BatchNormInference",
                         {n.in(0), gamma, beta, mean, variance},
                         {{"epsilon", epsilon}, {"data_format", "NCX"}}));
  DType stats = DType::f32;
  Values results =
      n.ops("BatchNormForwardTraining", {n.in(0), mean, variance, gamma, beta},
            {{"epsilon", epsilon},
             {"momentum", n.number("momentum", 0.9f)},
             {"data_format", "NCX"}},
            {n.type(n.in(0)), stats, stats, stats, stats});
  n.out(0, results[0]);
  for (size_t i = 1; i < 3; ++i)
    n.out(i, n.cast(results[i], n.type(n.in(3))));
}

/// (x - mean) / (sqrt(variance) + 1e-9) over `axes`.
static void meanVariance(NodeContext &n) {
  Value x = n.in(0);
  Dims axes = n.integers("axes").value_or(Dims{0, 2, 3});
  Value mean = n.reduce("ReduceMean", x, axes, true);
  Value centred = n.op("Subtract", {x, mean});
  Value variance =
      n.reduce("ReduceMean", n.op("Square", {centred}), axes, true);
  Value deviation = n.op("Add", {n.op("Sqrt", {variance}), n.like(x, 1e-9)});
  n.out(0, n.op("Divide", {centred, deviation}));
}

static void lpNorm(NodeContext &n) {
  Value x = n.in(0);
  std::string_view kind = n.integer("p", 2) == 1 ? "ReduceL1" : "ReduceL2";
  Value norm = n.reduce(kind, x, {n.integer("axis", -1)}, true);
  // Zeros stay zeros.
  Value divisor =
      n.select(n.equal(norm, n.like(norm, 0)), n.like(norm, 1), norm);
  n.out(0, n.op("Divide", {x, divisor}));
}

static void lrn(NodeContext &n) {
  int64_t size = n.integer("size", 1);
  if (size % 2 == 0)
    return n.refuse("a window of an even size");
  n.out(0, n.op("LRN", {n.in(0)},
                {{"size", size},
                 {"alpha", n.number("alpha", 0.0001f)},
                 {"beta", n.number("beta", 0.75f)},
                 {"k", n.number("bias", 1)},
                 {"data_format", "NCX"}}));
}

std::span<const OpConversion> normConversions() {
  static constexpr OpConversion table[] = {
      {"BatchNormalization", 1, batchNorm},
      {"GroupNormalization", 18, groupNorm},
      {"Hardmax", 1, hardmax1},
      {"Hardmax", 13, hardmax13},
      {"InstanceNormalization", 1, instanceNorm},
      {"LRN", 1, lrn},
      {"LayerNormalization", 17, layerNorm},
      {"LogSoftmax", 1, softmax1, "LogSoftmax"},
      {"LogSoftmax", 13, softmax13, "LogSoftmax"},
      {"LpNormalization", 1, lpNorm},
      {"MeanVarianceNormalization", 9, meanVariance},
      {"RMSNormalization", 23, rmsNorm},
      {"SimplifiedLayerNormalization", 1, rmsNorm}, // of optimised models
      {"Softmax", 1, softmax1, "SoftMax"},
      {"Softmax", 13, softmax13, "SoftMax"},
  };
  return table;
}

} // namespace tenon::onnx
