//===- DecomposeNorms.cpp - norms without parameters ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Part of tenon-decompose-graph. A norm keeps its rows and loses what is
// elementwise around them:
//
//   LayerNorm(x, gamma, beta)      LayerNorm(x) * gamma + beta
//   BatchNormInference             x * scale + shift, per channel
//   LayerNormBackward              LayerNormBackward(x, dy * gamma), and two
//                                  sums over the leading dimensions
//   GroupNormBackward              the same, and sums over all but the channels
//   RMSNormBackward                the same, and one sum, of dy * RMSNorm(x)
//   BiasAddBackward                ReduceSum over all but the channels
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "passes/graph/Decompose.h"
#include "passes/ops/OpKinds.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::passes {

namespace {

using Segments = SmallVector<int32_t>;

/// `op` on other operands, with the first `results` results. `segments` are
/// those of all operands that the operation may have; empty: it has no optional
/// ones between others.
Operation *buildCore(Operation *op, OpBuilder &b, ValueRange operands,
                     const Segments &segments, unsigned results) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  for (Value v : op->getResults().take_front(results))
    state.addTypes(v.getType());
  for (NamedAttribute a : op->getAttrs())
    if (a.getName() != "operandSegmentSizes" && a.getName() != "use_affine" &&
        (a.getName() != "resultSegmentSizes" || results > 1))
      state.addAttribute(a.getName(), a.getValue());
  if (!segments.empty())
    state.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr(segments));
  if (op->hasAttr("resultSegmentSizes") && results == 1)
    state.addAttribute("resultSegmentSizes", b.getDenseI32ArrayAttr({1, 0, 0}));
  if (graph::factsOf(op).attr("use_affine"))
    state.addAttribute("use_affine", b.getBoolAttr(false));
  return b.create(state);
}

void replace(Operation *op, ValueRange values) {
  op->replaceAllUsesWith(values);
  op->erase();
}

/// Replaces `op` by `core`, whose first result is multiplied with `gamma` and
/// added to `beta` (either may be null).
bool replaceByAffine(Operation *op, OpBuilder &b, Operation *core, Value gamma,
                     Value beta) {
  SmallVector<Value> results(core->getResults());
  if (gamma)
    results[0] = buildBinary(b, op->getLoc(), "Multiply", results[0], gamma);
  if (beta)
    results[0] = buildBinary(b, op->getLoc(), "Add", results[0], beta);
  replace(op, results);
  return true;
}

/// Gamma and beta of LayerNorm, gamma of RMSNorm: over the trailing dimensions.
bool decomposeRowNorm(Operation *op, OpBuilder &b, const Segments &segments) {
  unsigned n = op->getNumOperands();
  if (n == 1)
    return false;
  bool used = boolAttr(op, "use_affine", /*fallback=*/true);
  Operation *core =
      buildCore(op, b, op->getOperand(0), segments, op->getNumResults());
  return replaceByAffine(op, b, core, used ? op->getOperand(1) : Value(),
                         used && n > 2 ? op->getOperand(2) : Value());
}

/// Gamma and beta of GroupNorm and BatchNormForwardTraining: one element per
/// channel, after the first `kept` operands.
bool decomposeChannelNorm(Operation *op, OpBuilder &b, unsigned kept,
                          const Segments &segments) {
  if (op->getNumOperands() == kept)
    return false;
  bool used = boolAttr(op, "use_affine", /*fallback=*/true);
  int64_t rank = rankedType(op->getOperand(0)).getRank();
  Operation *core = buildCore(op, b, op->getOperands().take_front(kept),
                              segments, op->getNumResults());
  auto vector = [&](unsigned i) {
    return used ? perChannel(b, op->getLoc(), op->getOperand(i),
                             isNcx(op, rank), rank)
                : Value();
  };
  return replaceByAffine(op, b, core, vector(kept), vector(kept + 1));
}

/// variance + epsilon
Value shifted(Operation *op, OpBuilder &b, Value variance) {
  return buildBinary(b, op->getLoc(), "Add", variance,
                     buildScalar(b, op->getLoc(), floatAttr(op, "epsilon")));
}

