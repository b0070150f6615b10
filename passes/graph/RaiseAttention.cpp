//===- RaiseAttention.cpp - products around a softmax as one operation ----===//
// SPDX-License-Identifier: Apache-2.0
//
//   %s = MatMul(%q, %k)
//   %d = Divide(%s, %c)                  %o = tile.attention %q, %k, %v
//   %m = Add(%d, %mask)            ->         epilogue_operands(%c, %mask)
//   score { %p = SoftMax(%m) {axis = -1}            ^bb0(%x, %row, %column, %a,
//   %b): %o = MatMul(%p, %v)                       yield %x / %a + %b }
//
// What lies between the product and the softmax is found backwards from the
// softmax and may be anything elementwise: an operation belongs to the score
// region if it depends on the product, or on GenIndex, which becomes the row
// or the column. Every other operand is an epilogue operand. So no spelling of
// a mask is named here. A Dropout after the softmax becomes the region of the
// weights; so do a Quantize and a Dequantize, where no int8 operands are
// multiplied, or the target multiplies floats as fast.
//
// The softmax may run along the last dimension but one, and the second product
// sum over either: with the scores transposed the softmax runs along the last,
// and a product that sums over the other takes values from the left.
//
// Scores and probabilities may have no other reader: they never reach memory.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/tile/Target.h"
#include "dialects/tile/TileDialect.h"
#include "passes/Passes.h"
#include "passes/graph/Decompose.h"
#include "passes/graph/ScoreRegion.h"
#include "passes/graph/SharedHeads.h"
#include "passes/graph/SplitHeads.h"
#include "passes/ops/ExpandQuantize.h"
#include "passes/ops/Quantised.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_RAISEATTENTION
#include "passes/Passes.h.inc"

namespace {

/// One softmax and the operations around it.
class Attention {
public:
  Attention(Operation *softmax, int64_t int8DotWidth)
      : softmax(softmax), int8DotWidth(int8DotWidth),
        top(softmax->getOperand(0)) {}

  /// Whether a product reads the probabilities, directly or nearly so.
  bool isBeforeProduct();
  /// Why this is not one operation; empty: it is, and `raise` may follow.
  std::string analyse();
  void raise();

private:
  std::string checkShapes() const;
  std::string checkBytes(int64_t keys) const;
  std::string checkReaders();
  std::string label() const;
  Value scoreOperandOf(OpBuilder &b, Value operand) const;
  void emitScore(OpBuilder &b, tile::AttentionOp op);
  bool passesBytes(OpOperand &use);
  void emitWeights(OpBuilder &b, tile::AttentionOp op);
  ArrayRef<int64_t> scoreShape() const { return rankedType(top).getShape(); }
  /// Whether the product reads [n, m] where the softmax runs along n.
  bool readsTransposed() const { return alongRows != transposed; }
  bool isFromLeft() const { return valuesFirst != readsTransposed(); }
  /// Whether values and result are transposed to those of tile.attention.
  bool transposesResult() const { return isFromLeft() != valuesFirst; }

