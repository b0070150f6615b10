// SPDX-License-Identifier: Apache-2.0
//
// Entries around those of tensors, whose numbers are known or depend on sizes.
#include "compiler/import/onnx/Conversions.h"
#include "compiler/import/onnx/PadSizes.h"

#include <numeric>

namespace tenon::onnx {

/// `pads` has all begins, then all ends, of the dims `axes` or of all.
static void padBy(NodeContext &n, Dims pads, std::optional<Dims> axes,
                  graph::AttrMap attrs, Value value) {
  int rank = n.rank(n.in(0));
  if (!axes) {
    axes.emplace(rank);
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (n.failed())
    return;
  if (pads.size() != 2 * axes->size())
    return n.refuse("two pads for each dim are needed");
  Dims begins(rank, 0), ends(rank, 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    int64_t axis = n.axisOf((*axes)[i], rank);
    if (n.failed())
      return;
    begins[axis] = pads[i];
    ends[axis] = pads[axes->size() + i];
  }
  attrs.emplace("mode", n.text("mode", "constant"));
  attrs.emplace("pads_begin", begins);
  attrs.emplace("pads_end", ends);
  n.out(0, n.op("Pad", {n.in(0), value}, attrs));
}

static void pad2(NodeContext &n) {
  // Version 1 had another name.
  auto pads = n.integers(n.has("paddings") ? "paddings" : "pads");
  padBy(n, pads.value_or(Dims{}), std::nullopt,
        {{"value", n.number("value", 0)}}, kNone);
}

static void pad11(NodeContext &n) {
  std::optional<Dims> axes;
  if (n.in(3) != kNone)
    axes = n.needed(3, "the operand axes");
  if (!n.failed() && !n.known(n.in(1))) {
    Dims all(n.rank(n.in(0)));
    std::iota(all.begin(), all.end(), 0);
    if (padToSizes(n, axes.value_or(all)))
      return;
  }
  padBy(n, n.needed(1, "the operand pads"), axes, {}, n.in(2));
}

/// Operand 1 has sizes, of the dims `axes` or of all. What is too much is cut
/// off, and what is missing added as zeros, half of it at each end.
static void centerCropPad(NodeContext &n) {
  Value x = n.in(0);
  Dims dims = n.knownShape(x), sizes = n.needed(1, "the operand shape");
  Dims axes = n.integers("axes").value_or(Dims{});
  if (axes.empty()) {
    axes.resize(dims.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (n.failed())
    return;
  if (sizes.size() != axes.size())
    return n.refuse("a size for each of the axes is needed");
  Dims begins(dims.size(), 0), ends(dims.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = n.axisOf(axes[i], static_cast<int>(dims.size()));
    if (n.failed())
      return;
    if (sizes[i] < 0 || sizes[i] > (int64_t{1} << 40))
      return n.refuse("impossible sizes");
    int64_t more = sizes[i] - dims[axis], less = -more / 2;
    if (more < 0)
      x = n.slice(x, axis, less, less + sizes[i]);
    begins[axis] = std::max<int64_t>(more, 0) / 2;
    ends[axis] = std::max<int64_t>(more, 0) - begins[axis];
  }
  n.out(0, n.op("Pad", {x}, {{"pads_begin", begins}, {"pads_end", ends}}));
}

std::span<const OpConversion> padConversions() {
  static constexpr OpConversion table[] = {
      {"CenterCropPad", 18, centerCropPad},
      {"Pad", 1, pad2},
      {"Pad", 11, pad11},
  };
  return table;
}

} // namespace tenon::onnx