/// Whether `v` is a product, perhaps with a bias, whose epilogue goes on.
bool isProduct(Value v) {
  Operation *def = v.getDefiningOp();
  while (isa_and_nonnull<graph::AddOp, graph::BiasAddOp>(def))
    def = def->getOperand(0).getDefiningOp();
  return def && graph::isContraction(def) && !graph::isBackward(def);
}

/// With scale = gamma / sqrt(var + eps), which constant statistics fold once:
/// (x - mean) * scale + beta. After a product x * scale + (beta - mean *
/// scale) instead: the first factor can become part of the weights, and x is
/// off by roundings of its terms already. Elsewhere it would cancel where x is
/// near to the mean; there x and mean are halves, and scale is twice as much,
/// since the difference may be twice as large as the largest number of f32.
/// Nothing between is rounded to less than f32.
bool decomposeInference(Operation *op, OpBuilder &b) {
  Location loc = op->getLoc();
  bool isOfProduct = isProduct(op->getOperand(0));
  computeInF32(op, op->getOpOperands());
  Value src = op->getOperand(0), gamma = op->getOperand(1),
        beta = op->getOperand(2), mean = op->getOperand(3),
        variance = op->getOperand(4);
  int64_t rank = rankedType(src).getRank();
  bool ncx = isNcx(op, rank);
  Value deviation = buildGraphOp(b, loc, "Sqrt", shifted(op, b, variance),
                                 rankedType(variance));
  auto times = [&](Value v, double factor) {
    return buildBinary(b, loc, "Multiply", v, buildScalar(b, loc, factor));
  };
  Value scale = buildBinary(b, loc, "Divide", gamma, deviation);
  auto along = [&](Value v) { return perChannel(b, loc, v, ncx, rank); };
  Value centred = src, shift = beta;
  if (isOfProduct) {
    shift = buildBinary(b, loc, "Subtract", beta,
                        buildBinary(b, loc, "Multiply", mean, scale));
  } else {
    centred = buildBinary(b, loc, "Subtract", times(src, 0.5),
                          along(times(mean, 0.5)));
    scale = times(scale, 2);
  }
  Value y = buildBinary(b, loc, "Multiply", centred, along(scale));
  y = buildBinary(b, loc, "Add", y, along(shift));
  replace(op, y);
  return true;
}

/// The form with one result takes the statistics for constants and gamma for 1.
bool decomposeBatchNormBackward(Operation *op, OpBuilder &b) {
  if (op->getNumResults() > 1)
    return false;
  Location loc = op->getLoc();
  Value variance = op->getOperand(3);
  int64_t rank = rankedType(op->getOperand(0)).getRank();
  Value deviation = buildGraphOp(b, loc, "Sqrt", shifted(op, b, variance),
                                 rankedType(variance));
  deviation = perChannel(b, loc, deviation, isNcx(op, rank), rank);
  // More of its size may be known than of the operand's: src has the same.
  replace(op, buildGraphOp(b, loc, "Divide", {op->getOperand(1), deviation},
                           rankedType(op->getResult(0))));
  return true;
}

/// Sum of `v` over the dimensions `axes`, which vanish; rounded to `type` once.
Value buildSum(OpBuilder &b, Location loc, Value v, ArrayRef<int64_t> axes,
               Type type) {
  auto result = cast<RankedTensorType>(type);
  Type element = rankedType(v).getElementType();
  Value sum = buildGraphOp(
      b, loc, "ReduceSum", v, RankedTensorType::get(result.getShape(), element),
      {b.getNamedAttr("axes", b.getDenseI64ArrayAttr(axes)),
       b.getNamedAttr("keep_dims", b.getBoolAttr(false))});
  return buildImplicitCast(b, loc, sum, result.getElementType());
}

/// The dimensions of the first operand but its channels.
SmallVector<int64_t> allButChannels(Operation *op) {
  int64_t rank = rankedType(op->getOperand(0)).getRank();
  SmallVector<int64_t> axes;
  for (int64_t d = 0; d < rank; ++d)
    if (d != channelDim(op, rank))
      axes.push_back(d);
  return axes;
}

