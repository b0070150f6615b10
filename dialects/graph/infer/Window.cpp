//===- Window.cpp - arithmetic of sliding windows -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Window.h.  128-bit integers hold every intermediate value: a product of
// two int64_t plus a few more.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/infer/Window.h"

#include <algorithm>

namespace tenon::graph::infer {
namespace {

__int128 dilatedKernel(const Window &window, size_t i) {
  return __int128(window.dilations[i]) * (window.kernel[i] - 1) + 1;
}

std::string autoPad(const RuleContext &ctx) {
  std::string mode = ctx.stringAttr("auto_pad");
  return mode.empty() ? "None" : mode;
}

/// Splits `total`, which fits a dim, in two.
void setPads(Window &window, size_t i, int64_t total, bool upper) {
  int64_t smaller = total / 2;
  window.padsBegin[i] = upper ? smaller : total - smaller;
  window.padsEnd[i] = total - window.padsBegin[i];
}

void publishPads(RuleContext &ctx, const Window &window) {
  if (!allKnown(window.padsBegin) || !allKnown(window.padsEnd))
    return;
  ctx.setAttr("pads_begin", window.padsBegin);
  ctx.setAttr("pads_end", window.padsEnd);
  ctx.setAttr("auto_pad", std::string("None"));
}

/// `total(i)` is the padding of spatial dim i, absent when unknown.
template <typename TotalFn>
void resolve(RuleContext &ctx, Window &window, TotalFn total) {
  std::string mode = autoPad(ctx);
  if (mode == "None")
    return;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    std::optional<__int128> sum =
        mode == "VALID" ? std::optional<__int128>(0) : total(i);
    if (!sum)
      continue;
    sum = std::max<__int128>(*sum, 0);
    if (!fitsDim(*sum))
      return ctx.error(ErrorCode::AttrValue,
                       cat("the padding of spatial dim ", i, " for auto_pad ",
                           mode, " does not fit 64 bits"));
    setPads(window, i, static_cast<int64_t>(*sum), mode == "SAME_UPPER");
  }
  publishPads(ctx, window);
}

bool dimKnown(const Window &window, size_t i, int64_t size) {
  return isKnown(size) && isKnown(window.kernel[i]) &&
         isKnown(window.padsBegin[i]) && isKnown(window.padsEnd[i]);
}

std::string describeDim(const Window &window, size_t i) {
  return cat("kernel ", window.kernel[i], ", stride ", window.strides[i],
             ", dilation ", window.dilations[i], ", pads ", window.padsBegin[i],
             " and ", window.padsEnd[i]);
}

} // namespace

std::optional<Window> readWindow(RuleContext &ctx, Dims kernel) {
  Window window;
  size_t rank = kernel.size();
  window.kernel = std::move(kernel);
  for (int64_t size : window.kernel)
    if (isKnown(size) && size < 1) {
      ctx.error(ErrorCode::BadDim,
                cat("the kernel is ", window.kernel, "; sizes are 1 or more"));
      return std::nullopt;
    }
  std::optional<Dims> strides = ctx.listAttr("strides", rank, 1);
  std::optional<Dims> dilations = ctx.listAttr("dilations", rank, 1);
  std::optional<Dims> begin(std::in_place, rank, kUnknownDim), end = begin;
  if (autoPad(ctx) == "None") {
    begin = ctx.listAttr("pads_begin", rank, 0);
    end = ctx.listAttr("pads_end", rank, 0);
  }
  if (!strides || !dilations || !begin || !end)
    return std::nullopt;
  window.strides = std::move(*strides);
  window.dilations = std::move(*dilations);
  window.padsBegin = std::move(*begin);
  window.padsEnd = std::move(*end);
  return window;
}

void resolveAutoPad(RuleContext &ctx, Window &window, const Dims &sizes) {
  resolve(ctx, window, [&](size_t i) -> std::optional<__int128> {
    if (!isKnown(window.kernel[i]) ||
        (!isKnown(sizes[i]) && window.strides[i] != 1))
      return std::nullopt;
    int64_t rest = window.strides[i] == 1 ? 0 : sizes[i] % window.strides[i];
    return dilatedKernel(window, i) - (rest ? rest : window.strides[i]);
  });
}

void resolveAutoPadTransposed(RuleContext &ctx, Window &window) {
  resolve(ctx, window, [&](size_t i) -> std::optional<__int128> {
    if (!isKnown(window.kernel[i]))
      return std::nullopt;
    return dilatedKernel(window, i) - window.strides[i];
  });
}

std::optional<Dims> slide(RuleContext &ctx, const Window &window,
                          const Dims &sizes, Rounding rounding,
                          const std::string &name) {
  Dims result(sizes.size(), kUnknownDim);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!dimKnown(window, i, sizes[i]))
      continue;
    __int128 padded =
        __int128(sizes[i]) + window.padsBegin[i] + window.padsEnd[i];
    __int128 room = padded - dilatedKernel(window, i);
    if (room < 0) {
      ctx.error(ErrorCode::ShapeMismatch,
                cat("spatial dim ", i, " of ", name, " has size ", sizes[i],
                    ", with its padding smaller than the dilated kernel (",
                    describeDim(window, i), ")"),
                "enlarge the padding or take a smaller kernel");
      return std::nullopt;
    }
    int64_t stride = window.strides[i];
    __int128 steps =
        (rounding == Rounding::ceil ? room + stride - 1 : room) / stride;
    if (!fitsDim(steps + 1)) {
      ctx.error(ErrorCode::BadDim,
                cat("spatial dim ", i, " of the result does not fit 64 bits (",
                    describeDim(window, i), ")"));
      return std::nullopt;
    }
    result[i] = static_cast<int64_t>(steps + 1);
  }
  return result;
}

std::optional<Dims> spread(RuleContext &ctx, const Window &window,
                           const Dims &sizes, const Dims &outputPadding,
                           const std::string &name) {
  Dims result(sizes.size(), kUnknownDim);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!dimKnown(window, i, sizes[i]))
      continue;
    __int128 size = __int128(window.strides[i]) * (sizes[i] - 1) +
                    dilatedKernel(window, i) - window.padsBegin[i] -
                    window.padsEnd[i] + outputPadding[i];
    // An empty input has an empty result, whatever the formula says.
    if (sizes[i] == 0)
      size = 0;
    if (!fitsDim(size) || (size == 0 && sizes[i] != 0)) {
      ctx.error(ErrorCode::BadDim,
                cat("spatial dim ", i, " of ", name, " has size ", sizes[i],
                    ", which gives a result ",
                    size > 0 ? "that does not fit 64 bits"
                             : "of less than one element",
                    " (", describeDim(window, i), ", output_padding ",
                    outputPadding[i], ")"));
      return std::nullopt;
    }
    result[i] = static_cast<int64_t>(size);
  }
  return result;
}

bool requireSpatial(RuleContext &ctx, const Dims &given, const Dims &expected,
                    const std::string &name) {
  if (mergeShapes(given, expected))
    return true;
  ctx.error(ErrorCode::ShapeMismatch,
            cat("spatial dims of ", name, " are ", given, ", the window gives ",
                expected));
  return false;
}

} // namespace tenon::graph::infer
