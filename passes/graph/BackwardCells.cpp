//===- BackwardCells.cpp - gradients of recurrent cells -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One layer of one direction: a recurrence from the last step of the forward
// operation to its first one makes the gradients of all gates, dG, and what
// comes with them; products over all steps make those of weights of it.
//
// A step gets dh from the step after: dG of that one times the weights, and
// what went past the gates, which is `past`.
//
//===----------------------------------------------------------------------===//
#include "passes/graph/RecurrenceBuilder.h"
#include "passes/graph/RecurrentCell.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::passes {

namespace {

class BackwardBuilder {
public:
  BackwardBuilder(const RecurrentOp &r, int64_t layer, int64_t direction)
      : r(r), b(r.b), loc(r.loc), layer(layer),
        goesBack(r.isReverse(direction)), lead{layer, direction},
        recurrence(b, loc, r.steps, r.batch, !r.isReverse(direction)) {}

  BackwardLayer build(Value x, Value dy, int64_t offset);

private:
  void declareOperands(Value dy, int64_t offset);
  void declareResults();
  /// Products of dG, columns [from, from + depth), with weights of these gates.
  ProductSource productsOfGates(int64_t result, int64_t firstGate,
                                int64_t count);

  // Reads of a stage.
  Scalar saved(StageBuilder &s, int64_t value) {
    return s.operand(workspace, value * r.hidden);
  }
  /// What the workspace has of the step before in the forward operation, from
  /// column `offset` on, or operand `initial`.
  Scalar before(StageBuilder &s, int64_t offset, int64_t initial) {
    Scalar x = s.following(workspace, offset, initial);
    if (lengths < 0 || !goesBack)
      return x;
    // The forward operation began within the steps.
    Scalar first = initial < 0 ? s.constant(0) : s.operand(initial);
    return select(s.isBefore(lengths, /*next=*/true), x, first);
  }
  Scalar hBefore(StageBuilder &s) {
    return r.hasOwnStates() ? s.constant(0)
                            : before(s, r.savedValues() * r.hidden, srcIter);
  }
  /// The gradient of h but for that of dst_layer, and with it.
  Scalar fromLater(StageBuilder &s) {
    Scalar sum = productsSum(s);
    return past < 0 ? sum : s.state(pastState) + sum;
  }
  Scalar productsSum(StageBuilder &s) {
    return r.hasOwnStates() ? s.constant(0) : s.sum(0);
  }
  /// `x`, or `otherwise` at steps beyond the lengths.
  Scalar ifCounts(StageBuilder &s, Scalar x, Scalar otherwise) {
    return lengths < 0 ? x : select(s.isBefore(lengths), x, otherwise);
  }
  Scalar ifCounts(StageBuilder &s, Scalar x) {
    return ifCounts(s, x, s.constant(0));
  }
  void storePast(StageBuilder &s, Scalar x) {
    if (past >= 0)
      s.store(past, 0, x);
  }
  void storeHBefore(StageBuilder &s) {
    if (hs >= 0)
      s.store(hs, 0, hBefore(s));
  }

  void rnn();
  void lstm();
  StageBuilder &unproject(Scalar &dh);
  void lstmGates(StageBuilder &s, Scalar dh);
  void gru();
  void linearBeforeReset();
  /// Gradients of u, and of v, the update gate with attention.
  struct Update {
    Scalar du, v;
  };
  Update updateGate(StageBuilder &s, Scalar u, Scalar o, Scalar dh);

  // After the recurrence.
  Value flat(Value v);
  Value overSteps(Value x, Value y);
  Value counted(Value x);
  Value sumOfSteps(Value v);
  Value weightsIter();
  Value bias();
  Value initialH();