  Operation *softmax;
  int64_t int8DotWidth;         // int8 products that one instruction adds up
  Value top;                    // what the softmax reads
  Value bottom;                 // what the score region starts from
  Operation *scores = nullptr;  // the first product, after `bottom`
  Operation *product = nullptr; // the second
  Operation *dropout = nullptr; // between softmax and product
  SmallVector<Operation *> requantize; // there: Quantize, Dequantize
  OpOperand *requantized = nullptr;    // reads what these make
  bool alongRows = false;    // the softmax runs along the last dim but one
  bool valuesFirst = false;  // the product is v . probabilities
  bool transposed = false;   // these are transposed on the way
  std::string productReason; // why the reader is no second product
  std::optional<ScoreRegion> region; // between the product and the softmax
};

/// Whether `use` is by a Quantize, or the Dequantize after it, of the region
/// of the weights.
bool Attention::passesBytes(OpOperand &use) {
  Operation *user = use.getOwner();
  bool isNext = requantize.empty() ? isa<graph::QuantizeOp>(user)
                                   : isa<graph::DequantizeOp>(user);
  auto scales = user->getAttrOfType<DenseF32ArrayAttr>("scales");
  if (dropout || transposed || requantize.size() == 2 || !isNext || !scales ||
      scales.size() != 1 || user->hasAttr(kBitsAttr))
    return false;
  requantize.push_back(user);
  return true;
}

bool Attention::isBeforeProduct() {
  Value p = softmax->getResult(0);
  while (p.hasOneUse()) {
    OpOperand &use = *p.use_begin();
    Operation *user = use.getOwner();
    if (requantize.size() == 2 && !requantized)
      requantized = &use;
    if (isa<graph::MatMulOp>(user)) {
      product = user;
      valuesFirst = use.getOperandNumber() == 1;
      return true;
    }
    if (swapsLastTwo(user))
      transposed = !transposed;
    else if (isa<graph::DropoutOp>(user) && use.getOperandNumber() == 0 &&
             !dropout && !transposed && requantize.empty())
      dropout = user;
    else if (!isIdentity(user) && !isFloatCast(user) && !passesBytes(use))
      break;
    p = user->getResult(0);
  }
  for (Operation *user : p.getUsers()) {
    if (isa<graph::MatMulOp>(user)) {
      productReason = "the probabilities have more than one reader";
      return true;
    }
    // One operation further is near enough to be worth a word.
    for (Value result : user->getResults())
      for (Operation *reader : result.getUsers())
        if (isa<graph::MatMulOp>(reader)) {
          productReason = (kindOf(user) + " stands before the product").str();
          return true;
        }
  }
  return false;
}

std::string Attention::checkReaders() {
  auto isSoftmax = [&](Operation *user) { return user == softmax; };
  if (scores->getResult(0) != bottom && !scores->getResult(0).hasOneUse())
    return "the scores have more than one reader";
  SmallVector<Value> built{bottom};
  for (Operation *op : region->operations())
    if (region->isBuiltOnProducts(op->getResult(0)))
      built.push_back(op->getResult(0));
  for (Value v : built)
    if (Operation *user = region->otherReader(v, isSoftmax))
      return user->hasTrait<OpTrait::IsTerminator>()
                 ? "the scores are a result of the graph"
                 : (kindOf(user) + " also reads the scores").str();
  // Statistics come into being together with the product.
  for (Value stats : softmax->getResults().drop_front())
    for (Operation *user : stats.getUsers())
      if (user->isBeforeInBlock(product))
        return "the statistics are read before the product";
  return "";
}

std::string Attention::checkShapes() const {
  auto dst = rankedType(product->getResult(0));
  ArrayRef<int64_t> shape = scoreShape();
  int64_t keys = shape[shape.size() - (alongRows ? 2 : 1)];
  // Rows of scores that exist as a whole have a known length.
  if (ShapedType::isDynamic(keys) && (isFromLeft() || requantized))
    return "the number of keys is not known";
  if (keys == 0)
    return "there are no keys";
  Value v = product->getOperand(valuesFirst ? 0 : 1);
  auto vType = rankedType(v);
  if (!isFromLeft() &&
      ShapedType::isDynamic(keys) !=
          vType.isDynamicDim(vType.getRank() - (valuesFirst ? 1 : 2)))
    return "the number of keys is known of keys or of values only";
  Type element = dst.getElementType();
  // Where keys are interleaved, their number shows only while they are packed,
  // and constants are packed once, before.
  if (ShapedType::isDynamic(keys) && !element.isF32() &&
      llvm::any_of(scores->getOperands(), isKnownOnce))
    return "the number of constant keys is not known";
  for (Value x : {scores->getOperand(0), scores->getOperand(1), v})
    if (rankedType(x).getElementType() != element)
      return "its tensors have different types";
  bool isNarrow = element.isBF16() || element.isF16();
  if (!element.isF32() && (!isNarrow || isFromLeft()))
    return "its tensors are not f32";
  if (element.isF32() && !rankedType(top).getElementType().isF32())
    return "its scores are not f32";
  int64_t columns = vType.getDimSize(vType.getRank() - (valuesFirst ? 2 : 1));
  if (ShapedType::isDynamic(columns) || columns == 0)
    return "the number of columns of the values is unknown or 0";
  if (dst.getShape().drop_back(2) != shape.drop_back(2))
    return "the product after it has other leading dimensions";
  return "";
}

/// Why int8 products around the softmax are better than attention in floats
/// (docs/cost-model.md).
std::string Attention::checkBytes(int64_t keys) const {
  // Rows of scores exist as a whole until they are divided.
  constexpr int64_t kMaxKeysOfBytes = 512;
  auto multipliesInt8 = [&](Operation *op) {
    Quantised a = traceQuantised(op->getOperand(0));
    Quantised w = traceQuantised(op->getOperand(1));
    return a.dequantize && w.dequantize &&
           whyNoInt8Product(op, a, w, int8DotWidth).empty();
  };
  if (!requantized || !multipliesInt8(scores) || !multipliesInt8(product))
    return "";
  if (int8DotWidth >= kFullInt8DotWidth)
    return "its products are int8";
  if (keys > kMaxKeysOfBytes)
    return "its weights become bytes, more than " +
           std::to_string(kMaxKeysOfBytes) + " of a row";
  return "";
}

std::string Attention::analyse() {
  if (!productReason.empty())
    return productReason;
  auto type = rankedType(top);
  int64_t rank = type.getRank();
  int64_t axis = normalizedAxis(intAttr(softmax, "axis"), rank);
  if (rank < 2 || axis < rank - 2)
    return "it does not run along one of the last two dimensions";
  alongRows = axis == rank - 2;
  if (requantize.size() == 1)
    return "its weights are bytes";
  if (requantized && isFromLeft())
    return "its weights become bytes, and are summed along the queries";
  if (dropout && alongRows)
    return "its Dropout numbers weights along the last dimension";
  if (dropout && dropout->getNumResults() > 1 &&
      !dropout->getResult(1).use_empty())
    return "its Dropout also returns the mask";
  bottom = productBehind(top);
  if (!bottom)
    return "what it reads is not built on a MatMul of its shape";
  scores = productOf(bottom);
  if (product == scores || product->getBlock() != softmax->getBlock())
    return "the products are not in one block";
  if (std::string reason = checkBytes(type.getDimSize(axis)); !reason.empty())
    return reason;
  region.emplace(scoreShape(), ScoreRegion::Options{.alongRows = alongRows});
  region->addProduct(bottom);
  region->collect(top);
  if (dropout)
    for (Value parameter : dropout->getOperands().drop_front())
      if (!splatElement(parameter))
        region->addOperand(parameter);
  for (const std::string &reason : {region->whyNot(), checkShapes()})
    if (!reason.empty())
      return reason;
  return checkReaders();
}

/// "qk+softmax+pv": the names of the three.
std::string Attention::label() const {
  std::string text;
  for (Operation *op : {scores, softmax, product}) {
    std::string name = nameOf(op->getLoc());
    text +=
        (text.empty() ? "" : "+") + (name.empty() ? kindOf(op).str() : name);
  }
  return text;
}

/// `operand` as it broadcasts to the scores of tile.attention.
Value Attention::scoreOperandOf(OpBuilder &b, Value operand) const {
  auto type = rankedType(operand);
  if (!alongRows || type.getRank() == 0)
    return operand;
  if (type.getRank() == 1)
    return buildReshape(b, operand.getLoc(), operand, {type.getDimSize(0), 1});
  return swapLastTwo(b, operand);
}

void Attention::emitScore(OpBuilder &b, tile::AttentionOp op) {
  OpBuilder::InsertionGuard guard(b);
  Block *block =
      createScalarBlock(b, op.getScore(), op.getEpilogueOperands(),
                        {b.getF32Type(), b.getIndexType(), b.getIndexType()});
  region->beginBlock();
  region->define(bottom, block->getArgument(0));
  region->defineIndices(block->getArgument(1), block->getArgument(2));
  for (auto [i, operand] : llvm::enumerate(region->epilogueOperands()))
    region->define(operand, block->getArgument(3 + i));
  tile::YieldOp::create(b, op.getLoc(), region->emit(b, top));
}

void Attention::emitWeights(OpBuilder &b, tile::AttentionOp op) {
  OpBuilder::InsertionGuard guard(b);
  Block *block = createScalarBlock(b, op.getWeights(), op.getEpilogueOperands(),
                                   {b.getF32Type(), b.getI64Type()});
  region->beginBlock();
  region->define(softmax->getResult(0), block->getArgument(0));
  region->defineIndices({}, {}, /*element=*/block->getArgument(1));
  for (auto [i, operand] : llvm::enumerate(region->epilogueOperands()))
    region->define(operand, block->getArgument(2 + i));
  Value weight = dropout ? dropout->getResult(0) : requantized->get();
  tile::YieldOp::create(b, op.getLoc(), region->emit(b, weight));
}

void Attention::raise() {
  for (Operation *op : requantize)
    expandQuantize(op);
  OpBuilder b(product);
  Location loc = NameLoc::get(b.getStringAttr(label()));
  // bottom is a . b or its transpose; what the softmax reads is that, or the
  // transpose.
  bool scoresSwapped = (scores->getResult(0) != bottom) != alongRows;
  Value q = scores->getOperand(scoresSwapped ? 1 : 0);
  Value k = scores->getOperand(scoresSwapped ? 0 : 1);
  Value v = product->getOperand(valuesFirst ? 0 : 1);
  if (scoresSwapped) {
    q = swapLastTwo(b, q);
    k = swapLastTwo(b, k);
  }
  auto swappedType = [](Value x) -> Type {
    auto type = rankedType(x);
    SmallVector<int64_t> shape(type.getShape());
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return RankedTensorType::get(shape, type.getElementType());
  };
  Type dst = product->getResult(0).getType();
  if (transposesResult()) {
    v = swapLastTwo(b, v);
    dst = swappedType(product->getResult(0));
  }
  bool hasStats =
      softmax->getNumResults() > 1 && !softmax->getResult(1).use_empty();
  Type stats;
  if (hasStats)
    stats = alongRows ? swappedType(softmax->getResult(1))
                      : softmax->getResult(1).getType();
  SmallVector<Value> scoreOperands;
  for (Value operand : region->epilogueOperands())
    scoreOperands.push_back(scoreOperandOf(b, operand));
  auto op = tile::AttentionOp::create(
      b, loc, dst, stats, q, k, v, scoreOperands, /*packed=*/false,
      /*inf_as_zero=*/stringAttr(softmax, "mode") == "inf_as_zero",
      /*from_left=*/isFromLeft(), /*normalized=*/requantized != nullptr,
      /*interleave=*/1, /*keys=*/IntegerAttr());
  emitScore(b, op);
  if (dropout || requantized)
    emitWeights(b, op);
  Value result = op.getDst();
  if (transposesResult())
    result = swapLastTwo(b, result);
  product->getResult(0).replaceAllUsesWith(result);
  if (hasStats)
    softmax->getResult(1).replaceAllUsesWith(
        alongRows ? swapLastTwo(b, op.getStats()) : op.getStats());
  shareHeads(op);
}

struct RaiseAttentionPass : impl::RaiseAttentionBase<RaiseAttentionPass> {
  using RaiseAttentionBase::RaiseAttentionBase;
  void runOnOperation() override {
    int64_t int8DotWidth = tile::targetOf(getOperation()).getInt8DotWidth();
    SmallVector<Operation *> candidates;
    bool changed = false;
    getOperation().walk(
        [&](graph::SoftMaxOp softmax) { candidates.push_back(softmax); });
    for (Operation *softmax : candidates) {
      splitHeads(softmax);
      Attention attention(softmax, int8DotWidth);
      if (!attention.isBeforeProduct())
        continue;
      std::string reason = attention.analyse();
      if (!reason.empty()) {
        softmax->emitRemark("no attention in one group: " + reason);
        continue;
      }
      attention.raise();
      changed = true;
      ++raised;
    }
    if (changed)
      eraseDeadOps(getOperation());
  }
};

} // namespace
} // namespace tenon::passes
