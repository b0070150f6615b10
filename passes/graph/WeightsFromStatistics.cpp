//===- WeightsFromStatistics.cpp - a softmax computed again ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %p = SoftMax(%t)                      %p, %stats = SoftMax(%t)
//   %w = Dropout(%p)                      %w = Dropout(%p)
//   %o = MatMul(%w, %v)                   %o = MatMul(%w, %v)
//   %dv = MatMul(T(%w), %g)               %e = Exp(%t - %stats)
//   %u = MatMul(%g, T(%v))           ->   %dv = MatMul(T(Dropout(%e)), %g)
//   %dp = Dropout(%u)                     %u = MatMul(%g, T(%v))
//   %dt = SoftMaxBackward(%dp, %p)        %dp = Dropout(%u)
//                                         %sums = ReduceSum(%g * %o)
//                                         %dt = %e * (%dp - %sums)
//
// The sums over a row that the gradient of a softmax subtracts are of weights
// times their gradients. With %dp made of %g and the values, as here, they are
// those of %g times the result of the attention, and need no weights.
//
//===----------------------------------------------------------------------===//
#include "passes/graph/WeightsFromStatistics.h"

#include "dialects/graph/GraphDialect.h"
#include "passes/graph/ScoreRegion.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tenon::passes {

Value skipIdentities(Value v) {
  while (Operation *def = v.getDefiningOp()) {
    if (!isIdentity(def))
      break;
    v = def->getOperand(0);
  }
  return v;
}

bool areTransposes(Value x, Value y) {
  x = skipIdentities(x);
  y = skipIdentities(y);
  auto makes = [](Value from, Value to) {
    Operation *def = to.getDefiningOp();
    return def && swapsLastTwo(def) &&
           skipIdentities(def->getOperand(0)) == from;
  };
  return makes(x, y) || makes(y, x);
}

namespace {

/// Whether `op` makes weights of the weights that are its first operand.
bool passesWeights(Operation *op) {
  return isFloatCast(op) || isIdentity(op) || isa<graph::DropoutOp>(op);
}

class Weights {
public:
  explicit Weights(Operation *backward) : backward(backward) {}
  bool find();
  void computeAgain();

private:
  using Path = SmallVector<Operation *>;
  bool findSoftmax();
  bool findProducts(Value weights, const Path &path);

  Operation *backward;
  graph::SoftMaxOp softmax;
  Operation *forward = nullptr;  // weights . v
  Operation *ofValues = nullptr; // transposed weights . g
  Operation *transpose = nullptr;
  Path path; // from the softmax to `transpose`
};

bool Weights::findSoftmax() {
  Value p = backward->getOperand(1);
  while (Operation *def = p.getDefiningOp()) {
    if (!isFloatCast(def) && !isIdentity(def))
      break;
    p = def->getOperand(0);
  }
  softmax = p.getDefiningOp<graph::SoftMaxOp>();
  if (!softmax || p != softmax.getDst() ||
      softmax->getBlock() != backward->getBlock())
    return false;
  int64_t rank = rankedType(p).getRank();
  return rank >= 2 &&
         normalizedAxis(intAttr(softmax, "axis"), rank) == rank - 1 &&
         normalizedAxis(intAttr(backward, "axis"), rank) == rank - 1;
}

/// Finds the products that read `weights` or, by way of other operations, what
/// these make of them. False where there are several of a kind.
bool Weights::findProducts(Value weights, const Path &before) {
  auto isOfWeights = [](Operation *op, Value v) {
    return isa<graph::MatMulOp>(op) && op->getOperand(0) == v &&
           op->getOperand(1) != v;
  };
  auto set = [](Operation *&product, Operation *found) {
    bool isFirst = !product;
    product = found;
    return isFirst;
  };
  for (Operation *user : weights.getUsers()) {
    if (user == backward)
      continue;
    if (isOfWeights(user, weights)) {
      if (!set(forward, user))
        return false;
    } else if (swapsLastTwo(user) && user->getResult(0).hasOneUse() &&
               isOfWeights(*user->user_begin(), user->getResult(0))) {
      if (!set(ofValues, *user->user_begin()))
        return false;
      transpose = user;
      path = before;
    } else if (passesWeights(user) && user->getOperand(0) == weights) {
      Path longer(before);
      longer.push_back(user);
      if (!findProducts(user->getResult(0), longer))
        return false;
    } else {
      return false;
    }
  }
  return true;
}

bool Weights::find() {
  if (!findSoftmax() || !findProducts(softmax.getDst(), {}) || !forward ||
      !ofValues)
    return false;
  Value u = backward->getOperand(0);
  while (Operation *def = u.getDefiningOp()) {
    if (!passesWeights(def))
      break;
    u = def->getOperand(0);
  }
  auto product = u.getDefiningOp<graph::MatMulOp>();
  if (!product)
    return false;
  Value g = product->getOperand(0), o = forward->getResult(0);
  return skipIdentities(g) == skipIdentities(ofValues->getOperand(1)) &&
         areTransposes(forward->getOperand(1), product->getOperand(1)) &&
         rankedType(g).getShape() == rankedType(o).getShape();
}

void Weights::computeAgain() {
  OpBuilder b(softmax);
  Location loc = backward->getLoc();
  Type f32 = b.getF32Type();
  auto type = rankedType(softmax.getDst());
  SmallVector<int64_t> perRow(type.getShape());
  perRow.back() = 1;
  auto rowType = RankedTensorType::get(perRow, f32);
  auto wide = RankedTensorType::get(type.getShape(), f32);
  if (!softmax.getStats()) {
    auto with =
        graph::SoftMaxOp::create(b, softmax.getLoc(), TypeRange{type, rowType},
                                 softmax->getOperands(), softmax->getAttrs());
    softmax.getDst().replaceAllUsesWith(with.getDst());
    softmax.erase();
    softmax = with;
  }
  b.setInsertionPointAfter(softmax);
  Value t = buildCast(b, loc, softmax.getSrc(), f32);
  Value difference =
      buildGraphOp(b, loc, "Subtract", {t, softmax.getStats()}, wide);
  Value e = buildGraphOp(b, loc, "Exp", difference, wide);
  Value again = buildCast(b, loc, e, type.getElementType());
  for (Operation *op : path) {
    b.setInsertionPointAfter(op);
    IRMapping map;
    map.map(op->getOperand(0), again);
    again = b.clone(*op, map)->getResult(0);
  }
  transpose->setOperand(0, again);
  b.setInsertionPoint(backward);
  Value o = buildCast(b, loc, forward->getResult(0), f32);
  Value g = buildCast(b, loc, ofValues->getOperand(1), f32);
  Value dp = buildCast(b, loc, backward->getOperand(0), f32);
  Value terms = buildGraphOp(b, loc, "Multiply", {g, o}, rankedType(o));
  Value sums =
      buildGraphOp(b, loc, "ReduceSum", terms, rowType,
                   {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({-1})),
                    b.getNamedAttr("keep_dims", b.getBoolAttr(true))});
  Value rest = buildGraphOp(b, loc, "Subtract", {dp, sums}, wide);
  Value dt = buildGraphOp(b, loc, "Multiply", {e, rest}, wide);
  Value result = backward->getResult(0);
  result.replaceAllUsesWith(
      buildCast(b, loc, dt, rankedType(result).getElementType()));
  backward->erase();
}

} // namespace

bool computeWeightsAgain(Operation *softmaxBackward) {
  Weights weights(softmaxBackward);
  if (!weights.find())
    return false;
  weights.computeAgain();
  return true;
}

} // namespace tenon::passes
