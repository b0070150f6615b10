//===- Slice.h - every few elements of a dim -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What Slice takes of one dim. No MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace tenon::graph {

/// The elements first, first + step, and so on, `count` of them.
struct SliceRange {
  int64_t first = 0; // of no meaning where there are no elements
  int64_t count = 0;
};

/// The elements of a dim of `size` from `begin` up to, and without, `end`, as
/// the record of Slice defines them: negative numbers count from the end, and
/// numbers out of range are clamped. Requires size >= 0 and step != 0.
SliceRange sliceRange(int64_t size, int64_t begin, int64_t end, int64_t step);

} // namespace tenon::graph
