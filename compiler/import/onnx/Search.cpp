// SPDX-License-Identifier: Apache-2.0
//
// Positions of extremes, orders, running sums, boxes.
#include "compiler/import/onnx/Conversions.h"

#include <limits>

namespace tenon::onnx {

static void argExtreme(NodeContext &n) {
  n.out(0, n.op(n.conversion().kind, {n.in(0)},
                {{"axis", n.integer("axis", 0)},
                 {"keep_dims", n.integer("keepdims", 1) != 0},
                 {"last_index", n.integer("select_last_index", 0) != 0}},
                DType::s64));
}

/// What TopK puts behind all elements of a tensor that is padded with it: of
/// equal ones the first come first, and NaN is greater than any number.
static Value lastInOrder(NodeContext &n, DType type, bool largest) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (graph::isFloat(type))
    return n.scalar(
        largest ? -kInfinity : std::numeric_limits<double>::quiet_NaN(), type);
  if (type == DType::s64) {
    reference::Tensor tensor = reference::zeros(type, {});
    tensor.integers = {largest ? std::numeric_limits<int64_t>::min()
                               : std::numeric_limits<int64_t>::max()};
    return n.constant(std::move(tensor));
  }
  // Rounded to the bounds of the type.
  return n.scalar(largest ? -0x1p40 : 0x1p40, type);
}

/// The indices of dim `axis`, also where no expression is its size.
static Value placesAlong(NodeContext &n, Value x, int64_t axis) {
  Size size = (*n.sizesOf(x))[axis];
  if (size.isKnown() || !size.expression.empty())
    return n.indexAlong(n.expandTo(n.scalar(0, DType::s64), {size}), 0);
  Dims dims = n.shape(x);
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (d == axis)
      continue;
    if (dims[d] < 1) // unknown ones are, too
      n.refuse("k is the smaller of a number and a size, which is no sum or "
               "product of those of the inputs");
    x = n.slice(x, d, 0, 1);
  }
  return n.indexAlong(n.reshape(x, {graph::kUnknownDim}), 0);
}

/// TopK where k is the size of the dim, but at most `limit`, as exporters write
/// it for a search of unknown size: `limit` of as many elements more, and of
/// those the first ones. Another k than that is an index out of range.
static void topKOfAtMost(NodeContext &n, int64_t limit, int64_t axis,
                         graph::AttrMap attrs) {
  Value x = n.in(0);
  Value places = placesAlong(n, x, axis);
  Dims none(n.rank(x), 0), behind = none;
  behind[axis] = limit;
  bool largest = std::get<bool>(attrs.at("largest"));
  Value padded = n.op("Pad", {x, lastInOrder(n, n.type(x), largest)},
                      {{"pads_begin", none}, {"pads_end", behind}});
  attrs.emplace("k", limit);
  Values results = n.ops("TopK", {padded}, attrs, {n.type(x), DType::s64});
  places = n.slice(places, 0, 0, limit);
  Value count = n.reshape(n.op("Shape", {places}, {}, DType::s64), {});
  Value k = n.cast(n.reshape(n.in(1), {}), DType::s64);
  Value beyond = n.scalar(std::numeric_limits<int32_t>::max(), DType::s64);
  places = n.select(n.equal(k, count), places, beyond);
  for (size_t i : {0, 1})
    n.out(i, n.op("Gather", {results[i], places}, {{"axis", axis}}));
}

/// k is an attribute before version 10.
static void topK(NodeContext &n) {
  graph::AttrMap attrs{{"axis", n.integer("axis", -1)},
                       {"largest", n.integer("largest", 1) != 0}};
  Value count = kNone;
  if (n.opset() < 10) {
    attrs.emplace("k", n.integer("k", 0));
  } else if (auto known = n.known(n.in(1)); known && known->size() == 1) {
    attrs.emplace("k", known->front());
  } else {
    count = n.in(1);
    int64_t axis = n.axisOf(n.integer("axis", -1), n.rank(n.in(0)));
    if (n.failed())
      return;
    if (auto limit = n.limitOf(count, n.in(0), static_cast<size_t>(axis)))
      return topKOfAtMost(n, *limit, axis, std::move(attrs));
  }
  Values results =
      n.ops("TopK", {n.in(0), count}, attrs,
            {n.type(n.in(0)), n.wants(1) ? DType::s64 : DType::undef});
  n.out(0, results[0]);
  n.out(1, results[1]);
}

