//===- LowerContraction.cpp - products as sections of tile.brgemm ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Products.cpp has the sections of a MatMul. Those of a convolution are written
// here: an item is (image, group, panel, row of dst), and DirectConv.cpp has
// the products of a row. LowerWinograd.cpp has Winograd convolutions, and
// LowerConvTranspose.cpp and LowerConvWeights.cpp have the gradients.
//
//===----------------------------------------------------------------------===//
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/convolution/DirectConv.h"
#include "passes/tile/products/Products.h"
#include "passes/tile/windows/Windows.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Makes K and the strides of A count words of four int8 slices, as kernels do,
/// not bytes.
void countWords(MatMulProblem &p) {
  auto words = [&](Index bytes) { return bytes / sizeof(float); };
  p.k = p.a.sizes.back() = words(p.k);
  for (Index &stride : MutableArrayRef(p.a.strides).drop_back())
    stride = words(stride);
}

/// Makes one matrix of W and dst of those along dim `lead` of dst, where the
/// columns of each follow those of the one before it in memory. The sizes of
/// both are chosen when the code runs:
///
///   W [H, K, W]  ->  [1, K, H W]  or, with a gap between rows,  [H, K, W]
void mergeColumns(IndexMath &m, MatMulProblem &p, int64_t lead) {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  Value all;
  auto follow = [&](const Strided &s, Index along) {
    Index next = s.strides[lead], columns = p.n * along;
    if (next == columns) // also where both are 0
      return true;
    if (next.isConstant(0) || along.isConstant(0))
      return false;
    Value equal = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        m.value(next), m.value(columns));
    all = all ? arith::AndIOp::create(b, loc, all, equal).getResult() : equal;
    return true;
  };
  if (!p.a.strides[lead].isConstant(0) || !follow(p.dst, p.dst.strides.back()))
    return;
  for (auto [s, whole] : llvm::zip(p.unpacked, p.packing->tensors()))
    if (!follow(s, whole.strides.back()))
      return;
  for (const Strided &s : p.epilogueOperands)
    if (!follow(s, s.strides.back()))
      return;
  Index count = p.dst.sizes[lead];
  auto choose = [&](Index merged, Index apart) {
    return all ? m(arith::SelectOp::create(b, loc, all, m.value(merged),
                                           m.value(apart)))
               : merged;
  };
  Index matrices = choose(1, count);
  p.n = choose(count * p.n, p.n);
  p.a.sizes[lead] = p.w.sizes[lead] = p.dst.sizes[lead] = matrices;
  p.dst.sizes.back() = p.n;
  for (Strided &s : p.unpacked)
    s.sizes[lead] = matrices;
  for (Strided &s : p.epilogueOperands) {
    s.sizes[lead] = matrices;
    s.sizes.back() = p.n;
  }
}

