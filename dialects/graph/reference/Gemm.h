//===- Gemm.h - matrix product in double -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A plain blocked product, fast enough to evaluate whole models.  Internal.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::reference {

/// A K x N matrix cut into panels of kPanel columns, each stored k by k; the
/// last panel is padded with zeros.
class PackedMatrix {
public:
  static constexpr int kPanel = 4;

  /// Reads element (k, n) at b[k * strideK + n * strideN].
  PackedMatrix(const double *b, int64_t depth, int64_t columns, int64_t strideK,
               int64_t strideN);

  int64_t depth() const { return numDepth; }
  int64_t columns() const { return numColumns; }
  const double *panel(int64_t p) const {
    return data.data() + p * numDepth * kPanel;
  }

private:
  int64_t numDepth, numColumns;
  std::vector<double> data;
};

/// c += a * b.  `a` is rows x b.depth(), row-major with row stride lda; `c` is
/// rows x b.columns() with row stride ldc.
void gemm(const double *a, int64_t lda, int64_t rows, const PackedMatrix &b,
          double *c, int64_t ldc);

} // namespace tenon::reference
