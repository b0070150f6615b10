// SPDX-License-Identifier: Apache-2.0
//
// The same elements in another shape, order or number.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>
#include <numeric>

namespace tenon::onnx {

static void identity(NodeContext &n) { n.out(0, n.in(0)); }

/// Of tensors, which are there unless they are left out.
static void optionalHasElement(NodeContext &n) {
  n.out(0, n.scalar(n.in(0) != kNone, NodeContext::kBool));
}

/// In inference nothing is dropped, and the mask is true everywhere.
static void dropout(NodeContext &n) {
  if (n.in(2) != kNone && n.neededNumber(2, "the operand training_mode", 0) &&
      n.neededNumber(1, "the operand ratio", 0.5) != 0)
    return n.refuse("numbers that are random");
  n.out(0, n.in(0));
  if (!n.wants(1))
    return;
  // The mask was of the type of the data before version 10.
  DType type = n.opset() < 10 ? n.type(n.in(0)) : NodeContext::kBool;
  n.out(1, n.expandLike(n.scalar(1, type), n.in(0)));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static void reshape1(NodeContext &n) {
  n.out(0, n.op("StaticReshape", {n.in(0)},
                {{"shape", n.integers("shape").value_or(Dims{})},
                 {"special_zero", true}}));
}

static void reshape5(NodeContext &n) {
  bool allowZero = n.integer("allowzero", 0) != 0;
  if (std::optional<Dims> shape = n.known(n.in(1)))
    return n.out(0, n.op("StaticReshape", {n.in(0)},
                         {{"shape", *shape}, {"special_zero", !allowZero}}));
  if (std::optional<Sizes> sizes = n.elementsAsSizes(n.in(1))) {
    std::optional<Sizes> source = n.sizesOf(n.in(0));
    for (size_t i = 0; i < sizes->size() && source && !allowZero; ++i)
      if ((*sizes)[i].number == 0 && i < source->size())
        (*sizes)[i] = (*source)[i];
    return n.out(0, n.reshapeTo(n.in(0), *sizes));
  }
  n.out(0, n.op("Reshape", {n.in(0), n.in(1)}, {{"allow_zero", allowZero}}));
}

static void flatten(NodeContext &n) {
  Dims dims = n.shape(n.in(0));
  int64_t axis = n.integer("axis", 1);
  auto rank = static_cast<int64_t>(dims.size());
  if (axis != rank)
    axis = n.axisOf(axis, static_cast<int>(rank));
  // Unknown sizes on one side are what the elements leave.
  auto product = [&](int64_t from, int64_t to) {
    Dims part(dims.begin() + from, dims.begin() + to);
    if (std::ranges::count(part, graph::kUnknownDim))
      return graph::kUnknownDim;
    int64_t result = reference::elementCount(part);
    if (result < 0 && !n.failed()) // beside a size of 0
      n.refuse("sizes whose product is too large");
    return result;
  };
  n.out(0, n.reshape(n.in(0), {product(0, axis), product(axis, rank)}));
}

/// Axes: an attribute, or since version 13 operand 1.
static std::optional<Dims> axesOf(NodeContext &n) {
  if (n.in(1) != kNone)
    return n.needed(1, "the operand axes");
  return n.integers("axes");
}

static void squeeze(NodeContext &n) {
  Dims dims = n.shape(n.in(0));
  Sizes sizes = n.sizesOf(n.in(0)).value_or(Sizes{}), kept;
  std::vector<bool> drop(dims.size(), false);
  if (std::optional<Dims> axes = axesOf(n)) {
    for (int64_t axis : *axes) {
      int64_t i = n.axisOf(axis, static_cast<int>(dims.size()));
      if (n.failed())
        return;
      drop[i] = true;
    }
  } else {
    for (size_t i = 0; i < dims.size(); ++i)
      drop[i] = dims[i] == 1;
  }
  for (size_t i = 0; i < dims.size(); ++i)
    if (!drop[i])
      kept.push_back(sizes[i]);
  n.out(0, n.reshapeTo(n.in(0), std::move(kept)));
}

static void unsqueeze(NodeContext &n) {
  n.out(0, n.unsqueeze(n.in(0), axesOf(n).value_or(Dims{})));
}

static void transpose(NodeContext &n) {
  n.out(0, n.transpose(n.in(0), n.integers("perm").value_or(Dims{})));
}

static void expand(NodeContext &n) {
  if (std::optional<Dims> shape = n.known(n.in(1)))
    return n.out(0, n.op("Expand", {n.in(0)}, {{"shape", *shape}}));
  if (std::optional<Sizes> sizes = n.elementsAsSizes(n.in(1)))
    return n.out(0, n.expandTo(n.in(0), *sizes));
  n.out(0, n.op("Expand", {n.in(0), n.in(1)}));
}

/// Each dim that is repeated gets a dim of 1 in front of it, which is expanded
/// and joined with it.
static void tile(NodeContext &n) {
  Dims dims = n.knownShape(n.in(0));
  Dims repeats = n.needed(1, "the operand repeats");
  if (n.failed())
    return;
  if (repeats.size() != dims.size())
    return n.refuse("as many repeats as dims are needed");
  Dims apart, expanded, joined;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] != 1) {
      apart.push_back(1);
      expanded.push_back(repeats[i]);
    }
    apart.push_back(dims[i]);
    expanded.push_back(dims[i]);
    joined.push_back(dims[i] * repeats[i]);
  }
  Value x = n.reshape(n.in(0), apart);
  n.out(0, n.reshape(n.op("Expand", {x}, {{"shape", expanded}}), joined));
}

