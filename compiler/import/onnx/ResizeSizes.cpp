// SPDX-License-Identifier: Apache-2.0
//
// Resampling to sizes that depend on those of inputs, as one of two images that
// are joined is brought to the size of the other. Interpolate needs its sizes;
// here each dim gathers what it is made of. Places are fractions of integers,
// so that none is rounded to the wrong side.
#include "compiler/import/onnx/ResizeSizes.h"

#include <algorithm>

namespace tenon::onnx {

namespace {

/// One dim of `x`.
class ResizedDim {
public:
  ResizedDim(NodeContext &n, int64_t axis, const Size &size, Value sizeNumber,
             const Places &places)
      : n(n), axis(axis), out(sizeNumber), coordinates(places.coordinates),
        nearestMode(places.nearest) {
    Value zeros = n.expandTo(integer(0), {size});
    place = n.indexAlong(zeros, 0);
  }

  Value run(Value x) {
    Value shape = n.op("Shape", {x}, {}, DType::s64);
    in = n.reshape(n.slice(shape, 0, axis, axis + 1), {});
    last = n.op("Subtract", {in, integer(1)});
    findPlaces();
    if (n.failed())
      return kNone;
    std::string mode = n.text("mode", "nearest");
    if (mode == "cubic")
      return cubic(x);
    numerator = atLeast0(numerator);
    return mode == "nearest" ? nearest(x) : linear(x);
  }

private:
  Value integer(double value) { return n.scalar(value, DType::s64); }
  Value times(Value a, Value b) { return n.op("Multiply", {a, b}); }
  Value less(Value a, Value b) { return n.op("Subtract", {a, b}); }
  Value plus(Value a, Value b) { return n.op("Add", {a, b}); }
  Value atLeast0(Value a) { return n.op("Maximum", {a, integer(0)}); }

  /// Each place among those of src is numerator / over.
  void findPlaces() {
    if (coordinates == "asymmetric") {
      numerator = times(place, in);
      over = out;
    } else if (coordinates == "align_corners") {
      numerator = times(place, last);
      over = n.op("Maximum", {less(out, integer(1)), integer(1)});
    } else if (coordinates == "half_pixel" ||
               coordinates == "pytorch_half_pixel") {
      Value odd = plus(times(place, integer(2)), integer(1));
      numerator = less(times(odd, in), out);
      over = times(out, integer(2));
      if (coordinates == "pytorch_half_pixel")
        numerator = n.select(n.equal(out, integer(1)),
                             times(numerator, integer(0)), numerator);
    } else {
      return n.refuse("sizes that depend on those of inputs, with "
                      "coordinate_transformation_mode " +
                      coordinates);
    }
  }

  Value gathered(Value x, Value indices) {
    return n.op("Gather", {x, indices}, {{"axis", axis}}, n.type(x));
  }

  Value nearest(Value x) {
    const std::string &mode = nearestMode;
    Value twice = times(numerator, integer(2)), both = times(over, integer(2));
    Value top = numerator, bottom = over;
    if (mode == "ceil") {
      top = less(plus(numerator, over), integer(1));
    } else if (mode == "round_prefer_ceil") {
      top = plus(twice, over);
      bottom = both;
    } else if (mode == "round_prefer_floor") {
      // ceil(place - 1 / 2)
      top = plus(atLeast0(less(twice, over)), less(both, integer(1)));
      bottom = both;
    }
    Value index = n.op("Divide", {top, bottom});
    return gathered(x, n.op("Minimum", {index, last}));
  }

  Value linear(Value x) {
    Value at = n.op("Minimum", {numerator, times(last, over)});
    Value low = n.op("Divide", {at, over});
    Value high = n.op("Minimum", {plus(low, integer(1)), last});
    Value weight = alongAxis(x, quotient(less(at, times(low, over))));
    Value left = less(n.like(x, 1), weight);
    return plus(times(gathered(x, low), left),
                times(gathered(x, high), weight));
  }

  Value quotient(Value rest) {
    return n.op("Divide", {n.cast(rest, DType::f32), n.cast(over, DType::f32)});
  }

  /// A number for each entry of `axis`: behind it are dims of 1.
  Value alongAxis(Value x, Value numbers) {
    Dims behind;
    for (int64_t i = axis + 1; i < n.rank(x); ++i)
      behind.push_back(i - axis);
    return n.cast(n.unsqueeze(numbers, behind), n.type(x));
  }

