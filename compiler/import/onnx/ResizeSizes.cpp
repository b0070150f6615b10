// SPDX-License-Identifier: Apache-2.0
//
// Resampling to sizes that depend on those of inputs, as one of two images that
// are joined is brought to the size of the other. Interpolate needs its sizes;
// here each dim gathers what it is made of. Places are fractions of integers,
// so that none is rounded to the wrong side.
#include "compiler/import/onnx/ResizeSizes.h"

namespace tenon::onnx {

namespace {

/// One dim of `x`.
class ResizedDim {
public:
  ResizedDim(NodeContext &n, int64_t axis, const Size &size, Value sizeNumber)
      : n(n), axis(axis), out(sizeNumber),
        coordinates(n.text("coordinate_transformation_mode", "half_pixel")) {
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
    return n.text("mode", "nearest") == "nearest" ? nearest(x) : linear(x);
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
    numerator = atLeast0(numerator);
  }

  Value gathered(Value x, Value indices) {
    return n.op("Gather", {x, indices}, {{"axis", axis}}, n.type(x));
  }

  Value nearest(Value x) {
    std::string mode = n.text("nearest_mode", "round_prefer_floor");
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
    Value rest = n.cast(less(at, times(low, over)), DType::f32);
    Value weight = n.op("Divide", {rest, n.cast(over, DType::f32)});
    // Along `axis`: behind it are dims of 1.
    Dims behind;
    for (int64_t i = axis + 1; i < n.rank(x); ++i)
      behind.push_back(i - axis);
    weight = n.cast(n.unsqueeze(weight, behind), n.type(x));
    Value left = n.op("Subtract", {n.like(x, 1), weight});
    return plus(times(gathered(x, low), left),
                times(gathered(x, high), weight));
  }

  NodeContext &n;
  int64_t axis;
  Value out, place;
  std::string coordinates;
  Value in = kNone, last = kNone;
  Value numerator = kNone, over = kNone;
};

} // namespace

bool resizeToSizes(NodeContext &n) {
  std::string mode = n.text("mode", "nearest");
  if ((mode != "nearest" && mode != "linear") || n.integer("antialias", 0) ||
      n.integer("exclude_outside", 0) || n.has("axes") ||
      n.text("keep_aspect_ratio_policy", "stretch") != "stretch" ||
      !n.isFloat(n.in(0)))
    return false;
  std::optional<Sizes> before = n.sizesOf(n.in(0)),
                       after = n.elementsAsSizes(n.in(3));
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
    Value size = n.reshape(n.slice(n.in(3), 0, axis, axis + 1), {});
    x = ResizedDim(n, axis, to, size).run(x);
  }
  n.out(0, x);
  return true;
}

} // namespace tenon::onnx
