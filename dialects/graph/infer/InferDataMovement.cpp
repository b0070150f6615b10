//===- InferDataMovement.cpp - rules of data movement and structure -------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/Rules.h"

#include <algorithm>

namespace tenon::graph::infer {
namespace {

//===----------------------------------------------------------------------===//
// Concat.
//===----------------------------------------------------------------------===//

void concat(RuleContext &ctx) {
  size_t count = ctx.inputs.size();
  if (count < 1)
    return ctx.error(ErrorCode::OperandCount,
                     "has 0 operands, needed is at least 1");
  Shape joined;
  std::optional<size_t> axis;
  __int128 total = 0;
  bool totalKnown = true;
  for (size_t i = 0; i < count; ++i) {
    if (!ctx.in(i)) {
      totalKnown = false;
      continue;
    }
    Dims dims = *ctx.in(i);
    if (!axis && !(axis = ctx.axisAttr("axis", dims.size())))
      return;
    if (joined && joined->size() != dims.size())
      return ctx.error(ErrorCode::BadRank, cat("ranks differ: ", ctx.inText(0),
                                               ", ", ctx.inText(i)));
    totalKnown &= isKnown(dims[*axis]);
    total += isKnown(dims[*axis]) ? dims[*axis] : 0;
    dims[*axis] = kUnknownDim;
    std::optional<Shape> merged = mergeShapes(joined, dims);
    if (!merged)
      return ctx.error(ErrorCode::ShapeMismatch,
                       cat("dims other than ", *axis,
                           " differ: ", ctx.inText(0), ", ", ctx.inText(i)));
    joined = std::move(*merged);
  }
  if (!joined)
    return;
  if (!fitsDim(total))
    return ctx.error(ErrorCode::BadDim,
                     cat("the sum of dim ", *axis, " does not fit 64 bits"));
  if (totalKnown)
    (*joined)[*axis] = static_cast<int64_t>(total);
  ctx.setOut(0, joined);
}

//===----------------------------------------------------------------------===//
// StaticReshape.
//===----------------------------------------------------------------------===//

struct ReshapePlan {
  Dims dims;                     // -1 replaced by kUnknownDim
  std::optional<size_t> derived; // where the -1 is
  Dims srcRest;                  // src dims that special_zero does not copy
  Dims explicitDims;             // numbers of `shape` itself
  bool copiesZero = false;       // a copied dim is 0
};

/// Reads `shape`; absent after an error.  src may be unranked.
std::optional<ReshapePlan> planReshape(RuleContext &ctx, const Dims &target) {
  ReshapePlan plan;
  const Shape &src = ctx.in(0);
  bool specialZero = ctx.boolAttr("special_zero");
  std::string shapeText = cat("attribute shape is ", listToString(target));
  std::vector<bool> copied(src ? src->size() : 0, false);
  for (size_t i = 0; i < target.size(); ++i) {
    int64_t dim = target[i];
    if (dim == -1) {
      if (plan.derived) {
        ctx.error(ErrorCode::AttrValue, shapeText + " with more than one -1");
        return std::nullopt;
      }
      plan.derived = i;
      dim = kUnknownDim;
    } else if (dim < 0) {
      ctx.error(ErrorCode::AttrValue, shapeText,
                "entries are -1 (derived) or 0 and more");
      return std::nullopt;
    } else if (dim == 0 && specialZero) {
      if (src && i >= src->size()) {
        ctx.error(ErrorCode::AttrValue,
                  cat(shapeText, " and copies dim ", i, ", which src of ", src,
                      " does not have"),
                  "special_zero=false makes 0 an empty dim");
        return std::nullopt;
      }
      dim = src ? (*src)[i] : kUnknownDim;
      plan.copiesZero |= dim == 0;
      if (src)
        copied[i] = true;
    } else {
      plan.explicitDims.push_back(dim);
    }
    plan.dims.push_back(dim);
  }
  for (size_t i = 0; src && i < src->size(); ++i)
    if (!copied[i])
      plan.srcRest.push_back((*src)[i]);
  return plan;
}

/// Dims that special_zero copies are on both sides and cancel out, so that a
/// reshape that keeps an unknown batch is still checked.
void staticReshape(RuleContext &ctx) {
  const Shape &src = ctx.in(0);
  Dims target = ctx.op.attrOr<Dims>("shape", {});
  if (!ctx.completeList("shape", target))
    return ctx.setOut(0, target);
  std::optional<ReshapePlan> plan = planReshape(ctx, target);
  if (!plan)
    return;
  std::string problem =
      cat(ctx.inText(0), ", attribute shape is ", listToString(target));
  std::optional<int64_t> given = product(plan->srcRest);
  std::optional<int64_t> wanted = product(plan->explicitDims);
  if (!wanted)
    return ctx.error(ErrorCode::BadDim,
                     problem + ": the number of elements does not fit 64 bits");
  if (plan->derived && (*wanted == 0 || plan->copiesZero))
    return ctx.error(ErrorCode::ShapeMismatch,
                     problem + ": -1 next to an empty dim can be anything");
  // `given` can overflow only next to a copied 0.
  bool comparable = src && given && isKnown(*given) && !plan->copiesZero;
  if (comparable && plan->derived) {
    if (*given % *wanted != 0)
      return ctx.error(ErrorCode::ShapeMismatch,
                       cat(problem, ": ", *wanted, " does not divide ", *given,
                           " elements"));
    plan->dims[*plan->derived] = *given / *wanted;
  } else if (comparable && *given != *wanted) {
    return ctx.error(
        ErrorCode::ShapeMismatch,
        cat(problem, ": numbers of elements differ, ", *given, " and ", *wanted,
            plan->srcRest.size() == src->size() ? ""
                                                : " besides the copied dims"));
  }
  ctx.setOut(0, plan->dims);
}

//===----------------------------------------------------------------------===//
// StaticTranspose and structure.
//===----------------------------------------------------------------------===//

void staticTranspose(RuleContext &ctx) {
  Dims order = ctx.op.attrOr<Dims>("order", {});
  const Shape &src = ctx.in(0);
  if (!src)
    return order.empty() ? void()
                         : ctx.setOut(0, Dims(order.size(), kUnknownDim));
  if (order.empty()) // Reverses all dims.
    return ctx.setOut(0, Dims(src->rbegin(), src->rend()));
  if (order.size() != src->size())
    return ctx.error(ErrorCode::AttrValue,
                     cat("attribute order is ", listToString(order),
                         ", needed is one entry per dim of src, ", src));
  std::vector<bool> used(src->size(), false);
  Dims dims;
  for (int64_t entry : order) {
    std::optional<size_t> dim = ctx.normalizeAxis("order", entry, src->size());
    if (!dim)
      return;
    if (used[*dim])
      return ctx.error(ErrorCode::AttrValue,
                       cat("attribute order is ", listToString(order),
                           ", which names dim ", *dim, " twice"));
    used[*dim] = true;
    dims.push_back((*src)[*dim]);
  }
  ctx.setOut(0, dims);
}

void end(RuleContext &) {}

void wildcard(RuleContext &ctx) {
  for (size_t i = 0; ctx.inferring && i < ctx.outputs.size(); ++i)
    if (!ctx.out(i))
      ctx.error(ErrorCode::UnknownShape, cat(ctx.outName(i), " has no shape"),
                "the graph must give it, nothing is known about Wildcard");
}

constexpr RuleEntry rules[] = {
    {"concat", concat},
    {"none", end},
    {"static_reshape", staticReshape},
    {"static_transpose", staticTranspose},
    {"wildcard", wildcard},
};

} // namespace

std::span<const RuleEntry> dataMovementRules() { return rules; }

} // namespace tenon::graph::infer