  /// Two neighbours on each side; those outside are the last ones inside.
  Value cubic(Value x) {
    // No place is further outside than one entry, so none is below 0 here.
    Value low = less(n.op("Divide", {plus(numerator, over), over}), integer(1));
    Value t = quotient(less(numerator, times(low, over)));
    Value left = less(n.like(t, 1), t);
    Value sum = kNone;
    for (int64_t i = -1; i <= 2; ++i) {
      Value weight = i == -1  ? farWeight(t)
                     : i == 0 ? nearWeight(t)
                     : i == 1 ? nearWeight(left)
                              : farWeight(left);
      Value at = plus(low, integer(static_cast<double>(i)));
      Value entry = gathered(x, n.op("Minimum", {atLeast0(at), last}));
      Value part = times(entry, alongAxis(x, weight));
      sum = sum == kNone ? part : plus(sum, part);
    }
    return sum;
  }

  /// ((a + 2) t - (a + 3)) t^2 + 1, of a neighbour t away.
  Value nearWeight(Value t) {
    double a = n.number("cubic_coeff_a", -0.75f);
    Value line = less(times(t, n.like(t, a + 2)), n.like(t, a + 3));
    return plus(times(times(line, t), t), n.like(t, 1));
  }

  /// ((a u - 5 a) u + 8 a) u - 4 a, of one that is u = t + 1 away.
  Value farWeight(Value t) {
    double a = n.number("cubic_coeff_a", -0.75f);
    Value u = plus(t, n.like(t, 1));
    Value line = less(times(u, n.like(u, a)), n.like(u, 5 * a));
    Value square = plus(times(line, u), n.like(u, 8 * a));
    return less(times(square, u), n.like(u, 4 * a));
  }

  NodeContext &n;
  int64_t axis;
  Value out, place;
  std::string coordinates, nearestMode;
  Value in = kNone, last = kNone;
  Value numerator = kNone, over = kNone;
};

} // namespace

bool resizeToSizes(NodeContext &n, Value sizes, const Places &places) {
  std::string mode = n.text("mode", "nearest");
  if ((mode != "nearest" && mode != "linear" && mode != "cubic") ||
      n.integer("antialias", 0) || n.integer("exclude_outside", 0) ||
      n.has("axes") ||
      n.text("keep_aspect_ratio_policy", "stretch") != "stretch" ||
      !n.isFloat(n.in(0)))
    return false;
  std::optional<Sizes> before = n.sizesOf(n.in(0)),
                       after = n.elementsAsSizes(sizes);
  if (!before || !after || before->size() != after->size())
    return false;
  Value x = n.in(0);
  for (size_t i = 0; i < after->size() && !n.failed(); ++i) {
    const Size &from = (*before)[i], &to = (*after)[i];
    bool isKept = from.isKnown() ? from.number == to.number
                                 : from.expression == to.expression;
    if (isKept)
      continue;
    auto axis = static_cast<int64_t>(i);
    Value size = n.reshape(n.slice(sizes, 0, axis, axis + 1), {});
    x = ResizedDim(n, axis, to, size, places).run(x);
  }
  n.out(0, x);
  return true;
}

bool resizeByFactors(NodeContext &n, Value factors, const Places &places) {
  Value x = n.in(0);
  if (n.shape(factors) != Dims{n.rank(x)})
    return false;
  Value shape = n.cast(n.op("Shape", {x}, {}, DType::s64), DType::f32);
  Value exact = n.op("Multiply", {shape, factors});
  Value whole = n.op("Floor", {exact});
  // A place is divided by the factor, which is the quotient of the sizes then
  // only.
  Value rest = n.op("Subtract", {exact, whole});
  Value isOdd = n.cast(n.greater(rest, n.like(rest, 1e-3)), DType::s64);
  std::optional<Sizes> odd = n.elementsAsSizes(isOdd);
  auto isZero = [](const Size &size) {
    return size.isKnown() && size.number == 0;
  };
  if (n.failed() || !odd || !std::ranges::all_of(*odd, isZero))
    return false;
  return resizeToSizes(n, n.cast(whole, DType::s64), places);
}

} // namespace tenon::onnx
