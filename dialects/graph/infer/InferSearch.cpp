//===- InferSearch.cpp - rules of searches and random numbers -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A size that the data says has an upper bound, which is the shape, beside a
// count. A size that an operand says (k_tensor, shape_tensor) is not known here
// unless the result is declared with it.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/infer/Rules.h"

#include <algorithm>

namespace tenon::graph::infer {
namespace {

//===----------------------------------------------------------------------===//
// Along one dim.
//===----------------------------------------------------------------------===//

/// The dim of src that attribute axis names; absent after an error, or if the
/// rank of src is not known.
std::optional<size_t> searchedDim(RuleContext &ctx) {
  if (!ctx.in(0))
    return std::nullopt;
  return ctx.axisAttr("axis", ctx.in(0)->size());
}

void argExtreme(RuleContext &ctx) {
  std::optional<size_t> axis = searchedDim(ctx);
  if (!axis)
    return;
  Dims shape = *ctx.in(0);
  if (shape[*axis] == 0)
    return ctx.error(ErrorCode::BadDim,
                     cat(ctx.inText(0), ": dim ", *axis,
                         " is empty, and so has no extreme element"),
                     "search along a dim of size 1 or more");
  if (ctx.boolAttr("keep_dims"))
    shape[*axis] = 1;
  else
    shape.erase(shape.begin() + *axis);
  ctx.setOut(0, shape);
}

/// k of TopK: unknown when an operand holds it. Absent after an error.
std::optional<int64_t> topCount(RuleContext &ctx) {
  bool isGiven = ctx.op.attr("k");
  if (isGiven && ctx.hasInput(1)) {
    ctx.error(ErrorCode::AttrValue,
              cat("k is given twice: attribute k is ", ctx.intAttr("k"),
                  ", and there is an operand k_tensor"),
              "drop one of them");
    return std::nullopt;
  }
  if (!isGiven && !ctx.hasInput(1)) {
    ctx.error(ErrorCode::MissingAttr,
              "neither attribute k nor operand k_tensor is given",
              "set k to the number of elements");
    return std::nullopt;
  }
  if (!isGiven)
    return ctx.requireOneElement(1) ? std::optional(kUnknownDim) : std::nullopt;
  int64_t k = ctx.intAttr("k");
  if (k >= 0)
    return k;
  ctx.error(ErrorCode::AttrValue, cat("attribute k is ", std::to_string(k),
                                      "; the least value is 0"));
  return std::nullopt;
}

void topK(RuleContext &ctx) {
  std::optional<int64_t> k = topCount(ctx);
  std::optional<size_t> axis = searchedDim(ctx);
  if (!k || !axis)
    return;
  Dims shape = *ctx.in(0);
  int64_t size = shape[*axis];
  if (isKnown(*k) && isKnown(size) && *k > size)
    return ctx.error(ErrorCode::AttrValue,
                     cat("attribute k is ", *k, ", dim ", *axis, " of src has ",
                         size, " elements"),
                     "k is at most the size of the dim");
  shape[*axis] = *k;
  ctx.setOut(0, shape);
  if (ctx.failed())
    return;
  // Where an operand holds k, either result may be declared with it.
  ctx.setOut(1, ctx.out(0));
  if (ctx.hasOutput(1) && !ctx.failed())
    ctx.setOut(0, ctx.out(1));
  int64_t declared = ctx.out(0) ? (*ctx.out(0))[*axis] : kUnknownDim;
  if (!ctx.failed() && isKnown(declared) && isKnown(size) && declared > size)
    ctx.error(ErrorCode::ShapeMismatch,
              cat(ctx.outText(0), ": ", declared, " elements along dim ", *axis,
                  ", of which src has ", size),
              "k is at most the size of the dim");
}

void cumSum(RuleContext &ctx) {
  if (searchedDim(ctx))
    ctx.setOut(0, ctx.in(0));
}

//===----------------------------------------------------------------------===//
// As many results as the data says.
//===----------------------------------------------------------------------===//

void nonZero(RuleContext &ctx) {
  ctx.setOut(1, Dims());
  if (!ctx.in(0))
    return ctx.setOut(0, Dims{kUnknownDim, kUnknownDim});
  const Dims &src = *ctx.in(0);
  ctx.setOut(0, Dims{static_cast<int64_t>(src.size()),
                     product(src).value_or(kUnknownDim)});
}

/// Whether the limits of NonMaxSuppression are in range.
bool checkLimits(RuleContext &ctx) {
  int64_t most = ctx.intAttr("max_output_boxes_per_class");
  if (most < 0)
    ctx.error(ErrorCode::AttrValue,
              cat("attribute max_output_boxes_per_class is ",
                  std::to_string(most), "; the least value is 0"));
  float overlap = ctx.floatAttr("iou_threshold");
  if (overlap < 0 || overlap > 1)
    ctx.error(
        ErrorCode::AttrValue,
        cat("attribute iou_threshold is ", overlap, ", outside of 0 to 1"),
        "it is a ratio of areas");
  return !ctx.failed();
}

void nonMaxSuppression(RuleContext &ctx) {
  if (!checkLimits(ctx))
    return;
  ctx.setOut(1, Dims());
  Dims scores = ctx.in(1).value_or(Dims(3, kUnknownDim));
  if (!ctx.requireShape(0, Dims{kUnknownDim, kUnknownDim, 4},
                        "batches, boxes, four coordinates") ||
      !ctx.requireShape(1, Dims(3, kUnknownDim), "batches, classes, boxes") ||
      !ctx.requireShape(0, Dims{scores[0], scores[2], 4},
                        cat("as ", ctx.inText(1), ": batches, classes, boxes")))
    return;
  Dims boxes = ctx.in(0).value_or(Dims{kUnknownDim, kUnknownDim, 4});
  int64_t batches = *mergeDim(boxes[0], scores[0]);
  int64_t count = *mergeDim(boxes[1], scores[2]);
  int64_t most = ctx.intAttr("max_output_boxes_per_class");
  if (isKnown(count) || most == 0)
    most = isKnown(count) ? std::min(most, count) : 0;
  else
    most = kUnknownDim;
  std::optional<int64_t> rows = product(Dims{batches, scores[1], most});
  if (!rows)
    return ctx.error(ErrorCode::BadDim,
                     cat("has ", ctx.inText(0), " and ", ctx.inText(1),
                         ": more results than any memory holds"),
                     "lower max_output_boxes_per_class");
  ctx.setOut(0, Dims{*rows, 3});
}

void roiAlign(RuleContext &ctx) {
  for (std::string_view name : {"output_height", "output_width"})
    if (ctx.intAttr(name) < 1)
      ctx.error(ErrorCode::AttrValue, cat("attribute ", name, " is ",
                                          std::to_string(ctx.intAttr(name)),
                                          "; the least value is 1"));
  if (ctx.intAttr("sampling_ratio") < 0)
    ctx.error(ErrorCode::AttrValue,
              cat("attribute sampling_ratio is ",
                  std::to_string(ctx.intAttr("sampling_ratio")),
                  "; the least value is 0"),
              "0 takes as many samples as a region needs");
  if (ctx.in(0) && ctx.in(0)->size() != 4)
    ctx.error(ErrorCode::BadRank,
              cat(ctx.inText(0), " of rank ", ctx.in(0)->size(),
                  "; needed is rank 4: two spatial dims"));
  if (ctx.failed())
    return;
  int64_t regions =
      ctx.in(1) && !ctx.in(1)->empty() ? (*ctx.in(1))[0] : kUnknownDim;
  if (!ctx.requireShape(1, Dims{kUnknownDim, 4},
                        "one row x1, y1, x2, y2 per region") ||
      !ctx.requireShape(2, Dims{regions},
                        cat("one image per region, as ", ctx.inText(1))))
    return;
  if (ctx.in(2))
    regions = *mergeDim(regions, (*ctx.in(2))[0]);
  DataLayout data(ctx, 4);
  int64_t channels = ctx.in(0) ? (*ctx.in(0))[data.channel] : kUnknownDim;
  ctx.setOut(0, data.make(regions, channels,
                          {ctx.intAttr("output_height"),
                           ctx.intAttr("output_width")}));
}

//===----------------------------------------------------------------------===//
// Random numbers.
//===----------------------------------------------------------------------===//

/// The rank is the number of elements of shape_tensor.
void rankFromOperand(RuleContext &ctx) {
  const Shape &dims = ctx.in(2);
  if (!dims)
    return;
  if (dims->size() != 1)
    return ctx.error(ErrorCode::BadRank,
                     cat(ctx.inText(2), " of rank ", dims->size(),
                         "; needed is rank 1, one element per dim of dst"));
  int64_t rank = (*dims)[0];
  if (!isKnown(rank))
    return;
  if (rank > kMaxRank)
    return ctx.error(ErrorCode::BadRank,
                     cat(ctx.inText(2),
                         ", one element per dim of dst; the "
                         "limit is ",
                         kMaxRank));
  ctx.setOut(0, Dims(rank, kUnknownDim));
}

void randomUniform(RuleContext &ctx) {
  bool one = ctx.requireOneElement(0);
  if (!ctx.requireOneElement(1) || !one)
    return;
  const AttrValue *given = ctx.op.attr("shape");
  if (given && ctx.hasInput(2))
    return ctx.error(ErrorCode::AttrValue,
                     cat("the shape is given twice: attribute shape is ",
                         listToString(std::get<Dims>(*given)),
                         ", and there is an operand shape_tensor"),
                     "drop one of them");
  if (!given && !ctx.hasInput(2))
    return ctx.error(
        ErrorCode::MissingAttr,
        "neither attribute shape nor operand shape_tensor is given",
        "set shape to the dims of dst; it is empty for a scalar");
  if (!given)
    return rankFromOperand(ctx);
  const auto &shape = std::get<Dims>(*given);
  if (std::ranges::any_of(shape, [](int64_t size) { return size < 0; }))
    return ctx.error(ErrorCode::AttrValue,
                     cat("attribute shape is ", listToString(shape),
                         "; the least size is 0"));
  ctx.setOut(0, shape);
}

constexpr RuleEntry rules[] = {
    {"arg_extreme", argExtreme},
    {"cum_sum", cumSum},
    {"non_max_suppression", nonMaxSuppression},
    {"non_zero", nonZero},
    {"random_uniform", randomUniform},
    {"roi_align", roiAlign},
    {"top_k", topK},
};

} // namespace

std::span<const RuleEntry> searchRules() { return rules; }

} // namespace tenon::graph::infer
