//===- Gemm.cpp - matrix product in double --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Gemm.h.  A 4 x 4 block of sums fits the vector registers of every CPU,
// so that the compiler keeps it there while k runs.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Gemm.h"

#include <algorithm>

namespace tenon::reference {

namespace {

constexpr int kRows = 4;
constexpr int kPanel = PackedMatrix::kPanel;
/// Rows of `a` that pass over all of `b` together, to stay in the cache.
constexpr int64_t kRowBlock = 32;

/// c[0..rows) x [0..columns) += a * panel for at most one block of sums.
template <int Rows>
void kernel(const double *a, int64_t lda, const double *panel, int64_t depth,
            double *c, int64_t ldc, int64_t columns) {
  double sums[Rows][kPanel] = {};
  for (int64_t k = 0; k < depth; ++k)
    for (int r = 0; r < Rows; ++r)
      for (int j = 0; j < kPanel; ++j)
        sums[r][j] += a[r * lda + k] * panel[k * kPanel + j];
  for (int r = 0; r < Rows; ++r)
    for (int64_t j = 0; j < columns; ++j)
      c[r * ldc + j] += sums[r][j];
}

} // namespace

PackedMatrix::PackedMatrix(const double *b, int64_t depth, int64_t columns,
                           int64_t strideK, int64_t strideN)
    : numDepth(depth), numColumns(columns) {
  int64_t panels = (columns + kPanel - 1) / kPanel;
  data.assign(panels * depth * kPanel, 0);
  if (data.empty())
    return;
  for (int64_t n = 0; n < columns; ++n) {
    double *column = data.data() + n / kPanel * depth * kPanel + n % kPanel;
    for (int64_t k = 0; k < depth; ++k)
      column[k * kPanel] = b[k * strideK + n * strideN];
  }
}

void gemm(const double *a, int64_t lda, int64_t rows, const PackedMatrix &b,
          double *c, int64_t ldc) {
  for (int64_t block = 0; block < rows; block += kRowBlock) {
    int64_t blockEnd = std::min(rows, block + kRowBlock);
    for (int64_t n = 0; n < b.columns(); n += kPanel) {
      const double *panel = b.panel(n / kPanel);
      int64_t columns = std::min<int64_t>(kPanel, b.columns() - n);
      int64_t r = block;
      for (; r + kRows <= blockEnd; r += kRows)
        kernel<kRows>(a + r * lda, lda, panel, b.depth(), c + r * ldc + n, ldc,
                      columns);
      for (; r < blockEnd; ++r)
        kernel<1>(a + r * lda, lda, panel, b.depth(), c + r * ldc + n, ldc,
                  columns);
    }
  }
}

} // namespace tenon::reference
