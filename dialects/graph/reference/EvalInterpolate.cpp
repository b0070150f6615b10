//===- EvalInterpolate.cpp - Interpolate and its gradient -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every output element reads some source elements per spatial dim, each with a
// weight; the gradient scatters with the same weights.  linear, bilinear and
// trilinear mean the same; the rank of src decides.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Window.h"

#include <cmath>

namespace tenon::reference {
namespace {

/// What one output coordinate reads along one dim.
struct Tap {
  int64_t index;
  double weight;
};
using Taps = std::vector<Tap>;

struct Resampling {
  Dims in, out;
  std::vector<std::vector<Taps>> taps; // per dim, per output coordinate
  int64_t batch = 0, channels = 0;
  bool channelLast = true;
};

/// The taps of output coordinates along one dim.
struct Sampler {
  std::string mode, coordinates, nearestMode;
  double a;
  bool excludeOutside, antialias;
  int64_t in, out;
  std::optional<float> scale; // instead of out / in

  double coordinate(int64_t position) const {
    // By a scale in f32, the type of the attribute: 3 / 0.6f is 5.
    auto scaled = [&](double shift) {
      if (scale)
        return static_cast<double>(
            (static_cast<float>(position) + static_cast<float>(shift)) /
            *scale);
      return (static_cast<double>(position) + shift) * static_cast<double>(in) /
             static_cast<double>(out);
    };
    if (coordinates == "align_corners")
      return out > 1
                 ? static_cast<double>(position) * static_cast<double>(in - 1) /
                       static_cast<double>(out - 1)
                 : 0;
    if (coordinates == "asymmetric")
      return scaled(0);
    if (coordinates == "tf_half_pixel_for_nn")
      return scaled(0.5);
    if (coordinates == "pytorch_half_pixel" && out == 1)
      return 0;
    double x = scaled(0.5) - 0.5;
    if (coordinates == "half_pixel_symmetric" && scale) {
      auto size = static_cast<double>(in);
      x += size / 2 * (1 - static_cast<double>(out) / (size * *scale));
    }
    return x;
  }

  double nearest(double x) const {
    if (nearestMode == "floor")
      return std::floor(x);
    if (nearestMode == "ceil")
      return std::ceil(x);
    if (nearestMode == "round_prefer_floor")
      return std::ceil(x - 0.5);
    if (nearestMode == "round_prefer_ceil")
      return std::floor(x + 0.5);
    return std::round(x); // halves away from 0
  }

  /// The weight of an element at distance `t`, in units of the filter.
  double weight(double t) const {
    t = std::fabs(t);
    if (mode != "cubic")
      return std::max(1 - t, 0.0);
    if (t <= 1)
      return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
  }

  Taps at(int64_t position) const {
    double x = coordinate(position), last = static_cast<double>(in - 1);
    auto clamped = [&](double v) {
      return static_cast<int64_t>(std::clamp(v, 0.0, last));
    };
    if (mode == "nearest")
      return {{clamped(nearest(x)), 1}};
    double radius = mode == "cubic" ? 2 : 1, unit = 1;
    if (antialias)
      unit =
          std::min(scale ? static_cast<double>(*scale)
                         : static_cast<double>(out) / static_cast<double>(in),
                   1.0);
    if (mode != "cubic" && unit == 1) {
      double low = std::floor(x), rest = x - low;
      return {{clamped(low), 1 - rest}, {clamped(low + 1), rest}};
    }
    double first = std::floor(x) + 1 - radius, past = std::floor(x) + radius;
    if (unit < 1) {
      first = std::floor(x - radius / unit);
      past = std::ceil(x + radius / unit);
    }
    Taps taps;
    double sum = 0;
    for (double i = first; i <= past; ++i) {
      if (excludeOutside && (i < 0 || i > last))
        continue;
      taps.push_back({clamped(i), weight(unit * (i - x))});
      sum += taps.back().weight;
    }
    if ((excludeOutside || unit < 1) && sum != 0)
      for (Tap &tap : taps)
        tap.weight /= sum;
    return taps;
  }
};

/// The resampling of a tensor of `srcShape`; `out` sizes are given.
std::optional<Resampling> build(OpContext &c, const Dims &srcShape, Dims out) {
  Resampling r;
  r.channelLast = c.channelLast();
  r.batch = srcShape[0];
  r.channels = srcShape[r.channelLast ? srcShape.size() - 1 : 1];
  r.in = spatialOf(srcShape, r.channelLast);
  r.out = std::move(out);
  auto scales = c.op.attrOr<std::vector<float>>("scales", {});
  bool usesScales = c.text("ratio", "sizes") == "scales";
  if (usesScales && scales.size() != r.in.size()) {
    c.fail(ErrorCode::MissingAttr,
           "ratio is scales, but attribute scales has " +
               std::to_string(scales.size()) + " entries");
    return std::nullopt;
  }
  for (size_t d = 0; d < r.in.size(); ++d) {
    if (r.in[d] == 0 && r.out[d] != 0) {
      c.fail(ErrorCode::BadDim, "spatial dim " + std::to_string(d) +
                                    " of src is 0, of dst " +
                                    std::to_string(r.out[d]));
      return std::nullopt;
    }
    Sampler sampler{c.text("mode", "nearest"),
                    c.text("coordinate_transformation_mode", "half_pixel"),
                    c.text("nearest_mode", "round"),
                    c.f32("cubic_coeff_a", -0.75),
                    c.flag("exclude_outside", false),
                    c.flag("antialias", false),
                    r.in[d],
                    r.out[d],
                    usesScales ? std::optional(scales[d]) : std::nullopt};
    r.taps.emplace_back();
    for (int64_t o = 0; o < r.out[d]; ++o)
      r.taps.back().push_back(sampler.at(o));
  }
  return r;
}

/// Calls `visit(output position, source position, weight)` for all sources
/// with a weight other than 0.
template <typename Visit> void forEachRead(const Resampling &r, Visit visit) {
  size_t dims = r.in.size();
  Dims counts(dims);
  forEachPosition(r.out, [&](const Dims &at, int64_t to) {
    for (size_t d = 0; d < dims; ++d)
      counts[d] = static_cast<int64_t>(r.taps[d][at[d]].size());
    forEachPosition(counts, [&](const Dims &which, int64_t) {
      int64_t from = 0;
      double weight = 1;
      for (size_t d = 0; d < dims; ++d) {
        const Tap &tap = r.taps[d][at[d]][which[d]];
        from = from * r.in[d] + tap.index;
        weight *= tap.weight;
      }
      if (weight != 0)
        visit(to, from, weight);
    });
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
