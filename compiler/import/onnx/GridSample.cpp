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

class Sampler {
public:
  explicit Sampler(NodeContext &n)
      : n(n), padding(n.text("padding_mode", "zeros")),
        alignCorners(n.integer("align_corners", 0) != 0) {}

  void run() {
    Dims image = n.knownShape(n.in(0)), grid = n.knownShape(n.in(1));
    if (n.failed())
      return;
    if (image.size() != 4 || grid.size() != 4 || grid[3] != 2 ||
        image[0] != grid[0])
      return n.refuse("images of other than 2 spatial dims");
    int64_t samples = grid[1] * grid[2];
    Value places =
        n.reshape(n.cast(n.in(1), DType::f32), {grid[0], samples, 2});
    columns = {place(places, 0, image[3]), image[3]};
    rows = {place(places, 1, image[2]), image[2]};
    pixels = n.reshape(n.transpose(n.in(0), {0, 2, 3, 1}),
                       {image[0], image[2] * image[3], image[1]});
    std::string mode = n.text("mode", "bilinear");
    Value result = mode == "nearest"                        ? nearest()
                   : mode == "bicubic" || mode == "cubic"   ? cubic()
                   : mode == "bilinear" || mode == "linear" ? linear()
                                                            : kNone;
    if (result == kNone)
      return n.refuse("mode " + mode);
    result = n.transpose(result, {0, 2, 1});
    n.out(0, n.reshape(result, {image[0], image[1], grid[1], grid[2]}));
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
    Value at = n.op("Slice", {places},
                    {{"axes", Dims{2}},
                     {"begins", Dims{which}},
                     {"ends", Dims{which + 1}}});
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
  Value tap(const Place &row, const Place &column) {
    auto within = [&](const Place &place) {
      Value at = clamped(place.at, static_cast<double>(place.size - 1));
      return n.cast(at, DType::s64);
    };
    Value width = n.scalar(static_cast<double>(column.size), DType::s64);
    Value index = add(times(within(row), width), within(column));
    Value taken =
        n.op("GatherND", {pixels, index}, {{"batch_dims", int64_t{1}}});
    for (const Place *place : {&row, &column}) {
      auto end = static_cast<double>(place->size);
      Value inside = n.op("And", {n.greater(place->at, number(-1)),
                                  n.less(place->at, number(end))});
      taken = n.select(inside, taken, n.like(taken, 0));
    }
    return taken;
  }

  Value nearest() {
    return tap({n.op("Round", {padded(rows)}), rows.size},
               {n.op("Round", {padded(columns)}), columns.size});
  }

  /// The sum of taps from a whole place on, by the weights of each dim.
  Value weighted(const Place &row, const Place &column,
                 const Values &rowWeights, const Values &columnWeights,
                 bool padTaps) {
    Value sum = kNone;
    auto moved = [&](const Place &place, size_t by) {
      Place result{shifted(place.at, static_cast<double>(by)), place.size};
      if (padTaps)
        result.at = padded(result);
      return result;
    };
    for (size_t i = 0; i < rowWeights.size(); ++i)
      for (size_t k = 0; k < columnWeights.size(); ++k) {
        Value weight = times(rowWeights[i], columnWeights[k]);
        Value term = tap(moved(row, i), moved(column, k));
        term = n.op("Multiply", {term, n.cast(weight, n.type(term))});
        sum = sum == kNone ? term : add(sum, term);
      }
    return sum;
  }

  Value linear() {
    Value row = padded(rows), column = padded(columns);
    auto weights = [&](Value at) {
      Value part = fraction(at);
      return Values{shifted(scaled(part, -1), 1), part};
    };
    return weighted({n.op("Floor", {row}), rows.size},
                    {n.op("Floor", {column}), columns.size}, weights(row),
                    weights(column), false);
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

  Value cubic() {
    return weighted({shifted(n.op("Floor", {rows.at}), -1), rows.size},
                    {shifted(n.op("Floor", {columns.at}), -1), columns.size},
                    cubicWeights(rows.at), cubicWeights(columns.at), true);
  }

  NodeContext &n;
  std::string padding;
  bool alignCorners;
  Place rows, columns;
  Value pixels = kNone; // N, H * W, C
};

} // namespace

static void gridSample(NodeContext &n) { Sampler(n).run(); }

std::span<const OpConversion> gridSampleConversions() {
  static constexpr OpConversion table[] = {{"GridSample", 16, gridSample}};
  return table;
}

} // namespace tenon::onnx
