//===- Shapes.h - arithmetic on partly known shapes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// An unknown rank is an absent shape, an unknown dim is kUnknownDim.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tenon::graph::infer {

using Shape = std::optional<Dims>;

inline bool isKnown(int64_t dim) { return dim != kUnknownDim; }
bool allKnown(std::span<const int64_t> dims);

/// "2x?x4"; "scalar" for rank 0, "unranked" when the rank is unknown.
std::string toString(const Shape &shape);
/// "[1, 2]"
std::string listToString(std::span<const int64_t> values);

/// The common value of two dims that must be equal; absent when they differ.
std::optional<int64_t> mergeDim(int64_t a, int64_t b);
/// The same for shapes; absent when ranks or dims clash.
std::optional<Shape> mergeShapes(const Shape &a, const Shape &b);
/// Right-aligned numpy broadcast of both; absent when they clash.
std::optional<Shape> broadcastShapes(const Shape &a, const Shape &b);
/// Whether `from` may broadcast to `to`: right-aligned, each dim equal or 1,
/// rank not larger.  What is unknown passes.
bool broadcastsTo(const Shape &from, const Shape &to);

/// Product; kUnknownDim when a dim is unknown (unless another is 0), absent on
/// overflow.
std::optional<int64_t> product(std::span<const int64_t> dims);
/// Whether `value` is a dim that int64_t holds.
bool fitsDim(__int128 value);

/// Builds a message of strings, numbers and shapes.
inline void append(std::string &out, std::string_view text) { out += text; }
inline void append(std::string &out, const Shape &s) { out += toString(s); }
inline void append(std::string &out, const Dims &d) { out += toString(d); }
void append(std::string &out, bool value);
void append(std::string &out, float value);
inline void append(std::string &out, int64_t value) {
  out += isKnown(value) ? std::to_string(value) : "?";
}
inline void append(std::string &out, size_t v) { out += std::to_string(v); }
inline void append(std::string &out, int v) { out += std::to_string(v); }
inline void append(std::string &out, const char *text) { out += text; }
template <typename... Ts> std::string cat(const Ts &...parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

} // namespace tenon::graph::infer
