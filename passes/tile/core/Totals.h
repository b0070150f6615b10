//===- Totals.h - long sums in memory, as a tree ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A sum in memory to which something is added again and again is one chain of
// roundings: after 10^6 additions of numbers of one sign it is 1 % off. Here
// additions go to a total of their own, which is added to the next one and
// begins at zero again after kMostAdditions:
//
//   total 0 += x                               each time
//   total 1 += total 0; total 0 = 0            every 256 times
//   result  += total 1; total 1 = 0            every 65536 times
//
// so that the error grows with the sum of the lengths of these chains. How many
// totals there are follows from the sizes, and so do the bits of the result.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/Strided.h"

namespace tenon::passes {

/// Additions to one total, or to the result, one after the other.
inline constexpr int64_t kMostAdditions = 256;

class Totals {
public:
  Totals() = default;
  /// For a result of `elements` floats to which at most `additions` are made;
  /// none: their number is not known.
  Totals(int64_t elements, std::optional<int64_t> additions);

  /// Whether there are any: otherwise additions go to the result.
  bool any() const { return count > 0; }
  /// Bytes of scratch memory.
  int64_t bytes() const;

  /// What is added to the result: `elements` floats, one after the other.
  using AddToResult = llvm::function_ref<void(mlir::Value)>;

  /// Places the totals at `byteOffset` of `scratch`, a multiple of 8, and sets
  /// them to zero.
  void begin(IndexMath &m, mlir::Value scratch, Index byteOffset);
  /// The total to which the caller adds.
  mlir::Value first(IndexMath &m) const { return total(m, 0); }
  /// Says that `additions`, a number above zero, were made to the first total.
  void added(IndexMath &m, Index additions, AddToResult add) const;
  /// Brings what is left in totals to the result.
  void finish(IndexMath &m, AddToResult add) const;

private:
  mlir::Value total(IndexMath &m, int64_t level) const;
  /// Adds total `level` to the next one or, if it is the last, to the result.
  void carry(IndexMath &m, int64_t level, AddToResult add) const;
  void addedTo(IndexMath &m, int64_t level, Index additions,
               AddToResult add) const;

  int64_t elements = 0, count = 0; // of totals
  mlir::Value scratch;
  Index at;
};

/// to += from, elementwise.
void addTo(IndexMath &m, mlir::Value from, mlir::Value to);

} // namespace tenon::passes