/// Blocks of channels become neighbours in space: N, C, H, W is read as N and
/// the dims of `apart`, transposed, and joined.
static void depthToSpace(NodeContext &n) {
  Dims d = n.knownShape(n.in(0));
  int64_t b = n.integer("blocksize", 1);
  if (n.failed())
    return;
  if (d.size() != 4 || b < 1 || d[1] % (b * b))
    return n.refuse("4 dims and channels in blocks are needed");
  bool columnsFirst = n.text("mode", "DCR") == "CRD";
  int64_t c = d[1] / (b * b);
  Dims apart = columnsFirst ? Dims{d[0], c, b, b, d[2], d[3]}
                            : Dims{d[0], b, b, c, d[2], d[3]};
  Dims order = columnsFirst ? Dims{0, 1, 4, 2, 5, 3} : Dims{0, 3, 4, 1, 5, 2};
  Value x = n.transpose(n.reshape(n.in(0), apart), order);
  n.out(0, n.reshape(x, {d[0], c, d[2] * b, d[3] * b}));
}

static void spaceToDepth(NodeContext &n) {
  Dims d = n.knownShape(n.in(0));
  int64_t b = n.integer("blocksize", 1);
  if (n.failed())
    return;
  if (d.size() != 4 || b < 1 || d[2] % b || d[3] % b)
    return n.refuse("4 dims and sizes in blocks are needed");
  Value x = n.reshape(n.in(0), {d[0], d[1], d[2] / b, b, d[3] / b, b});
  bool columnsFirst = n.text("mode", "DCR") == "CRD";
  x = n.transpose(x, columnsFirst ? Dims{0, 1, 3, 5, 2, 4}
                                  : Dims{0, 3, 5, 1, 2, 4});
  n.out(0, n.reshape(x, {d[0], d[1] * b * b, d[2] / b, d[3] / b}));
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static void concat(NodeContext &n) {
  Values operands;
  for (size_t i = 0; i < n.numInputs(); ++i)
    operands.push_back(n.in(i));
  n.out(0, n.op("Concat", operands, {{"axis", n.integer("axis", 1)}}));
}

/// Sizes: an attribute, since version 13 operand 1; without either, equal ones,
/// of which the last may be smaller.
static Dims splitSizes(NodeContext &n, int64_t size) {
  if (n.in(1) != kNone)
    return n.needed(1, "the operand split");
  if (std::optional<Dims> given = n.integers("split"))
    return *given;
  auto count = static_cast<int64_t>(n.numOutputs());
  if (size == graph::kUnknownDim) {
    n.refuse("the size to split is not known");
    return {};
  }
  int64_t each = (size + count - 1) / count;
  Dims sizes(count, each);
  sizes.back() = size - each * (count - 1);
  return sizes;
}

static void split(NodeContext &n) {
  Dims dims = n.shape(n.in(0));
  int64_t axis = n.axisOf(n.integer("axis", 0), static_cast<int>(dims.size()));
  if (n.failed())
    return;
  Dims sizes = splitSizes(n, dims[axis]);
  if (sizes.size() != n.numOutputs())
    return n.refuse("as many sizes as results are needed");
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    n.out(i, n.slice(n.in(0), axis, begin, begin + sizes[i]));
    begin += sizes[i];
  }
}

