//===- RegisterTile.h - rows x vectors of a microkernel --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Which MR x NV block of accumulators a matrix product keeps in registers, and
// how its rows and columns are cut into such blocks. No MLIR; thread-safe.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>

namespace tenon::microkernel {

/// What a microkernel needs to know of the vector unit.
struct VectorIsa {
  int64_t vectorBits = 256;
  int64_t numRegisters = 16;

  /// Lanes of a vector of elements of `elementBits`; at least 1.
  int64_t lanes(int64_t elementBits) const;
  /// The same registers with vectors of 256 bits where those hold `columns`
  /// (all, if known) of `elementBits`: half of wider ones would be idle, and
  /// where they take two passes through a unit, cost as much again.
  VectorIsa forColumns(std::optional<int64_t> columns,
                       int64_t elementBits) const;
};

/// MR rows times NV vectors of accumulators.
struct RegisterTile {
  int64_t rows = 1;
  int64_t vectors = 1;
  bool operator==(const RegisterTile &) const = default;
};

/// Registers for what sums do not take in the same instruction: products of
/// int16 in pairs are added by another. (Those of bf16 are not, but there are
/// enough registers.)
inline int64_t registersForProducts(int64_t interleave) {
  return interleave == 2 ? 1 : 0;
}

/// Registers of a kernel's inner loop: the accumulators, one row of B, and one
/// broadcast element of A.
int64_t registersNeeded(RegisterTile tile);

/// The tile whose kernels are expected to compute M x N soonest, of those that
/// fit the registers; no taller than M. Sizes that are unknown count as large.
/// `elementBits` is that of the accumulators. With `wholeStrips` the last
/// columns are computed as if there were as many as in the other strips, which
/// are then of two vectors at least.
RegisterTile chooseRegisterTile(VectorIsa isa, int64_t elementBits,
                                std::optional<int64_t> m,
                                std::optional<int64_t> n,
                                bool wholeStrips = false);

/// Vectors of sums that a panel of quantized weights is wide.
inline constexpr int64_t kQuantizedVectors = 4;

/// The same where they meet int8 slices. Panels are one strip, whatever the
/// number of rows: a process with products of one row and of many packs weights
/// once.
inline constexpr int64_t kSlicesVectors = 2;

/// The tile for a panel of quantized weights of so many `bits`: each strip
/// makes weights of them for its rows alone, so that strips are narrow where
/// there are rows.
RegisterTile chooseQuantizedTile(VectorIsa isa, unsigned bits,
                                 std::optional<int64_t> m);

/// The same where quantized weights meet `slices` for each element of A, each
/// with sums of its own.
RegisterTile chooseSlicesTile(VectorIsa isa, unsigned bits, int64_t slices,
                              std::optional<int64_t> m);

/// `total` rows in the fewest blocks of at most `limit`, as equal as possible:
/// `numTall` blocks of `height + 1` rows, then `numShort` of `height`.
struct BalancedSplit {
  int64_t height = 0;
  int64_t numTall = 0;
  int64_t numShort = 0;
};
BalancedSplit splitBalanced(int64_t total, int64_t limit);

} // namespace tenon::microkernel
