//===- Reductions.cpp - softmax, norms, reductions, and their gradients ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Each operation is written as nodes over its rows: sums over the reduced
// dimensions, and what is computed from them. LoopProgram decides in how many
// passes over a row that is, and what is kept between them.
//
//===----------------------------------------------------------------------===//
#include "passes/support/GraphAttrs.h"
#include "passes/tile/loops/LoopBuilder.h"

#include <cmath>
#include <limits>
#include <optional>

using namespace mlir;

namespace tenon::passes {

namespace {

using Node = LoopBuilder::Node;
using Reduction = LoopBuilder::Reduction;

/// x - top - ln(sum of exp(x - top)). The sum without the first term of 1:
/// where the others are small, ln has no other digits.
void logSoftmax(LoopBuilder &k, Operation *op) {
  Node x = k.f32Of(op->getOperand(0));
  Node top = k.reduce(Reduction::greatest, x); // a NaN reaches all of its row
  Node zero = k.constant(0), one = k.constant(1), d = k.sub(x, top);
  Node others = k.reduce(
      Reduction::sum, k.selectEqual(d, zero, zero, k.expOfDifference(x, top)));
  Node tops = k.reduce(Reduction::sum, k.selectEqual(d, zero, one, zero));
  Node log = k.log1p(k.add(k.sub(tops, one), others));
  k.define(op->getResult(0), k.sub(k.sub(x, top), log));
}

/// A row of -inf must not give NaN where `mode` says so: exp(-inf - 0) is 0,
/// and the sum of zeros divides as 1.
void softmax(LoopBuilder &k, Operation *op) {
  Node x = k.f32Of(op->getOperand(0));
  bool zeros = stringAttr(op, "mode") == "inf_as_zero";
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
  k.define(op->getResult(0), k.mul(e, k.div(k.constant(1), sum)));
  if (op->getNumResults() > 1)
    k.define(op->getResult(1), k.add(top, k.log(sum)));
}

/// Of halves of dd: no difference of finite numbers is infinite, and no sum of
/// them weighted with d, which add up to 1.
void softmaxBackward(LoopBuilder &k, Operation *op) {
  Node dd = k.f32Of(op->getOperand(0)), d = k.f32Of(op->getOperand(1));
  Node half = k.constant(0.5);
  Node sum = k.sumOfProducts(d, k.mul(dd, half));
  Node rest = k.fma(dd, half, k.sub(k.constant(0), sum));
  k.define(op->getResult(0), k.mul(k.mul(d, k.constant(2)), rest));
}

void logSoftmaxBackward(LoopBuilder &k, Operation *op) {
  Node dd = k.f32Of(op->getOperand(0)), d = k.f32Of(op->getOperand(1));
  Node part = k.partOfMean(), sum = k.sumOfProducts(dd, part);
  Node factor = k.div(k.constant(-1), part);
  k.define(op->getResult(0), k.fma(k.mul(k.exp(d), factor), sum, dd));
}

Node largerOf(LoopBuilder &k, Node x, Node y) {
  return k.selectGreater(x, y, x, y); // y where x is NaN
}

/// 1 / sqrt(v + epsilon)
Node inverseDeviation(LoopBuilder &k, Operation *op, Node v) {
  Node epsilon = k.constant(floatAttr(op, "epsilon"));
  return k.div(k.constant(1), k.sqrt(k.add(v, epsilon)));
}

/// A sum of squares that may not fit f32: of numbers times `power`.
struct SquareSum {
  Node sum, power, inverse; // 1 / power
};

/// Powers of two that bring squares of large and of small numbers, whatever
/// those are, into the range of f32.
constexpr double kForLarge = 0x1p-90, kForSmall = 0x1p+90;
/// Sums of squares as they are, below kMostSquares, and from kLeastSquares on:
/// what was denormal or 0 in them had no part then.
constexpr double kMostSquares = 0x1p+126, kLeastSquares = 0x1p-70;

/// The sum of squares of multiples of x, for rows whose sum of squares,
/// `plain`, does not fit. `small`: also for rows of small numbers. With
/// `condition` only where that is not 0.
SquareSum sumOfMultiples(LoopBuilder &k, Node x, Node plain, bool small,
                         std::optional<Node> condition = std::nullopt) {
  auto times = [&](double power) {
    Node scaled = k.mul(x, k.constant(power));
    Node sum = condition ? k.sumOfProductsIf(*condition, scaled, scaled)
                         : k.sumOfProducts(scaled, scaled);
    return SquareSum{sum, k.constant(power), k.constant(1 / power)};
  };
  SquareSum large = times(kForLarge);
  if (!small)
    return large;
  SquareSum other = times(kForSmall);
  auto pick = [&](Node a, Node b) { // b of NaN
    return k.selectGreater(k.constant(kLeastSquares), plain, a, b);
  };
  return {pick(other.sum, large.sum), pick(other.power, large.power),
          pick(other.inverse, large.inverse)};
}

/// Not 0 where `plain`, a sum of squares, is not right: the distance from where
/// it would be; NaN of NaN.
Node misfitOf(LoopBuilder &k, Node plain) {
  Node most = k.constant(kMostSquares), least = k.constant(kLeastSquares);
  Node below = k.selectGreater(most, plain, plain, most);
  return k.sub(k.selectGreater(least, below, least, below), plain);
}

/// Beside an epsilon from here on squares of small numbers are nothing.
constexpr double kLeastEpsilon = 0x1p-60;

/// All sums are made in one pass, and the row is read once more in any case:
/// to ask first whether a row needs them was slower (384x768).
void rmsNorm(LoopBuilder &k, Operation *op) {
  Node x = k.f32Of(op->getOperand(0));
  double epsilon = floatAttr(op, "epsilon");
  bool small = epsilon < kLeastEpsilon;
  Node plain = k.sumOfProducts(x, x), zero = k.constant(0);
  SquareSum s = sumOfMultiples(k, x, plain, small);
  Node misfit = small ? misfitOf(k, plain) : zero;
  auto pick = [&](Node fitting, Node other) {
    return small ? k.selectEqual(misfit, zero, fitting, other)
                 : k.selectGreater(k.constant(kMostSquares), plain, fitting,
                                   other);
  };
  Node sum = pick(plain, s.sum), power = pick(k.constant(1), s.power);
  Node mean = k.mul(sum, k.inverseCount());
  Node shift = k.mul(k.mul(k.constant(epsilon), power), power);
  Node scale = k.div(k.constant(1), k.sqrt(k.add(mean, shift)));
  k.define(op->getResult(0), k.mul(k.mul(x, power), scale));
}

struct Moments {
  Node mean;
  Node scaled, inverse; // the variance times the square of 1 / inverse

