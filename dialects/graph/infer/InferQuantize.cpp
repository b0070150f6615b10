//===- InferQuantize.cpp - rules of the quantization operations -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The result has the shape of src; the rest is about how many scales and zero
// points there must be.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/infer/Rules.h"

namespace tenon::graph::infer {
namespace {

/// Size of the channel dim; unknown when the rank is.  Absent after an error.
std::optional<int64_t> channelCount(RuleContext &ctx) {
  if (!ctx.in(0))
    return kUnknownDim;
  std::optional<size_t> axis = ctx.axisAttr("axis", ctx.in(0)->size());
  return axis ? std::optional<int64_t>((*ctx.in(0))[*axis]) : std::nullopt;
}

/// Whether `count` may be the scales of weights in groups of `channels` each:
/// checkReaders looks at who reads them.
bool mayBeGrouped(std::string_view qtype, int64_t count, int64_t channels) {
  return qtype == "per_channel" && channels > 0 && count > channels &&
         count % channels == 0;
}

/// Scales and zero points are attributes.
void staticQuantize(RuleContext &ctx) {
  ctx.setOut(0, ctx.in(0));
  std::string qtype = ctx.stringAttr("qtype");
  size_t scales = ctx.floatsAttr("scales").size();
  if (std::optional<Dims> zps = ctx.listAttr("zps");
      zps && zps->size() != scales)
    ctx.error(ErrorCode::AttrValue, cat("attribute zps has ", zps->size(),
                                        " entries, scales has ", scales));
  int64_t needed = 1;
  if (qtype == "per_channel") {
    std::optional<int64_t> channels = channelCount(ctx);
    if (!channels || !isKnown(*channels))
      return;
    needed = *channels;
  }
  if (scales != static_cast<size_t>(needed) &&
      !mayBeGrouped(qtype, static_cast<int64_t>(scales), needed))
    ctx.error(ErrorCode::AttrValue,
              cat("attribute scales has ", scales, " entries, needed is ",
                  needed, " for qtype ", qtype, " and src of ", ctx.in(0)));
}

/// Operand `i` must have `count` elements in at most one dim, or one element
/// when `orOne`.
void requireCount(RuleContext &ctx, size_t i, int64_t count, bool orOne,
                  std::string_view qtype) {
  if (!ctx.hasInput(i) || !ctx.in(i))
    return;
  std::optional<int64_t> given = product(*ctx.in(i));
  bool fits = ctx.in(i)->size() <= 1 && given &&
              (mergeDim(*given, count) || (orOne && *given == 1) ||
               mayBeGrouped(qtype, *given, count));
  if (!fits)
    ctx.error(ErrorCode::ShapeMismatch,
              cat(ctx.inText(i), ", needed is ", count,
                  count == 1 ? " element" : " elements in one dim", " for ",
                  qtype, " with src of ", ctx.in(0)));
}

/// src dim == scales dim * group, for each dim; zps like scales.
void checkGroups(RuleContext &ctx) {
  std::optional<Dims> groups = ctx.listAttr("group_shape");
  if (!groups)
    return ctx.error(ErrorCode::MissingAttr, "attribute group_shape is missing",
                     "qtype per_group needs one entry per dim of src");
  if (ctx.hasInput(2))
    ctx.requireSame(1, 2);
  const Shape &src = ctx.in(0), &scales = ctx.in(1);
  if (src && groups->size() != src->size())
    return ctx.error(ErrorCode::AttrValue,
                     cat("attribute group_shape is ", listToString(*groups),
                         ", needed is one entry per dim of src, ", src));
  if (scales && scales->size() != groups->size())
    return ctx.error(ErrorCode::BadRank, cat(ctx.inText(1), ", needed is rank ",
                                             groups->size(), " as of src"));
  if (!src || !scales)
    return;
  for (size_t i = 0; i < groups->size(); ++i) {
    int64_t size = (*src)[i], count = (*scales)[i];
    if (isKnown(size) && isKnown(count) &&
        __int128(count) * (*groups)[i] != size)
      ctx.error(ErrorCode::ShapeMismatch,
                cat("dim ", i, " of src is ", size, ", but scales of ", scales,
                    " with groups of ", (*groups)[i], " cover ",
                    std::to_string(count), " x ", (*groups)[i]));
  }
}

/// Scales and zero points are operands.
void dynamicQuantize(RuleContext &ctx) {
  ctx.setOut(0, ctx.in(0));
  std::string qtype = ctx.stringAttr("qtype");
  if (qtype == "per_group")
    return checkGroups(ctx);
  int64_t needed = 1;
  if (qtype == "per_channel") {
    std::optional<int64_t> channels = channelCount(ctx);
    if (!channels)
      return;
    needed = *channels;
  }
  requireCount(ctx, 1, needed, /*orOne=*/false, qtype);
  // As many zero points as scales, which may be those of several groups.
  if (std::optional<int64_t> scales =
          ctx.in(1) ? product(*ctx.in(1)) : std::nullopt;
      scales && !ctx.failed() && isKnown(*scales))
    needed = *scales;
  requireCount(ctx, 2, needed, /*orOne=*/true, qtype);
}

constexpr RuleEntry rules[] = {
    {"dynamic_quantize", dynamicQuantize},
    {"quantize", staticQuantize},
};

} // namespace

std::span<const RuleEntry> quantizeRules() { return rules; }

} // namespace tenon::graph::infer
