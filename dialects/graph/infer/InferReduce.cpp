//===- InferReduce.cpp - rules of reductions ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/Rules.h"

#include <algorithm>

namespace tenon::graph::infer {
namespace {

/// Axes given by a tensor: the dims are not known, perhaps the rank is.
void reduceByOperand(RuleContext &ctx, bool keepDims) {
  const Shape &src = ctx.in(0), &axes = ctx.in(1);
  if (axes && axes->size() > 1)
    return ctx.error(ErrorCode::BadRank,
                     cat(ctx.inText(1), "; axes have rank 0 or 1"));
  if (!src)
    return;
  int64_t count = axes ? (axes->empty() ? 1 : (*axes)[0]) : kUnknownDim;
  auto rank = static_cast<int64_t>(src->size());
  if (isKnown(count) && count > rank)
    return ctx.error(ErrorCode::ShapeMismatch,
                     cat(ctx.inText(1), ": ", count, " axes for src of ", src));
  if (count == 0)
    return ctx.setOut(0, src);
  if (keepDims)
    ctx.setOut(0, Dims(rank, kUnknownDim));
  else if (isKnown(count))
    ctx.setOut(0, Dims(rank - count, kUnknownDim));
}

void reduce(RuleContext &ctx) {
  bool keepDims = ctx.boolAttr("keep_dims");
  std::optional<Dims> axes = ctx.listAttr("axes");
  if (ctx.hasInput(1)) {
    if (axes)
      return ctx.error(ErrorCode::AttrValue,
                       cat("the axes are given twice: attribute axes is ",
                           listToString(*axes), ", and there is an operand"),
                       "drop one of them");
    return reduceByOperand(ctx, keepDims);
  }
  const Shape &src = ctx.in(0);
  if (!src)
    return;
  // No axes: nothing is reduced.
  Dims shape = *src;
  std::vector<bool> reduced(src->size(), false);
  for (int64_t axis : axes.value_or(Dims())) {
    std::optional<size_t> dim = ctx.normalizeAxis("axes", axis, src->size());
    if (!dim)
      return;
    if (reduced[*dim])
      return ctx.error(ErrorCode::AttrValue,
                       cat("attribute axes is ", listToString(*axes),
                           ", which names dim ", *dim, " twice"));
    reduced[*dim] = true;
    shape[*dim] = 1;
  }
  if (!keepDims) {
    shape.clear();
    for (size_t i = 0; i < src->size(); ++i)
      if (!reduced[i])
        shape.push_back((*src)[i]);
  }
  ctx.setOut(0, shape);
}

constexpr RuleEntry rules[] = {
    {"reduce", reduce},
};

} // namespace

std::span<const RuleEntry> reduceRules() { return rules; }

} // namespace tenon::graph::infer
