//===- GroupNorms.cpp - GroupNorm of channels last ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Channels last, a row of GroupNorm is a few channels at each position: less
// than a vector, as far apart as all channels are wide. So statistics are made
// of each channel, for some positions that stay in a cache together, then of
// all positions, then of each group's channels:
//
//   m[p,c], v[p,c] = mean and variance over the positions of part p
//   m[c],   v[c]   = mean_p m[p,c], mean_p (v[p,c] + (m[p,c] - m[c])^2)
//   m[g],   v[g]   = the same over the channels of g
//   y = (x - m[g]) / sqrt(v[g] + epsilon)
//
// Parts are of equal size, for which this holds exactly and nothing cancels
// (Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm).
//
//===----------------------------------------------------------------------===//
#include "passes/layout/GroupNorms.h"

#include "passes/ops/OpKinds.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace tenon::passes {

namespace {

// docs/cost-model.md, "Layouts".
/// Channels that fill a vector.
constexpr int64_t kLanes = 16;
/// Elements of a group, or, if its channels fill no vector, of an image, that
/// are worth three sections more.
constexpr int64_t kManyOfGroup = 1 << 14, kManyOfImage = 1 << 15;
/// Elements that are read twice while a cache holds them, and positions that
/// are worth statistics of their own.
constexpr int64_t kPartElements = 1 << 14, kLeastPositions = 8;

struct Sizes {
  int64_t batch, positions, channels, groups;
  int64_t perGroup() const { return channels / groups; }
  /// Positions of a part: as many as stay in a cache, all parts being equal.
  int64_t perPart() const {
    int64_t best = 1;
    for (int64_t d = 1; d <= std::min(positions, kPartElements / channels); ++d)
      if (positions % d == 0)
        best = d;
    return best;
  }
};

/// Of a norm of known shape that is not empty.
std::optional<Sizes> sizesOf(Operation *norm) {
  auto type = rankedType(norm->getOperand(0));
  if (!type.hasStaticShape() || type.getRank() < 3 ||
      type.getNumElements() == 0)
    return std::nullopt;
  int64_t batch = type.getDimSize(0);
  int64_t channels = type.getDimSize(channelDim(norm, type.getRank()));
  return Sizes{batch, type.getNumElements() / batch / channels, channels,
               intAttr(norm, "groups", 1)};
}

class Decomposition {
public:
  explicit Decomposition(Operation *norm)
      : norm(norm), b(norm), loc(norm->getLoc()), sizes(*sizesOf(norm)) {}

  void run() {
    Value x = buildCast(b, loc, norm->getOperand(0), b.getF32Type());
    computeStatistics(x);
    Value deviation = binary("Add", variance,
                             buildScalar(b, loc, floatAttr(norm, "epsilon")));
    Value scale = unary("Reciprocal", unary("Sqrt", deviation));
    Value y = binary("Multiply", binary("Subtract", x, ofChannels(mean)),
                     ofChannels(scale));
    SmallVector<Value> results{y, mean, variance};
    results.truncate(norm->getNumResults());
    for (auto [result, v] : llvm::zip(norm->getResults(), results)) {
      auto type = rankedType(result);
      if (rankedType(v).getShape() != type.getShape())
        v = buildReshape(b, loc, v, type.getShape());
      v = buildImplicitCast(b, loc, v, type.getElementType());
    }
    norm->replaceAllUsesWith(results);
    norm->erase();
  }

private:
  Value unary(StringRef kind, Value v) {
    return buildGraphOp(b, loc, kind, v, rankedType(v));
  }
  Value binary(StringRef kind, Value v, Value w) {
    return buildBinary(b, loc, kind, v, w);
  }

  /// Along `axis`, which stays with size 1.
  Value meanOf(Value v, int64_t axis) {
    auto type = rankedType(v);
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = 1;
    return buildGraphOp(b, loc, "ReduceMean", v,
                        type.clone(ArrayRef<int64_t>(shape)),
                        {b.getNamedAttr("axes", b.getDenseI64ArrayAttr(axis)),
                         b.getNamedAttr("keep_dims", b.getBoolAttr(true))});
  }

  void computeStatistics(Value x) {
    auto [batch, positions, channels, groups] = sizes;
    int64_t together = sizes.perPart();
    x = buildReshape(b, loc, x,
                     {batch, positions / together, together, channels});
    mean = meanOf(x, 2);
    variance = meanOf(binary("SquaredDifference", x, mean), 2);
    if (together < positions)
      join(1);
    for (Value *v : {&mean, &variance})
      *v = buildReshape(b, loc, *v, {batch, groups, sizes.perGroup()});
    join(2);
  }

  /// Statistics of all parts along `axis`.
  void join(int64_t axis) {
    Value all = meanOf(mean, axis);
    Value distance = binary("SquaredDifference", mean, all);
    variance = meanOf(binary("Add", variance, distance), axis);
    mean = all;
  }

  /// What is one per group, for each of its channels.
  Value ofChannels(Value v) {
    auto one = RankedTensorType::get({1, 1, sizes.perGroup()}, b.getF32Type());
    Value ones = arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(one, b.getF32FloatAttr(1)));
    SmallVector<int64_t> shape(rankedType(norm->getOperand(0)).getRank(), 1);
    shape.front() = sizes.batch;
    shape.back() = sizes.channels;
    return buildReshape(b, loc, binary("Multiply", v, ones), shape);
  }

  Operation *norm;
  OpBuilder b;
  Location loc;
  Sizes sizes;
  Value mean, variance;
};

} // namespace

bool isCheaperByChannels(Operation *norm) {
  std::optional<Sizes> s = sizesOf(norm);
  if (!s || norm->getNumOperands() > 1 || s->channels < kLanes ||
      s->perPart() < kLeastPositions)
    return false;
  return (s->perGroup() < kLanes &&
          s->positions * s->channels >= kManyOfImage) ||
         s->positions * s->perGroup() >= kManyOfGroup;
}

void decomposeByChannels(Operation *norm) { Decomposition(norm).run(); }

} // namespace tenon::passes
