// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse/FusedPrologue.h"

#include "dialects/graph/OpFacts.h"
#include "passes/ops/Costs.h"
#include "passes/ops/OpKinds.h"
#include "passes/ops/Packing.h"
#include "passes/ops/ViewedLoops.h"
#include "passes/support/GraphAttrs.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tenon-form-groups"

using namespace mlir;

namespace tenon::passes {

static int64_t bytesOf(RankedTensorType type) {
  return type.getElementTypeBitWidth() / 8;
}

/// Bytes of a matrix of `v`, if its size is known.
static std::optional<int64_t> matrixBytes(Value v) {
  auto type = rankedType(v);
  ArrayRef<int64_t> matrix = type.getShape().take_back(2);
  if (ShapedType::isDynamicShape(matrix))
    return std::nullopt;
  return llvm::product_of(matrix) * bytesOf(type);
}

/// Bytes of the rows of src that meet one matrix of weights.
static std::optional<int64_t> bytesOfRows(tile::MatMulOp op,
                                          tile::PackOp pack) {
  auto w = rankedType(pack.getWeights());
  auto rows = rowsOfMatrix(rankedType(op.getDst()), w);
  if (!rows)
    return std::nullopt;
  return *rows * w.getDimSize(w.getRank() - 2) *
         bytesOf(rankedType(op.getSrc()));
}

bool FusedPrologue::fitsThreads(tile::AttentionOp op, Value v) const {
  if (ShapedType::isDynamic(op.getNumKeys()))
    return true;
  auto bytes = matrixBytes(v);
  return bytes && *bytes <= headBytes();
}

/// Whether items copy rows of src, whose columns lie apart. They do while
/// panels pass, not where one item owns all rows of a panel that it packs.
static bool copiesRows(tile::MatMulOp op, tile::PackOp pack) {
  auto src = rankedType(op.getSrc()), w = rankedType(pack.getWeights());
  auto rows = rowsOfMatrix(rankedType(op.getDst()), w);
  auto apart = strideAlong(op.getSrc(), src.getRank() - 1);
  ArrayRef<int64_t> matrix = w.getShape().take_back(2);
  return rows && *rows >= kMinRowBlock && apart &&
         !ShapedType::isDynamicShape(matrix) &&
         copiesRowsAcross(
             apart, bytesOf(src), matrix[0],
             ceilDiv(matrix[1], static_cast<int64_t>(pack.getPanel())));
}

bool FusedPrologue::packs(Operation *user, tile::PackOp pack) const {
  if (auto attention = dyn_cast<tile::AttentionOp>(user))
    return !isKnownOnce(pack.getWeights()) &&
           fitsThreads(attention, pack.getWeights());
  auto weights = rankedType(pack.getWeights());
  int64_t last = weights.getRank() - 1;
  if (weights.isDynamicDim(last - 1) || isKnownOnce(pack.getWeights()))
    return false;
  auto product = dyn_cast<tile::MatMulOp>(user);
  if (!product || product.getWeights() != pack.getResult() ||
      copiesRows(product, pack))
    return false;
  auto bytes = bytesOfRows(product, pack);
  LDBG() << "rows that meet packed weights have " << bytes.value_or(-1)
         << " bytes, L2 " << l2Bytes;
  // Of columns whose number is not known, matrices may be one (see
  // LowerContraction.cpp), unless panels of each are in memory.
  return bytes && (*bytes <= l2Bytes || weights.isDynamicDim(last));
}

/// A work item computes a block of rows of src, and multiplies it by all
/// panels. If panels are also packed on the fly, one item must own all rows of
/// a panel.
bool FusedPrologue::makesSrc(tile::MatMulOp op,
                             ArrayRef<Operation *> ops) const {
  constexpr int64_t kMinPanels = 8;
  auto src = rankedType(op.getSrc()), dst = rankedType(op.getDst());
  if (!llvm::all_of(ops, graph::isCheap) || op.getInPlace() ||
      src.isDynamicDim(src.getRank() - 1))
    return false;
  // Of many rows, all pass by each panel of weights that an item makes.
  ArrayRef<int64_t> rowDims = dst.getShape().drop_back();
  if (op.getQuantized() &&
      (ShapedType::isDynamicShape(rowDims) ||
       ShapedType::getNumElements(rowDims) > kMaxQuantizedRows))
    return false;
  auto pack = op.getWeights().getDefiningOp<tile::PackOp>();
  if (!pack || !packs(op, pack))
    return true;
  int64_t rows = *rowsOfMatrix(dst, rankedType(pack.getWeights()));
  auto panel = static_cast<int64_t>(pack.getPanel());
  auto bytes = bytesOfRows(op, pack);
  return dst.hasStaticShape() && bytes && *bytes <= l2Bytes / 2 &&
         dst.getNumElements() >= rows * kMinPanels * panel;
}

/// Whether `ops` only widen elements, which a pooling does faster than memory
/// takes the wide ones.
static bool widens(ArrayRef<Operation *> ops) {
  return ops.size() == 1 && graph::isCast(ops[0]) &&
         rankedType(ops[0]->getOperand(0)).getElementTypeBitWidth() <= 16 &&
         rankedType(ops[0]->getResult(0)).getElementType().isF32();
}

static bool haveViews(ArrayRef<Operation *> ops) {
  return llvm::any_of(ops, [](Operation *op) { return graph::isView(op); });
}

/// Whether one nest of loops computes `v` by `ops`, which has one loop for each
/// dimension but `split`; that one may be several loops of which the innermost
/// has a multiple of `neighbours` iterations.
static bool hasLoops(Value v, ArrayRef<Operation *> ops, int64_t split,
                     int64_t neighbours) {
  if (!haveViews(ops))
    return true;
  std::optional<ViewedLoops> loops = findViewedLoops(v, ops);
  if (!loops)
    return false;
  for (auto [d, ofDim] : llvm::enumerate(loops->dims.lookup(v)))
    if (ofDim.size() > 1 && (static_cast<int64_t>(d) != split ||
                             loops->sizes[ofDim.back()] % neighbours != 0))
      return false;
  return true;
}

/// What attention packs, or reads where it lies: keys [.., depth, keys] and
/// values [.., keys, columns].
bool FusedPrologue::makesPart(tile::AttentionOp op, OpOperand &read,
                              ArrayRef<Operation *> ops) const {
  Value v = read.get();
  int64_t rank = rankedType(v).getRank();
  bool isPacked = read.getOwner() != op;
  Value part = isPacked ? read.getOwner()->getResult(0) : v;
  if (part == op.getK())
    return hasLoops(v, ops, rank - 2, op.getInterleave()) &&
           (isPacked ||
            !ShapedType::isDynamic(rankedType(op.getQ()).getShape().back()));
  if (part != op.getV())
    return false;
  // Columns of packed values are cut where panels end.
  return isPacked ? hasLoops(v, ops, -1, 1)
                  : hasLoops(v, ops, rank - 1, 1) &&
                        (!op.getPacked() || fitsThreads(op, v));
}

bool FusedPrologue::makes(OpOperand &read, ArrayRef<Operation *> ops) const {
  assert(!ops.empty() && "a reader makes what somebody computed");
  Value v = read.get();
  Operation *user = read.getOwner();
  bool isViewed = haveViews(ops);
  if (graph::isPooling(user) && !graph::isBackward(user))
    return !findsMaxima(user) && widens(ops);
  if (auto product = dyn_cast<tile::MatMulOp>(user))
    return !isViewed && v == product.getSrc() && v != product.getWeights() &&
           makesSrc(product, ops);
  if (auto pack = dyn_cast<tile::PackOp>(user)) {
    auto op = pack->hasOneUse()
                  ? dyn_cast<tile::AttentionOp>(*pack->user_begin())
                  : tile::AttentionOp();
    return op && packs(op, pack) && makesPart(op, read, ops);
  }
  auto op = dyn_cast<tile::AttentionOp>(user);
  if (!op || op.getFromLeft())
    return false;
  if (v == op.getQ())
    return op.getPacked() && !isViewed &&
           !ShapedType::isDynamic(rankedType(v).getShape().back());
  return makesPart(op, read, ops);
}

} // namespace tenon::passes
