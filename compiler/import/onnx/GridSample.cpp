// SPDX-License-Identifier: Apache-2.0
//
// Samples of images at places that a tensor says.
#include "compiler/import/onnx/Conversions.h"

namespace tenon::onnx {

namespace {

/// A place along one spatial dim, in elements, of each sample: N, samples, 1.
struct Place {
  Value at = kNone;
  int64_t size = 0;
};
/// Of each spatial dim, the outermost one first.
using Places = std::vector<Place>;

class Sampler {
public:
  explicit Sampler(NodeContext &n)
      : n(n), padding(n.text("padding_mode", "zeros")),
        alignCorners(n.integer("align_corners", 0) != 0) {}

  /// Operands are images N, C, ... and places N, ..., one number for each
  /// spatial dim, of which the innermost is first.
  void run() {
    Dims image = n.knownShape(n.in(0)), grid = n.knownShape(n.in(1));
    if (n.failed())
      return;
    size_t spatial = grid.empty() ? 0 : grid.size() - 2;
    if (spatial < 1 || spatial > 3 || image.size() != grid.size() ||
        grid.back() != static_cast<int64_t>(spatial) || image[0] != grid[0])
      return n.refuse("images of other than 1 to 3 spatial dims");
    Dims result(grid.begin() + 1, grid.end() - 1);
    int64_t samples = reference::elementCount(result);
    result.insert(result.begin(), {image[0], image[1]});
    Value all =
        n.reshape(n.cast(n.in(1), DType::f32), {grid[0], samples, grid.back()});
    Places at;
    for (size_t i = 0; i < spatial; ++i)
      at.push_back(
          {place(all, static_cast<int64_t>(spatial - 1 - i), image[i + 2]),
           image[i + 2]});
    std::string mode = n.text("mode", "bilinear");
    setImages(n.in(0), image);
    Value sampled = mode == "nearest"                        ? nearest(at)
                    : mode == "bicubic" || mode == "cubic"   ? cubic(at)
                    : mode == "bilinear" || mode == "linear" ? linear(at)
                                                             : kNone;
    if (sampled == kNone)
      return n.refuse("mode " + mode);
    n.out(0, n.reshape(n.transpose(sampled, {0, 2, 1}), result));
  }

  /// The images N, C, ... that are sampled.
  void setImages(Value images, const Dims &dims) {
    int64_t count = reference::elementCount(Dims(dims.begin() + 2, dims.end()));
    pixels =
        n.transpose(n.reshape(images, {dims[0], dims[1], count}), {0, 2, 1});
  }

  /// N, samples, C.
  Value linear(Places at) {
    std::vector<Values> weights;
    for (Place &place : at) {
      place.at = padded(place);
      Value part = fraction(place.at);
      weights.push_back({shifted(scaled(part, -1), 1), part});
      place.at = n.op("Floor", {place.at});
    }
    return weighted(at, weights, false);
  }

private:
  Value number(double value) { return n.scalar(value, DType::f32); }
  Value add(Value a, Value b) { return n.op("Add", {a, b}); }
  Value shifted(Value a, double by) { return add(a, number(by)); }
  Value times(Value a, Value b) { return n.op("Multiply", {a, b}); }
  Value scaled(Value a, double by) { return times(a, number(by)); }
  Value fraction(Value a) { return n.op("Subtract", {a, n.op("Floor", {a})}); }
  Value clamped(Value a, double most) {
    return n.op("Clamp", {a},
                {{"min", 0.0f}, {"max", static_cast<float>(most)}});
  }

  /// From -1 to 1, the centres or the borders of the outer elements, to
  /// elements.
  Value place(Value places, int64_t which, int64_t size) {
    Value at = n.slice(places, 2, which, which + 1);
    auto count = static_cast<double>(size);
    return alignCorners ? scaled(shifted(at, 1), (count - 1) / 2)
                        : shifted(scaled(shifted(at, 1), count / 2), -0.5);
  }

