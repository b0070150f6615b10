//===- RaiseAttentionBackward.cpp - gradients of attention as one ---------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %s = MatMul(%q, T(%k))
//   %p = Exp(Subtract(.. %s .., %stats))
//   %dv = MatMul(T(.. %p ..), %diff)
//   %u = MatMul(%diff, T(%v))            %dq, %dk, %dv =
//   %e = Subtract(.. %u .., %sums)   ->    tile.attention_backward %q, %k, %v,
//   %t = .. Multiply(%p, %e) ..              %diff gradient { .. }
//   %dq = MatMul(%t, %k)
//   %dk = MatMul(T(%t), %q)
//
// An exponential of scores is where the search begins. What it reaches by
// elementwise operations has to end in three products, which say what is what:
// the two that share an operand are the gradients of queries and keys. Back
// from these, another product of the shape of the scores is that of `diff` and
// the values. Everything elementwise becomes the region (ScoreRegion.h),
// whatever its spelling.
//
// Where a SoftMaxBackward reads weights that were kept, they are computed again
// first (WeightsFromStatistics.h).
//
// Heads that share keys and values have sums over the heads behind the
// gradients of these; the sums are the operation's own then.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/tile/TileDialect.h"
#include "passes/Passes.h"
#include "passes/graph/ScoreRegion.h"
#include "passes/graph/WeightsFromStatistics.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_RAISEATTENTIONBACKWARD
#include "passes/Passes.h.inc"

namespace {

/// `v` with its last two dimensions exchanged, if an operation does that or
/// `v` is what one makes; else null.
Value transposeOf(Value v) {
  v = skipIdentities(v);
  Operation *def = v.getDefiningOp();
  if (def && swapsLastTwo(def))
    return skipIdentities(def->getOperand(0));
  for (Operation *user : v.getUsers())
    if (swapsLastTwo(user))
      return user->getResult(0);
  return {};
}

/// An exponential of scores and the operations around it.
class AttentionGradient {
public:
  explicit AttentionGradient(Operation *exp) : exp(exp), p(exp->getResult(0)) {}

  /// Whether products read what is made of scores here, and of their gradients.
  bool isBetweenProducts();
  /// Why this is not one operation; empty: it is, and `raise` may follow.
  std::string analyse();
  void raise();

private:
  /// A product that reads what the region makes.
  struct Reader {
    Operation *product;
    Value read; // in the region
    bool transposed;
    Value other; // its second operand
    Value result() const { return product->getResult(0); }
  };
  ArrayRef<int64_t> shape() const { return rankedType(p).getShape(); }
  void addReaders(Value v, Operation *user);
  std::string findReaders();
  std::string nameReaders();
  std::string checkOperands() const;
  std::string checkReaders();
  std::string sumOverHeads(const Reader &reader, Value like, Value &sum) const;
  bool isKnownReader(Operation *user) const;
  std::string checkOrder() const;
  std::string label() const;

