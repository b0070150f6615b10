//===- InferContraction.cpp - rules of MatMul and the convolutions --------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/Convolution.h"

#include <algorithm>

namespace tenon::graph::infer {
namespace {

//===----------------------------------------------------------------------===//
// MatMul.
//===----------------------------------------------------------------------===//

/// An operand of MatMul as a matrix with batch dims.  A 1-D src is a row, 1-D
/// weights are a column; the dim added for it is not in the result.
struct Matrix {
  Dims batch;
  int64_t rows, cols;
  bool isVector;

  Matrix(const Dims &shape, bool transposed, bool isRow) {
    isVector = shape.size() == 1;
    if (isVector) {
      rows = isRow ? 1 : shape[0];
      cols = isRow ? shape[0] : 1;
      return;
    }
    batch.assign(shape.begin(), shape.end() - 2);
    rows = shape[shape.size() - 2];
    cols = shape[shape.size() - 1];
    if (transposed)
      std::swap(rows, cols);
  }
};

/// The bias broadcasts to the result; a scalar result takes any bias of one
/// element.
void checkMatMulBias(RuleContext &ctx, const Dims &dst) {
  if (!ctx.hasInput(2) || broadcastsTo(ctx.in(2), dst))
    return;
  if (dst.empty() && product(*ctx.in(2)) == 1)
    return;
  ctx.error(ErrorCode::ShapeMismatch,
            cat(ctx.inText(2), ", which does not broadcast to dst of ", dst),
            "dims, aligned at the right, must be equal or 1");
}

void matmul(RuleContext &ctx) {
  if (!ctx.requireRankAtLeast(0, 1) || !ctx.requireRankAtLeast(1, 1))
    return;
  if (!ctx.in(0) || !ctx.in(1))
    return;
  bool transposeA = ctx.boolAttr("transpose_a");
  bool transposeB = ctx.boolAttr("transpose_b");
  Matrix src(*ctx.in(0), transposeA, /*isRow=*/true);
  Matrix weights(*ctx.in(1), transposeB, /*isRow=*/false);
  std::string both =
      cat(ctx.inText(0), ", ", ctx.inText(1), " (transpose_a=", transposeA,
          ", transpose_b=", transposeB, ")");
  if (!mergeDim(src.cols, weights.rows))
    ctx.error(ErrorCode::ShapeMismatch,
              cat("inner dimensions differ, ", src.cols, " and ", weights.rows,
                  ": ", both));
  std::optional<Shape> batch = broadcastShapes(src.batch, weights.batch);
  if (!batch)
    ctx.error(ErrorCode::ShapeMismatch,
              cat("batch dimensions do not broadcast: ", both));
  if (ctx.failed())
    return;
  Dims dst = **batch;
  if (!src.isVector)
    dst.push_back(src.rows);
  if (!weights.isVector)
    dst.push_back(weights.cols);
  checkMatMulBias(ctx, dst);
  ctx.setOut(0, dst);
}

//===----------------------------------------------------------------------===//
// Convolutions.
//===----------------------------------------------------------------------===//

void checkConvBias(RuleContext &ctx, int64_t channels) {
  if (ctx.hasInput(2))
    ctx.requireShape(2, Dims{channels}, "one entry per channel of dst");
}

void convolution(RuleContext &ctx) {
  std::optional<size_t> rank =
      convRank(ctx, {ctx.in(0), ctx.in(1), ctx.out(0)});
  if (!rank)
    return;
  Conv conv{{dimsOrUnknown(ctx.in(0), *rank), "src"},
            {dimsOrUnknown(ctx.out(0), *rank), "dst"},
            {dimsOrUnknown(ctx.in(1), *rank), "weights"}};
  if (!relateConv(ctx, conv, ConvForm::slide))
    return;
  checkConvBias(ctx, conv.narrow.dims[DataLayout(ctx, *rank).channel]);
  ctx.setOut(0, conv.narrow.dims);
}

void convTranspose(RuleContext &ctx) {
  std::optional<size_t> rank =
      convRank(ctx, {ctx.in(0), ctx.in(1), ctx.out(0)});
  if (!rank)
    return;
  Conv conv{{dimsOrUnknown(ctx.out(0), *rank), "dst"},
            {dimsOrUnknown(ctx.in(0), *rank), "src"},
            {dimsOrUnknown(ctx.in(1), *rank), "weights"}};
  if (!relateConv(ctx, conv, ConvForm::spread))
    return;
  checkConvBias(ctx, conv.wide.dims[DataLayout(ctx, *rank).channel]);
  ctx.setOut(0, conv.wide.dims);
}

constexpr RuleEntry rules[] = {
    {"conv", convolution},
    {"conv_transpose", convTranspose},
    {"matmul", matmul},
};

} // namespace

std::span<const RuleEntry> contractionRules() { return rules; }

} // namespace tenon::graph::infer
