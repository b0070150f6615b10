//===- DecomposeGraph.cpp - one normal form of each operation -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Users may write a bias inside MatMul, a convolution over NCX tensors, a
// batch normalisation. Passes after this one see none of these:
//
//   MatMul(x, w, b) {transpose_b}   Add(MatMul(x, StaticTranspose(w)), b)
//   Convolution {NCX, OIX}          StaticTranspose around NXC, XIO; gradients
//                                   and ConvTranspose: DecomposeConvolution.cpp
//   MaxPool, its indices unread     MaxPool of one result
//   norms and their gradients       DecomposeNorms.cpp
//   slices, repetitions             DecomposeMovement.cpp
//   LRN {within_channel}            x * (k + c * AvgPool(x * x))^-beta
//   Concat(a, b, c) after          Concat(Concat(a, b), c)
//     Concat(a, b)
//
// Transposes and reshapes cost nothing here: they become views of buffers.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "passes/Passes.h"
#include "passes/graph/Decompose.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_DECOMPOSEGRAPH
#include "passes/Passes.h.inc"

Value addBias(OpBuilder &b, Location loc, Value product, Value bias) {
  Value sum = buildBinary(b, loc, "Add", product, bias);
  sum.getDefiningOp()->setAttr(kPartAttr, b.getUnitAttr());
  return sum;
}

