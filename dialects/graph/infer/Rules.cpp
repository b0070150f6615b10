//===- Rules.cpp - what a shape rule works with ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Rules.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/infer/Rules.h"

#include "dialects/graph/Merge.h"

#include <algorithm>

namespace tenon::graph::infer {

/// The tensors by their number in the table.
static std::vector<LogicalTensor> spread(std::span<const LogicalTensor> given,
                                         uint64_t absent) {
  std::vector<LogicalTensor> all(slotCount(absent, given.size()));
  size_t next = 0;
  for (size_t i = 0; i < all.size(); ++i)
    if (i >= kMaxAbsent || !(absent >> i & 1))
      all[i] = given[next++];
  return all;
}

RuleContext::RuleContext(const Op &op, const OpInfo &info,
                         std::span<const LogicalTensor> inputs,
                         std::span<const LogicalTensor> outputs, bool inferring,
                         std::vector<Error> &errors)
    : op(op), info(info), inputs(spread(inputs, op.absentInputs)),
      outputs(spread(outputs, op.absentOutputs)), inferring(inferring),
      errors(errors), errorsBefore(errors.size()) {
  for (const LogicalTensor &tensor : this->outputs)
    results.push_back(tensor.shape);
}

static std::string valueName(std::span<const ValueInfo> values, size_t i,
                             const char *fallback) {
  if (values.empty())
    return cat(fallback, " ", i);
  const ValueInfo &value = values[std::min(i, values.size() - 1)];
  if (value.variadic || i >= values.size())
    return cat(value.name, " ", i);
  return std::string(value.name);
}

std::string RuleContext::inName(size_t i) const {
  return valueName(info.operands, i, "operand");
}
std::string RuleContext::outName(size_t i) const {
  return valueName(info.results, i, "result");
}
std::string RuleContext::outText(size_t i) const {
  return cat(outName(i), " is ", out(i));
}

std::optional<AttrValue>
RuleContext::attrOrDefault(std::string_view name) const {
  if (const AttrValue *value = op.attr(name))
    return *value;
  const AttrInfo *attr = info.attr(name);
  if (attr && attr->defaultText)
    return attr->defaultValue();
  return std::nullopt;
}

template <typename T>
static T valueOr(std::optional<AttrValue> value, T other) {
  T *held = value ? std::get_if<T>(&*value) : nullptr;
  return held ? std::move(*held) : other;
}

bool RuleContext::boolAttr(std::string_view name) const {
  return valueOr(attrOrDefault(name), false);
}
int64_t RuleContext::intAttr(std::string_view name) const {
  return valueOr(attrOrDefault(name), int64_t(0));
}
float RuleContext::floatAttr(std::string_view name) const {
  return valueOr(attrOrDefault(name), 0.0f);
}
std::string RuleContext::stringAttr(std::string_view name) const {
  return valueOr(attrOrDefault(name), std::string());
}
std::vector<float> RuleContext::floatsAttr(std::string_view name) const {
  return op.attrOr<std::vector<float>>(name, {});
}

std::optional<Dims> RuleContext::listAttr(std::string_view name) const {
  Dims list = op.attrOr<Dims>(name, {});
  if (list.empty() || isPlaceholder(name, list))
    return std::nullopt;
  return list;
}

std::optional<Dims> RuleContext::listAttr(std::string_view name, size_t count,
                                          int64_t fallback) {
  std::optional<Dims> list = listAttr(name);
  // An empty list means zeros, where zeros mean something.
  if (!list && fallback != 0 && op.attr(name) &&
      op.attrOr<Dims>(name, {}).empty())
    list.emplace();
  if (!list)
    return Dims(count, fallback);
  if (list->size() == count)
    return list;
  error(ErrorCode::AttrValue,
        cat("attribute ", name, " is ", listToString(*list), " with ",
            list->size(), " entries, needed are ", count,
            " (one per spatial dim)"));
  return std::nullopt;
}

std::optional<size_t> RuleContext::axisAttr(std::string_view name,
                                            size_t rank) {
  return normalizeAxis(name, intAttr(name), rank);
}

std::optional<size_t> RuleContext::normalizeAxis(std::string_view name,
                                                 int64_t axis, size_t rank) {
  auto signedRank = static_cast<int64_t>(rank);
  if (axis >= -signedRank && axis < signedRank)
    return static_cast<size_t>(axis < 0 ? axis + signedRank : axis);
  error(ErrorCode::AttrValue,
        rank == 0 ? cat("attribute ", name, " names dim ", axis, " of a scalar")
                  : cat("attribute ", name, " is ", axis, ", outside of [-",
                        rank, ", ", rank - 1, "] for rank ", rank),
        op.attr(name) ? "" : "the value is the default; set it explicitly");
  return std::nullopt;
}

void RuleContext::error(ErrorCode code, std::string message, std::string hint) {
  errors.push_back(errorAbout(op, code, std::move(message), std::move(hint)));
}

bool RuleContext::requireRankAtLeast(size_t i, size_t rank) {
  if (!in(i) || in(i)->size() >= rank)
    return true;
  error(ErrorCode::BadRank, cat(inText(i), " of rank ", in(i)->size(),
                                "; needed is rank ", rank, " or more"));
  return false;
}

bool RuleContext::requireShape(size_t i, const Shape &expected,
                               std::string_view why) {
  if (mergeShapes(in(i), expected))
    return true;
  error(ErrorCode::ShapeMismatch,
        cat(inText(i), ", expected is ", expected, ": ", why));
  return false;
}

Shape RuleContext::requireSame(size_t i, size_t j) {
  if (std::optional<Shape> merged = mergeShapes(in(i), in(j)))
    return *merged;
  error(ErrorCode::ShapeMismatch,
        cat("shapes differ: ", inText(i), ", ", inText(j)));
  return std::nullopt;
}

bool RuleContext::requireOneElement(size_t i) {
  std::optional<int64_t> count = in(i) ? product(*in(i)) : kUnknownDim;
  if (count && (*count == 1 || !isKnown(*count)))
    return true;
  error(ErrorCode::ShapeMismatch, cat(inText(i), ", expected is one element"));
  return false;
}

void RuleContext::setOut(size_t i, const Shape &shape) {
  if (!hasOutput(i))
    return;
  if (i >= results.size() || !shape)
    return;
  if (shape->size() > size_t(kMaxRank))
    return error(ErrorCode::BadRank,
                 cat(outName(i), " would be ", shape, " of rank ",
                     shape->size(), "; the limit is ", kMaxRank));
  std::optional<Shape> merged = mergeShapes(results[i], shape);
  if (!merged)
    return error(ErrorCode::ShapeMismatch,
                 cat(outText(i), ", the operation gives ", shape));
  if (!isAddressable(**merged))
    return error(ErrorCode::BadDim, cat(outName(i), " would be ", shape,
                                        ", which is larger than any memory"));
  results[i] = std::move(*merged);
}

void RuleContext::requireKnownOut(size_t i, std::span<const int64_t> dims,
                                  std::string hint) {
  if (!inferring || failed() || allKnown(dims))
    return;
  error(ErrorCode::UnknownShape,
        cat("the shape of ", outName(i), " (", results[i],
            ") does not follow from the operands"),
        std::move(hint));
}

bool RuleContext::completeList(std::string_view name, Dims &list) {
  if (std::ranges::count(list, kUnknownDim) == 0)
    return true;
  if (const Shape &dst = out(0); dst && dst->size() == list.size())
    for (size_t i = 0; i < list.size(); ++i)
      if (!isKnown(list[i]))
        list[i] = (*dst)[i];
  bool isComplete = std::ranges::count(list, kUnknownDim) == 0;
  if (isComplete)
    setAttr(name, list);
  return isComplete;
}

void RuleContext::setAttr(std::string_view name, AttrValue value) {
  changedAttrs.insert_or_assign(std::string(name), std::move(value));
}

Rule lookupRule(std::string_view name) {
  for (std::span<const RuleEntry> family :
       {elementwiseRules(), contractionRules(), windowRules(), normRules(),
        recurrentRules(), reduceRules(), quantizeRules(), dataMovementRules(),
        indexingRules(), searchRules(), backwardRules()})
    for (const RuleEntry &entry : family)
      if (entry.name == name)
        return entry.rule;
  return nullptr;
}

void sameAsFirst(RuleContext &ctx) { ctx.setOut(0, ctx.in(0)); }

void allSame(RuleContext &ctx) {
  Shape shape = ctx.in(0);
  for (size_t i = 1; i < ctx.inputs.size(); ++i) {
    std::optional<Shape> merged = mergeShapes(shape, ctx.in(i));
    if (!merged) {
      ctx.error(ErrorCode::ShapeMismatch,
                cat("shapes differ: ", ctx.inText(0), ", ", ctx.inText(i)));
      return;
    }
    shape = *merged;
  }
  ctx.setOut(0, shape);
}

bool isPlaceholder(std::string_view attr, const Dims &list) {
  int64_t filler = attr == "dilations" ? 1 : 0;
  bool known = attr == "dilations" || attr == "output_padding" ||
               attr == "dst_shape" || attr == "src_shape" ||
               attr == "weights_shape";
  return known && list == Dims(kMaxRank, filler);
}

DataLayout::DataLayout(const RuleContext &ctx, size_t rank) {
  bool channelLast = ctx.stringAttr("data_format") != "NCX";
  channel = channelLast ? rank - 1 : 1;
  firstSpatial = channelLast ? 1 : 2;
  spatialRank = rank - 2;
}

Dims DataLayout::spatial(const Dims &shape) const {
  auto first = shape.begin() + firstSpatial;
  return Dims(first, first + spatialRank);
}

Dims DataLayout::make(int64_t batch, int64_t channels,
                      const Dims &spatial) const {
  Dims shape(spatialRank + 2);
  shape[0] = batch;
  shape[channel] = channels;
  std::copy(spatial.begin(), spatial.end(), shape.begin() + firstSpatial);
  return shape;
}

} // namespace tenon::graph::infer