  /// factor * variance, infinite only if that is.
  Node variance(LoopBuilder &k, double factor = 1) const {
    return k.mul(k.mul(scaled, k.mul(k.constant(factor), inverse)), inverse);
  }
};

/// Defines result 0 as operand 0, normalised. The variance is that of centred
/// values: the difference of two large sums would lose all digits. Where
/// deviations are small beside the mean, its roundings are not: the mean of
/// centred values is what it is off by.
///
/// Centred values are multiples of a power of two, about 1 over the largest
/// element or the root of epsilon, so that no square overflows, and what
/// vanishes has no part. Equal elements are all off by the same: sums of that
/// and quotients by their number are exact, and leave 0.
Moments normalize(LoopBuilder &k, Operation *op) {
  double epsilon = floatAttr(op, "epsilon");
  Node least = k.constant(std::sqrt(std::max(epsilon, 0.0)));
  Node x = k.f32Of(op->getOperand(0)), zero = k.constant(0);
  // A NaN reaches its row through the mean.
  Node largest = k.reduce(Reduction::greatest, k.abs(x));
  Node power = k.inversePower(largerOf(k, largest, least));
  Node mean = k.mean(x);
  Node below = k.mul(k.sub(zero, mean), power);
  Node d = k.fma(x, power, below);
  Node off = k.div(k.reduce(Reduction::sum, d), k.count());
  Node variance =
      k.sub(k.div(k.sumOfProducts(d, d), k.count()), k.mul(off, off));
  variance = k.selectGreater(zero, variance, zero, variance); // NaN stays
  Node late = k.after(off, power);
  Node shift = k.mul(k.mul(k.constant(epsilon), late), late);
  if (epsilon > 0) // and for no reason 0: a variance is 0 or much larger
    shift = largerOf(k, shift, k.constant(0x1p-120));
  Node scale = k.div(k.constant(1), k.sqrt(k.add(variance, shift)));
  // Cheaper to compute again than to store the first.
  Node again = k.fma(x, power, k.after(off, below));
  k.define(op->getResult(0), k.mul(k.sub(again, off), scale));
  Node inverse = k.div(k.constant(1), late);
  return {mean, variance, inverse};
}

/// LayerNorm and GroupNorm without gamma and beta.
void norm(LoopBuilder &k, Operation *op) {
  Moments m = normalize(k, op);
  if (op->getNumResults() < 3)
    return;
  k.define(op->getResult(1), m.mean, k.keptDims());
  k.define(op->getResult(2), m.variance(k), k.keptDims());
}

/// Without gamma and beta. momentum weighs the old statistics.
void batchNormTraining(LoopBuilder &k, Operation *op) {
  SmallVector<int64_t> channel = k.keptDims();
  Moments m = normalize(k, op);
  double momentum = floatAttr(op, "momentum", 0.5);
  auto blend = [&](Value old, Node share) {
    return k.add(k.mul(k.constant(momentum), k.along(old, channel)), share);
  };
  double rest = 1 - momentum;
  k.define(op->getResult(1),
           blend(op->getOperand(1), k.mul(k.constant(rest), m.mean)), channel);
  k.define(op->getResult(2), blend(op->getOperand(2), m.variance(k, rest)),
           channel);
  k.define(op->getResult(3), m.mean, channel);
  k.define(op->getResult(4), m.variance(k), channel);
}

/// What the gradients of LayerNorm and of batch normalisation begin with.
/// Differences are halves, which no finite numbers make infinite.
struct Normalized {
  LoopBuilder &k;
  Node src, below, scale;

