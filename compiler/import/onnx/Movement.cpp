// SPDX-License-Identifier: Apache-2.0
//
// The same elements in another shape, order or number.
#include "compiler/import/onnx/Conversions.h"
#include "compiler/import/onnx/PadSizes.h"

#include <algorithm>
#include <limits>
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
  int64_t axis = n.integer("axis", 1);
  auto rank = static_cast<int64_t>(n.rank(n.in(0)));
  if (axis != rank)
    axis = n.axisOf(axis, static_cast<int>(rank));
  if (n.failed())
    return;
  Sizes sizes = *n.sizesOf(n.in(0));
  n.out(0, n.reshapeTo(n.in(0), {productOf(sizes, 0, axis),
                                 productOf(sizes, axis, rank)}));
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

/// The expression of a size, in parentheses, or its number.
static std::string textOf(const Size &size) {
  return size.isKnown() ? std::to_string(size.number)
                        : "(" + size.expression + ")";
}

/// Each dim that is repeated gets a dim of 1 in front of it, which is expanded
/// and joined with it.
static void tile(NodeContext &n) {
  n.shape(n.in(0)); // of unknown rank: an error
  Sizes dims = n.sizesOf(n.in(0)).value_or(Sizes{});
  std::optional<Sizes> repeats = n.elementsAsSizes(n.in(1));
  if (!repeats)
    n.needed(1, "the operand repeats");
  if (n.failed())
    return;
  if (repeats->size() != dims.size())
    return n.refuse("as many repeats as dims are needed");
  Sizes apart, expanded, joined;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Size &dim = dims[i], &repeat = (*repeats)[i];
    bool isOnce = repeat.isKnown() && repeat.number == 1;
    if (!isOnce) {
      apart.push_back({1, ""});
      expanded.push_back(repeat);
    }
    apart.push_back(dim);
    expanded.push_back(dim);
    joined.push_back(isOnce ? dim
                            : n.sizeOf(textOf(dim) + " * " + textOf(repeat)));
  }
  Value x = n.reshapeTo(n.in(0), apart);
  n.out(0, n.reshapeTo(n.expandTo(x, expanded), joined));
}

/// Blocks of channels become neighbours in space: N, C, H, W is read as N and
/// the dims of `apart`, transposed, and joined.
static void depthToSpace(NodeContext &n) {
  int rank = n.rank(n.in(0));
  Sizes d = n.sizesOf(n.in(0)).value_or(Sizes{});
  int64_t b = n.integer("blocksize", 1);
  if (n.failed())
    return;
  if (rank != 4 || b < 1 || b > (1 << 15) || !d[1].isKnown() ||
      d[1].number % (b * b))
    return n.refuse("4 dims and channels in blocks are needed");
  bool columnsFirst = n.text("mode", "DCR") == "CRD";
  Size block{b, ""}, c{d[1].number / (b * b), ""};
  Sizes apart = columnsFirst ? Sizes{d[0], c, block, block, d[2], d[3]}
                             : Sizes{d[0], block, block, c, d[2], d[3]};
  Dims order = columnsFirst ? Dims{0, 1, 4, 2, 5, 3} : Dims{0, 3, 4, 1, 5, 2};
  Value x = n.transpose(n.reshapeTo(n.in(0), apart), order);
  auto times = [&](const Size &size) {
    return n.sizeOf(textOf(size) + " * " + std::to_string(b));
  };
  n.out(0, n.reshapeTo(x, {d[0], c, times(d[2]), times(d[3])}));
}

