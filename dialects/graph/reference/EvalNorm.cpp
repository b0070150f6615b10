//===- EvalNorm.cpp - normalisations and softmax --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Variances are population variances, computed from the centred values.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/OpContext.h"

#include <cmath>
#include <limits>

namespace tenon::reference {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct Moments {
  double mean = 0, variance = 0;
};

/// Mean and variance of the values `at(0) .. at(count - 1)`.
template <typename At> Moments momentsOf(int64_t count, At at) {
  Moments m;
  for (int64_t i = 0; i < count; ++i)
    m.mean += at(i);
  m.mean /= static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i)
    m.variance += (at(i) - m.mean) * (at(i) - m.mean);
  m.variance /= static_cast<double>(count);
  return m;
}

/// The row split of LayerNorm and RMSNorm.
struct Rows {
  Dims lead;
  int64_t rows = 1, length = 1;
};

std::optional<Rows> rowsFrom(OpContext &c) {
  const Dims &shape = c.in(0).shape;
  auto axis = c.axis("begin_norm_axis", -1, c.in(0).rank());
  if (!axis)
    return std::nullopt;
  Rows rows;
  rows.lead.assign(shape.begin(), shape.begin() + *axis);
  rows.rows = elementCount(rows.lead);
  for (size_t d = *axis; d < shape.size(); ++d)
    rows.length *= shape[d];
  return rows;
}

/// gamma and beta (operands 1, 2) when use_affine says so.
bool checkAffine(OpContext &c, int64_t length, bool &affine) {
  affine = c.flag("use_affine", true);
  if (!affine)
    return true;
  if (!c.hasIn(2))
    return c.fail(ErrorCode::OperandCount,
                  "use_affine is true, gamma and beta are missing",
                  "give them, or set use_affine to false");
  return c.requireLength(1, length) && c.requireLength(2, length);
}

/// Mean and variance results (1, 2) when keep_stats says so.
bool setStatShapes(OpContext &c, const Dims &shape, bool &keep) {
  keep = c.flag("keep_stats", true) && c.hasOut(2);
  for (size_t i = 1; i < c.outputs.size(); ++i)
    if (!c.setShape(i, shape))
      return false;
  return true;
}

bool evalLayerNorm(OpContext &c) {
  const Tensor &src = c.in(0);
  auto rows = rowsFrom(c);
  bool affine, keep;
  if (!rows || !checkAffine(c, rows->length, affine) ||
      !c.setShape(0, src.shape) || !setStatShapes(c, rows->lead, keep))
    return false;
  double epsilon = c.f32("epsilon", 1e-5f);
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const double *s = src.data.data() + r * rows->length;
      Moments m = momentsOf(rows->length, [&](int64_t i) { return s[i]; });
      double scale = 1 / std::sqrt(m.variance + epsilon);
      for (int64_t i = 0; i < rows->length; ++i) {
        double x = (s[i] - m.mean) * scale;
        c.out().data[r * rows->length + i] =
            affine ? c.in(1).data[i] * x + c.in(2).data[i] : x;
      }
      if (keep) {
        c.out(1).data[r] = m.mean;
        c.out(2).data[r] = m.variance;
      }
    }
  };
  parallelFor(c.threads, rows->rows, 16, run);
  return true;
}

bool evalRmsNorm(OpContext &c) {
  const Tensor &src = c.in(0);
  auto rows = rowsFrom(c);
  if (!rows || (c.hasIn(1) && !c.requireLength(1, rows->length)) ||
      !c.setShape(0, src.shape))
    return false;
  double epsilon = c.f32("epsilon", 1e-5f);
  for (int64_t r = 0; r < rows->rows; ++r) {
    const double *s = src.data.data() + r * rows->length;
    double square = 0;
    for (int64_t i = 0; i < rows->length; ++i)
      square += s[i] * s[i];
    double root =
        std::sqrt(square / static_cast<double>(rows->length) + epsilon);
    for (int64_t i = 0; i < rows->length; ++i)
      c.out().data[r * rows->length + i] =
          s[i] / root * (c.hasIn(1) ? c.in(1).data[i] : 1);
  }
  return true;
}

