//===- Shapes.h - sizes that were compiled and sizes given -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/Graph.h"

namespace tenon {

/// "8x?x16".
inline std::string text(const graph::Dims &dims) {
  std::string s;
  for (int64_t d : dims)
    s += (s.empty() ? "" : "x") +
         (d == graph::kUnknownDim ? "?" : std::to_string(d));
  return s.empty() ? "a scalar" : s;
}

/// Whether `dims` are sizes for which `known`, with unknown ones, was compiled.
inline bool fits(const graph::Dims &known, const graph::Dims &dims) {
  bool same = known.size() == dims.size();
  for (size_t i = 0; same && i < dims.size(); ++i)
    same = known[i] == graph::kUnknownDim || known[i] == dims[i];
  return same;
}

} // namespace tenon
