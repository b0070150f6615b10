//===- OpTable.cpp - the operation table ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/OpTable.h"

#include <algorithm>
#include <charconv>

namespace tenon::graph {

#include "dialects/graph/OpTable.inc"

std::string_view name(AttrType type) {
  switch (type) {
  case AttrType::f32:
    return "f32";
  case AttrType::f32s:
    return "f32[]";
  case AttrType::s64:
    return "s64";
  case AttrType::s64s:
    return "s64[]";
  case AttrType::boolean:
    return "bool";
  case AttrType::string:
    return "string";
  }
  return "?";
}

std::string_view name(OpClass opClass) {
  static constexpr std::string_view names[] = {
      "unknown",   "elementwise",   "indexed",      "view",        "movement",
      "reduction", "normalization", "window",       "contraction", "recurrent",
      "gather",    "search",        "quantization", "structural"};
  return names[static_cast<size_t>(opClass)];
}

std::string_view name(ReducedDims dims) {
  static constexpr std::string_view names[] = {
      "none",           "axis",          "axes", "fromBeginNormAxis",
      "allButChannels", "channelGroups", "slope"};
  return names[static_cast<size_t>(dims)];
}

/// The table is ours: what does not parse is a mistake in a .td file, which
/// the test of the table finds.
template <typename T> static T parse(std::string_view text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

AttrValue AttrInfo::defaultValue() const {
  std::string_view text = defaultText.value_or("");
  switch (type) {
  case AttrType::f32:
    return parse<float>(text);
  case AttrType::s64:
    return parse<int64_t>(text);
  case AttrType::boolean:
    return text == "true";
  case AttrType::string:
    return std::string(text);
  case AttrType::f32s: // no list has a default but the empty one
    return std::vector<float>{};
  case AttrType::s64s:
    return Dims{};
  }
  return false;
}

const AttrInfo *OpInfo::attr(std::string_view name) const {
  auto it = std::ranges::find(attrs, name, &AttrInfo::name);
  return it == attrs.end() ? nullptr : &*it;
}

const TypeVarInfo *OpInfo::typeVar(std::string_view name) const {
  auto it = std::ranges::find(typeVars, name, &TypeVarInfo::name);
  return it == typeVars.end() ? nullptr : &*it;
}

std::span<const OpInfo> allOps() { return kOps; }

const OpInfo *lookupOp(std::string_view kind) {
  auto it = std::ranges::lower_bound(kOps, kind, {}, &OpInfo::kind);
  return it == std::end(kOps) || it->kind != kind ? nullptr : &*it;
}

const OpInfo &factsOf(std::string_view kind) {
  static constexpr OpInfo none{};
  const OpInfo *info = lookupOp(kind);
  return info ? *info : none;
}

const OpInfo &forwardOf(const OpInfo &info) {
  const OpInfo *forward = lookupOp(info.backwardOf);
  return forward ? *forward : info;
}

bool isCast(const OpInfo &info) {
  return info.opClass == OpClass::movement &&
         info.operands[0].typeVar != info.results[0].typeVar;
}

bool isConvolution(const OpInfo &info) {
  return isContraction(info) && info.attr("weights_format");
}

bool isWeightsGradient(const OpInfo &info) {
  return isConvolution(info) && info.operands[1].name != "weights";
}

bool isPooling(const OpInfo &info) {
  return info.opClass == OpClass::window && info.attr("kernel");
}

} // namespace tenon::graph
