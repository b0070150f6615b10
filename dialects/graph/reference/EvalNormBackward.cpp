//===- EvalNormBackward.cpp - gradients of norms and softmax --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// BatchNormTrainingBackward with one result is another function than with
// three: it takes the statistics for constants and gamma for 1.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/OpContext.h"

#include <cmath>

namespace tenon::reference {
namespace {

bool evalBatchNorm(OpContext &c) {
  const Tensor &src = c.in(0), &diffDst = c.in(1);
  if (!c.requireRank(0, 2) || !c.requireShape(1, src.shape))
    return false;
  AxisSplit split = splitAt(src.shape, c.channelDim(src.rank()));
  for (size_t i = 2; i < c.inputs.size(); ++i)
    if (!c.requireLength(i, split.length))
      return false;
  if (!c.setShape(0, src.shape))
    return false;
  for (size_t i = 1; i < c.outputs.size(); ++i)
    if (!c.setShape(i, {split.length}))
      return false;
  double epsilon = c.f32("epsilon", 1e-5f);
  int64_t count = split.outer * split.inner;
  for (int64_t ch = 0; ch < split.length; ++ch) {
    double mean = c.in(2).data[ch];
    double scale = 1 / std::sqrt(c.in(3).data[ch] + epsilon);
    double gamma = c.hasIn(4) ? c.in(4).data[ch] : 1;
    double diffGamma = 0, diffBeta = 0;
    auto indexAt = [&](int64_t i) {
      return (i / split.inner * split.length + ch) * split.inner +
             i % split.inner;
    };
    if (!c.hasOut(1)) {
      for (int64_t i = 0; i < count; ++i)
        c.out().data[indexAt(i)] = diffDst.data[indexAt(i)] * scale;
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      double dd = diffDst.data[indexAt(i)];
      diffGamma += dd * (src.data[indexAt(i)] - mean) * scale;
      diffBeta += dd;
    }
    for (int64_t i = 0; i < count; ++i) {
      double x = (src.data[indexAt(i)] - mean) * scale;
      c.out().data[indexAt(i)] =
          gamma * scale *
          (diffDst.data[indexAt(i)] -
           (diffBeta + x * diffGamma) / static_cast<double>(count));
    }
    c.out(1).data[ch] = diffGamma;
    if (c.hasOut(2))
      c.out(2).data[ch] = diffBeta;
  }
  return true;
}

/// One row of LayerNormBackward; `gamma` may be null.
struct LayerNormRow {
  const double *src, *diffDst, *gamma;
  double mean, scale;
  int64_t length;

