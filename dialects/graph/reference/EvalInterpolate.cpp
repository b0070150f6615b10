//===- EvalInterpolate.cpp - Interpolate and its gradient -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every output element reads up to two source elements per spatial dim, each
// with a weight; the gradient scatters with the same weights.  The ratio is
// that of the actual sizes, never attribute `scales`.  linear, bilinear and
// trilinear mean the same; the rank of src decides.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Window.h"

#include <cmath>

namespace tenon::reference {
namespace {

/// What one output coordinate reads along one dim.
struct Tap {
  int64_t index[2] = {0, 0};
  double weight[2] = {1, 0};
};

struct Resampling {
  Dims in, out;
  std::vector<std::vector<Tap>> taps; // per dim, per output coordinate
  int64_t batch = 0, channels = 0;
  bool channelLast = true;
};

Tap tapFor(int64_t position, int64_t in, int64_t out, bool alignCorners,
           bool nearest) {
  double x = 0;
  if (!alignCorners)
    x = (position + 0.5) * static_cast<double>(in) / out - 0.5;
  else if (out > 1)
    x = position * static_cast<double>(in - 1) / static_cast<double>(out - 1);
  auto clamped = [&](double v) {
    return static_cast<int64_t>(
        std::clamp(v, 0.0, static_cast<double>(in - 1)));
  };
  Tap tap;
  if (nearest) {
    tap.index[0] = tap.index[1] = clamped(std::round(x)); // halves away from 0
    return tap;
  }
  double low = std::floor(x);
  tap.index[0] = clamped(low);
  tap.index[1] = clamped(low + 1);
  tap.weight[1] = x - low;
  tap.weight[0] = 1 - tap.weight[1];
  return tap;
}

/// The resampling of a tensor of `srcShape`; `out` sizes are given.
std::optional<Resampling> build(OpContext &c, const Dims &srcShape, Dims out) {
  Resampling r;
  r.channelLast = c.channelLast();
  r.batch = srcShape[0];
  r.channels = srcShape[r.channelLast ? srcShape.size() - 1 : 1];
  r.in = spatialOf(srcShape, r.channelLast);
  r.out = std::move(out);
  bool nearest = c.text("mode", "nearest") == "nearest";
  bool corners =
      c.text("coordinate_transformation_mode", "half_pixel") == "align_corners";
  for (size_t d = 0; d < r.in.size(); ++d) {
    if (r.in[d] == 0 && r.out[d] != 0) {
      c.fail(ErrorCode::BadDim, "spatial dim " + std::to_string(d) +
                                    " of src is 0, of dst " +
                                    std::to_string(r.out[d]));
      return std::nullopt;
    }
    r.taps.emplace_back();
    for (int64_t o = 0; o < r.out[d]; ++o)
      r.taps.back().push_back(tapFor(o, r.in[d], r.out[d], corners, nearest));
  }
  return r;
}

/// Calls `visit(output position, source position, weight)` for all sources
/// with a weight other than 0.
template <typename Visit> void forEachRead(const Resampling &r, Visit visit) {
  size_t dims = r.in.size();
  forEachPosition(r.out, [&](const Dims &at, int64_t to) {
    for (uint64_t corner = 0; corner < uint64_t{1} << dims; ++corner) {
      int64_t from = 0;
      double weight = 1;
      for (size_t d = 0; d < dims; ++d) {
        const Tap &tap = r.taps[d][at[d]];
        from = from * r.in[d] + tap.index[corner >> d & 1];
        weight *= tap.weight[corner >> d & 1];
      }
      if (weight != 0)
        visit(to, from, weight);
    }
  });
}

/// Output sizes as the attributes or the sizes operand give them.
std::optional<Dims> outputSizes(OpContext &c, const Dims &in, size_t operand) {
  Dims sizes = c.list("sizes");
  auto scales = c.op.attrOr<std::vector<float>>("scales", {});
  if (c.hasIn(operand)) {
    sizes.clear();
    for (double value : c.in(operand).data)
      sizes.push_back(static_cast<int64_t>(value));
  } else if (sizes.empty() && scales.size() == in.size()) {
    for (size_t d = 0; d < in.size(); ++d)
      // In f32, the type of the attribute: 10 * 0.7f is 7.
      sizes.push_back(static_cast<int64_t>(
          std::clamp(static_cast<float>(in[d]) * scales[d], 0.0f, 1e12f)));
  }
  if (sizes.size() == in.size() && elementCount(sizes) >= 0)
    return sizes;
  c.fail(ErrorCode::AttrValue,
         "neither sizes nor scales has one entry per spatial dim (" +
             std::to_string(in.size()) + ")");
  return std::nullopt;
}

bool evalInterpolate(OpContext &c) {
  if (!c.requireRank(0, 3))
    return false;
  const Dims &shape = c.in(0).shape;
  auto sizes = outputSizes(c, spatialOf(shape, c.channelLast()), 1);
  if (!sizes || !c.checkSize(*sizes))
    return false;
  auto r = build(c, shape, *sizes);
  if (!r ||
      !c.setShape(0, dataShape(r->batch, r->channels, r->out, r->channelLast)))
    return false;
  auto src = toChannelLast(c.in(0), r->channelLast);
  std::vector<double> dst(c.out().data.size(), 0);
  int64_t inCount = elementCount(r->in), outCount = elementCount(r->out);
  for (int64_t n = 0; n < r->batch; ++n)
    forEachRead(*r, [&](int64_t to, int64_t from, double weight) {
      for (int64_t ch = 0; ch < r->channels; ++ch)
        dst[(n * outCount + to) * r->channels + ch] +=
            weight * src[(n * inCount + from) * r->channels + ch];
    });
  fromChannelLast(dst, c.out(), r->channelLast);
  return true;
}

bool evalInterpolateBackward(OpContext &c) {
  if (!c.requireRank(0, 3) || !c.requireRank(1, 3))
    return false;
  const Dims &shape = c.in(0).shape, &diffShape = c.in(1).shape;
  bool last = c.channelLast();
  auto r = diffShape.size() == shape.size()
               ? build(c, shape, spatialOf(diffShape, last))
               : std::nullopt;
  if (!r || diffShape != dataShape(r->batch, r->channels, r->out, last))
    return c.fail(ErrorCode::ShapeMismatch, "diff_dst " + shapeText(diffShape) +
                                                " is no interpolation of src " +
                                                shapeText(shape));
  if (!c.setShape(0, shape))
    return false;
  auto diffDst = toChannelLast(c.in(1), last);
  std::vector<double> diffSrc(c.out().data.size(), 0);
  int64_t inCount = elementCount(r->in), outCount = elementCount(r->out);
  for (int64_t n = 0; n < r->batch; ++n)
    forEachRead(*r, [&](int64_t to, int64_t from, double weight) {
      for (int64_t ch = 0; ch < r->channels; ++ch)
        diffSrc[(n * inCount + from) * r->channels + ch] +=
            weight * diffDst[(n * outCount + to) * r->channels + ch];
    });
  fromChannelLast(diffSrc, c.out(), last);
  return true;
}

} // namespace

std::span<const OpEntry> interpolateOps() {
  static constexpr OpEntry entries[] = {
      {"Interpolate", evalInterpolate},
      {"InterpolateBackward", evalInterpolateBackward},
  };
  return entries;
}

} // namespace tenon::reference