static void spaceToDepth(NodeContext &n) {
  int rank = n.rank(n.in(0));
  Sizes d = n.sizesOf(n.in(0)).value_or(Sizes{});
  int64_t b = n.integer("blocksize", 1);
  if (n.failed())
    return;
  auto isInBlocks = [&](const Size &size) {
    return !size.isKnown() || size.number % b == 0;
  };
  if (rank != 4 || b < 1 || b > (1 << 15) || !d[1].isKnown() ||
      !isInBlocks(d[2]) || !isInBlocks(d[3]))
    return n.refuse("4 dims and sizes in blocks are needed");
  auto blocks = [&](const Size &size) {
    return n.sizeOf(textOf(size) + " // " + std::to_string(b));
  };
  Size block{b, ""}, height = blocks(d[2]), width = blocks(d[3]);
  Value x = n.reshapeTo(n.in(0), {d[0], d[1], height, block, width, block});
  bool columnsFirst = n.text("mode", "DCR") == "CRD";
  x = n.transpose(x, columnsFirst ? Dims{0, 1, 3, 5, 2, 4}
                                  : Dims{0, 3, 5, 1, 2, 4});
  n.out(0, n.reshapeTo(x, {d[0], {d[1].number * b * b, ""}, height, width}));
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

/// The same places without the number that stands for unknown ones: exporters
/// write it for a begin that is left out.
static Dims places(Dims numbers) {
  for (int64_t &number : numbers)
    number = std::max(number, graph::kUnknownDim + 1);
  return numbers;
}

/// Places that no dim has.
static constexpr int64_t kBeyond = std::numeric_limits<int32_t>::max();

/// The number of entries from `begin` to `end` of a dim, one of which depends
/// on sizes. Ends that are beyond the dim are its end.
static Size sliceSize(NodeContext &n, const Size &dim, const Size &begin,
                      const Size &end) {
  auto place = [&](const Size &at) {
    if (at.isKnown() && at.number >= kBeyond)
      return textOf(dim);
    return at.isKnown() && at.number < 0
               ? "(" + textOf(dim) + " - " + std::to_string(-at.number) + ")"
               : textOf(at);
  };
  return n.sizeOf(place(end) + " - " + place(begin));
}

/// A part of dim `axis` whose begin or end depends on sizes.
static Value sliceDim(NodeContext &n, Value x, int64_t axis, const Size &begin,
                      const Size &end) {
  Sizes sizes = *n.sizesOf(x);
  auto part = [&](const Size &from, const Size &to) {
    Sizes left(sizes.size());
    left[axis] = sliceSize(n, sizes[axis], from, to);
    return n.sized("Slice", {x},
                   {{"axes", Dims{axis}},
                    {"begins", Dims{from.number}},
                    {"ends", Dims{to.number}}},
                   left);
  };
  Size all{std::numeric_limits<int64_t>::max(), ""};
  if (begin.isKnown() || end.isKnown())
    return part(begin, end);
  // One end after the other.
  x = part({0, ""}, end);
  sizes[axis] = end;
  return part(begin, all);
}

/// Places along the dims `axes` that are numbers or depend on sizes; those that
/// count from the end as exporters write the last tokens, -tokens, are counted
/// from the beginning.
static std::optional<Sizes> placesOf(NodeContext &n, Value value,
                                     const Sizes &dims, const Dims &axes) {
  if (std::optional<Sizes> sizes = n.elementsAsSizes(value)) {
    for (Size &size : *sizes) // far in front of the beginning
      if (size.expression.empty() && size.number < -kBeyond)
        size.number = 0;
    return sizes;
  }
  std::optional<Sizes> sizes = n.elementsAsSizes(value, true);
  for (size_t i = 0; sizes && i < sizes->size() && i < axes.size(); ++i) {
    Size &less = (*sizes)[i];
    if (less.isKnown()) {
      less.number = -less.number;
      continue;
    }
    int64_t axis = n.axisOf(axes[i], static_cast<int>(dims.size()));
    if (n.failed() || (!dims[axis].isKnown() && dims[axis].expression.empty()))
      return std::nullopt;
    std::string many = less.expression;
    less = n.sizeOf(textOf(dims[axis]) + " - (" + many + ")");
    // Of none, -0 is the beginning and not the end.
    if (!less.isKnown())
      n.requireNotZero(many);
  }
  return sizes;
}

/// The sizes of parts that depend on those of inputs: operand 1, or equal ones
/// of a dim, of which the last may be smaller. None: it is another form.
static std::optional<Sizes> splitToSizes(NodeContext &n, const Size &size) {
  size_t count = n.numOutputs();
  if (n.in(1) != kNone && !n.known(n.in(1))) {
    std::optional<Sizes> given = n.elementsAsSizes(n.in(1));
    return given && given->size() == count ? given : std::nullopt;
  }
  if (n.in(1) != kNone || n.has("split") || size.isKnown() ||
      size.expression.empty())
    return std::nullopt;
  std::string parts = std::to_string(count);
  return Sizes(count, n.sizeOf("(" + size.expression + " + " +
                               std::to_string(count - 1) + ") // " + parts));
}

static void split(NodeContext &n) {
  Dims dims = n.shape(n.in(0));
  int64_t axis = n.axisOf(n.integer("axis", 0), static_cast<int>(dims.size()));
  if (n.failed())
    return;
  if (std::optional<Sizes> parts =
          splitToSizes(n, (*n.sizesOf(n.in(0)))[axis])) {
    Size begin{0, ""};
    for (size_t i = 0; i < parts->size(); ++i) {
      Size end = n.sizeOf(textOf(begin) + " + " + textOf((*parts)[i]));
      // What is left is the last part.
      if (i + 1 == parts->size() && n.in(1) == kNone)
        end = {std::numeric_limits<int64_t>::max(), ""};
      n.out(i, begin.isKnown() && end.isKnown()
                   ? n.slice(n.in(0), axis, begin.number, end.number)
                   : sliceDim(n, n.in(0), axis, begin, end));
      begin = end;
    }
    return;
  }
  Dims sizes = splitSizes(n, dims[axis]);
  if (sizes.size() != n.numOutputs())
    return n.refuse("as many sizes as results are needed");
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    n.out(i, n.slice(n.in(0), axis, begin, begin + sizes[i]));
    begin += sizes[i];
  }
}