  Operation *exp;
  Value p;
  Operation *scores = nullptr;    // q . k
  Operation *ofWeights = nullptr; // diff . v
  std::vector<Reader> readers;
  std::string foreign; // the kind of what else reads the scores
  const Reader *dq = nullptr, *dk = nullptr, *dv = nullptr;
  Value sumOfK, sumOfV; // dk and dv, summed over heads that share keys
  std::optional<ScoreRegion> region;
};

/// Notes that `user`, no elementwise operation, reads `v`.
void AttentionGradient::addReaders(Value v, Operation *user) {
  if (isa<graph::MatMulOp>(user) && user->getOperand(0) == v &&
      user->getOperand(1) != v) {
    readers.push_back({user, v, false, user->getOperand(1)});
    return;
  }
  if (swapsLastTwo(user)) {
    Value swapped = user->getResult(0);
    bool fits = llvm::all_of(swapped.getUsers(), [&](Operation *reader) {
      return isa<graph::MatMulOp>(reader) && reader->getOperand(0) == swapped &&
             reader->getOperand(1) != swapped;
    });
    if (fits) {
      for (Operation *reader : swapped.getUsers())
        readers.push_back({reader, v, true, reader->getOperand(1)});
      return;
    }
  }
  foreign = user->hasTrait<OpTrait::IsTerminator>() ? "the graph"
                                                    : kindOf(user).str();
}

/// Finds what the exponential reaches.
std::string AttentionGradient::findReaders() {
  SmallVector<Value> stack{p};
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value v = stack.pop_back_val();
    if (!seen.insert(v).second)
      continue;
    if (seen.size() > kMaxScoreOps)
      return "too many operations read the scores";
    llvm::SmallPtrSet<Operation *, 4> users(v.getUsers().begin(),
                                            v.getUsers().end());
    for (Operation *user : users) {
      bool isElementwise =
          (isScalarOp(user) && user->getNumResults() == 1) ||
          (isa<graph::DropoutOp>(user) && user->getOperand(0) == v &&
           (user->getNumResults() == 1 || user->getResult(1).use_empty()));
      if (isElementwise && rankedType(user->getResult(0)).getShape() == shape())
        stack.push_back(user->getResult(0));
      else
        addReaders(v, user);
    }
  }
  return foreign.empty() ? "" : foreign + " reads the scores as well";
}

bool AttentionGradient::isBetweenProducts() {
  if (rankedType(p).getRank() < 2)
    return false;
  // Neither is transposed: the three products behind say what is a row.
  Value result = productBehind(exp->getOperand(0));
  scores = result ? result.getDefiningOp<graph::MatMulOp>() : nullptr;
  if (!scores)
    return false;
  foreign = findReaders();
  return readers.size() > 1;
}

/// Says which gradient each of the products is.
std::string AttentionGradient::nameReaders() {
  if (readers.size() != 3)
    return "not three products read what is made of the scores, but " +
           std::to_string(readers.size());
  for (const Reader &r : readers)
    if (!r.transposed)
      dq = &r;
  for (const Reader &r : readers)
    if (dq && r.transposed)
      (r.read == dq->read ? dk : dv) = &r;
  if (!dq || !dk || !dv)
    return "its three products are not the gradients of queries, keys and "
           "values";
  Value u = productBehind(dq->read, scores);
  ofWeights = u ? u.getDefiningOp<graph::MatMulOp>() : nullptr;
  if (!ofWeights)
    return "no product makes the gradients of the weights";
  return "";
}

/// Whether the products read the same tensors, of types and sizes that the
/// operation takes.
std::string AttentionGradient::checkOperands() const {
  Value q = scores->getOperand(0), keys = scores->getOperand(1),
        diff = ofWeights->getOperand(0), values = ofWeights->getOperand(1);
  if (!areTransposes(dq->other, keys))
    return "the product with the gradients of scores does not read the keys";
  if (skipIdentities(dk->other) != skipIdentities(q))
    return "the product with their transpose does not read the queries";
  if (skipIdentities(dv->other) != skipIdentities(diff))
    return "the product with the weights does not read the gradient";
  if (!transposeOf(values))
    return "the values are not transposed";
  Type element = rankedType(q).getElementType();
  if (!element.isF32() && !element.isBF16() && !element.isF16())
    return "its tensors are not floats";
  for (Value x : {keys, diff, values, dq->result(), dk->result(), dv->result()})
    if (rankedType(x).getElementType() != element)
      return "its tensors have different types";
  if (element.isF32() && !rankedType(p).getElementType().isF32())
    return "its scores are not f32";
  int64_t rank = shape().size();
  for (Value x : {q, keys, diff, values, dq->result(), dk->result()})
    if (rankedType(x).getRank() != rank)
      return "its tensors have different ranks";
  for (Value x : {q, diff}) {
    auto type = rankedType(x);
    if (type.getShape().drop_back(2) != shape().drop_back(2))
      return "queries are broadcast along leading dimensions";
    int64_t width = type.getShape().back();
    if (ShapedType::isDynamic(width) || width == 0)
      return "the number of elements of a query or of a value is unknown or 0";
  }
  if (rankedType(keys).getShape().drop_back(2) !=
      rankedType(values).getShape().drop_back(2))
    return "keys and values are broadcast along different dimensions";
  return "";
}

