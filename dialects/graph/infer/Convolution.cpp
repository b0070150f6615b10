//===- Convolution.cpp - how the shapes of a convolution relate -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Convolution.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/infer/Convolution.h"
#include "dialects/graph/infer/Window.h"

#include <algorithm>

namespace tenon::graph::infer {
namespace {

bool relateBatch(RuleContext &ctx, Conv &conv) {
  std::optional<int64_t> batch =
      mergeDim(conv.wide.dims[0], conv.narrow.dims[0]);
  if (!batch) {
    ctx.error(ErrorCode::ShapeMismatch,
              cat("batch sizes differ: ", conv.wide.text(), ", ",
                  conv.narrow.text()));
    return false;
  }
  conv.wide.dims[0] = conv.narrow.dims[0] = *batch;
  return true;
}

/// narrow channels == full.
bool relateFull(RuleContext &ctx, Conv &conv, const DataLayout &data,
                const WeightsLayout &layout) {
  int64_t groups = ctx.intAttr("groups");
  int64_t &channels = conv.narrow.dims[data.channel];
  int64_t &full = conv.weights.dims[layout.full];
  std::optional<int64_t> merged = mergeDim(channels, full);
  if (!merged) {
    ctx.error(ErrorCode::ShapeMismatch,
              cat(conv.narrow.name, " has ", channels, " channels, ",
                  conv.weights.name, " of ", conv.weights.dims, " give ", full,
                  " (weights_format ", ctx.stringAttr("weights_format"), ")"));
    return false;
  }
  channels = full = *merged;
  if (isKnown(full) && full % groups != 0) {
    ctx.error(ErrorCode::ShapeMismatch,
              cat("groups ", groups, " does not divide the ", full,
                  " channels of ", conv.narrow.name));
    return false;
  }
  return true;
}

/// wide channels == perGroup * groups.
bool relatePerGroup(RuleContext &ctx, Conv &conv, const DataLayout &data,
                    const WeightsLayout &layout) {
  int64_t groups = ctx.intAttr("groups");
  int64_t &channels = conv.wide.dims[data.channel];
  int64_t &perGroup = conv.weights.dims[layout.perGroup];
  if (isKnown(perGroup)) {
    __int128 expected = __int128(perGroup) * groups;
    if (!fitsDim(expected) || (isKnown(channels) && expected != channels)) {
      ctx.error(ErrorCode::ShapeMismatch,
                cat(conv.wide.name, " has ", channels, " channels, ",
                    conv.weights.name, " of ", conv.weights.dims, " give ",
                    perGroup, " for each of ", groups,
                    " groups (weights_format ",
                    ctx.stringAttr("weights_format"), ")"));
      return false;
    }
    channels = static_cast<int64_t>(expected);
  } else if (isKnown(channels)) {
    if (channels % groups != 0) {
      ctx.error(ErrorCode::ShapeMismatch,
                cat("groups ", groups, " does not divide the ", channels,
                    " channels of ", conv.wide.name));
      return false;
    }
    perGroup = channels / groups;
  }
  return true;
}

bool relateSpatial(RuleContext &ctx, Conv &conv, ConvForm form,
                   const DataLayout &data, const WeightsLayout &layout) {
  std::optional<Window> window =
      readWindow(ctx, layout.spatial(conv.weights.dims));
  if (!window)
    return false;
  Dims wide = data.spatial(conv.wide.dims);
  Dims narrow = data.spatial(conv.narrow.dims);
  ConvTensor &target = form == ConvForm::slide ? conv.narrow : conv.wide;
  std::optional<Dims> expected;
  if (form == ConvForm::slide) {
    resolveAutoPad(ctx, *window, wide);
    if (!ctx.failed())
      expected = slide(ctx, *window, wide, Rounding::floor, conv.wide.name);
  } else {
    std::optional<Dims> padding =
        ctx.listAttr("output_padding", data.spatialRank, 0);
    resolveAutoPadTransposed(ctx, *window);
    if (padding && !ctx.failed())
      expected = spread(ctx, *window, narrow, *padding, conv.narrow.name);
  }
  if (!expected)
    return false;
  const Dims &given = form == ConvForm::slide ? narrow : wide;
  if (!requireSpatial(ctx, given, *expected, target.name))
    return false;
  target.dims = data.make(target.dims[0], target.dims[data.channel],
                          **mergeShapes(given, *expected));
  return true;
}

} // namespace

WeightsLayout::WeightsLayout(const RuleContext &ctx, size_t rank) {
  std::string format = ctx.stringAttr("weights_format");
  bool spatialLast = format == "OIX" || format == "IOX";
  full = spatialLast ? 0 : rank - 1;
  perGroup = spatialLast ? 1 : rank - 2;
  firstSpatial = spatialLast ? 2 : 0;
  spatialRank = rank - 2;
}

Dims WeightsLayout::spatial(const Dims &dims) const {
  auto first = dims.begin() + firstSpatial;
  return Dims(first, first + spatialRank);
}

std::optional<size_t> convRank(RuleContext &ctx,
                               std::initializer_list<Shape> shapes) {
  std::optional<size_t> rank;
  for (const Shape &shape : shapes) {
    if (!shape)
      continue;
    if (rank && shape->size() != *rank) {
      std::string text;
      for (const Shape &s : shapes)
        text += (text.empty() ? "" : ", ") + toString(s);
      ctx.error(ErrorCode::BadRank,
                cat("ranks of data and weights differ: ", text),
                "groups do not add a dim to the weights");
      return std::nullopt;
    }
    rank = shape->size();
  }
  if (rank && *rank < 3) {
    ctx.error(ErrorCode::BadRank, cat("rank is ", *rank,
                                      "; needed are batch, channels and at "
                                      "least one spatial dim"));
    return std::nullopt;
  }
  return rank;
}

Dims dimsOrUnknown(const Shape &shape, size_t rank) {
  return shape ? *shape : Dims(rank, kUnknownDim);
}

bool relateConv(RuleContext &ctx, Conv &conv, ConvForm form) {
  size_t rank = conv.weights.dims.size();
  DataLayout data(ctx, rank);
  WeightsLayout layout(ctx, rank);
  // Not short-circuited: report every clash.
  bool ok = relateBatch(ctx, conv);
  ok &= relateFull(ctx, conv, data, layout);
  ok &= relatePerGroup(ctx, conv, data, layout);
  ok &= relateSpatial(ctx, conv, form, data, layout);
  return ok;
}

} // namespace tenon::graph::infer
