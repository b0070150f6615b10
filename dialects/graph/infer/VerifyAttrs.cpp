//===- VerifyAttrs.cpp - attributes against the operation table -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/infer/VerifyAttrs.h"

#include <algorithm>
#include <cmath>

namespace tenon::graph::infer {
namespace {

std::string joinNames(std::span<const std::string_view> names) {
  std::string text;
  for (std::string_view name : names)
    text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::string_view typeName(const AttrValue &value) {
  constexpr AttrType types[] = {AttrType::boolean, AttrType::s64,
                                AttrType::f32,     AttrType::string,
                                AttrType::s64s,    AttrType::f32s};
  return name(types[value.index()]);
}

/// Bounds that hold for an attribute of this name wherever it occurs.
struct IntBound {
  std::string_view name;
  int64_t least;
};
constexpr IntBound intBounds[] = {
    {"strides", 1},    {"dilations", 1},     {"kernel", 1},
    {"groups", 1},     {"group_shape", 1},   {"sizes", 1},
    {"pads_begin", 0}, {"pads_end", 0},      {"output_padding", 0},
    {"dst_shape", 0},  {"weights_shape", 0}, {"src_shape", 0},
    {"size", 1},
};

/// The windows of a pooling may end before src does; Pad cuts off elements.
bool mayCrop(const RuleContext &ctx, std::string_view name) {
  return (name == "pads_end" && ctx.info.opClass == OpClass::window) ||
         (name.starts_with("pads_") && ctx.info.shapeRule == "pad");
}

bool checkIntRange(RuleContext &ctx, std::string_view name,
                   const AttrValue &value) {
  const IntBound *bound =
      std::find_if(std::begin(intBounds), std::end(intBounds),
                   [&](const IntBound &b) { return b.name == name; });
  if (bound == std::end(intBounds))
    return true;
  Dims single;
  const Dims *list = std::get_if<Dims>(&value);
  if (const int64_t *number = std::get_if<int64_t>(&value)) {
    single.push_back(*number);
    list = &single;
  }
  // Beyond 2^31 it cannot be meant.
  int64_t least = mayCrop(ctx, name) ? -INT32_MAX : bound->least;
  if (!list || std::all_of(list->begin(), list->end(),
                           [&](int64_t v) { return v >= least; }))
    return true;
  ctx.error(
      ErrorCode::AttrValue,
      cat("attribute ", name, " is ",
          list == &single ? std::to_string(single[0]) : listToString(*list),
          "; the least value is ", least),
      name == "pads_begin" || name == "pads_end"
          ? "only those of Pad and pads_end of a pooling may be negative: they "
            "cut off elements"
          : "");
  return false;
}

bool checkFloatRange(RuleContext &ctx, std::string_view name,
                     const AttrValue &value) {
  std::span<const float> numbers;
  if (const float *number = std::get_if<float>(&value))
    numbers = {number, 1};
  else if (const auto *list = std::get_if<std::vector<float>>(&value))
    numbers = *list;
  bool isBound = name == "min" || name == "max"; // Infinity is a bound, too.
  bool resizes = ctx.info.opClass == OpClass::window;
  bool divides = ctx.info.rounding == Rounding::quantizes;
  bool isCellScale = ctx.info.opClass == OpClass::recurrent &&
                     (name == "data_scale" || name.ends_with("_scales"));
  for (float number : numbers) {
    std::string_view problem;
    if (std::isnan(number))
      problem = "is not a number";
    else if (std::isinf(number) && !isBound)
      problem = "is infinite";
    else if (name == "epsilon" && number < 0)
      problem = "is negative";
    else if (name == "scales" && resizes && number <= 0)
      problem = "must be positive";
    else if (number == 0 && (isCellScale || (name == "scales" && divides)))
      problem = "can not be divided by";
    if (problem.empty())
      continue;
    ctx.error(ErrorCode::AttrValue,
              cat("attribute ", name, ": ", number, " ", problem));
    return false;
  }
  return true;
}

/// Whether the rule can read the attribute.
bool checkAttr(RuleContext &ctx, std::string_view name,
               const AttrValue &value) {
  const AttrInfo *attr = ctx.info.attr(name);
  if (!attr) {
    std::string known;
    for (const AttrInfo &a : ctx.info.attrs)
      known += (known.empty() ? "" : ", ") + std::string(a.name);
    ctx.error(ErrorCode::UnknownAttr, cat("has no attribute ", name),
              known.empty() ? "it takes no attributes" : "it has " + known);
    return true; // It does not keep the rule from running.
  }
  if (typeName(value) != tenon::graph::name(attr->type)) {
    ctx.error(ErrorCode::AttrType,
              cat("attribute ", name, " is of type ", typeName(value),
                  ", needed is ", tenon::graph::name(attr->type)));
    return false;
  }
  if (const auto *text = std::get_if<std::string>(&value);
      text && !attr->allowed.empty() &&
      std::find(attr->allowed.begin(), attr->allowed.end(), *text) ==
          attr->allowed.end()) {
    ctx.error(ErrorCode::AttrValue,
              cat("attribute ", name, " is \"", *text, "\", allowed is ",
                  joinNames(attr->allowed)),
              "the spelling counts, upper and lower case differ");
    return false;
  }
  return checkIntRange(ctx, name, value) && checkFloatRange(ctx, name, value);
}

//===----------------------------------------------------------------------===//
// Constraints on values of attributes, by attrRules.
//===----------------------------------------------------------------------===//

bool isMinAtMostMax(RuleContext &ctx) {
  if (ctx.floatAttr("min") <= ctx.floatAttr("max"))
    return true;
  ctx.error(ErrorCode::AttrValue, cat("min ", ctx.floatAttr("min"),
                                      " is above max ", ctx.floatAttr("max")));
  return false;
}

bool isBetaNot0(RuleContext &ctx) {
  if (ctx.floatAttr("beta") != 0)
    return true;
  ctx.error(ErrorCode::AttrValue,
            "attribute beta is 0; the result is divided by it");
  return false;
}

/// The gradient from dst tells the branches of Elu apart by the sign of dst.
bool fitsAlphaDst(RuleContext &ctx) {
  if (!ctx.boolAttr("use_dst") || ctx.floatAttr("alpha") >= 0)
    return true;
  ctx.error(ErrorCode::AttrValue,
            cat("attribute alpha is ", ctx.floatAttr("alpha"),
                "; the gradient from dst needs alpha >= 0"),
            "use_dst=false with src has no such limit");
  return false;
}

struct AttrRule {
  std::string_view name;
  bool (*holds)(RuleContext &); // reports when not
};

constexpr AttrRule attrRules[] = {
    {"alpha_of_dst", fitsAlphaDst},
    {"beta_is_not_0", isBetaNot0},
    {"min_at_most_max", isMinAtMostMax},
};

/// Runs the rules of an operation whose attributes are there and of their type.
bool checkAttrRules(RuleContext &ctx) {
  bool ok = true;
  for (std::string_view name : ctx.info.attrRules)
    ok &= std::ranges::find(attrRules, name, &AttrRule::name)->holds(ctx);
  return ok;
}

} // namespace

bool checkAttrs(RuleContext &ctx) {
  bool ok = true;
  for (const auto &[name, value] : ctx.op.attrs)
    ok &= checkAttr(ctx, name, value);
  for (const AttrInfo &attr : ctx.info.attrs)
    if (attr.required && !ctx.op.attr(attr.name)) {
      ctx.error(
          ErrorCode::MissingAttr, cat("attribute ", attr.name, " is missing"),
          cat(attr.name, " (", tenon::graph::name(attr.type), "): ", attr.doc));
      ok = false;
    }
  return ok && checkAttrRules(ctx);
}

bool isAttrRule(std::string_view name) {
  return std::ranges::find(attrRules, name, &AttrRule::name) !=
         std::end(attrRules);
}

} // namespace tenon::graph::infer