/// The sum of the result of `reader` over the leading dimensions that `like`
/// does not have; the result itself where there are none.
std::string AttentionGradient::sumOverHeads(const Reader &reader, Value like,
                                            Value &sum) const {
  auto whole = rankedType(reader.result()), part = rankedType(like);
  SmallVector<int64_t> shared;
  for (int64_t d = 0; d < whole.getRank() - 2; ++d)
    if (part.getDimSize(d) != whole.getDimSize(d))
      shared.push_back(d);
  sum = reader.result();
  if (shared.empty())
    return "";
  Operation *user = sum.hasOneUse() ? *sum.user_begin() : nullptr;
  if (!user || !isa<graph::ReduceSumOp>(user) || !boolAttr(user, "keep_dims"))
    return "no sum over heads that share keys follows";
  SmallVector<int64_t> axes = intsAttr(user, "axes");
  for (int64_t &axis : axes)
    axis = normalizedAxis(axis, whole.getRank());
  llvm::sort(axes);
  if (axes != shared)
    return "what follows does not sum over the heads that share keys";
  sum = user->getResult(0);
  return "";
}

bool AttentionGradient::isKnownReader(Operation *user) const {
  return llvm::any_of(readers, [&](const Reader &r) {
    return r.product == user || (r.transposed && swapsLastTwo(user) &&
                                 user->getOperand(0) == r.read);
  });
}

/// Whether what is made of the gradients of weights is needed elsewhere. The
/// scores before the exponential may be, by the softmax above all: attention
/// and its gradient both compute them.
std::string AttentionGradient::checkReaders() {
  auto isKnown = [&](Operation *reader) { return isKnownReader(reader); };
  SmallVector<Value> own{ofWeights->getResult(0)};
  llvm::DenseSet<Value> before;
  SmallVector<Value> stack{exp->getOperand(0)};
  while (!stack.empty()) {
    Value v = stack.pop_back_val();
    Operation *def = v.getDefiningOp();
    if (def && region->operations().contains(def) && before.insert(v).second)
      llvm::append_range(stack, def->getOperands());
  }
  for (Operation *op : region->operations()) {
    Value v = op->getResult(0);
    if (region->isBuiltOnProducts(v) && !before.contains(v))
      own.push_back(v);
  }
  for (Value v : own)
    if (Operation *user = region->otherReader(v, isKnown))
      return kindOf(user).str() + " reads the scores as well";
  return "";
}

/// Whether nothing that the operation reads is made of what it computes: sums
/// of a row, for example, of the gradient of the values.
std::string AttentionGradient::checkOrder() const {
  Operation *first = dq->product;
  for (Operation *op : {dk->product, dv->product})
    if (op->isBeforeInBlock(first))
      first = op;
  SmallVector<Value> stack(region->epilogueOperands().getArrayRef());
  llvm::append_range(stack, scores->getOperands());
  llvm::append_range(stack, ofWeights->getOperands());
  llvm::DenseSet<Operation *> seen;
  while (!stack.empty()) {
    Operation *def = stack.pop_back_val().getDefiningOp();
    // What is before the first of the products cannot be made of them.
    if (!def || def->getBlock() != first->getBlock() ||
        def->isBeforeInBlock(first) || !seen.insert(def).second)
      continue;
    if (llvm::any_of(readers,
                     [&](const Reader &r) { return r.product == def; }))
      return "what it reads is made of its own results";
    llvm::append_range(stack, def->getOperands());
  }
  return "";
}