  Normalized(LoopBuilder &k, Operation *op)
      : k(k), src(k.f32Of(op->getOperand(0))),
        below(
            k.mul(k.constant(-0.5), k.along(op->getOperand(2), k.keptDims()))),
        scale(k.mul(k.constant(2),
                    inverseDeviation(
                        k, op, k.along(op->getOperand(3), k.keptDims())))) {}

  /// (src - mean) / deviation * factor, a new node each time: cheaper to
  /// compute again than to store.
  Node x(Node factor) {
    return k.mul(k.fma(src, k.constant(0.5), below), k.mul(scale, factor));
  }
  /// Half of dd - mean - x weight.
  Node rest(Node dd, Node mean, Node weight) {
    Node half = k.constant(0.5);
    Node centred = k.fma(dd, half, k.mul(k.constant(-0.5), mean));
    return k.sub(centred, x(k.mul(weight, half)));
  }
};

/// The form with three results; the other is elementwise.
void batchNormBackward(LoopBuilder &k, Operation *op) {
  SmallVector<int64_t> channel = k.keptDims();
  Normalized n(k, op);
  Node dd = k.f32Of(op->getOperand(1));
  Node part = k.partOfMean(), toMean = k.restOfMean();
  Node weighted = k.sumOfProducts(dd, n.x(part));
  Node sum = k.sumOfProducts(dd, part);
  Node gamma = k.along(op->getOperand(4), channel);
  Node rest = n.rest(dd, k.mul(sum, toMean), k.mul(weighted, toMean));
  k.define(op->getResult(0), k.mul(k.mul(gamma, n.scale), rest));
  Node whole = k.div(k.constant(1), part);
  k.define(op->getResult(1), k.mul(weighted, whole), channel);
  k.define(op->getResult(2), k.mul(sum, whole), channel);
}

/// diff_src, of GroupNorm as well; the passes before have multiplied diff_dst
/// with gamma.
void layerNormBackward(LoopBuilder &k, Operation *op) {
  Normalized n(k, op);
  Node dd = k.f32Of(op->getOperand(1));
  Node weighted =
      k.mul(k.sumOfProducts(dd, n.x(k.partOfMean())), k.restOfMean());
  k.define(op->getResult(0), k.mul(n.scale, n.rest(dd, k.mean(dd), weighted)));
}

/// The same for RMSNorm. Of src times a power of two, as in `normalize`: with
/// that, src * r^2 * mean(g * src) has factors of usual sizes.
void rmsNormBackward(LoopBuilder &k, Operation *op) {
  double epsilon = floatAttr(op, "epsilon");
  Node x = k.f32Of(op->getOperand(0)), g = k.f32Of(op->getOperand(1));
  Node least = k.constant(std::sqrt(std::max(epsilon, 0.0)));
  Node largest = k.reduce(Reduction::greatest, k.abs(x));
  Node power = k.inversePower(largerOf(k, largest, least));
  Node scaled = k.mul(x, power);
  Node squares = k.mul(k.sumOfProducts(scaled, scaled), k.inverseCount());
  Node mean =
      k.mul(k.sumOfProducts(g, k.mul(scaled, k.partOfMean())), k.restOfMean());
  Node late = k.after(squares, power), half = k.constant(0.5);
  Node shift = k.mul(k.mul(k.constant(epsilon), late), late);
  if (epsilon > 0)
    shift = largerOf(k, shift, k.constant(0x1p-120));
  Node r = k.div(k.constant(1), k.sqrt(k.add(squares, shift)));
  Node weight = k.mul(k.mul(k.mul(r, r), half), mean);
  // Cheaper to compute again than to store.
  Node rest = k.sub(k.mul(g, half), k.mul(k.mul(x, late), weight));
  k.define(op->getResult(0), k.mul(k.mul(k.mul(k.constant(2), r), late), rest));
}

void preluBackward(LoopBuilder &k, Operation *op) {
  SmallVector<int64_t> dims = slopeDims(op);
  Node x = k.f32Of(op->getOperand(0)), dd = k.f32Of(op->getOperand(2));
  Node slope = k.along(op->getOperand(1), dims), zero = k.constant(0);
  k.define(op->getResult(0), k.selectGreater(x, zero, dd, k.mul(dd, slope)));
  Node sum =
      k.reduce(Reduction::sum, k.selectGreater(x, zero, zero, k.mul(dd, x)));
  k.define(op->getResult(1), sum, dims);
}

/// sqrt(sum of x^2)
Node norm2(LoopBuilder &k, Node x) {
  Node plain = k.sumOfProducts(x, x), misfit = misfitOf(k, plain);
  SquareSum s = sumOfMultiples(k, x, plain, /*small=*/true, misfit);
  return k.chooseIf(misfit, k.mul(k.sqrt(s.sum), s.inverse), k.sqrt(plain));
}

Node norm1(LoopBuilder &k, Node x) {
  return k.reduce(Reduction::sum, k.abs(x));
}

Node mean(LoopBuilder &k, Node x) { return k.mean(x); }

template <Reduction how> Node reduced(LoopBuilder &k, Node x) {
  return k.reduce(how, x);
}

/// Of no elements the least integer of the type, or the largest; the neutral
/// ones are those of the type that computes.
Node withinType(LoopBuilder &k, Reduction how, Node x, IntegerType type) {
  unsigned width = type.getWidth();
  if ((how != Reduction::max && how != Reduction::min) || width >= 32)
    return x;
  bool isSigned = !type.isUnsigned() && width > 1;
  int64_t least = isSigned ? -(int64_t(1) << (width - 1)) : 0;
  int64_t largest = least + (int64_t(1) << width) - 1;
  return how == Reduction::max ? k.integerMax(x, k.integerLike(x, least))
                               : k.integerMin(x, k.integerLike(x, largest));
}

/// `absolute`: of the sizes of the elements.
Node reducedIntegers(LoopBuilder &k, Operation *op, Reduction how,
                     bool absolute) {
  Value src = op->getOperand(0);
  Node x = k.integerOf(src);
  if (intsAttr(op, "axes").empty())
    return x;
  Node r = k.reduce(how, absolute ? k.integerAbs(x) : x);
  return withinType(k, how, r,
                    cast<IntegerType>(rankedType(src).getElementType()));
}

/// A reduction whose rows become what `Compute` makes of them; of integers,
/// `how` they are reduced.
template <Node (*Compute)(LoopBuilder &, Node), Reduction how = Reduction::sum,
          bool absolute = false>
void reduceOp(LoopBuilder &k, Operation *op) {
  Value src = op->getOperand(0);
  Node r;
  if (isa<IntegerType>(rankedType(src).getElementType()))
    r = reducedIntegers(k, op, how, absolute);
  else if (intsAttr(op, "axes").empty()) // dst is src, not its norm
    r = k.f32Of(src);
  else
    r = Compute(k, k.f32Of(src));
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
    {"GroupNormBackward", layerNormBackward},
    {"LayerNorm", norm},
    {"LayerNormBackward", layerNormBackward},
    {"LogSoftmax", logSoftmax},
    {"LogSoftmaxBackward", logSoftmaxBackward},
    {"PReLUBackward", preluBackward},
    {"RMSNorm", rmsNorm},
    {"RMSNormBackward", rmsNormBackward},
    {"ReduceL1", reduceOp<norm1, Reduction::sum, /*absolute=*/true>},
    {"ReduceL2", reduceOp<norm2>},
    {"ReduceMax", reduceOp<reduced<Reduction::max>, Reduction::max>},
    {"ReduceMean", reduceOp<mean>},
    {"ReduceMin", reduceOp<reduced<Reduction::min>, Reduction::min>},
    {"ReduceProd", reduceOp<reduced<Reduction::product>, Reduction::product>},
    {"ReduceSum", reduceOp<reduced<Reduction::sum>>},
    {"SoftMax", softmax},
    {"SoftMaxBackward", softmaxBackward},
};

} // namespace

LogicalResult buildReduction(LoopBuilder &k, Operation *op) {
  for (const Entry &e : kTable)
    if (kindOf(op) == e.kind) {
      e.rule(k, op);
      return success();
    }
  return op->emitError("no lowering to loops");
}

} // namespace tenon::passes