bool evalGroupNorm(OpContext &c) {
  const Tensor &src = c.in(0);
  if (!c.requireRank(0, 2))
    return false;
  AxisSplit split = splitAt(src.shape, c.channelDim(src.rank()));
  int64_t groups = c.s64("groups", 1), channels = split.length;
  int64_t batch = src.shape[0];
  if (groups < 1 || channels % groups != 0)
    return c.fail(ErrorCode::AttrValue,
                  "groups " + std::to_string(groups) + " does not divide " +
                      std::to_string(channels) + " channels");
  bool affine, keep;
  if (!checkAffine(c, channels, affine) || !c.setShape(0, src.shape) ||
      !setStatShapes(c, {batch, groups}, keep))
    return false;
  int64_t perGroup = channels / groups;
  // Channel last puts the spatial dims before the channel, else after it.
  int64_t before = batch ? split.outer / batch : 0;
  int64_t count = before * perGroup * split.inner;
  double epsilon = c.f32("epsilon", 1e-5f);
  for (int64_t ng = 0; ng < batch * groups; ++ng) {
    int64_t n = ng / groups, g = ng % groups;
    auto channelAt = [&](int64_t i) {
      return g * perGroup + i / split.inner % perGroup;
    };
    auto indexAt = [&](int64_t i) {
      int64_t x = i / (split.inner * perGroup);
      return ((n * before + x) * channels + channelAt(i)) * split.inner +
             i % split.inner;
    };
    Moments m =
        momentsOf(count, [&](int64_t i) { return src.data[indexAt(i)]; });
    double scale = 1 / std::sqrt(m.variance + epsilon);
    for (int64_t i = 0; i < count; ++i) {
      double x = (src.data[indexAt(i)] - m.mean) * scale;
      int64_t ch = channelAt(i);
      c.out().data[indexAt(i)] =
          affine ? c.in(1).data[ch] * x + c.in(2).data[ch] : x;
    }
    if (keep) {
      c.out(1).data[ng] = m.mean;
      c.out(2).data[ng] = m.variance;
    }
  }
  return true;
}

bool evalBatchNormInference(OpContext &c) {
  const Tensor &src = c.in(0);
  if (!c.requireRank(0, 2))
    return false;
  AxisSplit split = splitAt(src.shape, c.channelDim(src.rank()));
  for (size_t i = 1; i < 5; ++i)
    if (!c.requireLength(i, split.length))
      return false;
  if (!c.setShape(0, src.shape))
    return false;
  double epsilon = c.f32("epsilon", 1e-5f);
  const auto &gamma = c.in(1).data, &beta = c.in(2).data;
  const auto &mean = c.in(3).data, &variance = c.in(4).data;
  for (int64_t i = 0; i < src.numElements(); ++i) {
    int64_t ch = i / split.inner % split.length;
    c.out().data[i] = gamma[ch] * (src.data[i] - mean[ch]) /
                          std::sqrt(variance[ch] + epsilon) +
                      beta[ch];
  }
  return true;
}

bool evalBatchNormTraining(OpContext &c) {
  const Tensor &src = c.in(0);
  if (!c.requireRank(0, 2))
    return false;
  AxisSplit split = splitAt(src.shape, c.channelDim(src.rank()));
  for (size_t i = 1; i < c.inputs.size(); ++i)
    if (!c.requireLength(i, split.length))
      return false;
  if (c.inputs.size() == 4)
    return c.fail(ErrorCode::OperandCount, "gamma without beta",
                  "give both or neither");
  if (!c.setShape(0, src.shape))
    return false;
  for (size_t i = 1; i < c.outputs.size(); ++i)
    if (!c.setShape(i, {split.length}))
      return false;
  double epsilon = c.f32("epsilon", 1e-5f);
  double momentum = c.f32("momentum", 0.5f); // weight of the old value
  int64_t count = split.outer * split.inner;
  for (int64_t ch = 0; ch < split.length; ++ch) {
    auto indexAt = [&](int64_t i) {
      return (i / split.inner * split.length + ch) * split.inner +
             i % split.inner;
    };
    Moments m =
        momentsOf(count, [&](int64_t i) { return src.data[indexAt(i)]; });
    double scale = 1 / std::sqrt(m.variance + epsilon);
    double gamma = c.hasIn(4) ? c.in(3).data[ch] : 1;
    double beta = c.hasIn(4) ? c.in(4).data[ch] : 0;
    for (int64_t i = 0; i < count; ++i)
      c.out().data[indexAt(i)] =
          gamma * (src.data[indexAt(i)] - m.mean) * scale + beta;
    double results[] = {momentum * c.in(1).data[ch] + (1 - momentum) * m.mean,
                        momentum * c.in(2).data[ch] +
                            (1 - momentum) * m.variance,
                        m.mean, m.variance};
    for (size_t i = 1; i < c.outputs.size(); ++i)
      c.out(i).data[ch] = results[i - 1];
  }
  return true;
}

