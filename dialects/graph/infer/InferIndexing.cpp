//===- InferIndexing.cpp - rules of parts of tensors ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Parts by position (Slice to Shape) and by index (gathers and scatters). What
// operands of numbers hold is not known: of a result that they decide, the
// graph may declare the shape.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Slice.h"
#include "dialects/graph/infer/Rules.h"

#include <algorithm>
#include <limits>

namespace tenon::graph::infer {
namespace {

/// A list that is given, an empty one, too; null otherwise.
const Dims *givenList(const RuleContext &ctx, std::string_view name) {
  const AttrValue *value = ctx.op.attr(name);
  return value ? std::get_if<Dims>(value) : nullptr;
}

/// How many numbers, each for one dim, operand `i` holds, or kUnknownDim.
/// Absent after an error.
std::optional<int64_t> countOfNumbers(RuleContext &ctx, size_t i) {
  const Shape &shape = ctx.in(i);
  if (!shape)
    return kUnknownDim;
  if (shape->size() != 1) {
    ctx.error(
        ErrorCode::BadRank,
        cat(ctx.inText(i), " of rank ", shape->size(), "; needed is rank 1"),
        "it holds one number per dim");
    return std::nullopt;
  }
  int64_t count = shape->front();
  if (!isKnown(count) || count <= int64_t(kMaxRank))
    return count;
  ctx.error(ErrorCode::BadRank, cat(ctx.inName(i), " has ", count,
                                    " elements, one per dim; the "
                                    "limit is ",
                                    kMaxRank));
  return std::nullopt;
}

/// The list of attribute `name`, with one entry per dim of src.
bool requireEntries(RuleContext &ctx, std::string_view name, const Dims &list,
                    size_t count) {
  if (list.size() == count)
    return true;
  ctx.error(ErrorCode::AttrValue,
            cat("attribute ", name, " is ", listToString(list), " with ",
                list.size(), " entries, needed are ", count),
            "one entry per dim");
  return false;
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

/// Begins and ends are attributes or operands, both of one kind.
bool checkBounds(RuleContext &ctx) {
  bool hasBegins = ctx.hasInput(1), hasEnds = ctx.hasInput(2);
  const Dims *begins = givenList(ctx, "begins"), *ends = givenList(ctx, "ends");
  if (hasBegins != hasEnds)
    ctx.error(ErrorCode::OperandCount,
              cat("operand ", hasBegins ? "ends_tensor" : "begins_tensor",
                  " is left out"),
              "begins_tensor and ends_tensor come both or not at all");
  else if (hasBegins && (begins || ends))
    ctx.error(ErrorCode::AttrValue,
              cat("attribute ", begins ? "begins" : "ends",
                  " and the operands begins_tensor and ends_tensor are given"),
              "keep the attributes or the operands");
  else if (!hasBegins && (!begins || !ends))
    ctx.error(ErrorCode::MissingAttr,
              cat("attribute ", begins ? "ends" : "begins",
                  " is missing, and there is no operand of that meaning"),
              "set the attributes begins and ends");
  return !ctx.failed();
}

/// The number of dims that are sliced, or kUnknownDim; absent after an error.
std::optional<int64_t> countOfSliced(RuleContext &ctx) {
  int64_t count = kUnknownDim;
  if (ctx.hasInput(1))
    for (size_t i : {1, 2}) {
      std::optional<int64_t> numbers = countOfNumbers(ctx, i);
      if (!numbers)
        return std::nullopt;
      std::optional<int64_t> merged = mergeDim(count, *numbers);
      if (!merged) {
        ctx.error(ErrorCode::ShapeMismatch,
                  cat(ctx.inText(1), ", ", ctx.inText(2),
                      ": needed are equally many elements"));
        return std::nullopt;
      }
      count = *merged;
    }
  for (const char *name : {"begins", "ends", "axes", "steps"}) {
    const Dims *list = givenList(ctx, name);
    if (!list)
      continue;
    if (isKnown(count) &&
        !requireEntries(ctx, name, *list, static_cast<size_t>(count)))
      return std::nullopt;
    count = static_cast<int64_t>(list->size());
  }
  return count;
}

/// The dims that are sliced, `count` of them, of a src of `rank`; absent after
/// an error.
std::optional<std::vector<size_t>> slicedDims(RuleContext &ctx, int64_t count,
                                              size_t rank) {
  std::vector<size_t> dims;
  const Dims *axes = givenList(ctx, "axes");
  if (!axes && count > static_cast<int64_t>(rank)) {
    ctx.error(ErrorCode::AttrValue, cat("there are ", count, " begins, but ",
                                        ctx.inText(0), " of rank ", rank));
    return std::nullopt;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::optional<size_t> dim =
        axes ? ctx.normalizeAxis("axes", (*axes)[i], rank) : size_t(i);
    if (!dim)
      return std::nullopt;
    if (std::ranges::count(dims, *dim)) {
      ctx.error(ErrorCode::AttrValue,
                cat("attribute axes is ", listToString(*axes),
                    ", which names dim ", *dim, " twice"));
      return std::nullopt;
    }
    dims.push_back(*dim);
  }
  return dims;
}

/// Bounds of one dim.
struct Bounds {
  int64_t begin, end, step;
};

/// Finds the bound that is kUnknownDim from the number of elements that the
/// result has, `wanted`; `size` is that of src. False after an error.
bool findBound(RuleContext &ctx, Bounds &bounds, int64_t size, int64_t wanted) {
  auto &[begin, end, step] = bounds;
  if (step < 0 || (!isKnown(begin) && !isKnown(end))) {
    ctx.error(ErrorCode::AttrValue,
              step < 0 ? cat("a bound is not known, and the step is ", step)
                       : "neither the begin nor the end of a dim is known",
              "one bound follows from the size of the result, for steps "
              "above 0");
    return false;
  }
  if (!isKnown(wanted))
    return true;
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  __int128 length = __int128(wanted) * step;
  if (!isKnown(end)) {
    __int128 to = begin + length;
    // From a begin that counts from the end, to the end or beyond.
    end =
        (begin < 0 && to >= 0) || to > kLast ? kLast : static_cast<int64_t>(to);
    return true;
  }
  __int128 last = end;
  if (isKnown(size))
    last = end < 0 ? std::max<int64_t>(end + size, 0) : std::min(end, size);
  else if (end >= std::numeric_limits<int32_t>::max())
    last = 0; // the end of src, whatever its size is
  __int128 from = last - length;
  bool fits = from >= -__int128(kLast) && (last <= 0 || from >= 0);
  if (!fits || (isKnown(size) && from < 0)) {
    ctx.error(ErrorCode::ShapeMismatch,
              cat(ctx.inText(0), " has no ", wanted, " elements before ",
                  std::to_string(end), ", each ", step, "th"));
    return false;
  }
  begin = from == 0 && last == 0 ? kLast : static_cast<int64_t>(from);
  return true;
}

/// Sizes of the dims that attributes slice. Absent after an error.
bool sliceByAttributes(RuleContext &ctx, std::span<const size_t> sliced,
                       Dims &dims) {
  Dims begins = *givenList(ctx, "begins"), ends = *givenList(ctx, "ends");
  const Dims *steps = givenList(ctx, "steps");
  const Shape &dst = ctx.out(0);
  bool anyFound = false;
  for (size_t i = 0; i < sliced.size(); ++i) {
    int64_t &dim = dims[sliced[i]];
    Bounds bounds{begins[i], ends[i], steps ? (*steps)[i] : 1};
    if (!isKnown(begins[i]) || !isKnown(ends[i])) {
      bool hasSize = dst && dst->size() == dims.size();
      if (!findBound(ctx, bounds, dim,
                     hasSize ? (*dst)[sliced[i]] : kUnknownDim))
        return false;
      anyFound = true;
    }
    begins[i] = bounds.begin;
    ends[i] = bounds.end;
    if (!isKnown(bounds.begin) || !isKnown(bounds.end))
      dim = kUnknownDim;
    else if (isKnown(dim))
      dim = sliceRange(dim, bounds.begin, bounds.end, bounds.step).count;
  }
  if (anyFound) {
    ctx.setAttr("begins", begins);
    ctx.setAttr("ends", ends);
  }
  return true;
}

void slice(RuleContext &ctx) {
  if (!checkBounds(ctx))
    return;
  std::optional<int64_t> count = countOfSliced(ctx);
  if (!count)
    return;
  const Dims *steps = givenList(ctx, "steps");
  if (steps && std::ranges::count(*steps, 0))
    return ctx.error(ErrorCode::AttrValue,
                     cat("attribute steps is ", listToString(*steps)),
                     "no step is 0; one below 0 goes backwards");
  if (!ctx.in(0))
    return;
  Dims dims = *ctx.in(0);
  if (!isKnown(*count))
    return ctx.setOut(0, Dims(dims.size(), kUnknownDim));
  auto sliced = slicedDims(ctx, *count, dims.size());
  if (!sliced)
    return;
  if (ctx.hasInput(1))
    for (size_t dim : *sliced)
      dims[dim] = kUnknownDim;
  else if (!sliceByAttributes(ctx, *sliced, dims))
    return;
  ctx.setOut(0, dims);
}

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

struct Pads {
  Dims begin, end, interior;
};

/// Absent after an error.
std::optional<Pads> readPads(RuleContext &ctx) {
  Pads pads{ctx.op.attrOr<Dims>("pads_begin", {}),
            ctx.op.attrOr<Dims>("pads_end", {}),
            ctx.op.attrOr<Dims>("interior", {})};
  size_t rank = ctx.in(0) ? ctx.in(0)->size() : pads.begin.size();
  if (pads.interior.empty())
    pads.interior.assign(rank, 0);
  if (!requireEntries(ctx, "pads_begin", pads.begin, rank) ||
      !requireEntries(ctx, "pads_end", pads.end, rank) ||
      !requireEntries(ctx, "interior", pads.interior, rank))
    return std::nullopt;
  for (int64_t entry : pads.interior)
    if (entry < 0 || (entry > 0 && ctx.stringAttr("mode") != "constant")) {
      ctx.error(ErrorCode::AttrValue,
                cat("attribute interior is ", listToString(pads.interior),
                    " in mode ", ctx.stringAttr("mode")),
                "entries are 0, or more in mode constant");
      return std::nullopt;
    }
  return pads;
}

/// Whether src has the elements that `pad`, an entry of attribute `name`, adds
/// to dim `d` of this size.
bool fitsMode(RuleContext &ctx, std::string_view name, size_t d, int64_t pad,
              int64_t size) {
  std::string mode = ctx.stringAttr("mode");
  std::string_view limit;
  if (mode == "reflect" && pad >= size)
    limit = "pads below the size of the dim";
  else if (mode == "wrap" && pad > size)
    limit = "pads of at most the size of the dim";
  else if (mode == "edge" && size == 0)
    limit = "a dim that is not empty";
  if (limit.empty() || pad <= 0)
    return true;
  ctx.error(ErrorCode::AttrValue,
            cat("entry ", d, " of attribute ", name, " is ", pad, " and ",
                ctx.inText(0), ": mode ", mode, " needs ", limit));
  return false;
}

void pad(RuleContext &ctx) {
  std::optional<Pads> pads = readPads(ctx);
  if (!pads || (ctx.hasInput(1) && !ctx.requireOneElement(1)))
    return;
  Dims dims = ctx.in(0).value_or(Dims(pads->begin.size(), kUnknownDim));
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t size = dims[d];
    if (!isKnown(size))
      continue;
    if (!fitsMode(ctx, "pads_begin", d, pads->begin[d], size) ||
        !fitsMode(ctx, "pads_end", d, pads->end[d], size))
      return;
    __int128 between = std::max<int64_t>(size - 1, 0);
    __int128 padded = size + between * pads->interior[d];
    padded += __int128(pads->begin[d]) + pads->end[d];
    if (padded < 0)
      return ctx.error(ErrorCode::BadDim,
                       cat(ctx.inText(0), ": the pads of dim ", d, ", ",
                           pads->begin[d], " and ", pads->end[d],
                           ", cut off more elements than there are"));
    if (!fitsDim(padded))
      return ctx.error(ErrorCode::BadDim,
                       cat("the size of dim ", d, " does not fit 64 bits"));
    dims[d] = static_cast<int64_t>(padded);
  }
  ctx.setOut(0, dims);
}

//===----------------------------------------------------------------------===//
// Expand, Reshape, Shape
//===----------------------------------------------------------------------===//

void expand(RuleContext &ctx) {
  const Dims *given = givenList(ctx, "shape");
  if (given && ctx.hasInput(1))
    return ctx.error(ErrorCode::AttrValue,
                     "attribute shape and operand shape_tensor are given",
                     "keep one of them");
  if (!given && !ctx.hasInput(1))
    return ctx.error(ErrorCode::MissingAttr,
                     "attribute shape is missing, and there is no operand "
                     "shape_tensor",
                     "set one of them");
  Dims target;
  if (given) {
    target = *given;
    ctx.completeList("shape", target);
    if (std::ranges::any_of(
            target, [](int64_t dim) { return dim < -1 && isKnown(dim); }))
      return ctx.error(ErrorCode::AttrValue,
                       cat("attribute shape is ", listToString(target)),
                       "entries are -1 (as 1) or 0 and more");
    std::ranges::replace(target, int64_t(-1), int64_t(1));
  } else {
    std::optional<int64_t> count = countOfNumbers(ctx, 1);
    if (!count || !isKnown(*count))
      return;
    target.assign(static_cast<size_t>(*count), kUnknownDim);
  }
  std::optional<Shape> shape = broadcastShapes(ctx.in(0), target);
  if (!shape)
    return ctx.error(
        ErrorCode::ShapeMismatch,
        cat(ctx.inText(0), ", attribute shape is ", listToString(*given)),
        "dims are paired from the right; they are equal, or one "
        "of them is 1");
  ctx.setOut(0, *shape);
}

/// The declared dims of the result, completed by the number of elements.
void reshape(RuleContext &ctx) {
  std::optional<int64_t> count = countOfNumbers(ctx, 1);
  if (!count)
    return;
  if (isKnown(*count))
    ctx.setOut(0, Dims(static_cast<size_t>(*count), kUnknownDim));
  if (ctx.failed() || !ctx.in(0) || !ctx.out(0))
    return;
  Dims dims = *ctx.out(0);
  std::optional<int64_t> given = product(*ctx.in(0)), wanted = product(dims);
  bool comparable = given && isKnown(*given);
  if (comparable && (!wanted || (isKnown(*wanted) && *given != *wanted)))
    return ctx.error(ErrorCode::ShapeMismatch,
                     cat(ctx.inText(0), ", ", ctx.outText(0),
                         ": numbers of elements differ"),
                     "both have equally many elements");
  if (!comparable || std::ranges::count(dims, kUnknownDim) != 1)
    return;
  auto derived = std::ranges::find(dims, kUnknownDim);
  *derived = 1;
  std::optional<int64_t> others = product(dims);
  if (!others || *others == 0)
    return;
  if (*given % *others != 0)
    return ctx.error(ErrorCode::ShapeMismatch,
                     cat(ctx.inText(0), ", ", ctx.outText(0), ": ", *others,
                         " does not divide ", *given, " elements"));
  *derived = *given / *others;
  ctx.setOut(0, dims);
}

void shape(RuleContext &ctx) {
  if (!ctx.in(0))
    return ctx.setOut(0, Dims{kUnknownDim});
  auto rank = static_cast<int64_t>(ctx.in(0)->size());
  int64_t end = ctx.op.attrOr<int64_t>("end", rank);
  ctx.setOut(0, Dims{sliceRange(rank, ctx.intAttr("start"), end, 1).count});
}

//===----------------------------------------------------------------------===//
// Gathers and scatters
//===----------------------------------------------------------------------===//

/// Attribute batch_dims, at most `most`, which `limit` describes; absent after
/// an error. Requires known ranks.
std::optional<size_t> batchDims(RuleContext &ctx, size_t most,
                                std::string_view limit) {
  int64_t count = ctx.intAttr("batch_dims");
  if (count >= 0 && count <= static_cast<int64_t>(most))
    return static_cast<size_t>(count);
  ctx.error(ErrorCode::AttrValue, cat("attribute batch_dims is ", count,
                                      ", needed is 0 to ", most, ", ", limit));
  return std::nullopt;
}

/// The first `count` dims of src and indices, which are the same ones; absent
/// after an error.
std::optional<Dims> sharedDims(RuleContext &ctx, size_t count) {
  Dims shared;
  for (size_t d = 0; d < count; ++d) {
    std::optional<int64_t> dim = mergeDim((*ctx.in(0))[d], (*ctx.in(1))[d]);
    if (!dim) {
      ctx.error(ErrorCode::ShapeMismatch,
                cat("the first ", count, " dims differ: ", ctx.inText(0), ", ",
                    ctx.inText(1)),
                "attribute batch_dims says how many dims are shared");
      return std::nullopt;
    }
    shared.push_back(*dim);
  }
  return shared;
}

void gather(RuleContext &ctx) {
  if (!ctx.in(0))
    return;
  const Dims &src = *ctx.in(0);
  std::optional<size_t> axis = ctx.axisAttr("axis", src.size());
  if (!axis || !batchDims(ctx, *axis, "the dims of src before axis") ||
      !ctx.in(1))
    return;
  const Dims &indices = *ctx.in(1);
  auto batch = batchDims(ctx, indices.size(), "the rank of indices");
  if (!batch)
    return;
  std::optional<Dims> dims = sharedDims(ctx, *batch);
  if (!dims)
    return;
  dims->insert(dims->end(), src.begin() + *batch, src.begin() + *axis);
  dims->insert(dims->end(), indices.begin() + *batch, indices.end());
  dims->insert(dims->end(), src.begin() + *axis + 1, src.end());
  ctx.setOut(0, dims);
}

/// Checks that src and indices have one rank, and that indices have no more
/// positions than src in any dim but `axis`; false after an error.
bool checkElementIndices(RuleContext &ctx) {
  const Shape &src = ctx.in(0), &indices = ctx.in(1);
  if (!src && !indices)
    return true;
  std::optional<size_t> axis =
      ctx.axisAttr("axis", src ? src->size() : indices->size());
  if (!axis || !src || !indices)
    return axis.has_value();
  if (src->size() != indices->size()) {
    ctx.error(ErrorCode::BadRank,
              cat("ranks differ: ", ctx.inText(0), ", ", ctx.inText(1)));
    return false;
  }
  for (size_t d = 0; d < src->size(); ++d) {
    int64_t there = (*src)[d], wanted = (*indices)[d];
    if (d == *axis || !isKnown(there) || !isKnown(wanted) || wanted <= there)
      continue;
    ctx.error(ErrorCode::ShapeMismatch,
              cat(ctx.inText(1), ", ", ctx.inText(0), ": dim ", d, " is ",
                  wanted, ", above ", there),
              "dims of indices but axis are at most those of src");
    return false;
  }
  return true;
}

void gatherElements(RuleContext &ctx) {
  if (!checkElementIndices(ctx))
    return;
  if (ctx.in(1))
    ctx.setOut(0, ctx.in(1));
  else if (ctx.in(0))
    ctx.setOut(0, Dims(ctx.in(0)->size(), kUnknownDim));
}

void scatterElements(RuleContext &ctx) {
  if (!checkElementIndices(ctx))
    return;
  ctx.requireSame(1, 2);
  if (!ctx.failed())
    ctx.setOut(0, ctx.in(0));
}

/// The number of dims that a row of indices is the position in, of src behind
/// `batch` dims: kUnknownDim, or that number. Absent after an error.
std::optional<int64_t> positionDims(RuleContext &ctx, size_t batch) {
  int64_t count = ctx.in(1)->back();
  auto most = static_cast<int64_t>(ctx.in(0)->size() - batch);
  if (!isKnown(count) || count <= most)
    return count;
  ctx.error(ErrorCode::ShapeMismatch,
            cat(ctx.inText(1), ": its last dim, the dims of a position, is ",
                count, ", but ", ctx.inText(0), " has ", most,
                batch ? " dims behind batch_dims" : " dims"));
  return std::nullopt;
}

void gatherNd(RuleContext &ctx) {
  if (!ctx.requireRankAtLeast(1, 1) || !ctx.in(0) || !ctx.in(1))
    return;
  const Dims &src = *ctx.in(0), &indices = *ctx.in(1);
  auto batch = batchDims(ctx, std::min(src.size(), indices.size() - 1),
                         "dims that src, and indices but the last, have");
  if (!batch)
    return;
  std::optional<Dims> dims = sharedDims(ctx, *batch);
  std::optional<int64_t> count = positionDims(ctx, *batch);
  if (!dims || !count || !isKnown(*count))
    return;
  dims->insert(dims->end(), indices.begin() + *batch, indices.end() - 1);
  dims->insert(dims->end(), src.begin() + *batch + *count, src.end());
  ctx.setOut(0, dims);
}

void scatterNd(RuleContext &ctx) {
  if (!ctx.requireRankAtLeast(1, 1))
    return;
  if (ctx.in(0) && ctx.in(1)) {
    const Dims &src = *ctx.in(0), &indices = *ctx.in(1);
    std::optional<int64_t> count = positionDims(ctx, 0);
    if (!count)
      return;
    if (isKnown(*count)) {
      Dims dims(indices.begin(), indices.end() - 1);
      dims.insert(dims.end(), src.begin() + *count, src.end());
      if (!ctx.requireShape(2, dims,
                            "the dims of indices but the last, then those of "
                            "src that are not indexed"))
        return;
    }
  }
  ctx.setOut(0, ctx.in(0));
}

constexpr RuleEntry rules[] = {
    {"expand", expand},
    {"gather", gather},
    {"gather_elements", gatherElements},
    {"gather_nd", gatherNd},
    {"pad", pad},
    {"reshape", reshape},
    {"scatter_elements", scatterElements},
    {"scatter_nd", scatterNd},
    {"shape", shape},
    {"slice", slice},
};

} // namespace

std::span<const RuleEntry> indexingRules() { return rules; }

} // namespace tenon::graph::infer