std::string AttentionGradient::analyse() {
  if (!foreign.empty())
    return foreign;
  if (std::string reason = nameReaders(); !reason.empty())
    return reason;
  if (std::string reason = checkOperands(); !reason.empty())
    return reason;
  // Sums over heads are of the shape of keys and values.
  Value k = dq->other, v = transposeOf(ofWeights->getOperand(1));
  for (auto [reader, like, sum] :
       {std::tuple(dk, k, &sumOfK), std::tuple(dv, v, &sumOfV)})
    if (std::string reason = sumOverHeads(*reader, like, *sum); !reason.empty())
      return reason;
  region.emplace(shape(), ScoreRegion::Options{.takesDropout = true});
  region->addProduct(scores->getResult(0));
  region->addProduct(ofWeights->getResult(0));
  region->collect(dq->read);
  region->collect(dv->read);
  if (std::string reason = region->whyNot(); !reason.empty())
    return reason;
  if (std::string reason = checkReaders(); !reason.empty())
    return reason;
  return checkOrder();
}

/// The names of the gradients of queries, keys and values.
std::string AttentionGradient::label() const {
  std::string text;
  for (const Reader *reader : {dq, dk, dv}) {
    std::string name = nameOf(reader->product->getLoc());
    text += (text.empty() ? "" : "+") +
            (name.empty() ? kindOf(reader->product).str() : name);
  }
  return text;
}

void AttentionGradient::raise() {
  // All operands are defined before the last of the products; what reads the
  // results of the others is moved behind it.
  Operation *last = dq->product;
  for (Operation *op : {dk->product, dv->product})
    if (last->isBeforeInBlock(op))
      last = op;
  OpBuilder b(last);
  Location loc = NameLoc::get(b.getStringAttr(label()));
  Value q = scores->getOperand(0), k = dq->other,
        v = transposeOf(ofWeights->getOperand(1)),
        diff = ofWeights->getOperand(0);
  auto op = tile::AttentionBackwardOp::create(
      b, loc, TypeRange{q.getType(), k.getType(), v.getType()}, q, k, v, diff,
      region->epilogueOperands().getArrayRef());
  {
    OpBuilder::InsertionGuard guard(b);
    Type f32 = b.getF32Type(), index = b.getIndexType();
    Block *block =
        createScalarBlock(b, op.getGradient(), op.getEpilogueOperands(),
                          {f32, f32, index, index, b.getI64Type()});
    region->define(scores->getResult(0), block->getArgument(0));
    region->define(ofWeights->getResult(0), block->getArgument(1));
    region->defineIndices(block->getArgument(2), block->getArgument(3),
                          block->getArgument(4));
    for (auto [i, operand] : llvm::enumerate(region->epilogueOperands()))
      region->define(operand, block->getArgument(5 + i));
    // Weights that would be denormal are 0.
    Value x = region->emit(b, exp->getOperand(0));
    region->define(p, emitExpOrZero(b, exp->getLoc(), x));
    Value weight = region->emit(b, dv->read);
    Value gradient = region->emit(b, dq->read);
    tile::YieldOp::create(b, loc, ValueRange{weight, gradient});
  }
  dq->result().replaceAllUsesWith(op.getDq());
  sumOfK.replaceAllUsesWith(op.getDk());
  sumOfV.replaceAllUsesWith(op.getDv());
}

struct RaiseAttentionBackwardPass
    : impl::RaiseAttentionBackwardBase<RaiseAttentionBackwardPass> {
  void runOnOperation() override {
    SmallVector<Operation *> softmaxes, candidates;
    llvm::SetVector<Block *> blocks;
    getOperation().walk([&](graph::SoftMaxBackwardOp backward) {
      softmaxes.push_back(backward);
    });
    for (Operation *backward : softmaxes) {
      Block *block = backward->getBlock();
      if (computeWeightsAgain(backward))
        sortTopologically(block);
    }
    getOperation().walk([&](graph::ExpOp exp) { candidates.push_back(exp); });
    for (Operation *exp : candidates) {
      AttentionGradient gradient(exp);
      if (!gradient.isBetweenProducts())
        continue;
      std::string reason = gradient.analyse();
      if (!reason.empty()) {
        exp->emitRemark("no gradient of attention in one group: " + reason);
        continue;
      }
      gradient.raise();
      blocks.insert(exp->getBlock());
      ++raised;
    }
    for (Block *block : blocks)
      sortTopologically(block);
    if (!blocks.empty())
      eraseDeadOps(getOperation());
  }
};

} // namespace
} // namespace tenon::passes
