//===- SelectMatMul.cpp - products of matrices ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   MatMul(%x, %w)            %p = tile.pack %w panel 16
//                       ->    tile.matmul %x, %p
//
// A product with so few panels and blocks of rows that cores would have nothing
// to do is cut along K:
//
//   MatMul(%x [16, 4096], %w [4096, 64])
//       ->  ReduceSum(tile.matmul(%x as [8, 16, 512], pack(%w as [8, 512,
//       64])))
//
//===----------------------------------------------------------------------===//
#include "passes/layout/SelectMatMul.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/support/Rounding.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Parts of K for a product of [rows, K] and [K, N]; 1: it stays whole.
int64_t partsOfK(const Packing &packing, int64_t rows, int64_t k, int64_t n) {
  // At least so many items, of at least so long sums, of work that takes
  // several times as long as the additional section; docs/cost-model.md.
  constexpr int64_t kItems = 8, kShortest = 256, kWork = 1 << 21;
  constexpr int64_t kRowsOfItem = 48, kRowsOfGemv = 8;
  int64_t panel = packing.panelFor(rows, n);
  int64_t items = ceilDiv(rows, kRowsOfItem) * ceilDiv(n, panel);
  if (items * 2 > kItems || std::max(rows, kRowsOfGemv) * k * n < kWork)
    return 1;
  int64_t parts = 1;
  while (items * parts < kItems && k % (2 * parts) == 0 &&
         k / (2 * parts) >= kShortest)
    parts *= 2;
  return parts;
}

/// Cuts a product of floats along K if that pays.
bool splitMatMul(Operation *op, OpBuilder &b, Selection &selection) {
  auto dst = rankedType(op->getResult(0));
  Value src = op->getOperand(0), weights = op->getOperand(1);
  auto type = rankedType(src), w = rankedType(weights);
  auto isTransposed = [](Value v) {
    // It would be copied.
    return bool(v.getDefiningOp<graph::StaticTransposeOp>());
  };
  if (!dst.hasStaticShape() || !w.hasStaticShape() || w.getRank() != 2 ||
      type.getRank() < 2 || !type.hasStaticShape() || isTransposed(src) ||
      isTransposed(weights) || dst.getNumElements() == 0)
    return false;
  int64_t k = w.getDimSize(0), n = w.getDimSize(1);
  int64_t rows = dst.getNumElements() / n;
  int64_t parts = k ? partsOfK(selection.packing, rows, k, n) : 1;
  if (parts == 1)
    return false;
  Location loc = op->getLoc();
  int64_t part = k / parts;
  src = buildReshape(b, loc, src, {rows, parts, part});
  src = buildTranspose(b, loc, src, {1, 0, 2});
  weights = buildReshape(b, loc, weights, {parts, part, n});
  auto sums = RankedTensorType::get({parts, rows, n}, b.getF32Type());
  Value products = selection.packing.buildMatMul(b, loc, sums, src, weights);
  Value sum = sumOfParts(b, products);
  sum = buildReshape(b, loc, sum, dst.getShape());
  op->emitRemark("K is cut into " + std::to_string(parts) + " parts of " +
                 std::to_string(part));
  selection.replace(op, buildImplicitCast(b, loc, sum, dst.getElementType()));
  return true;
}

/// One column: src is what is read, and its rows are dots.
///
///   MatMul(%x [M, K], %w [K, 1])  ->  %wt [1, K] times %xt [K, M] in place
bool swapMatMul(Operation *op, OpBuilder &b, Selection &selection) {
  auto dst = rankedType(op->getResult(0));
  Value src = op->getOperand(0), weights = op->getOperand(1);
  int64_t rank = dst.getRank();
  if (rank < 2 || !dst.hasStaticShape() || op->hasAttr(kOrderAttr) ||
      dst.getDimSize(rank - 1) != 1 || dst.getDimSize(rank - 2) == 1)
    return false;
  Location loc = op->getLoc();
  SmallVector<int64_t> shape(dst.getShape());
  std::swap(shape[rank - 1], shape[rank - 2]);
  auto type = RankedTensorType::get(shape, dst.getElementType());
  Value x = swapLastTwo(b, src), w = swapLastTwo(b, weights);
  if (!readsInPlace(type, w, x)) {
    x.getDefiningOp()->erase();
    w.getDefiningOp()->erase();
    return false;
  }
  Value product = selection.packing.buildMatMul(b, loc, type, w, x);
  selection.replace(op, buildReshape(b, loc, product, dst.getShape()));
  return true;
}

} // namespace

void selectMatMul(Operation *op, OpBuilder &b, Selection &selection) {
  if (swapMatMul(op, b, selection) || splitMatMul(op, b, selection))
    return;
  selection.replace(op, selection.packing.buildMatMul(
                            b, op->getLoc(), rankedType(op->getResult(0)),
                            op->getOperand(0), op->getOperand(1)));
}

} // namespace tenon::passes
