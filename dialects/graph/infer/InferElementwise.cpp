//===- InferElementwise.cpp - rules of elementwise operations -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Unary, binary with numpy broadcasting, Select, BiasAdd, PReLU, Dropout,
// GenIndex.  Backward forms with the shape of their operands are here, too.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/infer/Rules.h"

namespace tenon::graph::infer {
namespace {

/// Broadcast of operands `i` and `j` under `auto_broadcast`; absent after an
/// error.
std::optional<Shape> broadcastOperands(RuleContext &ctx, size_t i, size_t j) {
  bool numpy = ctx.stringAttr("auto_broadcast") != "none";
  std::optional<Shape> shape = numpy ? broadcastShapes(ctx.in(i), ctx.in(j))
                                     : mergeShapes(ctx.in(i), ctx.in(j));
  if (!shape)
    ctx.error(ErrorCode::ShapeMismatch,
              cat(numpy ? "shapes do not broadcast: " : "shapes differ: ",
                  ctx.inText(i), ", ", ctx.inText(j)),
              numpy ? "dims, aligned at the right, must be equal or 1"
                    : "auto_broadcast is none");
  return shape;
}

void binary(RuleContext &ctx) {
  if (std::optional<Shape> shape = broadcastOperands(ctx, 0, 1))
    ctx.setOut(0, *shape);
}

void pow(RuleContext &ctx) {
  bool hasExponent = ctx.hasInput(1);
  if (hasExponent && ctx.op.attr("beta"))
    return ctx.error(ErrorCode::AttrValue,
                     cat("attribute beta is given and so is ", ctx.inName(1)),
                     "keep one of them");
  if (!hasExponent && !ctx.op.attr("beta"))
    return ctx.error(ErrorCode::MissingAttr,
                     "neither attribute beta nor the operand exponent is given",
                     "beta is one exponent for all elements");
  hasExponent ? binary(ctx) : sameAsFirst(ctx);
}

void select(RuleContext &ctx) {
  std::optional<Shape> shape = broadcastOperands(ctx, 1, 2);
  if (!shape)
    return;
  if (ctx.stringAttr("auto_broadcast") == "none") {
    if (ctx.requireShape(0, *shape, "the shape of the values"))
      ctx.setOut(0, *mergeShapes(ctx.in(0), *shape));
    return;
  }
  if (!broadcastsTo(ctx.in(0), *shape))
    return ctx.error(ErrorCode::ShapeMismatch,
                     cat(ctx.inText(0), ", which does not broadcast to ",
                         *shape, ", the shape of the values"),
                     "cond can not enlarge the result");
  ctx.setOut(0, *shape);
}

/// Operand `i` must be 1-D with one entry per channel of operand 0, whose
/// rank must be 2 or more.
void requirePerChannel(RuleContext &ctx, size_t i) {
  if (!ctx.requireRankAtLeast(0, 2))
    return;
  int64_t channels = kUnknownDim;
  if (const Shape &src = ctx.in(0))
    channels = (*src)[DataLayout(ctx, src->size()).channel];
  ctx.requireShape(i, Dims{channels},
                   cat("one entry per channel, data_format ",
                       ctx.stringAttr("data_format")));
}

void biasAdd(RuleContext &ctx) {
  requirePerChannel(ctx, 1);
  ctx.setOut(0, ctx.in(0));
}

/// The shapes that `slope` may have: several dims, or none: right-aligned;
/// one dim: per channel, or along the last dim.
void prelu(RuleContext &ctx) {
  ctx.setOut(0, ctx.in(0));
  const Shape &src = ctx.in(0), &slope = ctx.in(1);
  if (!src || !slope)
    return;
  if (ctx.boolAttr("per_channel_broadcast") && slope->size() == 1 &&
      src->size() > 1)
    return requirePerChannel(ctx, 1);
  if (!broadcastsTo(slope, src))
    ctx.error(ErrorCode::ShapeMismatch,
              cat(ctx.inText(1), ", which does not broadcast to src of ", src));
}

void preluBackward(RuleContext &ctx) {
  Shape src = ctx.requireSame(0, 2);
  ctx.setOut(0, src);
  ctx.setOut(1, ctx.in(1));
  const Shape &slope = ctx.in(1);
  if (!src || !slope)
    return;
  // The operation has no per_channel_broadcast: one dim is one slope for all,
  // or one per channel.
  if (slope->size() == 1 && (*slope)[0] != 1 && src->size() > 1)
    return requirePerChannel(ctx, 1);
  if (!broadcastsTo(slope, src))
    ctx.error(ErrorCode::ShapeMismatch,
              cat(ctx.inText(1), ", which does not broadcast to src of ", src));
}

void dropout(RuleContext &ctx) {
  for (size_t i = 1; i < 4; ++i)
    ctx.requireOneElement(i);
  for (size_t i = 0; i < ctx.outputs.size(); ++i)
    ctx.setOut(i, ctx.in(0));
}

void genIndex(RuleContext &ctx) {
  if (ctx.in(0))
    ctx.axisAttr("axis", ctx.in(0)->size());
  ctx.setOut(0, ctx.in(0));
}

constexpr RuleEntry rules[] = {
    {"all_same", allSame},
    {"bias_add", biasAdd},
    {"broadcast", binary},
    {"dropout", dropout},
    {"gen_index", genIndex},
    {"identity", sameAsFirst},
    {"pow", pow},
    {"prelu", prelu},
    {"prelu_backward", preluBackward},
    {"select", select},
};

} // namespace

std::span<const RuleEntry> elementwiseRules() { return rules; }

} // namespace tenon::graph::infer
