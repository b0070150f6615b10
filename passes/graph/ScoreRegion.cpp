//===- ScoreRegion.cpp - elementwise work on scores -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/graph/ScoreRegion.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "passes/ops/Dropout.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::passes {

/// [0, .., r-1, r-2].
static SmallVector<int64_t> lastTwoSwapped(int64_t rank) {
  SmallVector<int64_t> order(rank);
  for (int64_t i = 0; i < rank; ++i)
    order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  return order;
}

bool swapsLastTwo(Operation *op) {
  if (!isa<graph::StaticTransposeOp>(op))
    return false;
  int64_t rank = rankedType(op->getOperand(0)).getRank();
  return rank >= 2 && orderOf(op->getResult(0)) == lastTwoSwapped(rank);
}

bool isIdentity(Operation *op) {
  return isa<graph::ReorderOp, graph::StaticReshapeOp>(op) &&
         op->getOperand(0).getType() == op->getResult(0).getType();
}

bool isFloatCast(Operation *op) {
  return graph::isCast(op) &&
         isa<FloatType>(rankedType(op->getOperand(0)).getElementType()) &&
         isa<FloatType>(rankedType(op->getResult(0)).getElementType());
}

Operation *productOf(Value v) {
  Operation *def = v.getDefiningOp();
  if (def && swapsLastTwo(def))
    def = def->getOperand(0).getDefiningOp();
  return isa_and_nonnull<graph::MatMulOp>(def) ? def : nullptr;
}

Value productBehind(Value v, Operation *except) {
  ArrayRef<int64_t> shape = rankedType(v).getShape();
  SmallVector<Value> stack{v};
  llvm::DenseSet<Value> seen;
  while (!stack.empty() && seen.size() < 4 * kMaxScoreOps) {
    Value x = stack.pop_back_val();
    Operation *def = x.getDefiningOp();
    if (!def || rankedType(x).getShape() != shape ||
        !isa<FloatType>(rankedType(x).getElementType()) ||
        !seen.insert(x).second)
      continue;
    Operation *product = productOf(x);
    if (product && product != except)
      return x;
    if (!product && (isScalarOp(def) || isa<graph::DropoutOp>(def)))
      for (Value o : llvm::reverse(def->getOperands()))
        stack.push_back(o);
  }
  return {};
}

/// Whether `shape`, aligned at its end, broadcasts to `to`.
static bool broadcasts(ArrayRef<int64_t> shape, ArrayRef<int64_t> to) {
  if (shape.size() > to.size())
    return false;
  for (auto [x, y] : llvm::zip(shape, to.take_back(shape.size())))
    if (x != 1 && x != y)
      return false;
  return true;
}

/// Which index `genIndex` is: 0 the row, 1 the column; none when it runs along
/// another dimension.
std::optional<unsigned> ScoreRegion::indexOf(Operation *genIndex) const {
  auto type = rankedType(genIndex->getResult(0));
  int64_t rank = type.getRank();
  int64_t axis = normalizedAxis(intAttr(genIndex, "axis"), rank);
  int64_t fromEnd = rank - 1 - axis;
  if (axis < 0 || fromEnd < 0 || fromEnd > 1 ||
      !broadcasts(type.getShape(), shape))
    return std::nullopt;
  if (type.getDimSize(axis) != shape[shape.size() - 1 - fromEnd])
    return std::nullopt;
  return (fromEnd == 0) != options.alongRows ? 1 : 0;
}

bool ScoreRegion::contains(Value v, unsigned depth) {
  if (products.contains(v))
    return true;
  Operation *def = v.getDefiningOp();
  if (!def || depth > kMaxScoreOps)
    return false;
  auto known = contained.find(v);
  if (known != contained.end())
    return known->second;
  bool is = false;
  if (isa<graph::GenIndexOp>(def))
    is = indexOf(def).has_value();
  else if (options.takesDropout && isa<graph::DropoutOp>(def) &&
           v == def->getResult(0))
    is = contains(def->getOperand(0), depth + 1);
  else if (isScalarOp(def) && def->getNumResults() == 1 &&
           broadcasts(rankedType(v).getShape(), shape))
    is = llvm::any_of(def->getOperands(),
                      [&](Value o) { return contains(o, depth + 1); });
  return contained[v] = is;
}