  /// A place within the image, unless what is outside is 0.
  Value padded(const Place &place) {
    auto last = static_cast<double>(place.size - 1);
    if (padding == "border")
      return clamped(place.at, last);
    if (padding != "reflection")
      return place.at;
    double low = alignCorners ? 0 : -0.5, span = alignCorners ? last : last + 1;
    if (span == 0)
      return scaled(place.at, 0);
    // A triangle wave with the period 2 * span.
    Value distance = n.op("Abs", {shifted(place.at, -low)});
    Value turn = n.op("Remainder", {distance, number(2 * span)});
    Value back = n.op("Abs", {shifted(turn, -span)});
    return clamped(shifted(scaled(back, -1), span + low), last);
  }

  /// Elements at whole places; outside the image, 0.
  Value tap(const Places &places) {
    Value index = kNone;
    for (const Place &place : places) {
      Value at = clamped(place.at, static_cast<double>(place.size - 1));
      at = n.cast(at, DType::s64);
      Value size = n.scalar(static_cast<double>(place.size), DType::s64);
      index = index == kNone ? at : add(times(index, size), at);
    }
    Value taken =
        n.op("GatherND", {pixels, index}, {{"batch_dims", int64_t{1}}});
    for (const Place &place : places) {
      auto end = static_cast<double>(place.size);
      Value inside = n.op("And", {n.greater(place.at, number(-1)),
                                  n.less(place.at, number(end))});
      taken = n.select(inside, taken, n.like(taken, 0));
    }
    return taken;
  }

  Value nearest(Places at) {
    for (Place &place : at)
      place.at = n.op("Round", {padded(place)});
    return tap(at);
  }

  /// The sum of taps from whole places on, by the weights of each dim.
  Value weighted(const Places &from, const std::vector<Values> &weights,
                 bool padTaps) {
    Value sum = kNone;
    int64_t count = 1;
    for (const Values &own : weights)
      count *= static_cast<int64_t>(own.size());
    for (int64_t tapIndex = 0; tapIndex < count; ++tapIndex) {
      int64_t rest = tapIndex;
      Places at = from;
      Value weight = kNone;
      for (size_t d = from.size(); d-- > 0;) {
        auto size = static_cast<int64_t>(weights[d].size());
        at[d].at = shifted(at[d].at, static_cast<double>(rest % size));
        if (padTaps)
          at[d].at = padded(at[d]);
        Value own = weights[d][rest % size];
        weight = weight == kNone ? own : times(weight, own);
        rest /= size;
      }
      Value term = tap(at);
      term = times(term, n.cast(weight, n.type(term)));
      sum = sum == kNone ? term : add(sum, term);
    }
    return sum;
  }

  /// Weights of four elements, the second of which is at the floor. The
  /// polynomial has the coefficient -0.75.
  Values cubicWeights(Value at) {
    Value part = fraction(at);
    auto polynomial = [&](Value x, double a, double b, double c, double d) {
      Value sum = shifted(scaled(x, a), b);
      return shifted(times(shifted(times(sum, x), c), x), d);
    };
    auto inner = [&](Value x) { return polynomial(x, 1.25, -2.25, 0, 1); };
    auto outer = [&](Value x) { return polynomial(x, -0.75, 3.75, -6, 3); };
    Value rest = shifted(scaled(part, -1), 1);
    return {outer(shifted(part, 1)), inner(part), inner(rest),
            outer(shifted(rest, 1))};
  }

  Value cubic(Places at) {
    std::vector<Values> weights;
    for (Place &place : at) {
      weights.push_back(cubicWeights(place.at));
      place.at = shifted(n.op("Floor", {place.at}), -1);
    }
    return weighted(at, weights, true);
  }

  NodeContext &n;
  std::string padding;
  bool alignCorners;
  Value pixels = kNone; // N, elements of an image, C
};

} // namespace

static void gridSample(NodeContext &n) { Sampler(n).run(); }

namespace {

/// Operands X, weights O, C, kernel, offsets N, G * taps * 2, result, bias, and
/// a mask N, G * taps, result: each of G groups of channels has its own
/// offsets, rows first.
class DeformConv {
public:
  explicit DeformConv(NodeContext &n) : n(n) {}

