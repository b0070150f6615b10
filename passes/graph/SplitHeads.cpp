//===- SplitHeads.cpp - products over columns of several heads ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One head of queries and many of keys, written as one matrix:
//
//   %s = MatMul(%q, %k)           : [B, R, D] . [B, D, H * C] -> [B, R, H * C]
//   %t = StaticTranspose(StaticReshape(%s))       : [B, R, H, C] -> [B, H, R,
//   C] %p = .. SoftMax(..) ..                                      : [B, H, R,
//   C] %u = StaticReshape(StaticTranspose(%p))                   : [B, R, H *
//   C] %o = MatMul(%v, %u)           : [B, E, R] . [B, R, H * C] -> [B, E, H *
//   C]
//
// becomes products over [B, 1, R, D] . [B, H, D, C] and [B, 1, E, R] .
// [B, H, R, C], with reshapes and transpositions around %k and %o, which are
// views where those around %s and %p would move all scores.
//
//===----------------------------------------------------------------------===//
#include "passes/graph/SplitHeads.h"
#include "dialects/graph/GraphDialect.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace tenon::passes {

/// Values between product and softmax that are looked at.
constexpr size_t kMaxValues = 64;

/// [0, .., r-2, r-3, r-1].
static SmallVector<int64_t> headsAndRowsSwapped(int64_t rank) {
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[rank - 3], order[rank - 2]);
  return order;
}

static bool swapsHeadsAndRows(Operation *op) {
  if (!isa<graph::StaticTransposeOp>(op))
    return false;
  int64_t rank = rankedType(op->getOperand(0)).getRank();
  return rank >= 3 && orderOf(op->getResult(0)) == headsAndRowsSwapped(rank);
}

/// Whether `split` is `joined` with the last dimension cut into two.
static bool cutsLast(RankedTensorType split, RankedTensorType joined) {
  int64_t rank = joined.getRank();
  return split.hasStaticShape() && joined.hasStaticShape() &&
         split.getRank() == rank + 1 &&
         split.getShape().take_front(rank - 1) ==
             joined.getShape().drop_back() &&
         split.getNumElements() == joined.getNumElements();
}

/// The StaticTranspose through which the scores reach `softmax`, or null.
static Operation *findSplit(Operation *softmax) {
  SmallVector<Value> stack{softmax->getOperand(0)};
  llvm::DenseSet<Value> seen;
  while (!stack.empty() && seen.size() < kMaxValues) {
    Value v = stack.pop_back_val();
    Operation *def = v.getDefiningOp();
    if (!def || v.getType() != softmax->getOperand(0).getType() ||
        !seen.insert(v).second)
      continue;
    if (swapsHeadsAndRows(def)) {
      auto reshape = def->getOperand(0).getDefiningOp<graph::StaticReshapeOp>();
      if (!reshape)
        continue;
      Value joined = reshape.getSrc();
      if (joined.getDefiningOp<graph::MatMulOp>() && joined.hasOneUse() &&
          def->getOperand(0).hasOneUse() &&
          cutsLast(rankedType(def->getOperand(0)), rankedType(joined)))
        return def;
    }
    if (isScalarOp(def))
      for (Value o : llvm::reverse(def->getOperands()))
        stack.push_back(o);
  }
  return nullptr;
}

/// The operation that alone reads `v`, as its operand `index`, if it is an
/// `Op`; else null.
template <typename Op> static Op onlyReader(Value v, unsigned index) {
  if (!v.hasOneUse() || v.use_begin()->getOperandNumber() != index)
    return {};
  return dyn_cast<Op>(v.use_begin()->getOwner());
}

/// The MatMul that reads, as its second operand, the weights of `softmax` with
/// all heads joined, or null.
static Operation *findJoin(Operation *softmax) {
  Value p = softmax->getResult(0);
  if (auto dropout = onlyReader<graph::DropoutOp>(p, 0))
    p = dropout.getDst();
  auto transpose = onlyReader<graph::StaticTransposeOp>(p, 0);
  if (!transpose || !swapsHeadsAndRows(transpose))
    return nullptr;
  p = transpose.getDst();
  auto reshape = onlyReader<graph::StaticReshapeOp>(p, 0);
  if (!reshape || !cutsLast(rankedType(p), rankedType(reshape.getDst())))
    return nullptr;
  return onlyReader<graph::MatMulOp>(reshape.getDst(), 1);
}

/// `v`, [B.., X, Y], as [B.., 1, X, Y].
static Value withOneHead(OpBuilder &b, Value v) {
  SmallVector<int64_t> shape(rankedType(v).getShape());
  shape.insert(shape.end() - 2, 1);
  return buildReshape(b, v.getLoc(), v, shape);
}

static Value buildMatMul(OpBuilder &b, Location loc, Value x, Value y,
                         ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, rankedType(x).getElementType());
  return buildGraphOp(b, loc, "MatMul", {x, y}, type);
}

bool splitHeads(Operation *softmax) {
  Operation *split = findSplit(softmax), *join = findJoin(softmax);
  if (!split || !join)
    return false;
  Operation *scores =
      split->getOperand(0).getDefiningOp()->getOperand(0).getDefiningOp();
  // Operands of the rank of the result: heads are columns of the second.
  for (Operation *product : {scores, join})
    for (Value v : {product->getOperand(0), product->getOperand(1)})
      if (!rankedType(v).hasStaticShape() ||
          rankedType(v).getRank() !=
              rankedType(product->getResult(0)).getRank())
        return false;
  ArrayRef<int64_t> shape = rankedType(split->getResult(0)).getShape();
  int64_t rank = shape.size(), heads = shape[rank - 3], columns = shape.back();

  OpBuilder b(scores);
  Value k = scores->getOperand(1);
  SmallVector<int64_t> cut(rankedType(k).getShape().drop_back());
  cut.append({heads, columns});
  k = buildReshape(b, k.getLoc(), k, cut);
  k = buildTranspose(b, k.getLoc(), k, headsAndRowsSwapped(rank));
  Value q = withOneHead(b, scores->getOperand(0));
  split->getResult(0).replaceAllUsesWith(
      buildMatMul(b, scores->getLoc(), q, k, shape));

  b.setInsertionPoint(join);
  Value weights = join->getOperand(1).getDefiningOp()->getOperand(0);
  weights = weights.getDefiningOp()->getOperand(0);
  Value v = withOneHead(b, join->getOperand(0)), old = join->getResult(0);
  SmallVector<int64_t> dst(rankedType(old).getShape().drop_back());
  dst.insert(dst.end() - 1, heads);
  dst.push_back(columns);
  Value product = buildMatMul(b, join->getLoc(), v, weights, dst);
  product =
      buildTranspose(b, join->getLoc(), product, headsAndRowsSwapped(rank));
  old.replaceAllUsesWith(
      buildReshape(b, join->getLoc(), product, rankedType(old).getShape()));
  // What is no longer read, from the end.
  Operation *reshape = join->getOperand(1).getDefiningOp();
  Operation *transpose = reshape->getOperand(0).getDefiningOp();
  Operation *firstReshape = split->getOperand(0).getDefiningOp();
  for (Operation *op : {join, reshape, transpose, split, firstReshape, scores})
    op->erase();
  return true;
}

} // namespace tenon::passes
