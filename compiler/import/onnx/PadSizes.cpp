// SPDX-License-Identifier: Apache-2.0
//
// Pads that are computed from sizes. The operation Pad needs their numbers;
// here each dim gathers the entries that the result has, by places that are
// computed when the code runs. What the pads are need then have no expression,
// only the size of the result must.
#include "compiler/import/onnx/PadSizes.h"

namespace tenon::onnx {

namespace {

/// One dim of `x`, and the scalars of its pads.
class PaddedDim {
public:
  PaddedDim(NodeContext &n, Value x, int64_t axis, Value begin, Value end)
      : n(n), x(x), axis(axis), begin(begin) {
    Value shape = n.op("Shape", {x}, {}, DType::s64);
    in = n.reshape(n.slice(shape, 0, axis, axis + 1), {});
    last = less(in, integer(1));
    out = n.op("Add", {n.op("Add", {in, begin}), end});
  }

  /// Whether the size of the result is known, or an expression.
  bool isFound() {
    auto found = n.elementsAsSizes(out);
    if (found && found->size() == 1)
      size = found->front();
    return found.has_value();
  }

  Value run(const std::string &mode, Value value) {
    Value places = n.indexAlong(n.expandTo(integer(0), {size}), 0);
    Value source = less(places, begin);
    if (mode == "reflect")
      return gathered(reflected(source));
    Value nearest = atMost(n.op("Maximum", {source, integer(0)}), last);
    Value entries = gathered(nearest);
    if (mode == "edge")
      return entries;
    // Along `axis`: behind it are dims of 1.
    Dims behind;
    for (int64_t i = axis + 1; i < n.rank(x); ++i)
      behind.push_back(i - axis);
    Value isInside = n.unsqueeze(n.equal(source, nearest), behind);
    // Select takes its shape from the operands behind its condition.
    return n.select(isInside, entries, n.expandLike(value, entries));
  }

private:
  Value integer(double number) { return n.scalar(number, DType::s64); }
  Value less(Value a, Value b) { return n.op("Subtract", {a, b}); }
  Value atMost(Value a, Value b) { return n.op("Minimum", {a, b}); }
  Value gathered(Value indices) {
    return n.op("Gather", {x, indices}, {{"axis", axis}}, n.type(x));
  }

  /// There and back again, without the entries at both ends: as often as it
  /// takes.
  Value reflected(Value source) {
    Value twice = n.op("Multiply", {last, integer(2)});
    Value period = n.op("Maximum", {twice, integer(1)});
    Value ahead = n.op("Abs", {source});
    Value rounds = n.op("Divide", {ahead, period});
    Value within = less(ahead, n.op("Multiply", {rounds, period}));
    return atMost(within, less(period, within));
  }

  NodeContext &n;
  Value x;
  int64_t axis;
  Value begin, in = kNone, last = kNone, out = kNone;
  Size size;
};

} // namespace

bool padToSizes(NodeContext &n, const graph::Dims &axes) {
  std::string mode = n.text("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect")
    return false;
  auto count = static_cast<int64_t>(axes.size());
  Value x = n.in(0), pads = n.in(1),
        value = n.in(2) == kNone ? n.like(x, 0) : n.reshape(n.in(2), {});
  if (n.shape(pads) != Dims{2 * count})
    return false;
  auto pad = [&](int64_t i) {
    return n.reshape(n.slice(pads, 0, i, i + 1), {});
  };
  auto isZero = [&](Value number) {
    auto size = n.elementsAsSizes(number);
    return size && size->size() == 1 && size->front().isKnown() &&
           size->front().number == 0;
  };
  for (int64_t i = 0; i < count && !n.failed(); ++i) {
    int64_t axis = n.axisOf(axes[i], n.rank(x));
    Value begin = pad(i), end = pad(count + i);
    if (n.failed() || (isZero(begin) && isZero(end)))
      continue;
    PaddedDim dim(n, x, axis, begin, end);
    if (!dim.isFound())
      return false;
    x = dim.run(mode, value);
  }
  n.out(0, x);
  return true;
}

} // namespace tenon::onnx