namespace {

/// Splits the optional bias operand off MatMul and adds it after.
void splitBias(Operation *op, OpBuilder &b) {
  Value bias = op->getOperand(2);
  op->eraseOperand(2);
  b.setInsertionPointAfter(op);
  Value dst = op->getResult(0);
  if (rankedType(dst).getRank() == 0) // takes any bias of one element
    bias = buildReshape(b, op->getLoc(), bias, {});
  Value sum = addBias(b, op->getLoc(), dst, bias);
  dst.replaceAllUsesExcept(sum, sum.getDefiningOp());
}

bool decomposeBiasAdd(Operation *op, OpBuilder &b) {
  Value src = op->getOperand(0);
  int64_t rank = rankedType(src).getRank();
  Value bias =
      perChannel(b, op->getLoc(), op->getOperand(1), isNcx(op, rank), rank);
  op->getResult(0).replaceAllUsesWith(
      buildBinary(b, op->getLoc(), "Add", src, bias));
  op->erase();
  return true;
}

/// Transposed and one-dimensional operands; leaves [.., M, K] x [.., K, N].
bool decomposeMatMul(Operation *op, OpBuilder &b) {
  Location loc = op->getLoc();
  Value src = op->getOperand(0), weights = op->getOperand(1);
  int64_t srcRank = rankedType(src).getRank();
  int64_t weightsRank = rankedType(weights).getRank();
  bool ta = boolAttr(op, "transpose_a") && srcRank > 1;
  bool tb = boolAttr(op, "transpose_b") && weightsRank > 1;
  if (op->getNumOperands() == 2 && !ta && !tb && srcRank > 1 && weightsRank > 1)
    return false;
  bool hadBias = op->getNumOperands() == 3;
  if (hadBias)
    splitBias(op, b);
  b.setInsertionPoint(op);
  if (srcRank == 1)
    src = buildReshape(b, loc, src, {1, rankedType(src).getDimSize(0)});
  else if (ta)
    src = swapLastTwo(b, src);
  if (weightsRank == 1)
    weights =
        buildReshape(b, loc, weights, {rankedType(weights).getDimSize(0), 1});
  else if (tb)
    weights = swapLastTwo(b, weights);
  auto dstType = rankedType(op->getResult(0));
  // Batch dims of the full product: those of dst, without what was dropped.
  SmallVector<int64_t> shape(dstType.getShape());
  if (weightsRank == 1)
    shape.push_back(1);
  if (srcRank == 1)
    shape.insert(shape.end() - 1, 1);
  Value product =
      buildGraphOp(b, loc, "MatMul", {src, weights},
                   RankedTensorType::get(shape, dstType.getElementType()));
  Value result = product;
  if (srcRank == 1 || weightsRank == 1)
    result = buildReshape(b, loc, product, dstType.getShape());
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
  return true;
}

/// A Concat that begins with all that an earlier one joins (dense blocks of
/// layers do) takes its result: ElideConcat then has each tensor once.
bool joinJoined(Operation *op) {
  auto axisOf = [](Operation *concat) {
    return normalizedAxis(intAttr(concat, "axis"),
                          rankedType(concat->getResult(0)).getRank());
  };
  Operation *longest = nullptr;
  for (Operation *user : op->getOperand(0).getUsers()) {
    size_t n = user->getNumOperands();
    if (isa<graph::ConcatOp>(user) && user->getBlock() == op->getBlock() &&
        user->isBeforeInBlock(op) && axisOf(user) == axisOf(op) && n > 1 &&
        n < op->getNumOperands() &&
        (!longest || n > longest->getNumOperands()) &&
        llvm::equal(user->getOperands(), op->getOperands().take_front(n)))
      longest = user;
  }
  if (!longest)
    return false;
  SmallVector<Value> rest(
      op->getOperands().drop_front(longest->getNumOperands()));
  rest.insert(rest.begin(), longest->getResult(0));
  op->setOperands(rest);
  return true;
}

/// Indices that nobody reads.
bool dropIndices(graph::MaxPoolOp op, OpBuilder &b) {
  if (op->getNumResults() == 1 || !op.getIndices().use_empty())
    return false;
  Value dst = buildGraphOp(b, op.getLoc(), "MaxPool", op.getSrc(),
                           rankedType(op.getDst()), op->getAttrs());
  op.getDst().replaceAllUsesWith(dst);
  op.erase();
  return true;
}

/// A slope per channel becomes one that broadcasts by its shape: NCX data needs
/// its dims spelled out.
bool decomposePRelu(Operation *op, OpBuilder &b) {
  Value slope = op->getOperand(1);
  int64_t rank = rankedType(op->getOperand(0)).getRank();
  auto type = rankedType(slope);
  if (!boolAttr(op, "per_channel_broadcast"))
    return false;
  if (isNcx(op, rank) && type.getRank() == 1 && type.getDimSize(0) != 1)
    op->setOperand(1, perChannel(b, op->getLoc(), slope, true, rank));
  // From here on shapes alone say what broadcasts, whatever order dims get.
  op->setAttr("per_channel_broadcast", b.getBoolAttr(false));
  return true;
}

/// The windows of an LRN within channels: sums are averages times `elements`.
struct LrnWindows {
  SmallVector<int64_t> reach, kernel, ones;
  double elements = 1, divisor = 1;
  std::string format;

  explicit LrnWindows(Operation *op) : format(stringAttr(op, "data_format")) {
    auto type = rankedType(op->getOperand(0));
    int64_t size = intAttr(op, "size"), rank = type.getRank();
    for (int64_t i = 0; i < rank - 2; ++i) {
      int64_t in = type.getDimSize(isNcx(op, rank) ? i + 2 : i + 1);
      // What reaches past both ends of src reaches no more of it.
      int64_t side = (size - 1) / 2;
      if (!ShapedType::isDynamic(in))
        side = std::min(side, std::max<int64_t>(in - 1, 0));
      reach.push_back(side);
      kernel.push_back(2 * side + 1);
      ones.push_back(1);
      elements *= static_cast<double>(kernel.back());
      divisor *= static_cast<double>(size);
    }
  }

