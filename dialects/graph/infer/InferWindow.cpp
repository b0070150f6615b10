//===- InferWindow.cpp - rules of pooling and interpolation ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Forward and backward: the backward forms check the same window.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/infer/Window.h"

#include <cmath>

namespace tenon::graph::infer {
namespace {

//===----------------------------------------------------------------------===//
// Pooling.
//===----------------------------------------------------------------------===//

/// Reads the window of a pooling over data of `rank`, for sizes `src`.
std::optional<Window> readPoolWindow(RuleContext &ctx, const Dims &src) {
  std::optional<Dims> kernel = ctx.listAttr("kernel", src.size(), 1);
  if (!kernel)
    return std::nullopt;
  std::optional<Window> window = readWindow(ctx, std::move(*kernel));
  if (window)
    resolveAutoPad(ctx, *window, src);
  return ctx.failed() ? std::nullopt : window;
}

void pool(RuleContext &ctx) {
  std::string rounding = ctx.stringAttr("rounding_type");
  if (!ctx.in(0) || !ctx.requireRankAtLeast(0, 3))
    return;
  const Dims &src = *ctx.in(0);
  DataLayout data(ctx, src.size());
  std::optional<Window> window = readPoolWindow(ctx, data.spatial(src));
  if (!window)
    return;
  std::optional<Dims> spatial =
      slide(ctx, *window, data.spatial(src),
            rounding == "ceil" ? Rounding::ceil : Rounding::floor, "src");
  for (size_t i = 0; spatial && i < ctx.outputs.size(); ++i)
    ctx.setOut(i, data.make(src[0], src[data.channel], *spatial));
}

/// Checks `diff_dst` (operand `i`) against the window over `src`.  Both
/// roundings are right unless rounding_type says which is.
void checkPoolGradient(RuleContext &ctx, size_t i, const Dims &src) {
  DataLayout data(ctx, src.size());
  Dims sizes = data.spatial(src);
  std::optional<Window> window = readPoolWindow(ctx, sizes);
  if (!window || !ctx.in(i))
    return;
  std::string rounding;
  if (ctx.info.attr("rounding_type"))
    rounding = ctx.stringAttr("rounding_type");
  auto least =
      slide(ctx, *window, sizes,
            rounding == "ceil" ? Rounding::ceil : Rounding::floor, "src");
  if (!least)
    return;
  auto most =
      slide(ctx, *window, sizes,
            rounding == "floor" ? Rounding::floor : Rounding::ceil, "src");
  if (!most)
    return;
  const Dims &dst = *ctx.in(i);
  Dims given = data.spatial(dst);
  for (size_t d = 0; d < given.size(); ++d)
    if (given[d] == (*most)[d])
      (*least)[d] = (*most)[d];
  requireSpatial(ctx, given, *least, ctx.inName(i));
  if (!mergeDim(dst[0], src[0]) ||
      !mergeDim(dst[data.channel], src[data.channel]))
    ctx.error(ErrorCode::ShapeMismatch, cat("batch or channels differ: ",
                                            ctx.inText(i), ", src is ", src));
}

void maxPoolBackward(RuleContext &ctx) {
  ctx.setOut(0, ctx.in(0));
  if (!ctx.requireRankAtLeast(0, 3) || !ctx.requireRankAtLeast(1, 3))
    return;
  if (ctx.in(0) && ctx.in(1) && ctx.in(0)->size() != ctx.in(1)->size())
    return ctx.error(ErrorCode::BadRank,
                     cat("ranks differ: ", ctx.inText(0), ", ", ctx.inText(1)));
  if (ctx.in(0))
    checkPoolGradient(ctx, 1, *ctx.in(0));
}

void avgPoolBackward(RuleContext &ctx) {
  if (!ctx.requireRankAtLeast(0, 3))
    return;
  if (std::optional<Dims> shape = ctx.listAttr("src_shape"))
    ctx.setOut(0, *shape);
  // Batch and channels follow from diff_dst in any case.
  if (const Shape &dst = ctx.in(0); dst && !ctx.failed()) {
    DataLayout data(ctx, dst->size());
    ctx.setOut(0, data.make((*dst)[0], (*dst)[data.channel],
                            Dims(data.spatialRank, kUnknownDim)));
    if (!ctx.failed() && !ctx.hasInput(1))
      ctx.requireKnownOut(0, data.spatial(*ctx.out(0)),
                          "set attribute src_shape");
  }
  if (ctx.out(0) && !ctx.failed() && ctx.out(0)->size() >= 3)
    checkPoolGradient(ctx, 0, *ctx.out(0));
}

//===----------------------------------------------------------------------===//
// Interpolation.
//===----------------------------------------------------------------------===//

/// Spatial sizes of the interpolated tensor; unknown when an operand holds
/// them.  Absent after an error.
std::optional<Dims> interpolatedSizes(RuleContext &ctx, const Dims &sizes,
                                      bool hasSizesOperand) {
  std::optional<Dims> given = ctx.listAttr("sizes");
  std::vector<float> scales = ctx.floatsAttr("scales");
  if (ctx.stringAttr("ratio") == "scales" && scales.empty()) {
    ctx.error(ErrorCode::MissingAttr,
              "attribute ratio is scales, but attribute scales is not set",
              "ratio=sizes takes the ratio of the sizes");
    return std::nullopt;
  }
  if (given.has_value() + !scales.empty() + hasSizesOperand > 1) {
    ctx.error(ErrorCode::AttrValue,
              "more than one of the attributes sizes and scales and the "
              "operand of sizes is given",
              "keep one of them");
    return std::nullopt;
  }
  if (given)
    return ctx.listAttr("sizes", sizes.size(), 1);
  if (scales.empty()) {
    if (hasSizesOperand)
      return Dims(sizes.size(), kUnknownDim);
    ctx.error(ErrorCode::MissingAttr,
              "neither attribute sizes nor attribute scales is set",
              "set one of them, with one entry per spatial dim");
    return std::nullopt;
  }
  if (scales.size() != sizes.size()) {
    ctx.error(ErrorCode::AttrValue, cat("attribute scales has ", scales.size(),
                                        " entries, needed are ", sizes.size(),
                                        " (one per spatial dim)"));
    return std::nullopt;
  }
  Dims result(sizes.size(), kUnknownDim);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!isKnown(sizes[i]))
      continue;
    // In f32, the type of the attribute: 10 * 0.3f is 3, not 3.00000012. A
    // multiple of 1/256 needs no rounding, also of sizes that f32 rounds.
    float times = scales[i] * 256;
    bool isExact = times == std::floor(times) && times <= 65536;
    double size =
        isExact ? static_cast<double>(sizes[i]) * scales[i]
                : static_cast<double>(static_cast<float>(sizes[i]) * scales[i]);
    if (!(size < 9.0e18) || (size < 1 && sizes[i] != 0)) {
      ctx.error(ErrorCode::BadDim,
                cat("spatial dim ", i, " of size ", sizes[i], " scaled by ",
                    scales[i], " has no valid size"));
      return std::nullopt;
    }
    result[i] = static_cast<int64_t>(size);
  }
  return result;
}