  const RecurrentOp &r;
  OpBuilder &b;
  Location loc;
  int64_t layer;
  bool goesBack; // the forward operation does
  SmallVector<int64_t> lead;
  RecurrenceBuilder recurrence;
  Value iterWeights; // [SIC, G * DHC]
  // Operands; -1 if there are none.
  int64_t dy = -1, dyOffset = 0, workspace = -1, srcIter = -1, srcIterC = -1;
  int64_t peephole = -1, lengths = -1, attention = -1, initialC = -1;
  // Results, -1 where nobody needs them; gates, those of products with the
  // state, which differ for linear_before_reset; h before each step, and r * h.
  int64_t dG = -1, dGOfState = -1, past = -1, dC = -1, hs = -1, resets = -1;
  int64_t dP = -1, unprojected = -1, dProjected = -1, da = -1, counts = -1;
  int64_t gateState = -1, pastState = -1, cState = -1;
};

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

void BackwardBuilder::declareOperands(Value dyValue, int64_t offset) {
  dy = recurrence.perStep(dyValue);
  dyOffset = offset;
  workspace = recurrence.perStep(r.operand("workspace"), lead);
  iterWeights = r.weightsOf("weights_iter", lead[0], lead[1]);
  if (Value v = r.operand("src_iter"); v && !r.hasOwnStates())
    srcIter = recurrence.perRow(v, lead);
  if (Value v = r.operand("src_iter_c"))
    srcIterC = recurrence.perRow(v, lead);
  if (Value v = r.operand("diff_dst_iter_c"))
    initialC = recurrence.perRow(v, lead);
  if (Value v = r.operand("sequence_lengths"))
    lengths = recurrence.perRow(buildReshape(b, loc, v, {r.batch, 1}));
  if (Value v = r.operand("attention"))
    attention = recurrence.perStep(r.stepsFirst(v));
  if (Value v = r.operand("weights_peephole")) {
    Value rows = buildSlice(b, loc, v, {lead[0], lead[1], 0, 0}, {3, r.hidden});
    peephole = recurrence.vector(buildReshape(b, loc, rows, {3 * r.hidden}));
  }
}

void BackwardBuilder::declareResults() {
  Type f32 = b.getF32Type(), narrow = r.elementType();
  bool isGru = r.kind == CellKind::gru;
  bool isLinear = r.kind == CellKind::linearBeforeReset;
  int64_t columns = r.gates() * r.hidden;
  dG = recurrence.sequence(narrow, columns);
  dGOfState = isLinear ? recurrence.sequence(narrow, columns) : dG;
  gateState =
      recurrence.state(dGOfState, 0, isGru ? 2 * r.hidden : columns, -1);
  Value after = r.operand("diff_dst_iter");
  if (after || isGru || isLinear || lengths >= 0) {
    past = recurrence.sequence(f32, r.outputs, /*ring=*/1);
    pastState = recurrence.state(past, 0, r.outputs,
                                 after ? recurrence.perRow(after, lead) : -1);
  }
  if (r.kind == CellKind::lstm) {
    dC = recurrence.sequence(f32, r.hidden, /*ring=*/1);
    cState = recurrence.state(dC, 0, r.hidden, initialC);
    if (r.isWanted("diff_src_iter_c"))
      recurrence.wantFinal(cState);
  }
  if (r.isWanted("diff_weights_iter") && !r.hasOwnStates()) {
    hs = recurrence.sequence(narrow, r.states);
    if (isGru)
      resets = recurrence.sequence(narrow, r.hidden);
  }
  if (r.isWanted("diff_weights_peephole"))
    dP = recurrence.sequence(f32, 3 * r.hidden);
  if (r.operand("weights_projection")) {
    dProjected = recurrence.sequence(narrow, r.outputs);
    if (r.isWanted("diff_weights_projection"))
      unprojected = recurrence.sequence(narrow, r.hidden);
  }
  if (r.isWanted("diff_attention"))
    da = recurrence.sequence(f32, r.hidden);
  if (lengths >= 0 && r.isWanted("diff_weights_layer"))
    counts = recurrence.sequence(f32, 1);
  if (r.isWanted("diff_src_iter")) {
    recurrence.wantFinal(gateState);
    if (past >= 0)
      recurrence.wantFinal(pastState);
  }
}

ProductSource BackwardBuilder::productsOfGates(int64_t result,
                                               int64_t firstGate,
                                               int64_t count) {
  if (r.hasOwnStates())
    return {};
  Value w =
      buildColumns(b, loc, iterWeights, firstGate * r.hidden, count * r.hidden);
  w = buildReshape(b, loc, swapLastTwo(b, w), {1, count * r.hidden, r.states});
  ProductSource source{recurrence.weights(w), 1};
  if (result < 0) {
    source.state = gateState;
  } else {
    source.result = result;
    source.offset = firstGate * r.hidden;
    source.depth = count * r.hidden;
  }
  return source;
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

void BackwardBuilder::rnn() {
  StageBuilder &s = recurrence.stage(r.hidden, productsOfGates(-1, 0, 1));
  Scalar later = fromLater(s);
  Scalar dh = later + s.operand(dy, dyOffset);
  s.store(dG, 0, ifCounts(s, dh * saved(s, 0)));
  storePast(s, ifCounts(s, s.constant(0), later));
  storeHBefore(s);
}

/// The stage after the one that makes dh of the projected h.
StageBuilder &BackwardBuilder::unproject(Scalar &dh) {
  StageBuilder &first =
      recurrence.stage(r.outputs, productsOfGates(-1, 0, r.gates()));
  Scalar later = fromLater(first);
  first.store(dProjected, 0,
              ifCounts(first, later + first.operand(dy, dyOffset)));
  storePast(first, ifCounts(first, first.constant(0), later));
  storeHBefore(first);
  Value w = buildSlice(b, loc, r.operand("weights_projection"),
                       {lead[0], lead[1], 0, 0}, {r.hidden, r.outputs});
  w = buildReshape(b, loc, swapLastTwo(b, w), {1, r.outputs, r.hidden});
  StageBuilder &second = recurrence.stage(
      r.hidden, {recurrence.weights(w), 1, -1, dProjected, 0, r.outputs});
  dh = second.sum(0);
  return second;
}

void BackwardBuilder::lstm() {
  Scalar dh;
  if (r.operand("weights_projection"))
    return lstmGates(unproject(dh), dh);
  StageBuilder &s =
      recurrence.stage(r.hidden, productsOfGates(-1, 0, r.gates()));
  Scalar later = fromLater(s);
  dh = later + s.operand(dy, dyOffset);
  storePast(s, ifCounts(s, s.constant(0), later));
  storeHBefore(s);
  lstmGates(s, dh);
}

void BackwardBuilder::lstmGates(StageBuilder &s, Scalar dh) {
  Scalar i = saved(s, 0), f = saved(s, 1), candidate = saved(s, 2),
         o = saved(s, 3), c = saved(s, 4);
  Scalar cBefore = before(s, 4 * r.hidden, srcIterC);
  Scalar later = s.state(cState), t = tanh(c);
  auto peek = [&](int64_t row, Scalar x) {
    return peephole < 0 ? Scalar() : s.operand(peephole, row * r.hidden) * x;
  };
  Scalar dO = t * dh * o * (1 - o);
  Scalar dc = later + (1 - t * t) * o * dh + peek(2, dO);
  Scalar dF = cBefore * dc * f * (1 - f);
  Scalar dI = candidate * dc * i * (1 - i);
  Scalar dCandidate = i * dc * (1 - candidate * candidate);
  for (auto [g, x] :
       llvm::enumerate(SmallVector<Scalar>{dI, dF, dCandidate, dO}))
    s.store(dG, g * r.hidden, ifCounts(s, x));
  s.store(dC, 0, ifCounts(s, f * dc + peek(1, dF) + peek(0, dI), later));
  if (dP >= 0) {
    s.store(dP, 0, ifCounts(s, dI * cBefore));
    s.store(dP, r.hidden, ifCounts(s, dF * cBefore));
    s.store(dP, 2 * r.hidden, ifCounts(s, dO * c));
  }
  if (unprojected >= 0)
    s.store(unprojected, 0, o * t);
}

BackwardBuilder::Update BackwardBuilder::updateGate(StageBuilder &s, Scalar u,
                                                    Scalar o, Scalar dh) {
  Scalar dv = (hBefore(s) - o) * dh;
  if (da >= 0)
    s.store(da, 0, ifCounts(s, u * dv));
  Scalar du = dv * u * (1 - u);
  if (attention < 0)
    return {du, u};
  Scalar rest = 1 - s.operand(attention);
  return {rest * du, rest * u};
}

void BackwardBuilder::gru() {
  int64_t kept = recurrence.sequence(b.getF32Type(), r.hidden, /*ring=*/1);
  StageBuilder &first = recurrence.stage(r.hidden, productsOfGates(-1, 0, 2));
  Scalar later = fromLater(first);
  Scalar dh = later + first.operand(dy, dyOffset);
  Scalar o = saved(first, 2);
  Update update = updateGate(first, saved(first, 0), o, dh);
  first.store(dG, 0, ifCounts(first, update.du));
  first.store(dG, 2 * r.hidden,
              ifCounts(first, (1 - update.v) * dh * (1 - o * o)));
  first.store(kept, 0, ifCounts(first, update.v * dh, later));

  StageBuilder &second = recurrence.stage(r.hidden, productsOfGates(dG, 2, 1));
  Scalar e = second.sum(0), reset = saved(second, 1), h = hBefore(second);
  second.store(dG, r.hidden, ifCounts(second, h * e * reset * (1 - reset)));
  second.store(past, 0, second.result(kept) + reset * e);
  storeHBefore(second);
  if (resets >= 0)
    second.store(resets, 0, ifCounts(second, reset * h));
}

void BackwardBuilder::linearBeforeReset() {
  StageBuilder &s = recurrence.stage(r.hidden, productsOfGates(-1, 0, 3));
  Scalar later = fromLater(s);
  Scalar dh = later + s.operand(dy, dyOffset);
  Scalar reset = saved(s, 1), o = saved(s, 2), z = saved(s, 3);
  Update update = updateGate(s, saved(s, 0), o, dh);
  Scalar dO = (1 - update.v) * dh * (1 - o * o);
  Scalar dR = z * dO * reset * (1 - reset);
  for (auto [g, x] : llvm::enumerate(SmallVector<Scalar>{update.du, dR, dO}))
    s.store(dG, g * r.hidden, ifCounts(s, x));
  for (auto [g, x] :
       llvm::enumerate(SmallVector<Scalar>{update.du, dR, reset * dO}))
    s.store(dGOfState, g * r.hidden, ifCounts(s, x));
  storePast(s, ifCounts(s, update.v * dh, later));
  storeHBefore(s);
}

//===----------------------------------------------------------------------===//
// Gradients of weights
//===----------------------------------------------------------------------===//

/// [T, N, C] as [T * N, C].
Value BackwardBuilder::flat(Value v) {
  ArrayRef<int64_t> shape = rankedType(v).getShape();
  bool isKnown =
      !ShapedType::isDynamic(shape[0]) && !ShapedType::isDynamic(shape[1]);
  return buildReshape(
      b, loc, v,
      {isKnown ? shape[0] * shape[1] : ShapedType::kDynamic, shape[2]});
}

/// The product of x [T, N, K] and y [T, N, M] over steps and batch: [K, M].
Value BackwardBuilder::overSteps(Value x, Value y) {
  int64_t k = rankedType(x).getShape().back(),
          m = rankedType(y).getShape().back();
  if (k && m)
    return buildProduct(b, loc, flat(x), flat(y), /*transposeX=*/true);
  auto type = RankedTensorType::get({k, m}, b.getF32Type());
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, 0.0f));
}

