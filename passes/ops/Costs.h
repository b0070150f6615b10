//===- Costs.h - thresholds that several phases must agree on --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The reason of each: docs/cost-model.md.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/vector/Attrs.h"
#include "dialects/support/Rounding.h"

#include <cstdint>
#include <optional>

namespace tenon::passes {

/// Weights of so many elements do not stay in L2, so the next panel is
/// prefetched while one is used.
inline constexpr int64_t kMaxCachedWeights = 256 << 10;

/// Bytes of L2 that products use: with twice as many those with long sums took
/// 1.02 to 1.05 times as long (docs/cost-model.md).
inline constexpr int64_t kMostOfL2 = 1 << 20;

/// Tensors of so many bytes are prefetched, since no cache holds them when they
/// are read. With prefetches, data in the last cache take a quarter longer.
inline constexpr int64_t kFromMemoryBytes = 32 << 20;

/// Results of so many bytes are written with non-temporal stores. With 4 MiB
/// they gain a tenth, with 16 MiB half (docs/cost-model.md), but smaller
/// results may be read soon.
inline constexpr int64_t kNontemporalBytes = 16 << 20;

using codegen::kLineBytes;

/// The fewest rows of a block: a multiple of the heights of register tiles, 4,
/// 6, 8 and 12.
inline constexpr int64_t kMinRowBlock = 24;

/// Rows whose distance is a multiple of this share few sets of the cache.
inline constexpr int64_t kBadStride = 1024; // bytes

/// Whether the rows of A are first copied, for a product with so many panels:
/// its `columns` lie `apart` elements of `size` bytes from each other, and each
/// panel would read a line for every element of a row. A few columns have their
/// lines in L1, unless these share few sets of it.
inline bool copiesRowsAcross(std::optional<int64_t> apart, int64_t size,
                             int64_t columns, int64_t panels) {
  constexpr int64_t kMinPanelsAcross = 6;
  constexpr int64_t kMinColumnsAcross = 288, kMinColumnsInFewSets = 64;
  if (apart == 1 || panels < kMinPanelsAcross)
    return false;
  bool inFewSets = apart && *apart * size % kBadStride == 0;
  return columns >= (inFewSets ? kMinColumnsInFewSets : kMinColumnsAcross);
}

/// Up to so many rows of src, kernels dequantize quantized weights in
/// registers. With more rows, work items first make an f32 panel of them in
/// scratch memory, or kernels multiply them by int8 slices of src
/// (docs/cost-model.md).
inline constexpr int64_t kMaxQuantizedRows = 16;

/// Items that threads can share evenly.
inline constexpr int64_t kMinItems = 8;

/// Elements of `bytes` each between rows of `elements`: an odd number of lines,
/// so that rows beside each other use all sets of the cache.
inline int64_t oddPitch(int64_t elements, int64_t bytes) {
  int64_t lines = roundUp(elements * bytes, kLineBytes) / kLineBytes;
  return (lines | 1) * kLineBytes / bytes;
}

} // namespace tenon::passes