/// Calls `row(first index, index of the row)` for every line along the axis;
/// element k of a line is at first + k * split.inner.
template <typename Row>
void forEachLine(OpContext &c, const AxisSplit &split, Row row) {
  parallelFor(c.threads, split.outer * split.inner, 16,
              [&](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; ++r)
                  row(r / split.inner * split.length * split.inner +
                          r % split.inner,
                      r);
              });
}

double lineMax(const std::vector<double> &data, int64_t first,
               const AxisSplit &split) {
  double max = -inf;
  for (int64_t k = 0; k < split.length; ++k)
    max = std::max(max, data[first + k * split.inner]);
  return max;
}

bool evalSoftMax(OpContext &c) {
  const Tensor &src = c.in(0);
  auto axis = c.axis("axis", 1, src.rank());
  if (!axis || !c.setShape(0, src.shape))
    return false;
  Dims statsShape = src.shape;
  statsShape[*axis] = 1;
  if (c.hasOut(1) && !c.setShape(1, statsShape))
    return false;
  bool infAsZero = c.text("mode", "none") == "inf_as_zero";
  AxisSplit split = splitAt(src.shape, *axis);
  auto &dst = c.out().data;
  forEachLine(c, split, [&](int64_t first, int64_t row) {
    double max = lineMax(src.data, first, split), sum = 0;
    bool masked = max == -inf && infAsZero;
    for (int64_t k = 0; k < split.length; ++k) {
      int64_t i = first + k * split.inner;
      // A NaN element does not win lineMax but makes the sum NaN; a row of
      // -inf gives exp(-inf + inf) = NaN, as mode "none" asks.
      bool isNan = std::isnan(src.data[i]);
      dst[i] = masked && !isNan ? 0 : std::exp(src.data[i] - max);
      sum += dst[i];
    }
    for (int64_t k = 0; k < split.length; ++k)
      if (!masked || std::isnan(sum))
        dst[first + k * split.inner] /= sum;
    if (c.hasOut(1))
      c.out(1).data[row] = masked && !std::isnan(sum) ? 0 : max + std::log(sum);
  });
  return true;
}

bool evalLogSoftmax(OpContext &c) {
  const Tensor &src = c.in(0);
  auto axis = c.axis("axis", -1, src.rank());
  if (!axis || !c.setShape(0, src.shape))
    return false;
  AxisSplit split = splitAt(src.shape, *axis);
  forEachLine(c, split, [&](int64_t first, int64_t) {
    double max = lineMax(src.data, first, split), others = 0;
    int64_t top = -1; // the first of the largest: its term is 1
    for (int64_t k = 0; k < split.length; ++k) {
      double difference = src.data[first + k * split.inner] - max;
      if (difference == 0 && top < 0)
        top = k;
      else
        others += std::exp(difference);
    }
    // Without the 1, which would leave few digits of small terms.
    double shift = top < 0 ? std::log(others) : std::log1p(others);
    for (int64_t k = 0; k < split.length; ++k) {
      int64_t i = first + k * split.inner;
      c.out().data[i] = src.data[i] - max - shift;
    }
  });
  return true;
}

} // namespace

std::span<const OpEntry> normOps() {
  static constexpr OpEntry entries[] = {
      {"BatchNormForwardTraining", evalBatchNormTraining},
      {"BatchNormInference", evalBatchNormInference},
      {"GroupNorm", evalGroupNorm},
      {"LayerNorm", evalLayerNorm},
      {"LogSoftmax", evalLogSoftmax},
      {"RMSNorm", evalRmsNorm},
      {"SoftMax", evalSoftMax},
  };
  return entries;
}

} // namespace tenon::reference