/// Begins and ends that are sizes.
static bool sliceToSizes(NodeContext &n, const std::optional<Dims> &given) {
  std::optional<Sizes> sizes = n.sizesOf(n.in(0));
  if (!sizes)
    return false;
  Dims axes(sizes->size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = given.value_or(axes);
  std::optional<Sizes> begins = placesOf(n, n.in(1), *sizes, axes),
                       ends = placesOf(n, n.in(2), *sizes, axes);
  if (n.failed())
    return true;
  if (!begins || !ends || begins->size() != ends->size())
    return false;
  Value x = n.in(0);
  for (size_t i = 0; i < ends->size() && i < axes.size(); ++i) {
    const Size &begin = (*begins)[i], &end = (*ends)[i];
    int64_t axis = n.axisOf(axes[i], static_cast<int>(sizes->size()));
    if (n.failed())
      return true;
    x = begin.isKnown() && end.isKnown()
            ? n.slice(x, axis, begin.number, end.number)
            : sliceDim(n, x, axis, begin, end);
  }
  n.out(0, x);
  return true;
}

/// What Slice takes, with a number for each of the axes.
struct Parts {
  Dims begins, ends, axes, steps;
};

/// Entries of a dim whose size is an expression, by places that are computed
/// when the code runs, where Slice does not know how many there are: all from
/// the last to the first one, each or every few of them, or the last or the
/// first alone.
static std::optional<Value> gatheredPart(NodeContext &n, Value x, int64_t axis,
                                         const Parts &parts, size_t i) {
  int64_t begin = parts.begins[i], end = parts.ends[i], step = parts.steps[i];
  const Size size = (*n.sizesOf(x))[axis];
  if (size.isKnown())
    return std::nullopt;
  auto gathered = [&](Value places) {
    return n.op("Gather", {x, places}, {{"axis", axis}}, n.type(x));
  };
  if (step == 1 &&
      ((begin == 0 && end == 1) || (begin == -1 && end >= kBeyond)))
    return gathered(n.integersConstant({begin}));
  if (size.expression.empty() || step >= 0 || step < -kBeyond ||
      end > -kBeyond || (begin != -1 && begin < kBeyond))
    return std::nullopt;
  auto integer = [&](int64_t number) {
    return n.scalar(static_cast<double>(number), DType::s64);
  };
  Size count =
      n.sizeOf("(" + size.expression + " + " + std::to_string(-step - 1) +
               ") // " + std::to_string(-step));
  Value places = n.indexAlong(n.expandTo(integer(0), {count}), 0);
  Value back = n.op("Multiply", {places, integer(step)});
  Value shape = n.op("Shape", {x}, {}, DType::s64);
  Value dim = n.reshape(n.slice(shape, 0, axis, axis + 1), {});
  Value last = n.op("Subtract", {dim, integer(1)});
  return gathered(n.op("Add", {back, last}));
}

/// Slice by numbers; `parts` has axes and steps, or none of them.
static void sliceBy(NodeContext &n, Parts parts) {
  Value x = n.in(0);
  int rank = n.rank(x);
  if (parts.axes.empty()) {
    parts.axes.resize(parts.begins.size());
    std::iota(parts.axes.begin(), parts.axes.end(), 0);
  }
  if (parts.steps.empty())
    parts.steps.assign(parts.begins.size(), 1);
  if (n.failed())
    return;
  if (parts.ends.size() != parts.begins.size() ||
      parts.axes.size() != parts.begins.size() ||
      parts.steps.size() != parts.begins.size())
    return n.refuse(
        "a begin, an end and a step for each of the axes are needed");
  Parts left;
  for (size_t i = 0; i < parts.begins.size(); ++i) {
    int64_t axis = n.axisOf(parts.axes[i], rank);
    if (n.failed())
      return;
    if (std::optional<Value> part = gatheredPart(n, x, axis, parts, i)) {
      x = *part;
      continue;
    }
    left.begins.push_back(parts.begins[i]);
    left.ends.push_back(parts.ends[i]);
    left.axes.push_back(axis);
    left.steps.push_back(parts.steps[i]);
  }
  if (!left.begins.empty() || parts.begins.empty())
    x = n.op("Slice", {x},
             {{"begins", places(left.begins)},
              {"ends", places(left.ends)},
              {"axes", left.axes},
              {"steps", left.steps}});
  n.out(0, x);
}

static void slice10(NodeContext &n) {
  graph::AttrMap attrs;
  if (n.in(3) != kNone)
    attrs.emplace("axes", n.needed(3, "the operand axes"));
  if (n.in(4) != kNone)
    attrs.emplace("steps", n.needed(4, "the operand steps"));
  std::optional<Dims> begins = n.known(n.in(1)), ends = n.known(n.in(2));
  bool isDense = n.in(4) == kNone ||
                 std::ranges::all_of(n.known(n.in(4)).value_or(Dims{0}),
                                     [](int64_t step) { return step == 1; });
  if (!begins || !ends) {
    auto axes = attrs.find("axes");
    if (isDense &&
        sliceToSizes(n, axes == attrs.end()
                            ? std::nullopt
                            : std::optional(std::get<Dims>(axes->second))))
      return;
  }
  if (!begins || !ends)
    return n.out(0, n.op("Slice", {n.in(0), n.in(1), n.in(2)}, attrs));
  auto numbers = [&](const char *name) {
    auto found = attrs.find(name);
    return found == attrs.end() ? Dims{} : std::get<Dims>(found->second);
  };
  sliceBy(n, {*begins, *ends, numbers("axes"), numbers("steps")});
}

static void slice1(NodeContext &n) {
  sliceBy(n, {n.integers("starts").value_or(Dims{}),
              n.integers("ends").value_or(Dims{}),
              n.integers("axes").value_or(Dims{}),
              {}});
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