void ScoreRegion::collect(Value v) {
  Operation *def = v.getDefiningOp();
  if (products.contains(v) || splatElement(v) || inside.size() > kMaxScoreOps)
    return;
  if (!contains(v)) {
    operands.insert(v);
    return;
  }
  if (!inside.insert(def) || isa<graph::GenIndexOp>(def))
    return;
  for (Value o : def->getOperands())
    collect(o);
}

bool ScoreRegion::isBuiltOnProducts(Value v) {
  if (products.contains(v))
    return true;
  Operation *def = v.getDefiningOp();
  if (!def || !inside.contains(def))
    return false;
  auto known = builtOnProducts.find(v);
  if (known != builtOnProducts.end())
    return known->second;
  bool is = llvm::any_of(def->getOperands(),
                         [&](Value o) { return isBuiltOnProducts(o); });
  return builtOnProducts[v] = is;
}

Operation *
ScoreRegion::otherReader(Value v,
                         llvm::function_ref<bool(Operation *)> isKnown) const {
  for (Operation *user : v.getUsers())
    if (!inside.contains(user) && !isKnown(user))
      return user;
  return nullptr;
}

std::string ScoreRegion::whyNot() const {
  if (inside.size() > kMaxScoreOps)
    return "more than " + std::to_string(kMaxScoreOps) +
           " operations stand between the products";
  for (Value operand : operands)
    if (!broadcasts(rankedType(operand).getShape(), shape))
      return "an operand does not broadcast to the scores";
  return "";
}

Value ScoreRegion::emitDropout(OpBuilder &b, Operation *dropout) {
  assert(number && "a block with the numbers of elements");
  Location loc = dropout->getLoc();
  Value x = emit(b, dropout->getOperand(0)),
        seed = emit(b, dropout->getOperand(1)),
        offset = emit(b, dropout->getOperand(2)),
        probability = emit(b, dropout->getOperand(3));
  Value random = emitDropoutRandom(b, loc, seed, offset, number);
  Value mask = emitDropoutMask(b, loc, random, probability);
  return emitDropoutResult(b, loc, x, mask, probability);
}

Value ScoreRegion::emit(OpBuilder &b, Value v) {
  if (Value known = scalars.lookup(v))
    return known;
  Operation *def = v.getDefiningOp();
  Location loc = def->getLoc();
  Value result;
  if (TypedAttr literal = splatElement(v)) {
    result = arith::ConstantOp::create(b, loc, literal);
  } else if (isa<graph::GenIndexOp>(def)) {
    Type type = storageType(rankedType(v).getElementType());
    Value index = indices[indexOf(def).value_or(0)]; // contains() asked
    result = arith::IndexCastOp::create(b, loc, type, index);
  } else if (isa<graph::DropoutOp>(def)) {
    result = emitDropout(b, def);
  } else if (isIdentity(def)) {
    result = emit(b, def->getOperand(0));
  } else if (isFloatCast(def)) {
    // Scores stay in f32.
    result = emit(b, def->getOperand(0));
    if (!result.getType().isF32())
      result = arith::ExtFOp::create(b, loc, b.getF32Type(), result);
  } else {
    SmallVector<Value> elements;
    for (Value o : def->getOperands())
      elements.push_back(emit(b, o));
    result = emitScalar(b, loc, def, elements);
  }
  return scalars[v] = result;
}

Block *createScalarBlock(OpBuilder &b, Region &region,
                         ValueRange epilogueOperands, SmallVector<Type> types) {
  for (Value operand : epilogueOperands)
    types.push_back(storageType(rankedType(operand).getElementType()));
  SmallVector<Location> locs(types.size(), region.getLoc());
  return b.createBlock(&region, {}, types, locs);
}

} // namespace tenon::passes
