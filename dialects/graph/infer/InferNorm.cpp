//===- InferNorm.cpp - rules of normalizations and softmax ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Forward and backward.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/infer/Rules.h"

namespace tenon::graph::infer {
namespace {

//===----------------------------------------------------------------------===//
// Batch normalization.
//===----------------------------------------------------------------------===//

/// [C] of operand 0, [?] when unknown; absent after an error.
std::optional<Dims> channelVector(RuleContext &ctx) {
  if (!ctx.requireRankAtLeast(0, 2))
    return std::nullopt;
  const Shape &src = ctx.in(0);
  return Dims{src ? (*src)[DataLayout(ctx, src->size()).channel] : kUnknownDim};
}

/// Operands `first` and later must be [C].
void requireChannelVectors(RuleContext &ctx, size_t first, const Dims &vector) {
  for (size_t i = first; i < ctx.inputs.size(); ++i)
    ctx.requireShape(i, vector,
                     cat("one entry per channel of src ", ctx.in(0),
                         ", data_format ", ctx.stringAttr("data_format")));
}

void batchNormInference(RuleContext &ctx) {
  std::optional<Dims> vector = channelVector(ctx);
  if (!vector)
    return;
  requireChannelVectors(ctx, 1, *vector);
  ctx.setOut(0, ctx.in(0));
}

void batchNormTraining(RuleContext &ctx) {
  if (ctx.hasInput(3) != ctx.hasInput(4))
    return ctx.error(ErrorCode::OperandCount,
                     ctx.hasInput(3) ? "has gamma but no beta"
                                     : "has beta but no gamma",
                     "gamma and beta come both or not at all");
  std::optional<Dims> vector = channelVector(ctx);
  if (!vector)
    return;
  requireChannelVectors(ctx, 1, *vector);
  ctx.setOut(0, ctx.in(0));
  for (size_t i = 1; i < ctx.outputs.size(); ++i)
    ctx.setOut(i, *vector);
}

void batchNormBackward(RuleContext &ctx) {
  if (ctx.hasOutput(1) != ctx.hasOutput(2))
    return ctx.error(ErrorCode::OperandCount,
                     ctx.hasOutput(1) ? "has diff_gamma but no diff_beta"
                                      : "has diff_beta but no diff_gamma",
                     "diff_gamma and diff_beta come both or not at all");
  if (ctx.hasOutput(1) && !ctx.hasInput(4))
    ctx.error(ErrorCode::OperandCount, "has diff_gamma but no operand gamma",
              "the form with three results needs five operands");
  std::optional<Dims> vector = channelVector(ctx);
  if (!vector)
    return;
  Shape src = ctx.requireSame(0, 1);
  requireChannelVectors(ctx, 2, *vector);
  ctx.setOut(0, src);
  for (size_t i = 1; i < ctx.outputs.size(); ++i)
    ctx.setOut(i, *vector);
}

//===----------------------------------------------------------------------===//
// Group, layer and RMS normalization.
//===----------------------------------------------------------------------===//

/// keep_stats and use_affine against the numbers of values.
void checkNormForm(RuleContext &ctx) {
  bool keepStats = ctx.boolAttr("keep_stats");
  if (keepStats != ctx.hasOutput(1) || keepStats != ctx.hasOutput(2))
    ctx.error(ErrorCode::OperandCount,
              cat("has ", ctx.outputs.size(), " results with keep_stats=",
                  keepStats, ", needed are ", keepStats ? 3 : 1),
              keepStats ? "keep_stats=false gives dst only"
                        : "mean and variance need keep_stats=true");
  if (ctx.boolAttr("use_affine") && !(ctx.hasInput(1) && ctx.hasInput(2)))
    ctx.error(ErrorCode::OperandCount,
              "has no gamma and beta with use_affine=true",
              "pass them, or set use_affine=false");
}

/// The shape of mean and variance, [N, groups], after a check that groups
/// divides the channels.
Dims groupStatistics(RuleContext &ctx, int64_t channels) {
  int64_t groups = ctx.intAttr("groups");
  if (isKnown(channels) && channels % groups != 0)
    ctx.error(ErrorCode::ShapeMismatch,
              cat("groups ", groups, " does not divide the ", channels,
                  " channels of src"));
  return {ctx.in(0) ? (*ctx.in(0))[0] : kUnknownDim, groups};
}

void groupNorm(RuleContext &ctx) {
  checkNormForm(ctx);
  std::optional<Dims> vector = channelVector(ctx);
  if (!vector)
    return;
  requireChannelVectors(ctx, 1, *vector);
  Dims statistics = groupStatistics(ctx, (*vector)[0]);
  ctx.setOut(0, ctx.in(0));
  for (size_t i = 1; i < ctx.outputs.size(); ++i)
    ctx.setOut(i, statistics);
}

void groupNormBackward(RuleContext &ctx) {
  std::optional<Dims> vector = channelVector(ctx);
  if (!vector)
    return;
  Shape src = ctx.requireSame(0, 1);
  Dims statistics = groupStatistics(ctx, (*vector)[0]);
  for (size_t i = 2; i < 4; ++i)
    ctx.requireShape(i, statistics, "one entry per sample and group");
  requireChannelVectors(ctx, 4, *vector);
  ctx.setOut(0, src);
  for (size_t i = 1; i < ctx.outputs.size(); ++i)
    ctx.setOut(i, *vector);
}

/// The two parts of src that `begin_norm_axis` separates; both unranked when
/// the rank of src is unknown.  Absent after an error.
struct NormSplit {
  Shape leading, normalized;
};

std::optional<NormSplit> splitAtNormAxis(RuleContext &ctx) {
  NormSplit split;
  if (!ctx.requireRankAtLeast(0, 1))
    return std::nullopt;
  if (!ctx.in(0))
    return split;
  const Dims &src = *ctx.in(0);
  std::optional<size_t> axis = ctx.axisAttr("begin_norm_axis", src.size());
  if (!axis)
    return std::nullopt;
  split.leading = Dims(src.begin(), src.begin() + *axis);
  split.normalized = Dims(src.begin() + *axis, src.end());
  return split;
}

constexpr std::string_view affineText =
    "the dims of src from begin_norm_axis on";
constexpr std::string_view statsText = "the dims of src before begin_norm_axis";

void layerNorm(RuleContext &ctx) {
  if (ctx.info.attr("keep_stats"))
    checkNormForm(ctx);
  std::optional<NormSplit> split = splitAtNormAxis(ctx);
  if (!split)
    return;
  for (size_t i = 1; i < ctx.inputs.size(); ++i)
    ctx.requireShape(i, split->normalized, affineText);
  ctx.setOut(0, ctx.in(0));
  for (size_t i = 1; i < ctx.outputs.size(); ++i)
    ctx.setOut(i, split->leading);
}

void layerNormBackward(RuleContext &ctx) {
  bool affine = ctx.boolAttr("use_affine");
  if (affine != ctx.hasOutput(1) || affine != ctx.hasOutput(2))
    ctx.error(ErrorCode::OperandCount, cat("has ", ctx.outputs.size(),
                                           " results with use_affine=", affine,
                                           ", needed are ", affine ? 3 : 1));
  if (affine && !ctx.hasInput(4))
    ctx.error(ErrorCode::OperandCount, "has no gamma with use_affine=true",
              "pass it as operand 4, or set use_affine=false");
  std::optional<NormSplit> split = splitAtNormAxis(ctx);
  if (!split)
    return;
  Shape src = ctx.requireSame(0, 1);
  for (size_t i = 2; i < 4; ++i)
    ctx.requireShape(i, split->leading, statsText);
  for (size_t i = 4; i < ctx.inputs.size(); ++i)
    ctx.requireShape(i, split->normalized, affineText);
  ctx.setOut(0, src);
  for (size_t i = 1; i < ctx.outputs.size(); ++i)
    ctx.setOut(i, split->normalized);
}

void rmsNormBackward(RuleContext &ctx) {
  std::optional<NormSplit> split = splitAtNormAxis(ctx);
  if (!split)
    return;
  Shape src = ctx.requireSame(0, 1);
  ctx.setOut(0, src);
  if (ctx.hasInput(2))
    ctx.requireShape(2, split->normalized, affineText);
  if (ctx.hasOutput(1))
    ctx.setOut(1, split->normalized);
}

//===----------------------------------------------------------------------===//
// Softmax.
//===----------------------------------------------------------------------===//

void softmax(RuleContext &ctx) {
  Shape src = ctx.in(0);
  for (size_t i = 1; i < ctx.inputs.size(); ++i) // diff_dst, dst
    src = ctx.requireSame(0, i);
  if (!src || ctx.failed())
    return;
  std::optional<size_t> axis = ctx.axisAttr("axis", src->size());
  if (!axis)
    return;
  ctx.setOut(0, src);
  if (ctx.outputs.size() < 2)
    return;
  Dims stats = *src;
  stats[*axis] = 1;
  ctx.setOut(1, stats);
}

//===----------------------------------------------------------------------===//
// Local response normalization.
//===----------------------------------------------------------------------===//

void lrn(RuleContext &ctx) {
  bool ranked = ctx.requireRankAtLeast(0, 2);
  Shape src = ctx.in(0);
  for (size_t i = 1; i < ctx.inputs.size(); ++i) // diff_dst
    src = ctx.requireSame(0, i);
  if (ranked)
    ctx.setOut(0, src);
}

constexpr RuleEntry rules[] = {
    {"batch_norm_backward", batchNormBackward},
    {"batch_norm_inference", batchNormInference},
    {"batch_norm_training", batchNormTraining},
    {"group_norm", groupNorm},
    {"group_norm_backward", groupNormBackward},
    {"layer_norm", layerNorm},
    {"layer_norm_backward", layerNormBackward},
    {"log_softmax", softmax},
    {"log_softmax_backward", softmax},
    {"lrn", lrn},
    {"lrn_backward", lrn},
    {"rms_norm", layerNorm},
    {"rms_norm_backward", rmsNormBackward},
    {"softmax", softmax},
    {"softmax_backward", softmax},
};

} // namespace

std::span<const RuleEntry> normRules() { return rules; }

} // namespace tenon::graph::infer