  double normalized(int64_t i) const { return (src[i] - mean) * scale; }
  double scaled(int64_t i) const { return diffDst[i] * (gamma ? gamma[i] : 1); }
  void writeDiffSrc(double *diffSrc) const {
    double sum = 0, weighted = 0;
    for (int64_t i = 0; i < length; ++i) {
      sum += scaled(i);
      weighted += scaled(i) * normalized(i);
    }
    for (int64_t i = 0; i < length; ++i)
      diffSrc[i] = scale * (scaled(i) - (sum + normalized(i) * weighted) /
                                            static_cast<double>(length));
  }
};

bool evalLayerNorm(OpContext &c) {
  const Tensor &src = c.in(0);
  auto axis = c.axis("begin_norm_axis", -1, src.rank());
  if (!axis || !c.requireShape(1, src.shape))
    return false;
  Dims lead(src.shape.begin(), src.shape.begin() + *axis);
  int64_t rows = elementCount(lead), length = 1;
  for (size_t d = *axis; d < src.shape.size(); ++d)
    length *= src.shape[d];
  bool affine = c.flag("use_affine", true);
  if (affine && !c.hasIn(4))
    return c.fail(ErrorCode::OperandCount,
                  "use_affine is true, gamma is missing",
                  "give it as operand 4, or set use_affine to false");
  if (!c.requireLength(2, rows) || !c.requireLength(3, rows) ||
      (affine && !c.requireLength(4, length)) || !c.setShape(0, src.shape))
    return false;
  for (size_t i = 1; i < c.outputs.size(); ++i)
    if (!c.setShape(i, affine ? c.in(4).shape : Dims{length}))
      return false;
  double epsilon = c.f32("epsilon", 1e-5f);
  for (int64_t r = 0; r < rows; ++r) {
    LayerNormRow row{src.data.data() + r * length,
                     c.in(1).data.data() + r * length,
                     affine ? c.in(4).data.data() : nullptr,
                     c.in(2).data[r],
                     1 / std::sqrt(c.in(3).data[r] + epsilon),
                     length};
    row.writeDiffSrc(c.out().data.data() + r * length);
    for (int64_t i = 0; c.hasOut(2) && i < length; ++i) {
      c.out(1).data[i] += row.diffDst[i] * row.normalized(i);
      c.out(2).data[i] += row.diffDst[i];
    }
  }
  return true;
}

/// gamma, if given, has one element per channel.
bool checkGroupNorm(OpContext &c, int64_t channels, int64_t groups) {
  if (groups < 1 || channels % groups != 0)
    return c.fail(ErrorCode::AttrValue,
                  "groups " + std::to_string(groups) + " does not divide " +
                      std::to_string(channels) + " channels");
  int64_t statistics = c.in(0).shape[0] * groups;
  return c.requireShape(1, c.in(0).shape) && c.requireLength(2, statistics) &&
         c.requireLength(3, statistics) &&
         (!c.hasIn(4) || c.requireLength(4, channels)) &&
         c.setShape(0, c.in(0).shape);
}

bool evalGroupNorm(OpContext &c) {
  const Tensor &src = c.in(0), &diffDst = c.in(1);
  if (!c.requireRank(0, 2))
    return false;
  AxisSplit split = splitAt(src.shape, c.channelDim(src.rank()));
  int64_t groups = c.s64("groups", 1), channels = split.length;
  if (!checkGroupNorm(c, channels, groups))
    return false;
  for (size_t i = 1; i < c.outputs.size(); ++i)
    if (!c.setShape(i, {channels}))
      return false;
  double epsilon = c.f32("epsilon", 1e-5f);
  int64_t perGroup = channels / groups, elements = src.numElements();
  int64_t perSample = src.shape[0] ? elements / src.shape[0] : 0;
  auto count = static_cast<double>(perSample / groups);
  auto channelOf = [&](int64_t i) { return i / split.inner % channels; };
  auto groupOf = [&](int64_t i) {
    return i / perSample * groups + channelOf(i) / perGroup;
  };
  auto scaleOf = [&](int64_t i) {
    return 1 / std::sqrt(c.in(3).data[groupOf(i)] + epsilon);
  };
  auto normalized = [&](int64_t i) {
    return (src.data[i] - c.in(2).data[groupOf(i)]) * scaleOf(i);
  };
  auto scaled = [&](int64_t i) {
    return diffDst.data[i] * (c.hasIn(4) ? c.in(4).data[channelOf(i)] : 1);
  };
  std::vector<double> sums(c.in(2).data.size(), 0), weighted = sums;
  for (int64_t i = 0; i < elements; ++i) {
    sums[groupOf(i)] += scaled(i);
    weighted[groupOf(i)] += scaled(i) * normalized(i);
    if (c.hasOut(1))
      c.out(1).data[channelOf(i)] += diffDst.data[i] * normalized(i);
    if (c.hasOut(2))
      c.out(2).data[channelOf(i)] += diffDst.data[i];
  }
  for (int64_t i = 0; i < elements; ++i)
    c.out().data[i] =
        scaleOf(i) *
        (scaled(i) -
         (sums[groupOf(i)] + normalized(i) * weighted[groupOf(i)]) / count);
  return true;
}

bool evalRmsNorm(OpContext &c) {
  const Tensor &src = c.in(0), &diffDst = c.in(1);
  auto axis = c.axis("begin_norm_axis", -1, src.rank());
  if (!axis)
    return false;
  Dims normalized(src.shape.begin() + *axis, src.shape.end());
  int64_t length = elementCount(normalized);
  if (!c.requireShape(1, src.shape) ||
      (c.hasIn(2) && !c.requireLength(2, length)) ||
      !c.setShape(0, src.shape) || (c.hasOut(1) && !c.setShape(1, normalized)))
    return false;
  double epsilon = c.f32("epsilon", 1e-5f);
  auto count = static_cast<double>(length);
  for (int64_t first = 0; first < src.numElements(); first += length) {
    const double *s = src.data.data() + first;
    const double *dd = diffDst.data.data() + first;
    auto scaled = [&](int64_t i) {
      return dd[i] * (c.hasIn(2) ? c.in(2).data[i] : 1);
    };
    double square = 0, weighted = 0;
    for (int64_t i = 0; i < length; ++i) {
      square += s[i] * s[i];
      weighted += scaled(i) * s[i];
    }
    double scale = 1 / std::sqrt(square / count + epsilon);
    for (int64_t i = 0; i < length; ++i) {
      c.out().data[first + i] =
          scale * (scaled(i) - s[i] * scale * scale * weighted / count);
      if (c.hasOut(1))
        c.out(1).data[i] += dd[i] * s[i] * scale;
    }
  }
  return true;
}

/// diff_src = f(dst, diff_dst, sum over the axis of g(dst, diff_dst)).
template <typename G, typename F>
bool alongAxis(OpContext &c, int64_t defaultAxis, G g, F f) {
  const Tensor &diffDst = c.in(0), &dst = c.in(1);
  auto axis = c.axis("axis", defaultAxis, diffDst.rank());
  if (!axis || !c.requireShape(1, diffDst.shape) ||
      !c.setShape(0, diffDst.shape))
    return false;
  AxisSplit split = splitAt(dst.shape, *axis);
  for (int64_t r = 0; r < split.outer * split.inner; ++r) {
    int64_t first =
        r / split.inner * split.length * split.inner + r % split.inner;
    double sum = 0;
    for (int64_t k = 0; k < split.length; ++k) {
      int64_t i = first + k * split.inner;
      sum += g(dst.data[i], diffDst.data[i]);
    }
    for (int64_t k = 0; k < split.length; ++k) {
      int64_t i = first + k * split.inner;
      c.out().data[i] = f(dst.data[i], diffDst.data[i], sum);
    }
  }
  return true;
}

bool evalSoftMax(OpContext &c) {
  return alongAxis(
      c, 1, [](double d, double dd) { return d * dd; },
      [](double d, double dd, double sum) { return d * (dd - sum); });
}

bool evalLogSoftmax(OpContext &c) {
  return alongAxis(
      c, -1, [](double, double dd) { return dd; },
      [](double d, double dd, double sum) { return dd - std::exp(d) * sum; });
}

} // namespace

std::span<const OpEntry> normBackwardOps() {
  static constexpr OpEntry entries[] = {
      {"BatchNormTrainingBackward", evalBatchNorm},
      {"GroupNormBackward", evalGroupNorm},
      {"LayerNormBackward", evalLayerNorm},
      {"LogSoftmaxBackward", evalLogSoftmax},
      {"RMSNormBackward", evalRmsNorm},
      {"SoftMaxBackward", evalSoftMax},
  };
  return entries;
}

} // namespace tenon::reference