static void slice1(NodeContext &n) {
  graph::AttrMap attrs{{"begins", n.integers("starts").value_or(Dims{})},
                       {"ends", n.integers("ends").value_or(Dims{})}};
  if (std::optional<Dims> axes = n.integers("axes"))
    attrs.emplace("axes", *axes);
  n.out(0, n.op("Slice", {n.in(0)}, attrs));
}

/// Up to ends that are sizes: the result has the sizes up to there.
static void sliceToSizes(NodeContext &n, Dims begins, graph::AttrMap attrs) {
  std::optional<Sizes> ends = n.elementsAsSizes(n.in(2)),
                       sizes = n.sizesOf(n.in(0));
  if (!ends || !sizes)
    return n.out(0, n.op("Slice", {n.in(0), n.in(1), n.in(2)}, attrs));
  Dims axes(ends->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (auto given = attrs.find("axes"); given != attrs.end())
    axes = std::get<Dims>(given->second);
  Dims numbers;
  for (size_t i = 0; i < ends->size() && i < axes.size(); ++i) {
    const Size &end = (*ends)[i];
    numbers.push_back(end.number);
    int64_t axis = n.axisOf(axes[i], static_cast<int>(sizes->size()));
    if (n.failed())
      return;
    if (end.isKnown())
      (*sizes)[axis] = {};
    else if (i < begins.size() && begins[i] >= 0)
      (*sizes)[axis] = {graph::kUnknownDim,
                        begins[i]
                            ? end.expression + " - " + std::to_string(begins[i])
                            : end.expression};
    else
      return n.refuse("a slice from a place that is counted from the end to "
                      "one that is not known");
  }
  attrs.emplace("begins", std::move(begins));
  attrs.emplace("ends", std::move(numbers));
  n.out(0, n.sized("Slice", {n.in(0)}, std::move(attrs), *sizes));
}

static void slice10(NodeContext &n) {
  graph::AttrMap attrs;
  if (n.in(3) != kNone)
    attrs.emplace("axes", n.needed(3, "the operand axes"));
  if (n.in(4) != kNone)
    attrs.emplace("steps", n.needed(4, "the operand steps"));
  std::optional<Dims> begins = n.known(n.in(1)), ends = n.known(n.in(2));
  if (begins && !ends && n.in(4) == kNone)
    return sliceToSizes(n, std::move(*begins), std::move(attrs));
  if (!begins || !ends)
    return n.out(0, n.op("Slice", {n.in(0), n.in(1), n.in(2)}, attrs));
  attrs.emplace("begins", *begins);
  attrs.emplace("ends", *ends);
  n.out(0, n.op("Slice", {n.in(0)}, attrs));
}

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

/// The lower or upper triangle: columns from the one k beside the diagonal.
static void trilu(NodeContext &n) {
  Value x = n.in(0);
  Value row = n.indexAlong(x, -2), column = n.indexAlong(x, -1);
  Value k = n.in(1) == kNone ? n.scalar(0, DType::s64) : n.in(1);
  Value edge = n.op("Add", {row, k});
  bool upper = n.integer("upper", 1) != 0;
  Value keep =
      n.op("GreaterEqual", {upper ? column : edge, upper ? edge : column}, {},
           NodeContext::kBool);
  n.out(0, n.select(keep, x, n.like(x, 0)));
}

std::span<const OpConversion> movementConversions() {
  static constexpr OpConversion table[] = {
      {"CenterCropPad", 18, centerCropPad},
      {"Concat", 1, concat},
      {"DepthToSpace", 1, depthToSpace},
      {"Dropout", 1, dropout},
      {"Expand", 8, expand},
      {"Flatten", 1, flatten},
      {"Identity", 1, identity},
      {"OptionalGetElement", 15, identity},
      {"OptionalHasElement", 15, optionalHasElement},
      {"Pad", 1, pad2},
      {"Pad", 11, pad11},
      {"Reshape", 1, reshape1},
      {"Reshape", 5, reshape5},
      {"Slice", 1, slice1},
      {"Slice", 10, slice10},
      {"SpaceToDepth", 1, spaceToDepth},
      {"Split", 1, split},
      {"Squeeze", 1, squeeze},
      {"Tile", 6, tile},
      {"Transpose", 1, transpose},
      {"Trilu", 14, trilu},
      {"Unsqueeze", 1, unsqueeze},
  };
  return table;
}

} // namespace tenon::onnx