/// `x` with zeros at steps beyond the lengths, whatever is there.
Value BackwardBuilder::counted(Value x) {
  if (counts < 0)
    return x;
  Value ones = recurrence.resultOf(counts);
  auto type = rankedType(ones);
  Value does =
      buildGraphOp(b, loc, "GreaterEqual", {ones, buildScalar(b, loc, 1)},
                   RankedTensorType::get(type.getShape(), b.getI1Type()));
  Value zero =
      buildCast(b, loc, buildScalar(b, loc, 0), rankedType(x).getElementType());
  return buildGraphOp(b, loc, "Select", {does, x, zero}, rankedType(x));
}

/// The sum over steps and batch, in f32.
Value BackwardBuilder::sumOfSteps(Value v) {
  v = buildImplicitCast(b, loc, v, b.getF32Type());
  auto type =
      RankedTensorType::get({rankedType(v).getShape().back()}, b.getF32Type());
  return buildGraphOp(b, loc, "ReduceSum", v, type,
                      {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({0, 1})),
                       b.getNamedAttr("keep_dims", b.getBoolAttr(false))});
}

Value BackwardBuilder::weightsIter() {
  Value gates = recurrence.resultOf(dGOfState);
  if (r.hasOwnStates()) { // one step
    Value h = r.operand("src_iter");
    if (!h) {
      auto type = RankedTensorType::get({r.states, r.gates() * r.hidden},
                                        b.getF32Type());
      return arith::ConstantOp::create(b, loc,
                                       DenseElementsAttr::get(type, 0.0f));
    }
    h = buildSlice(b, loc, h, {lead[0], lead[1], 0, 0}, {r.batch, r.states});
    h = buildReshape(b, loc, h, {1, r.batch, r.states});
    return overSteps(h, gates);
  }
  Value h = recurrence.resultOf(hs);
  if (resets < 0)
    return overSteps(h, gates);
  int64_t both = 2 * r.hidden;
  SmallVector<Value> parts{
      overSteps(h, buildColumns(b, loc, gates, 0, both)),
      overSteps(recurrence.resultOf(resets),
                buildColumns(b, loc, gates, both, r.hidden))};
  return buildConcat(b, loc, parts, 1);
}

