//===- Shapes.cpp - arithmetic on partly known shapes ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Shapes.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/infer/Shapes.h"

#include <algorithm>
#include <cstdio>

namespace tenon::graph::infer {

bool allKnown(std::span<const int64_t> dims) {
  return std::all_of(dims.begin(), dims.end(), isKnown);
}

std::string toString(const Shape &shape) {
  if (!shape)
    return "unranked";
  if (shape->empty())
    return "scalar";
  std::string text;
  for (int64_t dim : *shape) {
    if (!text.empty())
      text += "x";
    append(text, dim);
  }
  return text;
}

std::string listToString(std::span<const int64_t> values) {
  std::string text = "[";
  for (int64_t value : values) {
    if (text.size() > 1)
      text += ", ";
    text += std::to_string(value);
  }
  return text + "]";
}

std::optional<int64_t> mergeDim(int64_t a, int64_t b) {
  if (!isKnown(a))
    return b;
  if (!isKnown(b) || a == b)
    return a;
  return std::nullopt;
}

std::optional<Shape> mergeShapes(const Shape &a, const Shape &b) {
  if (!a)
    return b;
  if (!b)
    return a;
  if (a->size() != b->size())
    return std::nullopt;
  Dims dims(a->size());
  for (size_t i = 0; i < dims.size(); ++i) {
    std::optional<int64_t> dim = mergeDim((*a)[i], (*b)[i]);
    if (!dim)
      return std::nullopt;
    dims[i] = *dim;
  }
  return Shape(std::move(dims));
}

std::optional<Shape> broadcastShapes(const Shape &a, const Shape &b) {
  if (!a || !b)
    return Shape();
  const Dims &longer = a->size() >= b->size() ? *a : *b;
  const Dims &shorter = a->size() >= b->size() ? *b : *a;
  Dims dims = longer;
  size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t x = longer[offset + i], y = shorter[i];
    // Next to an unknown dim, a known one other than 1 decides; 1 does not.
    if (x == 1 || (!isKnown(x) && y != 1))
      dims[offset + i] = y;
    else if (isKnown(x) && isKnown(y) && y != 1 && x != y)
      return std::nullopt;
  }
  return Shape(std::move(dims));
}

bool broadcastsTo(const Shape &from, const Shape &to) {
  if (!from || !to)
    return true;
  if (from->size() > to->size())
    return false;
  size_t offset = to->size() - from->size();
  for (size_t i = 0; i < from->size(); ++i) {
    int64_t x = (*from)[i], y = (*to)[offset + i];
    if (x != 1 && isKnown(x) && isKnown(y) && x != y)
      return false;
  }
  return true;
}

std::optional<int64_t> product(std::span<const int64_t> dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end())
    return 0;
  int64_t result = 1;
  bool unknown = false;
  for (int64_t dim : dims) {
    if (!isKnown(dim))
      unknown = true;
    else if (__builtin_mul_overflow(result, dim, &result))
      return std::nullopt;
  }
  return unknown ? kUnknownDim : result;
}

bool fitsDim(__int128 value) { return value >= 0 && value <= INT64_MAX; }

void append(std::string &out, bool value) { out += value ? "true" : "false"; }

void append(std::string &out, float value) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.9g", static_cast<double>(value));
  out += buffer;
}

} // namespace tenon::graph::infer