  void run() {
    image = n.knownShape(n.in(0));
    kernel = n.knownShape(n.in(1));
    result = n.knownShape(n.in(2));
    groups = n.integer("offset_group", 1);
    if (n.failed())
      return;
    if (image.size() != 4 || kernel.size() != 4 || result.size() != 4)
      return n.refuse("images of other than 2 spatial dims");
    taps = reference::elementCount({kernel[2], kernel[3]});
    samples = reference::elementCount({taps, result[2], result[3]});
    strides = n.integers("strides").value_or(Dims{1, 1});
    dilations = n.integers("dilations").value_or(Dims{1, 1});
    pads = n.integers("pads").value_or(Dims{0, 0, 0, 0});
    if (groups < 1 || image[1] % groups || samples < 1 || samples > (1 << 22) ||
        groups > (1 << 20) || result[1] != groups * taps * 2 ||
        strides.size() != 2 || dilations.size() != 2 || pads.size() != 4)
      return n.refuse("offsets that do not fit");
    Value patches = sampled();
    if (n.in(4) != kNone) {
      Value mask = n.reshape(n.in(4), {image[0], groups, 1, samples});
      patches = n.op("Multiply", {patches, mask});
    }
    // A convolution over taps with the same weights.
    patches =
        n.reshape(patches, {image[0], image[1], taps, result[2] * result[3]});
    Value weights = n.reshape(n.in(1), {kernel[0], kernel[1], taps, 1});
    Value sums = n.op("Convolution", {patches, weights, n.in(3)},
                      {{"data_format", "NCX"},
                       {"weights_format", "OIX"},
                       {"groups", n.integer("group", 1)},
                       {"strides", Dims{1, 1}},
                       {"dilations", Dims{1, 1}},
                       {"pads_begin", Dims{0, 0}},
                       {"pads_end", Dims{0, 0}}});
    n.out(0, n.reshape(sums, {image[0], kernel[0], result[2], result[3]}));
  }

private:
  /// N, groups, channels of a group, samples: taps and then the result.
  Value sampled() {
    int64_t batch = image[0] * groups, channels = image[1] / groups;
    Value offsets = n.reshape(n.cast(n.in(2), DType::f32),
                              {batch, taps, 2, result[2] * result[3]});
    Places places{along(offsets, 0), along(offsets, 1)};
    Sampler sampler(n);
    Dims dims{batch, channels, image[2], image[3]};
    sampler.setImages(n.reshape(n.in(0), dims), dims);
    Value all = n.transpose(sampler.linear(places), {0, 2, 1});
    return n.reshape(all, {image[0], groups, channels, samples});
  }

  /// The place of each sample along spatial dim `d`.
  Place along(Value offsets, int64_t d) {
    reference::Tensor base = reference::zeros(DType::f32, {1, samples, 1});
    for (int64_t i = 0; i < samples; ++i) {
      int64_t tap = i / (result[2] * result[3]);
      int64_t at = i % (result[2] * result[3]);
      int64_t tapAt = d == 0 ? tap / kernel[3] : tap % kernel[3];
      int64_t resultAt = d == 0 ? at / result[3] : at % result[3];
      base.data[i] =
          static_cast<double>(resultAt) * static_cast<double>(strides[d]) -
          static_cast<double>(pads[d]) +
          static_cast<double>(tapAt) * static_cast<double>(dilations[d]);
    }
    Value own = n.slice(offsets, 2, d, d + 1);
    own = n.reshape(own, {image[0] * groups, samples, 1});
    return {n.op("Add", {own, n.constant(std::move(base))}), image[d + 2]};
  }

  NodeContext &n;
  Dims image, kernel, result, strides, dilations, pads;
  int64_t groups = 1, taps = 1, samples = 1;
};

} // namespace

static void deformConv(NodeContext &n) { DeformConv(n).run(); }

std::span<const OpConversion> gridSampleConversions() {
  static constexpr OpConversion table[] = {{"DeformConv", 19, deformConv},
                                           {"GridSample", 16, gridSample}};
  return table;
}

} // namespace tenon::onnx