Value BackwardBuilder::bias() {
  Value sums = sumOfSteps(recurrence.resultOf(dG));
  if (r.kind != CellKind::linearBeforeReset)
    return sums;
  Value last = buildColumns(b, loc, recurrence.resultOf(dGOfState),
                            2 * r.hidden, r.hidden);
  SmallVector<Value> parts{sums, sumOfSteps(last)};
  return buildConcat(b, loc, parts, 0);
}

/// The gradient of src_iter.
Value BackwardBuilder::initialH() {
  Value gates = recurrence.finalOf(gateState);
  int64_t k = rankedType(gates).getShape().back();
  gates = buildReshape(b, loc, gates, {r.batch, k});
  Value w = buildColumns(b, loc, iterWeights, 0, k);
  Value dh = buildProduct(b, loc, gates, w, false, /*transposeW=*/true);
  dh = buildReshape(b, loc, dh, {1, 1, r.batch, r.states});
  if (past < 0 || r.hasOwnStates())
    return dh;
  return buildBinary(b, loc, "Add", dh, recurrence.finalOf(pastState));
}

BackwardLayer BackwardBuilder::build(Value x, Value dyValue, int64_t offset) {
  declareOperands(dyValue, offset);
  declareResults();
  if (counts >= 0) {
    StageBuilder &s = recurrence.stage(1);
    s.store(counts, 0, ifCounts(s, s.constant(1)));
  }
  switch (r.kind) {
  case CellKind::rnn:
    rnn();
    break;
  case CellKind::lstm:
    lstm();
    break;
  case CellKind::gru:
    gru();
    break;
  case CellKind::linearBeforeReset:
    linearBeforeReset();
    break;
  }
  recurrence.build();

  BackwardLayer built;
  Value gates = recurrence.resultOf(dG);
  if (layer > 0 || r.isWanted("diff_src_layer"))
    built.x = buildProduct(b, loc, gates,
                           r.weightsOf("weights_layer", lead[0], lead[1]),
                           false, /*transposeW=*/true);
  if (r.isWanted("diff_weights_layer"))
    built.weightsLayer = overSteps(counted(x), gates);
  if (r.isWanted("diff_weights_iter"))
    built.weightsIter = weightsIter();
  if (r.isWanted("diff_bias"))
    built.bias = bias();
  if (r.isWanted("diff_src_iter"))
    built.h = initialH();
  if (r.isWanted("diff_src_iter_c"))
    built.c = recurrence.finalOf(cState);
  if (dP >= 0)
    built.peephole = sumOfSteps(recurrence.resultOf(dP));
  if (unprojected >= 0)
    built.projection = overSteps(recurrence.resultOf(unprojected),
                                 recurrence.resultOf(dProjected));
  if (da >= 0) {
    Value parts = recurrence.resultOf(da);
    auto type = RankedTensorType::get({r.steps, r.batch, 1}, b.getF32Type());
    Value sum =
        buildGraphOp(b, loc, "ReduceSum", parts, type,
                     {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({2})),
                      b.getNamedAttr("keep_dims", b.getBoolAttr(true))});
    built.attention =
        buildBinary(b, loc, "Multiply", sum, buildScalar(b, loc, -1));
  }
  return built;
}

} // namespace

BackwardLayer buildBackwardLayer(const RecurrentOp &r, Value x, Value dy,
                                 int64_t offset, int64_t layer,
                                 int64_t direction) {
  return BackwardBuilder(r, layer, direction).build(x, dy, offset);
}

} // namespace tenon::passes
