// SPDX-License-Identifier: Apache-2.0
//
// Parts of tensors: between ends that are known, or that depend on sizes.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tenon::onnx {

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
      return termOf(dim);
    return at.isKnown() && at.number < 0
               ? "(" + termOf(dim) + " - " + std::to_string(-at.number) + ")"
               : termOf(at);
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
    less = n.sizeOf(termOf(dims[axis]) + " - (" + many + ")");
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
      Size end = n.sizeOf(termOf(begin) + " + " + termOf((*parts)[i]));
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

std::span<const OpConversion> partConversions() {
  static constexpr OpConversion table[] = {
      {"Slice", 1, slice1},
      {"Slice", 10, slice10},
      {"Split", 1, split},
  };
  return table;
}

} // namespace tenon::onnx
