//===- RowOps.cpp - softmax, norms, reductions, and their gradients -------===//
//
// Each operation is written as nodes over its rows: sums over the reduced
// dimensions, and what is computed from them. LoopProgram decides in how many
// passes over a row that is, and what is kept between them.
//
//===----------------------------------------------------------------------===//
#include "passes/support/GraphAttrs.h"
#include "passes/tiling/LoopBuilder.h"

#include <limits>

using namespace mlir;

namespace tenon::tiling {

namespace {

using Node = LoopBuilder::Node;
using Reduction = LoopBuilder::Reduction;

/// A row of -inf must not give NaN where `mode` says so: exp(-inf - 0) is 0,
/// and the sum of zeros divides as 1.
void softmax(LoopBuilder &k, Operation *op) {
  Node x = k.f32Of(op->getOperand(0));
  bool log = isKind(op, "LogSoftmax");
  bool zeros = !log && stringAttr(op, "mode") == "inf_as_zero";
  // A NaN reaches all of its row through the sum.
  Node top = k.reduce(Reduction::greatest, x);
  if (zeros) {
    double inf = std::numeric_limits<double>::infinity();
    top = k.selectEqual(top, k.constant(-inf), k.constant(0), top);
  }
  Node e = k.expOfDifference(x, top);
  Node sum = k.reduce(Reduction::sum, e);
  if (zeros)
    sum = k.selectEqual(sum, k.constant(0), k.constant(1), sum);
  if (log) {
    k.define(op->getResult(0), k.sub(k.sub(x, top), k.log(sum)));
    return;
  }
  k.define(op->getResult(0), k.mul(e, k.div(k.constant(1), sum)));
  if (op->getNumResults() > 1)
    k.define(op->getResult(1), k.add(top, k.log(sum)));
}

void softmaxBackward(LoopBuilder &k, Operation *op) {
  Node dd = k.f32Of(op->getOperand(0)), d = k.f32Of(op->getOperand(1));
  Node sum = k.sumOfProducts(dd, d);
  k.define(op->getResult(0), k.mul(d, k.sub(dd, sum)));
}

void logSoftmaxBackward(LoopBuilder &k, Operation *op) {
  Node dd = k.f32Of(op->getOperand(0)), d = k.f32Of(op->getOperand(1));
  Node sum = k.reduce(Reduction::sum, dd);
  k.define(op->getResult(0), k.sub(dd, k.mul(k.exp(d), sum)));
}

/// 1 / sqrt(v + epsilon)
Node inverseDeviation(LoopBuilder &k, Operation *op, Node v) {
  Node epsilon = k.constant(floatAttr(op, "epsilon"));
  return k.div(k.constant(1), k.sqrt(k.add(v, epsilon)));
}

void rmsNorm(LoopBuilder &k, Operation *op) {
  Node x = k.f32Of(op->getOperand(0));
  Node square = k.mul(k.sumOfProducts(x, x), k.inverseCount());
  k.define(op->getResult(0), k.mul(x, inverseDeviation(k, op, square)));
}

struct Moments {
  Node mean, variance;
};

/// Defines result 0 as operand 0, normalised. The variance is that of centred
/// values: the difference of two large sums would lose all digits. Where
/// deviations are small beside the mean, its roundings are not: the mean of
/// centred values is what it is off by.
Moments normalize(LoopBuilder &k, Operation *op) {
  Node x = k.f32Of(op->getOperand(0));
  Node mean = k.mean(x);
  Node d = k.sub(x, mean);
  Node off = k.mean(d), zero = k.constant(0);
  Node variance =
      k.sub(k.mul(k.sumOfProducts(d, d), k.inverseCount()), k.mul(off, off));
  variance = k.selectGreater(zero, variance, zero, variance); // NaN stays
  Node scale = inverseDeviation(k, op, variance);
  Node shift = k.mul(k.sub(zero, off), scale);
  // Cheaper to compute again than to store the first.
  Node again = k.sub(x, k.behind(off, mean));
  k.define(op->getResult(0), k.fma(again, scale, shift));
  return {mean, variance};
}

/// LayerNorm and GroupNorm without gamma and beta.
void norm(LoopBuilder &k, Operation *op) {
  Moments m = normalize(k, op);
  if (op->getNumResults() < 3)
    return;
  k.define(op->getResult(1), m.mean, k.keptDims());
  k.define(op->getResult(2), m.variance, k.keptDims());
}

/// Without gamma and beta. momentum weighs the old statistics.
void batchNormTraining(LoopBuilder &k, Operation *op) {
  SmallVector<int64_t> channel = k.keptDims();
  Moments m = normalize(k, op);
  double momentum = floatAttr(op, "momentum", 0.5);
  auto blend = [&](Value old, Node batch) {
    return k.add(k.mul(k.constant(momentum), k.along(old, channel)),
                 k.mul(k.constant(1 - momentum), batch));
  };
  k.define(op->getResult(1), blend(op->getOperand(1), m.mean), channel);
  k.define(op->getResult(2), blend(op->getOperand(2), m.variance), channel);
  k.define(op->getResult(3), m.mean, channel);
  k.define(op->getResult(4), m.variance, channel);
}

/// What the gradients of LayerNorm and of batch normalisation begin with.
struct Normalized {
  LoopBuilder &k;
  Node src, mean, scale;