void interpolate(RuleContext &ctx) {
  if (!ctx.in(0) || !ctx.requireRankAtLeast(0, 3))
    return;
  const Dims &src = *ctx.in(0);
  DataLayout data(ctx, src.size());
  if (std::optional<Dims> sizes =
          interpolatedSizes(ctx, data.spatial(src), ctx.hasInput(1)))
    ctx.setOut(0, data.make(src[0], src[data.channel], *sizes));
}

void interpolateBackward(RuleContext &ctx) {
  if (!ctx.in(0) || !ctx.requireRankAtLeast(0, 3))
    return;
  const Dims &src = *ctx.in(0);
  DataLayout data(ctx, src.size());
  std::optional<Dims> sizes =
      interpolatedSizes(ctx, data.spatial(src), ctx.hasInput(2));
  // A scale written with six digits may miss the size by a hair: the gradient
  // tells the size then, when it is the next one.
  std::vector<float> scales = ctx.floatsAttr("scales");
  if (sizes && ctx.in(1) && ctx.in(1)->size() == src.size()) {
    Dims given = data.spatial(*ctx.in(1)), from = data.spatial(src);
    for (size_t i = 0; i < scales.size() && i < sizes->size(); ++i)
      if (isKnown(given[i]) && isKnown((*sizes)[i]) &&
          given[i] == (*sizes)[i] + 1 &&
          static_cast<double>(given[i]) -
                  static_cast<double>(from[i]) * scales[i] <
              1e-4 * static_cast<double>(given[i]))
        (*sizes)[i] = given[i];
  }
  if (sizes)
    ctx.requireShape(1, data.make(src[0], src[data.channel], *sizes),
                     "the shape of the forward result");
  ctx.setOut(0, src);
}

constexpr RuleEntry rules[] = {
    {"avg_pool_backward", avgPoolBackward},
    {"interpolate", interpolate},
    {"interpolate_backward", interpolateBackward},
    {"max_pool_backward", maxPoolBackward},
    {"pool", pool},
};

} // namespace

std::span<const RuleEntry> windowRules() { return rules; }

} // namespace tenon::graph::infer