static void cumSum(NodeContext &n) {
  auto axis = static_cast<int64_t>(n.neededNumber(1, "the operand axis", 0));
  n.out(0, n.op("CumSum", {n.in(0)},
                {{"axis", axis},
                 {"exclusive", n.integer("exclusive", 0) != 0},
                 {"reverse", n.integer("reverse", 0) != 0}}));
}

/// Products of the elements up to each one: of twice as many with each of log2
/// of the size steps.
static void cumProd(NodeContext &n) {
  Value x = n.in(0);
  Dims dims = n.knownShape(x);
  auto rank = static_cast<int>(dims.size());
  int64_t axis = n.axisOf(
      static_cast<int64_t>(n.neededNumber(1, "the operand axis", 0)), rank);
  if (n.failed())
    return;
  bool reverse = n.integer("reverse", 0) != 0;
  Dims none(dims.size(), 0), begins = none, ends = none;
  // Elements `by` further, with ones where there are none.
  auto moved = [&](int64_t by) {
    Dims some = none;
    some[axis] = by;
    Value padded = n.op("Pad", {x, n.like(x, 1)},
                        {{"pads_begin", reverse ? none : some},
                         {"pads_end", reverse ? some : none}});
    int64_t begin = reverse ? by : 0;
    return n.slice(padded, axis, begin, begin + dims[axis]);
  };
  if (n.integer("exclusive", 0))
    x = moved(1);
  for (int64_t by = 1; by < dims[axis]; by *= 2)
    x = n.op("Multiply", {x, moved(by)});
  n.out(0, x);
}

static void nonZero(NodeContext &n) {
  Values results = n.ops("NonZero", {n.in(0)}, {}, {DType::s64, DType::s64});
  n.outCounted(0, results[0], results[1], 1);
}

static void nonMaxSuppression(NodeContext &n) {
  auto most = static_cast<int64_t>(
      n.neededNumber(2, "the operand max_output_boxes_per_class", 0));
  auto overlap =
      static_cast<float>(n.neededNumber(3, "the operand iou_threshold", 0));
  graph::AttrMap attrs{
      {"max_output_boxes_per_class", most},
      {"iou_threshold", overlap},
      {"center_point_box", n.integer("center_point_box", 0) != 0}};
  if (n.in(4) != kNone)
    attrs.emplace("score_threshold", static_cast<float>(n.neededNumber(
                                         4, "the operand score_threshold", 0)));
  Values results = n.ops("NonMaxSuppression", {n.in(0), n.in(1)}, attrs,
                         {DType::s64, DType::s64});
  n.outCounted(0, results[0], results[1], 0);
}

/// Regions are moved by half an element since version 16.
static void roiAlign(NodeContext &n) {
  std::string coordinates =
      n.text("coordinate_transformation_mode",
             n.opset() < 16 ? "output_half_pixel" : "half_pixel");
  n.out(0, n.op("RoiAlign", {n.in(0), n.in(1), n.in(2)},
                {{"mode", n.text("mode", "avg")},
                 {"output_height", n.integer("output_height", 1)},
                 {"output_width", n.integer("output_width", 1)},
                 {"sampling_ratio", n.integer("sampling_ratio", 0)},
                 {"spatial_scale", n.number("spatial_scale", 1)},
                 {"coordinate_transformation_mode", coordinates},
                 {"data_format", "NCX"}}));
}

std::span<const OpConversion> searchConversions() {
  static constexpr OpConversion table[] = {
      {"ArgMax", 1, argExtreme, "ArgMax"},
      {"ArgMin", 1, argExtreme, "ArgMin"},
      {"CumProd", 26, cumProd},
      {"CumSum", 11, cumSum},
      {"NonMaxSuppression", 10, nonMaxSuppression},
      {"NonZero", 9, nonZero},
      {"RoiAlign", 10, roiAlign},
      {"TopK", 1, topK},
  };
  return table;
}

} // namespace tenon::onnx