LogicalResult lowerMatMul(GroupContext &ctx, tile::MatMulOp op) {
  Epilogue epilogue(ctx, op);
  MatMulProblem p;
  p.epilogueOperands = epilogue.epilogueOperands;
  p.n = ctx.sizes[op.getDst()].back();
  p.interleave = op.getInterleave();
  p.k = ctx.sizes[op.getSrc()].back();
  p.quantized = op.getQuantized();
  p.dst = ctx.result();
  // src over dst's leading dims and rows, then K.
  ArrayRef<Index> space = ctx.sizes[op.getDst()];
  SmallVector<Index> aSpace(space.begin(), space.end() - 1);
  aSpace.push_back(p.k);
  auto overA = [&](const Strided &src) {
    Strided a = broadcastTo(src, aSpace);
    a.strides.back() = src.strides.back();
    return a;
  };
  FusedOperand made(ctx, op.getSrc());
  if (made.isRead()) {
    p.a = overA(made.tensors().front());
    if (p.isSliced())
      countWords(p);
  } else {
    p.made = &made;
    for (const Strided &src : made.tensors())
      p.fusedFrom.push_back(overA(src));
    p.a.sizes = aSpace;
    p.a.strides.assign(aSpace.size(), 0);
  }
  // Weights, `own` of whose dims are their own, over dst's leading dims and
  // rows.
  auto overRows = [&](Strided w, int64_t own) {
    w.dense = false;
    w.sizes.pop_back_n(own);
    w.strides.pop_back_n(own);
    Strided over = broadcastTo(w, space.drop_back(2));
    over.sizes.push_back(space[space.size() - 2]);
    over.strides.push_back(0);
    return over;
  };
  std::optional<PanelPacking> packing;
  if (!op.getInPlace())
    p.panel = panelWidth(rankedType(op.getWeights()), p.interleave);
  if (auto pack = op.getWeights().getDefiningOp<tile::PackOp>()) {
    packing.emplace(ctx, pack);
    p.packing = &*packing;
    for (const Strided &w : packing->tensors())
      p.unpacked.push_back(overRows(w, 2));
    p.w.sizes = p.unpacked.front().sizes;
    p.w.strides.assign(p.w.sizes.size(), 0);
  } else {
    Strided w = ctx.memoryOf(op.getWeights());
    if (op.getInPlace()) {
      p.inPlace = {w.strides[w.rank() - 2], w.strides.back()};
      p.k = w.sizes[w.rank() - 2]; // static
    }
    p.w = overRows(w, op.getInPlace() ? 2 : 3 + (p.interleave > 1));
  }
  p.unsignedA = !p.isSliced() &&
                rankedType(op.getSrc()).getElementType().isUnsignedInteger(8);
  // Images are apart in any case.
  if (p.packing && !p.made && !p.n.constant())
    for (int64_t lead = p.dst.rank() - 3; lead > 0; --lead)
      mergeColumns(ctx.m, p, lead);
  emitProduct(ctx, epilogue, std::move(p));
  return success();
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

void emitPointwise(GroupContext &ctx, const Epilogue &epilogue,
                   tile::ConvOp op) {
  auto packedType = rankedType(op.getWeights());
  MatMulProblem p;
  p.epilogueOperands = epilogue.epilogueOperands;
  p.n = rankedType(op.getDst()).getShape().back();
  p.interleave = op.getInterleave();
  p.panel = panelWidth(packedType, p.interleave);
  p.a = ctx.memoryOf(op.getSrc());
  p.k = p.a.sizes.back();
  p.dst = ctx.result();
  p.w.base = ctx.memoryOf(op.getWeights()).base;
  p.w.sizes.assign(p.dst.sizes.begin(), p.dst.sizes.end() - 1);
  p.w.strides.assign(p.w.sizes.size(), 0);
  p.unsignedA = rankedType(op.getSrc()).getElementType().isUnsignedInteger(8);
  emitProduct(ctx, epilogue, std::move(p));
}

LogicalResult lowerConv(GroupContext &ctx, tile::ConvOp op) {
  IndexMath &m = ctx.m;
  Epilogue epilogue(ctx, op);
  auto srcType = rankedType(op.getSrc()), dstType = rankedType(op.getDst());
  if (srcType.isDynamicDim(srcType.getRank() - 1) ||
      dstType.isDynamicDim(dstType.getRank() - 1))
    return emitError(op, ErrorCode::UnsupportedForm, "channels must be static");
  if (isPointwise(op)) {
    emitPointwise(ctx, epilogue, op);
    return success();
  }
  DirectConv conv(ctx, op, ctx.memoryOf(op.getSrc()));
  // Groups and panels of a block of rows follow each other, or rows of one.
  bool rowsFirst = conv.keptRows() > 0 || conv.hasFewWeights();
  Grid grid{{"image", ctx.sizes[op.getSrc()][0]}};
  auto addColumns = [&] {
    grid.add("group", op.getGroups());
    grid.add("panel", conv.panels());
  };
  if (!rowsFirst)
    addColumns();
  ArrayRef<Index> outer = ctx.sizes[op.getDst()].drop_front().drop_back(2);
  for (Index rows : outer.drop_back(!outer.empty()))
    grid.add("row", rows);
  DirectConv::Blocks blocks(conv, grid.size());
  grid.add("row", blocks.count());
  if (rowsFirst)
    addColumns();
  const Strided &dst = ctx.result();
  SmallVector<std::pair<int64_t, int64_t>> parts = conv.parts(dst);
  for (auto [i, taps] : llvm::enumerate(parts)) {
    SumPart part = partOf(i, parts.size());
    emitItems(m, ctx.label, grid, [&](const Grid::Item &at) {
      conv.overColumns(m, at["panel"], [&](int64_t n) {
        // A row has no position along dims that there are not.
        ArrayRef<Index> rows = at.all("row");
        blocks.emit(m, rows.back(),
                    {epilogue, dst, at["image"], rows.drop_back(outer.empty()),
                     at["group"], at["panel"], n,
                     /*isReadSoon=*/false, part, taps});
      });
    });
  }
  return success();
}

} // namespace

LogicalResult lowerContraction(GroupContext &ctx) {
  for (Operation *op : ctx.ops()) {
    if (auto product = dyn_cast<tile::MatMulOp>(op))
      return lowerMatMul(ctx, product);
    if (auto conv = dyn_cast<tile::ConvOp>(op))
      return lowerConv(ctx, conv);
    if (auto conv = dyn_cast<tile::WinogradOp>(op))
      return lowerWinograd(ctx, conv);
    if (auto conv = dyn_cast<tile::ConvTransposeOp>(op))
      return lowerConvTranspose(ctx, conv);
    if (auto conv = dyn_cast<tile::ConvWeightsOp>(op))
      return lowerConvWeights(ctx, conv);
  }
  return ctx.group.emitError("no contraction in the group");
}

} // namespace tenon::passes
