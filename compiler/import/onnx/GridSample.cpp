// SPDX-License-Identifier: Apache-2.0
//
// Samples of images at places that a tensor says.
#include "compiler/import/onnx/Conversions.h"

namespace tenon::onnx {

namespace {

/// One spatial dim of images. Scalars of a size that is not known are computed
/// by the code.
struct Extent {
  int64_t number = graph::kUnknownDim;
  Value asFloat = kNone, asInteger = kNone; // f32 and s64, if not known

  bool isKnown() const { return number != graph::kUnknownDim; }
};

/// A place along one spatial dim, in elements, of each sample: N, samples, 1.
struct Place {
  Value at = kNone;
  Extent size = {};
};
/// Of each spatial dim, the outermost one first.
using Places = std::vector<Place>;

Sizes sizesFrom(const Dims &dims) {
  Sizes sizes;
  for (int64_t dim : dims)
    sizes.push_back({dim, ""});
  return sizes;
}

class Sampler {
public:
  explicit Sampler(NodeContext &n)
      : n(n), padding(n.text("padding_mode", "zeros")),
        alignCorners(n.integer("align_corners", 0) != 0) {}

  /// Operands are images N, C, ... and places N, ..., one number for each
  /// spatial dim, of which the innermost is first.
  void run() {
    n.shape(n.in(0)); // of unknown rank: an error
    n.shape(n.in(1));
    if (n.failed())
      return;
    Sizes image = *n.sizesOf(n.in(0)), grid = *n.sizesOf(n.in(1));
    size_t spatial = grid.empty() ? 0 : grid.size() - 2;
    if (spatial < 1 || spatial > 3 || image.size() != grid.size())
      return n.refuse("images of other than 1 to 3 spatial dims");
    if (grid.back().number != static_cast<int64_t>(spatial))
      return n.refuse("places that are not one number for each spatial dim");
    if (image[0].isKnown() && grid[0].isKnown() &&
        image[0].number != grid[0].number)
      return n.refuse("images and places of other batches");
    std::string mode = n.text("mode", "bilinear");
    Places at = placesIn(image, grid);
    setImages(n.in(0), image);
    Value sampled = mode == "nearest"                        ? nearest(at)
                    : mode == "bicubic" || mode == "cubic"   ? cubic(at)
                    : mode == "bilinear" || mode == "linear" ? linear(at)
                                                             : kNone;
    if (sampled == kNone)
      return n.refuse("mode " + mode);
    Sizes result(grid.begin() + 1, grid.end() - 1);
    result.insert(result.begin(), {image[0], image[1]});
    n.out(0, n.reshapeTo(n.transpose(sampled, {0, 2, 1}), result));
  }

  /// The images N, C, ... that are sampled.
  void setImages(Value images, const Sizes &sizes) {
    Size count = productOf(sizes, 2, static_cast<int64_t>(sizes.size()));
    pixels = n.transpose(n.reshapeTo(images, {sizes[0], sizes[1], count}),
                         {0, 2, 1});
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
  /// The size, times a factor, and more.
  Value of(const Extent &size, double factor, double more) {
    if (size.isKnown())
      return number(static_cast<double>(size.number) * factor + more);
    return shifted(scaled(size.asFloat, factor), more);
  }
  /// From 0 to the last element.
  Value clamped(Value a, const Extent &size) {
    if (size.isKnown())
      return n.op(
          "Clamp", {a},
          {{"min", 0.0f}, {"max", static_cast<float>(size.number - 1)}});
    return n.op("Minimum", {n.op("Maximum", {a, number(0)}), of(size, 1, -1)});
  }

  Places placesIn(const Sizes &image, const Sizes &grid) {
    auto spatial = static_cast<int64_t>(grid.size()) - 2;
    Size samples = productOf(grid, 1, spatial + 1);
    Value all = n.reshapeTo(n.cast(n.in(1), DType::f32),
                            {grid[0], samples, grid.back()});
    Places at;
    for (int64_t i = 0; i < spatial; ++i) {
      Extent size{image[i + 2].number};
      if (!size.isKnown()) {
        Value shape = n.op("Shape", {n.in(0)}, {}, DType::s64);
        size.asInteger = n.reshape(n.slice(shape, 0, i + 2, i + 3), {});
        size.asFloat = n.cast(size.asInteger, DType::f32);
      }
      at.push_back({place(all, spatial - 1 - i, size), size});
    }
    return at;
  }

  /// From -1 to 1, the centres or the borders of the outer elements, to
  /// elements.
  Value place(Value places, int64_t which, const Extent &size) {
    Value at = shifted(n.slice(places, 2, which, which + 1), 1);
    return alignCorners ? times(at, of(size, 0.5, -0.5))
                        : shifted(times(at, of(size, 0.5, 0)), -0.5);
  }

  /// A place within the image, unless what is outside is 0.
  Value padded(const Place &place) {
    if (padding == "border")
      return clamped(place.at, place.size);
    if (padding != "reflection")
      return place.at;
    double low = alignCorners ? 0 : -0.5, less = alignCorners ? -1 : 0;
    if (place.size.number == 1 && alignCorners)
      return scaled(place.at, 0);
    Value span = of(place.size, 1, less);
    // One element has no span then, and is where all places are cut to.
    if (!place.size.isKnown())
      span = n.op("Maximum", {span, number(1)});
    // A triangle wave with the period 2 * span.
    Value distance = n.op("Abs", {shifted(place.at, -low)});
    Value turn = n.op("Remainder", {distance, scaled(span, 2)});
    Value back = n.op("Abs", {n.op("Subtract", {turn, span})});
    Value at = shifted(n.op("Subtract", {span, back}), low);
    return clamped(at, place.size);
  }

  /// Elements at whole places; outside the image, 0.
  Value tap(const Places &places) {
    Value index = kNone;
    for (const Place &place : places) {
      Value at = n.cast(clamped(place.at, place.size), DType::s64);
      Value size =
          place.size.isKnown()
              ? n.scalar(static_cast<double>(place.size.number), DType::s64)
              : place.size.asInteger;
      index = index == kNone ? at : add(times(index, size), at);
    }
    Value taken =
        n.op("GatherND", {pixels, index}, {{"batch_dims", int64_t{1}}});
    for (const Place &place : places) {
      Value inside = n.op("And", {n.greater(place.at, number(-1)),
                                  n.less(place.at, of(place.size, 1, 0))});
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
    sampler.setImages(n.reshape(n.in(0), dims), sizesFrom(dims));
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
    return {n.op("Add", {own, n.constant(std::move(base))}), {image[d + 2]}};
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