/// What diff_gamma and diff_beta are sums of, in f32: they may be f32 where src
/// is not, so nothing between is rounded, fused or not.
struct AffineTerms {
  Value ofGamma, ofBeta;

  /// `mean` and `variance` broadcast to `src`.
  AffineTerms(Operation *op, OpBuilder &b, Value src, Value diffDst, Value mean,
              Value variance) {
    Location loc = op->getLoc();
    auto inF32 = [&](Value v) { return buildCast(b, loc, v, b.getF32Type()); };
    variance = shifted(op, b, inF32(variance));
    auto type = rankedType(variance);
    Value scale =
        buildGraphOp(b, loc, "Reciprocal",
                     buildGraphOp(b, loc, "Sqrt", variance, type), type);
    ofBeta = inF32(diffDst);
    Value x = buildBinary(b, loc, "Subtract", inF32(src), inF32(mean));
    x = buildBinary(b, loc, "Multiply", x, scale);
    ofGamma = buildBinary(b, loc, "Multiply", x, ofBeta);
  }
};

bool decomposeLayerNormBackward(Operation *op, OpBuilder &b) {
  if (op->getNumOperands() == 4)
    return false;
  Location loc = op->getLoc();
  Value src = op->getOperand(0), diffDst = op->getOperand(1);
  SmallVector<Value> operands(op->getOperands().take_front(4));
  bool affine = boolAttr(op, "use_affine");
  if (affine)
    operands[1] = buildBinary(b, loc, "Multiply", diffDst, op->getOperand(4));
  Operation *core = buildCore(op, b, operands, {1, 1, 1, 1, 0, 0}, 1);
  SmallVector<Value> results(core->getResults());
  if (affine) {
    int64_t rank = rankedType(src).getRank();
    int64_t axis = normalizedAxis(intAttr(op, "begin_norm_axis", -1), rank);
    SmallVector<int64_t> shape(rankedType(src).getShape().take_front(axis));
    shape.resize(rank, 1);
    auto column = [&](unsigned i) {
      return buildReshape(b, loc, op->getOperand(i), shape);
    };
    AffineTerms terms(op, b, src, diffDst, column(2), column(3));
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, axis));
    results.push_back(
        buildSum(b, loc, terms.ofGamma, axes, op->getResultTypes()[1]));
    results.push_back(
        buildSum(b, loc, terms.ofBeta, axes, op->getResultTypes()[2]));
  }
  replace(op, results);
  return true;
}

/// `type` with channels as groups x channels of a group, which are side by side
/// in memory whatever the order of dims.
SmallVector<int64_t> splitChannels(RankedTensorType type, int64_t channel,
                                   int64_t groups) {
  SmallVector<int64_t> shape(type.getShape());
  shape[channel] /= groups;
  shape.insert(shape.begin() + channel, groups);
  return shape;
}

bool decomposeGroupNormBackward(graph::GroupNormBackwardOp op, OpBuilder &b) {
  Value gamma = op.getGamma(), diffDst = op.getDiffDst();
  if (!gamma && op->getNumResults() == 1)
    return false;
  Location loc = op.getLoc();
  auto type = rankedType(op.getSrc());
  int64_t rank = type.getRank(), channel = channelDim(op, rank),
          groups = intAttr(op, "groups");
  SmallVector<Value> operands(op->getOperands().take_front(4));
  if (gamma)
    operands[1] = buildBinary(b, loc, "Multiply", diffDst,
                              perChannel(b, loc, gamma, isNcx(op, rank), rank));
  SmallVector<Value> results(buildCore(op, b, operands, {}, 1)->getResults());
  if (op->getNumResults() > 1 && llvm::is_contained(type.getShape(), 0)) {
    // Sums of nothing: groups of unknown sizes cannot be split.
    for (Value result : op->getResults().drop_front())
      results.push_back(buildSum(b, loc,
                                 buildCast(b, loc, diffDst, b.getF32Type()),
                                 allButChannels(op), result.getType()));
  } else if (op->getNumResults() > 1) {
    SmallVector<int64_t> split = splitChannels(type, channel, groups);
    SmallVector<int64_t> statistics(rank + 1, 1), axes;
    statistics[0] = type.getDimSize(0);
    statistics[channel] = groups;
    for (int64_t d = 0; d <= rank; ++d)
      if (d != channel && d != channel + 1)
        axes.push_back(d);
    auto view = [&](Value v, ArrayRef<int64_t> shape) {
      return buildReshape(b, loc, v, shape);
    };
    AffineTerms terms(op, b, view(op.getSrc(), split), view(diffDst, split),
                      view(op.getMean(), statistics),
                      view(op.getVariance(), statistics));
    auto add = [&](Value result, Value term) {
      auto vector = rankedType(result);
      Value sum = buildSum(b, loc, term, axes,
                           RankedTensorType::get({groups, split[channel + 1]},
                                                 vector.getElementType()));
      results.push_back(view(sum, vector.getShape()));
    };
    if (op.getDiffGamma())
      add(op.getDiffGamma(), terms.ofGamma);
    if (op.getDiffBeta())
      add(op.getDiffBeta(), terms.ofBeta);
  }
  replace(op, results);
  return true;
}