  Normalized(LoopBuilder &k, Operation *op)
      : k(k), src(k.f32Of(op->getOperand(0))),
        mean(k.along(op->getOperand(2), k.keptDims())),
        scale(inverseDeviation(k, op,
                               k.along(op->getOperand(3), k.keptDims()))) {}

  /// (src - mean) * scale, a new node each time: cheaper to compute again than
  /// to store.
  Node x() { return k.mul(k.sub(src, mean), scale); }
};

/// The form with three results; the other is elementwise.
void batchNormBackward(LoopBuilder &k, Operation *op) {
  SmallVector<int64_t> channel = k.keptDims();
  Normalized n(k, op);
  Node dd = k.f32Of(op->getOperand(1));
  Node diffGamma = k.sumOfProducts(dd, n.x());
  Node diffBeta = k.reduce(Reduction::sum, dd);
  Node inverse = k.inverseCount();
  Node shift =
      k.add(k.mul(diffBeta, inverse), k.mul(n.x(), k.mul(diffGamma, inverse)));
  Node gamma = k.along(op->getOperand(4), channel);
  k.define(op->getResult(0), k.mul(k.mul(gamma, n.scale), k.sub(dd, shift)));
  k.define(op->getResult(1), diffGamma, channel);
  k.define(op->getResult(2), diffBeta, channel);
}

/// diff_src; the passes before have multiplied diff_dst with gamma.
void layerNormBackward(LoopBuilder &k, Operation *op) {
  Normalized n(k, op);
  Node dd = k.f32Of(op->getOperand(1));
  Node sum = k.mean(dd),
       weighted = k.mul(k.sumOfProducts(dd, n.x()), k.inverseCount());
  k.define(op->getResult(0),
           k.mul(n.scale, k.sub(k.sub(dd, sum), k.mul(n.x(), weighted))));
}

void preluBackward(LoopBuilder &k, Operation *op) {
  SmallVector<int64_t> dims = fusion::slopeDims(op);
  Node x = k.f32Of(op->getOperand(0)), dd = k.f32Of(op->getOperand(2));
  Node slope = k.along(op->getOperand(1), dims), zero = k.constant(0);
  k.define(op->getResult(0), k.selectGreater(x, zero, dd, k.mul(dd, slope)));
  Node sum =
      k.reduce(Reduction::sum, k.selectGreater(x, zero, zero, k.mul(dd, x)));
  k.define(op->getResult(1), sum, dims);
}

void reduceOp(LoopBuilder &k, Operation *op) {
  StringRef kind = kindOf(op);
  Node x = k.f32Of(op->getOperand(0));
  Node r;
  if (intsAttr(op, "axes").empty()) // dst is src, not its norm
    r = x;
  else if (kind == "ReduceL1")
    r = k.reduce(Reduction::sum, k.abs(x));
  else if (kind == "ReduceL2")
    r = k.sqrt(k.sumOfProducts(x, x));
  else if (kind == "ReduceMax")
    r = k.reduce(Reduction::max, x);
  else if (kind == "ReduceMin")
    r = k.reduce(Reduction::min, x);
  else if (kind == "ReduceProd")
    r = k.reduce(Reduction::product, x);
  else if (kind == "ReduceMean")
    r = k.mean(x);
  else
    r = k.reduce(Reduction::sum, x);
  if (boolAttr(op, "keep_dims"))
    k.define(op->getResult(0), r);
  else
    k.define(op->getResult(0), r, k.keptDims());
}

using Rule = void (*)(LoopBuilder &, Operation *);
struct Entry {
  const char *kind;
  Rule rule;
};
const Entry kTable[] = {
    {"BatchNormForwardTraining", batchNormTraining},
    {"BatchNormTrainingBackward", batchNormBackward},
    {"GroupNorm", norm},
    {"LayerNorm", norm},
    {"LayerNormBackward", layerNormBackward},
    {"LogSoftmax", softmax},
    {"LogSoftmaxBackward", logSoftmaxBackward},
    {"PReLUBackward", preluBackward},
    {"RMSNorm", rmsNorm},
    {"SoftMax", softmax},
    {"SoftMaxBackward", softmaxBackward},
};

} // namespace

LogicalResult buildRowOp(LoopBuilder &k, Operation *op) {
  if (kindOf(op).starts_with("Reduce")) {
    reduceOp(k, op);
    return success();
  }
  for (const Entry &e : kTable)
    if (isKind(op, e.kind)) {
      e.rule(k, op);
      return success();
    }
  return op->emitError("no lowering to loops");
}

} // namespace tenon::tiling