  /// Averages over the windows, padding included.
  Value average(OpBuilder &b, Location loc, Value v) const {
    if (kernel.empty())
      return v;
    NamedAttribute attrs[] = {
        b.getNamedAttr("strides", b.getDenseI64ArrayAttr(ones)),
        b.getNamedAttr("pads_begin", b.getDenseI64ArrayAttr(reach)),
        b.getNamedAttr("pads_end", b.getDenseI64ArrayAttr(reach)),
        b.getNamedAttr("kernel", b.getDenseI64ArrayAttr(kernel)),
        b.getNamedAttr("exclude_pad", b.getBoolAttr(false)),
        b.getNamedAttr("data_format", b.getStringAttr(format))};
    return buildGraphOp(b, loc, "AvgPool", v, rankedType(v), attrs);
  }
};

/// Windows within a channel are poolings of squares; backward, of what each
/// element adds to its neighbours' gradients, too.
bool decomposeLrn(Operation *op, OpBuilder &b) {
  if (stringAttr(op, "algorithm") != "within_channel")
    return false;
  Location loc = op->getLoc();
  computeInF32(op, op->getOpOperands());
  Value src = op->getOperand(0);
  if (llvm::is_contained(rankedType(src).getShape(), 0)) {
    // No window fits an empty tensor, and there is nothing to compute.
    Value empty = buildGraphOp(b, loc, "Abs", src, rankedType(src));
    op->getResult(0).replaceAllUsesWith(empty);
    op->erase();
    return true;
  }
  LrnWindows windows(op);
  double beta = floatAttr(op, "beta");
  double alpha = floatAttr(op, "alpha") * windows.elements / windows.divisor;
  auto binary = [&](StringRef kind, Value x, Value y) {
    return buildBinary(b, loc, kind, x, y);
  };
  Value w = windows.average(b, loc, binary("Multiply", src, src));
  w = binary("Multiply", w, buildScalar(b, loc, alpha));
  w = binary("Add", w, buildScalar(b, loc, floatAttr(op, "k")));
  NamedAttribute exponent =
      b.getNamedAttr("beta", b.getF32FloatAttr(static_cast<float>(-beta)));
  Value power = buildGraphOp(b, loc, "Pow", w, rankedType(src), exponent);
  Value result;
  if (!graph::isBackward(op)) {
    result = binary("Multiply", src, power);
  } else {
    Value first = binary("Multiply", op->getOperand(1), power);
    Value share = binary("Divide", binary("Multiply", src, first), w);
    Value sums = windows.average(b, loc, share);
    Value factor = buildScalar(b, loc, 2 * alpha * beta);
    Value second = binary("Multiply", binary("Multiply", src, factor), sums);
    result = binary("Subtract", first, second);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
  return true;
}

bool decompose(Operation *op, OpBuilder &b) {
  b.setInsertionPoint(op);
  if (graph::isConvolution(op))
    return decomposeConvolution(op, b);
  if (graph::isQuantization(op))
    return separateGroupedScales(op, b);
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](graph::BiasAddOp) { return decomposeBiasAdd(op, b); })
      .Case([&](graph::MatMulOp) { return decomposeMatMul(op, b); })
      .Case([&](graph::ConcatOp) { return joinJoined(op); })
      .Case([&](graph::MaxPoolOp pool) { return dropIndices(pool, b); })
      .Case<graph::LRNOp, graph::LRNBackwardOp>(
          [&](auto) { return decomposeLrn(op, b); })
      .Case([&](graph::PReLUOp) { return decomposePRelu(op, b); })
      .Case([&](graph::EndOp end) { // its operand is a result of the function
        end.erase();
        return true;
      })
      .Default([&](Operation *) {
        return decomposeNorm(op, b) || decomposeMovement(op, b);
      });
}

struct DecomposeGraphPass : impl::DecomposeGraphBase<DecomposeGraphPass> {
  using DecomposeGraphBase::DecomposeGraphBase;
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (!kindOf(op).empty())
        ops.push_back(op);
    });
    OpBuilder b(&getContext());
    for (Operation *op : ops)
      if (decompose(op, b))
        ++rewritten;
    // A normal form may read less than the operation did.
    eraseDeadOps(getOperation());
  }
};

} // namespace
} // namespace tenon::passes
