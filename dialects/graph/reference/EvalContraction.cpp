//===- EvalContraction.cpp - MatMul ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Batched matrix product with numpy broadcasting of the leading dims.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Gemm.h"
#include "dialects/graph/reference/IntegerProduct.h"
#include "dialects/graph/reference/OpContext.h"

namespace tenon::reference {
namespace {

/// One operand seen as batch x rows x columns after its transposition.
struct MatrixView {
  Dims batch;
  int64_t rows = 1, columns = 1;
  int64_t rowStride = 0, columnStride = 0;
};

/// `vectorIsRow`: a 1-D operand acts as 1 x K (src), else K x 1 (weights).
MatrixView viewOf(const Dims &shape, bool transpose, bool vectorIsRow) {
  MatrixView view;
  if (shape.size() == 1) {
    (vectorIsRow ? view.columns : view.rows) = shape[0];
    (vectorIsRow ? view.columnStride : view.rowStride) = 1;
    return view;
  }
  view.batch.assign(shape.begin(), shape.end() - 2);
  view.rows = shape[shape.size() - 2];
  view.columns = shape.back();
  view.rowStride = view.columns;
  view.columnStride = 1;
  if (transpose) {
    std::swap(view.rows, view.columns);
    std::swap(view.rowStride, view.columnStride);
  }
  return view;
}

bool addBias(OpContext &c) {
  const Tensor &bias = c.in(2);
  Tensor &dst = c.out();
  // A scalar result takes any bias of one element.
  Dims shape =
      dst.shape.empty() && bias.numElements() == 1 ? Dims{} : bias.shape;
  auto strides = broadcastStrides(shape, dst.shape);
  if (!strides)
    return c.fail(ErrorCode::ShapeMismatch, "bias " + shapeText(bias.shape) +
                                                " does not broadcast to dst " +
                                                shapeText(dst.shape));
  forEachIndex<1>(dst.shape, {*strides},
                  [&](int64_t i, const std::array<int64_t, 1> &at) {
                    dst.data[i] += bias.data[at[0]];
                    if (dst.dtype == DType::s32)
                      dst.data[i] = wrapTo(dst.dtype, dst.data[i]);
                  });
  return true;
}

/// The product of one pair of matrices.  `rows` x columns go to `dst`.
void multiplyOne(OpContext &c, const double *a, const MatrixView &left,
                 const double *b, const MatrixView &right, double *dst) {
  std::vector<double> dense;
  int64_t lda = left.rowStride;
  if (left.columnStride != 1) { // transposed: make rows contiguous
    dense.resize(left.rows * left.columns);
    for (int64_t m = 0; m < left.rows; ++m)
      for (int64_t k = 0; k < left.columns; ++k)
        dense[m * left.columns + k] =
            a[m * left.rowStride + k * left.columnStride];
    a = dense.data();
    lda = left.columns;
  }
  PackedMatrix packed(b, right.rows, right.columns, right.rowStride,
                      right.columnStride);
  parallelFor(c.threads, left.rows, 32, [&](int64_t begin, int64_t end) {
    gemm(a + begin * lda, lda, end - begin, packed, dst + begin * right.columns,
         right.columns);
  });
}

bool evalMatMul(OpContext &c) {
  const Tensor &src = c.in(0), &weights = c.in(1);
  if (!c.requireRank(0, 1) || !c.requireRank(1, 1))
    return false;
  MatrixView left = viewOf(src.shape, c.flag("transpose_a", false), true);
  MatrixView right = viewOf(weights.shape, c.flag("transpose_b", false), false);
  auto batch = broadcastShapes(left.batch, right.batch);
  if (left.columns != right.rows || !batch)
    return c.fail(ErrorCode::ShapeMismatch,
                  "src " + shapeText(src.shape) + " and weights " +
                      shapeText(weights.shape) +
                      (batch
                           ? " disagree in K: " + std::to_string(left.columns) +
                                 " and " + std::to_string(right.rows)
                           : " have batch dims that do not broadcast"),
                  "check transpose_a and transpose_b");
  Dims shape = *batch;
  if (src.rank() > 1)
    shape.push_back(left.rows);
  if (weights.rank() > 1)
    shape.push_back(right.columns);
  if (!c.setShape(0, shape))
    return false;
  int64_t leftSize = left.rows * left.columns;
  int64_t rightSize = right.rows * right.columns;
  int64_t dstSize = left.rows * right.columns;
  auto multiply = [&](const std::vector<double> &a,
                      const std::vector<double> &b) {
    std::vector<double> sums(c.out().data.size(), 0);
    forEachIndex<2>(*batch,
                    {*broadcastStrides(left.batch, *batch),
                     *broadcastStrides(right.batch, *batch)},
                    [&](int64_t i, const std::array<int64_t, 2> &at) {
                      multiplyOne(c, a.data() + at[0] * leftSize, left,
                                  b.data() + at[1] * rightSize, right,
                                  sums.data() + i * dstSize);
                    });
    return sums;
  };
  c.out().data = c.out().dtype == DType::s32
                     ? integerProduct(src.data, weights.data, multiply)
                     : multiply(src.data, weights.data);
  return !c.hasIn(2) || addBias(c);
}

} // namespace

std::span<const OpEntry> contractionOps() {
  static constexpr OpEntry entries[] = {{"MatMul", evalMatMul}};
  return entries;
}

} // namespace tenon::reference
