//===- InferBackward.cpp - rules of convolution gradients -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Convolution, ConvTranspose and BiasAdd.  Other backward operations are with
// their forward ones.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/infer/Convolution.h"

namespace tenon::graph::infer {
namespace {

/// States the shape that attribute `name` gives for result 0, and checks the
/// optional operand 2 that may hold it at run time instead.
bool readShapeAttr(RuleContext &ctx, std::string_view name, size_t rank) {
  if (ctx.hasInput(2))
    ctx.requireShape(2, Dims{static_cast<int64_t>(rank)},
                     "one entry per dim of the result");
  std::optional<Dims> shape = ctx.listAttr(name);
  if (!shape)
    return !ctx.failed();
  if (shape->size() != rank)
    ctx.error(ErrorCode::AttrValue,
              cat("attribute ", name, " is ", listToString(*shape),
                  ", needed are ", rank, " entries, one per dim"));
  else
    ctx.setOut(0, *shape);
  return !ctx.failed();
}

/// The spatial `dims` of the result follow from attribute `attr` only, or from
/// a shape operand: then they are not known before run time.
void requireKnown(RuleContext &ctx, const Dims &dims, std::string_view attr) {
  if (!ctx.hasInput(2))
    ctx.requireKnownOut(0, dims, cat("set attribute ", attr));
}

void convolutionBackwardData(RuleContext &ctx) {
  std::optional<size_t> rank =
      convRank(ctx, {ctx.in(0), ctx.in(1), ctx.out(0)});
  if (!rank || !readShapeAttr(ctx, "dst_shape", *rank))
    return;
  Conv conv{{dimsOrUnknown(ctx.out(0), *rank), "diff_src"},
            {dimsOrUnknown(ctx.in(0), *rank), "diff_dst"},
            {dimsOrUnknown(ctx.in(1), *rank), "weights"}};
  if (!relateConv(ctx, conv, ConvForm::slide))
    return;
  // Accepted without effect; its form is checked all the same.
  ctx.listAttr("output_padding", *rank - 2, 0);
  ctx.setOut(0, conv.wide.dims);
  requireKnown(ctx, DataLayout(ctx, *rank).spatial(conv.wide.dims),
               "dst_shape");
}

/// The gradient by weights of a convolution, or of a transposed one, whose
/// operand 0 is src and whose operand 1 is diff_dst. `wide` is the number of
/// the operand over which the window slides.
void backwardWeights(RuleContext &ctx, size_t wide) {
  std::optional<size_t> rank =
      convRank(ctx, {ctx.in(0), ctx.in(1), ctx.out(0)});
  if (!rank || !readShapeAttr(ctx, "weights_shape", *rank))
    return;
  constexpr const char *names[] = {"src", "diff_dst"};
  size_t narrow = 1 - wide;
  Conv conv{{dimsOrUnknown(ctx.in(wide), *rank), names[wide]},
            {dimsOrUnknown(ctx.in(narrow), *rank), names[narrow]},
            {dimsOrUnknown(ctx.out(0), *rank), "diff_weights"}};
  if (!relateConv(ctx, conv, ConvForm::slide))
    return;
  ctx.setOut(0, conv.weights.dims);
  requireKnown(ctx, WeightsLayout(ctx, *rank).spatial(conv.weights.dims),
               "weights_shape");
}

void convolutionBackwardWeights(RuleContext &ctx) { backwardWeights(ctx, 0); }

void convTransposeBackwardData(RuleContext &ctx) {
  std::optional<size_t> rank =
      convRank(ctx, {ctx.in(0), ctx.in(1), ctx.out(0)});
  if (!rank)
    return;
  Conv conv{{dimsOrUnknown(ctx.in(0), *rank), "diff_dst"},
            {dimsOrUnknown(ctx.out(0), *rank), "diff_src"},
            {dimsOrUnknown(ctx.in(1), *rank), "weights"}};
  if (relateConv(ctx, conv, ConvForm::slide))
    ctx.setOut(0, conv.narrow.dims);
}

void convTransposeBackwardWeights(RuleContext &ctx) { backwardWeights(ctx, 1); }

void biasAddBackward(RuleContext &ctx) {
  if (!ctx.requireRankAtLeast(0, 2))
    return;
  const Shape &dst = ctx.in(0);
  ctx.setOut(0, Dims{dst ? (*dst)[DataLayout(ctx, dst->size()).channel]
                         : kUnknownDim});
}

constexpr RuleEntry rules[] = {
    {"bias_add_backward", biasAddBackward},
    {"conv_backward_data", convolutionBackwardData},
    {"conv_backward_weights", convolutionBackwardWeights},
    {"conv_transpose_backward_data", convTransposeBackwardData},
    {"conv_transpose_backward_weights", convTransposeBackwardWeights},
};

} // namespace

std::span<const RuleEntry> backwardRules() { return rules; }

} // namespace tenon::graph::infer