bool decomposeRmsNormBackward(graph::RMSNormBackwardOp op, OpBuilder &b) {
  Value gamma = op.getGamma(), diffDst = op.getDiffDst();
  if (!gamma && op->getNumResults() == 1)
    return false;
  Location loc = op.getLoc();
  SmallVector<Value> operands{op.getSrc(), diffDst};
  if (gamma)
    operands[1] = buildBinary(b, loc, "Multiply", diffDst, gamma);
  SmallVector<Value> results(buildCore(op, b, operands, {}, 1)->getResults());
  if (Value diffGamma = op.getDiffGamma()) {
    Type f32 = b.getF32Type();
    Value src = buildCast(b, loc, op.getSrc(), f32);
    auto type = rankedType(src);
    int64_t axis =
        normalizedAxis(intAttr(op, "begin_norm_axis", -1), type.getRank());
    SmallVector<NamedAttribute> attrs(op->getAttrs());
    Value x = buildGraphOp(b, loc, "RMSNorm", src, type, attrs);
    Value term =
        buildBinary(b, loc, "Multiply", x, buildCast(b, loc, diffDst, f32));
    results.push_back(buildSum(b, loc, term,
                               llvm::to_vector(llvm::seq<int64_t>(0, axis)),
                               diffGamma.getType()));
  }
  replace(op, results);
  return true;
}

bool decomposeBiasBackward(Operation *op, OpBuilder &b) {
  replace(op, buildSum(b, op->getLoc(), op->getOperand(0), allButChannels(op),
                       op->getResultTypes()[0]));
  return true;
}

} // namespace

bool decomposeNorm(Operation *op, OpBuilder &b) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](graph::LayerNormOp) {
        return decomposeRowNorm(op, b, {1, 0, 0});
      })
      .Case([&](graph::RMSNormOp) { return decomposeRowNorm(op, b, {}); })
      .Case([&](graph::GroupNormOp) {
        return decomposeChannelNorm(op, b, 1, {1, 0, 0});
      })
      .Case([&](graph::BatchNormForwardTrainingOp) {
        return decomposeChannelNorm(op, b, 3, {1, 1, 1, 0, 0});
      })
      .Case([&](graph::BatchNormInferenceOp) {
        return decomposeInference(op, b);
      })
      .Case([&](graph::BatchNormTrainingBackwardOp) {
        return decomposeBatchNormBackward(op, b);
      })
      .Case([&](graph::LayerNormBackwardOp) {
        return decomposeLayerNormBackward(op, b);
      })
      .Case([&](graph::GroupNormBackwardOp typed) {
        return decomposeGroupNormBackward(typed, b);
      })
      .Case([&](graph::RMSNormBackwardOp typed) {
        return decomposeRmsNormBackward(typed, b);
      })
      .Case([&](graph::BiasAddBackwardOp) {
        return decomposeBiasBackward(op, b);
      })
      .Default(false);
}

} // namespace tenon::passes
