//===- EvalIndexing.cpp - parts of tensors --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// By position: Expand, Pad, Shape, Slice. By index: Gather, GatherElements,
// GatherND, ScatterElements, ScatterND.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/OpTable.h"
#include "dialects/graph/Slice.h"
#include "dialects/graph/reference/Functions.h"
#include "dialects/graph/reference/OpContext.h"

#include <numeric>

namespace tenon::reference {
namespace {

/// Offsets of elements in a tensor; kAdded for an element that it lacks.
using Places = std::vector<int64_t>;
constexpr int64_t kAdded = -1;

int64_t product(const Dims &shape, size_t begin, size_t end) {
  return std::accumulate(shape.begin() + begin, shape.begin() + end, int64_t(1),
                         std::multiplies<>());
}

/// The numbers that operand `operand` holds or, if it is not given, attribute
/// `name`.
Dims numbersOf(const OpContext &c, std::string_view name, size_t operand) {
  return c.hasIn(operand) ? integersOf(c.in(operand)) : c.list(name);
}

/// Result 0, whose shape is set: elements of src at `places`.
bool take(OpContext &c, const Places &places) {
  moveElements(c.in(0), c.out(), [&](const auto &src, auto &dst) {
    for (size_t i = 0; i < places.size(); ++i)
      dst[i] = src[places[i]];
  });
  return true;
}

//===----------------------------------------------------------------------===//
// By position
//===----------------------------------------------------------------------===//

/// The places of all combinations of the indices `along` each dim.
Places combine(const std::vector<Dims> &along, const Dims &strides) {
  Places places = {0};
  for (size_t d = 0; d < along.size(); ++d) {
    Places next;
    next.reserve(places.size() * along[d].size());
    for (int64_t place : places)
      for (int64_t index : along[d])
        next.push_back(place < 0 || index < 0 ? kAdded
                                              : place + index * strides[d]);
    places = std::move(next);
  }
  return places;
}

bool evalSlice(OpContext &c) {
  const Dims &src = c.in(0).shape;
  Dims begins = numbersOf(c, "begins", 1), ends = numbersOf(c, "ends", 2);
  Dims axes = c.list("axes"), steps = c.list("steps");
  if (!c.op.attr("axes")) {
    axes.resize(begins.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (!c.op.attr("steps"))
    steps.assign(begins.size(), 1);
  if (ends.size() != begins.size() || axes.size() != begins.size() ||
      steps.size() != begins.size())
    return c.fail(ErrorCode::AttrValue,
                  "begins, ends, axes and steps need equally many entries");
  std::vector<graph::SliceRange> ranges;
  for (int64_t dim : src)
    ranges.push_back({0, dim});
  Dims step(src.size(), 1), shape = src;
  for (size_t i = 0; i < axes.size(); ++i) {
    auto rank = static_cast<int64_t>(src.size());
    if (axes[i] < -rank || axes[i] >= rank || steps[i] == 0)
      return c.fail(ErrorCode::AttrValue, "axis " + std::to_string(axes[i]) +
                                              " with step " +
                                              std::to_string(steps[i]) +
                                              ", src is " + shapeText(src));
    int64_t d = axes[i] < 0 ? axes[i] + rank : axes[i];
    step[d] = steps[i];
    ranges[d] = graph::sliceRange(src[d], begins[i], ends[i], steps[i]);
    shape[d] = ranges[d].count;
  }
  if (!c.setShape(0, shape))
    return false;
  std::vector<Dims> along(src.size());
  for (size_t d = 0; d < src.size(); ++d)
    for (int64_t i = 0; i < shape[d]; ++i)
      along[d].push_back(ranges[d].first + i * step[d]);
  return take(c, combine(along, graph::denseStrides(src)));
}

/// Where an element of a padded dim is in a dim of `size`, `at` elements behind
/// its first one; kAdded if it is between or beside its elements.
int64_t padSource(const std::string &mode, int64_t size, int64_t at,
                  int64_t distance) {
  if (mode == "edge")
    return std::clamp<int64_t>(at, 0, std::max<int64_t>(size - 1, 0));
  if (mode == "reflect")
    return at < 0 ? -at : at < size ? at : 2 * (size - 1) - at;
  if (mode == "wrap")
    return at < 0 ? at + size : at < size ? at : at - size;
  return at < 0 || at % distance != 0 || at / distance >= size ? kAdded
                                                               : at / distance;
}

/// What Pad adds.
void readPadValue(OpContext &c, double &value, int64_t &integer) {
  double given = c.f32("value", 0);
  if (c.out().isS64())
    integer = c.hasIn(1) ? c.in(1).integers[0] : castToS64(given);
  else
    value =
        c.hasIn(1) ? c.in(1).data[0] : castTo(DType::f32, c.out().dtype, given);
}

/// The shape of a padded `src`; absent after an error.
std::optional<Dims> paddedShape(OpContext &c, const Dims &src,
                                const Dims &begin, const Dims &end,
                                const Dims &interior) {
  Dims shape;
  for (const Dims *list : {&begin, &end, &interior})
    if (list->size() != src.size() ||
        std::ranges::any_of(*list, [](int64_t entry) {
          return entry < -INT32_MAX || entry > INT32_MAX;
        })) {
      c.fail(ErrorCode::AttrValue,
             "pads need one entry per dim of " + shapeText(src));
      return std::nullopt;
    }
  for (size_t d = 0; d < src.size(); ++d) {
    int64_t between = std::max<int64_t>(src[d] - 1, 0) * interior[d];
    shape.push_back(src[d] + between + begin[d] + end[d]);
    if (interior[d] >= 0 && shape[d] >= 0)
      continue;
    c.fail(ErrorCode::AttrValue, "pads leave " + std::to_string(shape[d]) +
                                     " elements of dim " + std::to_string(d) +
                                     " of " + shapeText(src));
    return std::nullopt;
  }
  return shape;
}

bool evalPad(OpContext &c) {
  const Dims &src = c.in(0).shape;
  Dims begin = c.list("pads_begin"), end = c.list("pads_end");
  Dims interior = c.list("interior");
  if (interior.empty())
    interior.assign(src.size(), 0);
  std::optional<Dims> shape = paddedShape(c, src, begin, end, interior);
  if (!shape || (c.hasIn(1) && !c.requireLength(1, 1)) ||
      !c.setShape(0, *shape))
    return false;
  std::string mode = c.text("mode", "constant");
  std::vector<Dims> along(src.size());
  for (size_t d = 0; d < src.size(); ++d)
    for (int64_t i = 0; i < (*shape)[d]; ++i) {
      int64_t from = padSource(mode, src[d], i - begin[d], interior[d] + 1);
      if (from >= src[d] || (from < 0 && mode != "constant"))
        return c.fail(ErrorCode::AttrValue,
                      "mode " + mode + " needs more elements than dim " +
                          std::to_string(d) + " of " + shapeText(src) + " has");
      along[d].push_back(from);
    }
  Places places = combine(along, graph::denseStrides(src));
  double value = 0;
  int64_t integer = 0;
  readPadValue(c, value, integer);
  auto fill = [&](const auto &from, auto &to, auto added) {
    for (size_t i = 0; i < places.size(); ++i)
      to[i] = places[i] == kAdded ? added : from[places[i]];
  };
  if (c.out().isS64())
    fill(c.in(0).integers, c.out().integers, integer);
  else
    fill(c.in(0).data, c.out().data, value);
  return true;
}

bool evalExpand(OpContext &c) {
  const Dims &src = c.in(0).shape;
  Dims target = numbersOf(c, "shape", 1);
  for (int64_t &dim : target) {
    if (dim < -1)
      return c.fail(c.hasIn(1) ? ErrorCode::BadTensorData
                               : ErrorCode::AttrValue,
                    "shape has the entry " + std::to_string(dim));
    dim = dim == -1 ? 1 : dim;
  }
  std::optional<Dims> shape = broadcastShapes(src, target);
  if (!shape)
    return c.fail(ErrorCode::ShapeMismatch,
                  "src is " + shapeText(src) + ", shape is " +
                      shapeText(target),
                  "dims are paired from the right; they are equal, or one of "
                  "them is 1");
  if (!c.setShape(0, *shape))
    return false;
  moveElements(c.in(0), c.out(), [&](const auto &from, auto &to) {
    forEachIndex<1>(*shape, {*broadcastStrides(src, *shape)},
                    [&](int64_t i, const std::array<int64_t, 1> &at) {
                      to[i] = from[at[0]];
                    });
  });
  return true;
}

bool evalShape(OpContext &c) {
  const Dims &src = c.in(0).shape;
  auto rank = static_cast<int64_t>(src.size());
  graph::SliceRange range =
      graph::sliceRange(rank, c.s64("start", 0), c.s64("end", rank), 1);
  if (!c.setShape(0, {range.count}))
    return false;
  for (int64_t i = 0; i < range.count; ++i)
    if (c.out().isS64())
      c.out().integers[i] = src[range.first + i];
    else
      c.out().data[i] = static_cast<double>(src[range.first + i]);
  return true;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// "[1, 2]", the position of element `i`.
std::string positionText(const Dims &shape, int64_t i) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0; i /= shape[d])
    text = std::to_string(i % shape[d]) + (text.empty() ? "" : ", ") + text;
  return "[" + text + "]";
}

/// The elements of operand 1, each counted from the front; `sizeOf(i)` is the
/// size of the dim that element i indexes. Absent after an error.
template <typename SizeOf>
std::optional<Dims> readIndices(OpContext &c, SizeOf sizeOf) {
  Dims indices = integersOf(c.in(1));
  for (size_t i = 0; i < indices.size(); ++i) {
    auto at = static_cast<int64_t>(i);
    int64_t size = sizeOf(at);
    if (indices[i] < -size || indices[i] >= size) {
      c.fail(ErrorCode::BadTensorData,
             "indices" + positionText(c.in(1).shape, at) + " is " +
                 std::to_string(indices[i]) + ", the dim has " +
                 std::to_string(size) + " elements",
             "an index is from -size to size - 1");
      return std::nullopt;
    }
    indices[i] += indices[i] < 0 ? size : 0;
  }
  return indices;
}

/// The first `count` dims of src and indices are the same ones.
bool checkShared(OpContext &c, int64_t count, size_t most) {
  const Dims &src = c.in(0).shape, &indices = c.in(1).shape;
  if (count < 0 || count > static_cast<int64_t>(most))
    return c.fail(ErrorCode::AttrValue,
                  "batch_dims is " + std::to_string(count) +
                      ", at most possible is " + std::to_string(most));
  return std::equal(src.begin(), src.begin() + count, indices.begin()) ||
         c.fail(ErrorCode::ShapeMismatch, "the first dims of src " +
                                              shapeText(src) + " and indices " +
                                              shapeText(indices) + " differ");
}

bool evalGather(OpContext &c) {
  const Dims &src = c.in(0).shape, &given = c.in(1).shape;
  std::optional<int> axis = c.axis("axis", 0, c.in(0).rank());
  int64_t batch = c.s64("batch_dims", 0);
  if (!axis || !checkShared(c, batch, std::min<size_t>(*axis, given.size())))
    return false;
  Dims shape(src.begin(), src.begin() + *axis);
  shape.insert(shape.end(), given.begin() + batch, given.end());
  shape.insert(shape.end(), src.begin() + *axis + 1, src.end());
  int64_t length = src[*axis];
  auto indices = readIndices(c, [&](int64_t) { return length; });
  if (!indices || !c.setShape(0, shape))
    return false;
  int64_t batches = product(given, 0, batch);
  int64_t outer = product(src, batch, *axis);
  int64_t inner = product(src, *axis + 1, src.size());
  int64_t count = product(given, batch, given.size());
  Places places;
  places.reserve(c.out().numElements());
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < count; ++i) {
        int64_t row = (b * outer + o) * length + (*indices)[b * count + i];
        for (int64_t r = 0; r < inner; ++r)
          places.push_back(row * inner + r);
      }
  return take(c, places);
}

/// Of GatherElements and ScatterElements: where in src each index points to.
std::optional<Places> elementPlaces(OpContext &c) {
  const Dims &src = c.in(0).shape, &given = c.in(1).shape;
  std::optional<int> axis = c.axis("axis", 0, c.in(0).rank());
  if (!axis)
    return std::nullopt;
  bool fits = src.size() == given.size();
  for (size_t d = 0; fits && d < src.size(); ++d)
    fits = d == static_cast<size_t>(*axis) || given[d] <= src[d];
  if (!fits) {
    c.fail(ErrorCode::ShapeMismatch,
           "indices are " + shapeText(given) + ", src is " + shapeText(src),
           "both have one rank, and dims of indices but axis are at most those "
           "of src");
    return std::nullopt;
  }
  auto indices = readIndices(c, [&](int64_t) { return src[*axis]; });
  if (!indices)
    return std::nullopt;
  Dims strides = graph::denseStrides(src);
  int64_t stride = std::exchange(strides[*axis], 0);
  Places places(indices->size());
  forEachIndex<1>(given, {strides},
                  [&](int64_t i, const std::array<int64_t, 1> &at) {
                    places[i] = at[0] + (*indices)[i] * stride;
                  });
  return places;
}

bool evalGatherElements(OpContext &c) {
  auto places = elementPlaces(c);
  return places && c.setShape(0, c.in(1).shape) && take(c, *places);
}

/// Of GatherND and ScatterND: the elements of the slices of src that rows of
/// indices point to.
struct Slices {
  Dims shape;
  Places places;
};

/// Absent after an error, as where there are too many elements.
std::optional<Slices> slicesOf(OpContext &c, int64_t batch) {
  const Dims &src = c.in(0).shape, &given = c.in(1).shape;
  if (!c.requireRank(1, 1) ||
      !checkShared(c, batch, std::min(src.size(), given.size() - 1)))
    return std::nullopt;
  int64_t width = given.back();
  if (width > static_cast<int64_t>(src.size()) - batch) {
    c.fail(ErrorCode::ShapeMismatch, "rows of indices " + shapeText(given) +
                                         " have more numbers than " +
                                         shapeText(src) + " has dims");
    return std::nullopt;
  }
  Slices slices;
  slices.shape.assign(given.begin(), given.end() - 1);
  slices.shape.insert(slices.shape.end(), src.begin() + batch + width,
                      src.end());
  auto indices =
      readIndices(c, [&](int64_t i) { return src[batch + i % width]; });
  if (!indices || !c.checkSize(slices.shape))
    return std::nullopt;
  Dims strides = graph::denseStrides(src);
  int64_t rows = product(given, batch, given.size() - 1);
  int64_t inner = product(src, batch + width, src.size());
  int64_t perBatch = product(src, batch, src.size());
  int64_t all = product(given, 0, batch) * rows;
  for (int64_t row = 0; row < all; ++row) {
    int64_t place = row / rows * perBatch;
    for (int64_t k = 0; k < width; ++k)
      place += (*indices)[row * width + k] * strides[batch + k];
    for (int64_t r = 0; r < inner; ++r)
      slices.places.push_back(place + r);
  }
  return slices;
}

bool evalGatherNd(OpContext &c) {
  auto slices = slicesOf(c, c.s64("batch_dims", 0));
  return slices && c.setShape(0, slices->shape) && take(c, slices->places);
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

template <typename T, typename Join>
void update(std::vector<T> &dst, const std::vector<T> &updates,
            const Places &places, Join join) {
  for (size_t i = 0; i < places.size(); ++i)
    dst[places[i]] = join(dst[places[i]], updates[i]);
}

/// Sums and products are modulo 2^64, whose low bits are right in any type.
void joinIntegers(std::vector<int64_t> &dst,
                  const std::vector<int64_t> &updates, const Places &places,
                  const std::string &reduction) {
  auto wrap = [&](auto join) {
    update(dst, updates, places, [&](int64_t a, int64_t b) {
      return static_cast<int64_t>(
          join(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
    });
  };
  if (reduction == "add")
    wrap(std::plus<>());
  else if (reduction == "mul")
    wrap(std::multiplies<>());
  else if (reduction == "min")
    update(dst, updates, places,
           [](int64_t a, int64_t b) { return std::min(a, b); });
  else
    update(dst, updates, places,
           [](int64_t a, int64_t b) { return std::max(a, b); });
}

/// In double, rounded later where all results are.
void joinFloats(std::vector<double> &dst, const std::vector<double> &updates,
                const Places &places, const std::string &reduction) {
  if (reduction == "add")
    update(dst, updates, places, std::plus<>());
  else if (reduction == "mul")
    update(dst, updates, places, std::multiplies<>());
  else
    update(dst, updates, places, reduction == "min" ? minimum : maximum);
}

/// dst = src with updates at `places`, one for each element of updates.
bool scatter(OpContext &c, const Places &places) {
  const Tensor &src = c.in(0), &updates = c.in(2);
  if (!c.setShape(0, src.shape))
    return false;
  Tensor &dst = c.out();
  dst.data = src.data;
  dst.integers = src.integers;
  std::string reduction = c.text("reduction", "none");
  auto last = [](auto, auto b) { return b; };
  if (reduction == "none" && dst.isS64()) {
    update(dst.integers, updates.integers, places, last);
  } else if (reduction == "none") {
    update(dst.data, updates.data, places, last);
  } else if (dst.isS64()) {
    joinIntegers(dst.integers, updates.integers, places, reduction);
  } else if (graph::isFloat(dst.dtype) || dst.dtype == DType::undef) {
    joinFloats(dst.data, updates.data, places, reduction);
  } else {
    std::vector<int64_t> joined = integersOf(src);
    joinIntegers(joined, integersOf(updates), places, reduction);
    for (size_t i = 0; i < joined.size(); ++i)
      dst.data[i] = castFromS64(dst.dtype, joined[i]);
  }
  return true;
}

bool evalScatterElements(OpContext &c) {
  auto places = elementPlaces(c);
  return places && c.requireShape(2, c.in(1).shape) && scatter(c, *places);
}

bool evalScatterNd(OpContext &c) {
  auto slices = slicesOf(c, 0);
  return slices && c.requireShape(2, slices->shape) &&
         scatter(c, slices->places);
}

} // namespace

std::span<const OpEntry> indexingOps() {
  static constexpr OpEntry entries[] = {
      {"Expand", evalExpand, S64Use::any},
      {"Gather", evalGather, S64Use::any},
      {"GatherElements", evalGatherElements, S64Use::any},
      {"GatherND", evalGatherNd, S64Use::any},
      {"Pad", evalPad, S64Use::any},
      {"ScatterElements", evalScatterElements, S64Use::any},
      {"ScatterND", evalScatterNd, S64Use::any},
      {"Shape", evalShape, S64Use::any},
      {"Slice", evalSlice, S64Use::any},
  };
  return entries;
}

} // namespace tenon::reference
