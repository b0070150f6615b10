//===- ForwardCells.cpp - steps of recurrent cells ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One layer of one direction: the product of all steps with the weights of the
// layer, then a recurrence whose stages are the formulas of the cell.
//
// In int8, states and what is read are codes, weights codes too. The sums are
// those of codes; what they stand for follows from
//
//   sum (q - shift) w / (scale * scale of w)
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "passes/graph/RecurrenceBuilder.h"
#include "passes/graph/RecurrentCell.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace tenon::passes {

namespace {

class ForwardBuilder {
public:
  ForwardBuilder(const RecurrentOp &r, int64_t layer, int64_t direction)
      : r(r), b(r.b), loc(r.loc), layer(layer), direction(direction),
        lead{layer, direction},
        recurrence(b, loc, r.steps, r.batch, r.isReverse(direction)) {}

  ForwardLayer build(Value x);

private:
  // Operands of the recurrence.
  Value biasRows(int64_t first, int64_t count);
  Value gateProduct(Value x, Value w);
  Value fromInputs(Value x);
  Value fromInitialState();
  Value initialState();
  Type elementOfH() const { return r.elementType(); }
  void declareOperands(Value x);
  void declareResults();
  ProductSource productsOfState(int64_t first, int64_t count);

  // Int8: of each column of products, the factor of a sum and what is
  // subtracted then.
  struct Dequantization {
    int64_t factor = -1, offset = -1;
  };
  Value vectorConstant(ArrayRef<float> values);
  Value inverseScales(StringRef attr, int64_t columns);
  Value shiftOf(Value weights, Value inverse);
  Value codesOf(Value real);
  Dequantization dequantization(Value weights, StringRef scales);

  // Arithmetic of a stage.
  /// Sum `i` of the stage, of products with the weights of gate `g`.
  Scalar sum(StageBuilder &s, int64_t i, int64_t g);
  /// The same with what comes from the layer below.
  Scalar gate(StageBuilder &s, int64_t g, int64_t i) {
    Scalar below = s.operand(gates, g * r.hidden);
    return r.hasOwnStates() ? below : below + sum(s, i, g);
  }
  Scalar dequantized(StageBuilder &s, Scalar sum, const Dequantization &d,
                     int64_t column);
  Scalar hBefore(StageBuilder &s) { return decoded(s.state(h)); }
  /// What a code stands for, and the code of a number before rounding.
  Scalar decoded(Scalar code);
  Scalar encoded(Scalar number);
  void save(StageBuilder &s, int64_t value, Scalar x);
  void storeH(StageBuilder &s, Scalar next);
  void storeC(StageBuilder &s, Scalar next);

  void rnn();
  void lstm();
  void project(int64_t unprojected);
  void gru();
  void linearBeforeReset();
  /// h of the unit, from u and o.
  Scalar mix(StageBuilder &s, Scalar u, Scalar o);

  const RecurrentOp &r;
  OpBuilder &b;
  Location loc;
  int64_t layer, direction;
  SmallVector<int64_t> lead;
  RecurrenceBuilder recurrence;
  Value iterWeights; // [SIC, G * DHC]
  // Operands; -1 if there are none.
  int64_t gates = -1, lengths = -1, attention = -1, peephole = -1;
  Dequantization iter;
  // Results, and states.
  int64_t y = -1, masked = -1, workspace = -1, cells = -1;
  int64_t h = -1, c = -1;
};

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Rows of the bias of this layer, one after the other; null without bias.
Value ForwardBuilder::biasRows(int64_t first, int64_t count) {
  Value bias = r.operand("bias");
  if (!bias)
    return {};
  Value rows =
      buildSlice(b, loc, bias, {layer, direction, first, 0}, {count, r.hidden});
  rows = buildReshape(b, loc, rows, {count * r.hidden});
  return buildImplicitCast(b, loc, rows, b.getF32Type());
}

Value ForwardBuilder::vectorConstant(ArrayRef<float> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())},
                                    b.getF32Type());
  return arith::ConstantOp::create(b, loc,
                                   DenseElementsAttr::get(type, values));
}

static SmallVector<float> scalesIn(Operation *op, StringRef attr) {
  auto scales = op->getAttrOfType<DenseF32ArrayAttr>(attr);
  return scales ? SmallVector<float>(scales.asArrayRef())
                : SmallVector<float>();
}

/// 1 / (scale of weights * scale of data) for each column.
Value ForwardBuilder::inverseScales(StringRef attr, int64_t columns) {
  SmallVector<float> given = scalesIn(r.op, attr), factors;
  for (int64_t i = 0; i < columns; ++i) {
    float scale = given.empty() ? 1 : given[given.size() == 1 ? 0 : i];
    factors.push_back(1 / (scale * r.dataScale()));
  }
  return vectorConstant(factors);
}

/// What the shift of the data adds to sums with weights [K, N].
Value ForwardBuilder::shiftOf(Value weights, Value inverse) {
  Value codes = buildCast(b, loc, weights, b.getF32Type());
  auto type = RankedTensorType::get({rankedType(weights).getDimSize(1)},
                                    b.getF32Type());
  Value sums =
      buildGraphOp(b, loc, "ReduceSum", codes, type,
                   {b.getNamedAttr("axes", b.getDenseI64ArrayAttr({0})),
                    b.getNamedAttr("keep_dims", b.getBoolAttr(false))});
  sums = buildBinary(b, loc, "Multiply", sums, inverse);
  return buildBinary(b, loc, "Multiply", sums,
                     buildScalar(b, loc, r.dataShift()));
}

ForwardBuilder::Dequantization
ForwardBuilder::dequantization(Value weights, StringRef scales) {
  Value inverse = inverseScales(scales, rankedType(weights).getDimSize(1));
  return {recurrence.vector(inverse),
          recurrence.vector(shiftOf(weights, inverse))};
}

/// x [.., K] times weights [K, G * DHC], as numbers.
Value ForwardBuilder::gateProduct(Value x, Value w) {
  if (!r.isInt8)
    return buildProduct(b, loc, x, w);
  auto codes = [&](Value v) {
    auto type = RankedTensorType::get(rankedType(v).getShape(), b.getF32Type());
    return buildGraphOp(b, loc, "Dequantize", v, type,
                        {b.getNamedAttr("scales", b.getDenseF32ArrayAttr({1})),
                         b.getNamedAttr("zps", b.getDenseI64ArrayAttr({0}))});
  };
  Value product = buildProduct(b, loc, codes(x), codes(w));
  Value inverse = inverseScales("weights_scales", r.gates() * r.hidden);
  product = buildBinary(b, loc, "Multiply", product, inverse);
  return buildBinary(b, loc, "Subtract", product, shiftOf(w, inverse));
}

/// What the gates get from the initial state where it is of its own width, so
/// that there is one step: [N, G * DHC], or null.
Value ForwardBuilder::fromInitialState() {
  Value h = initialState();
  if (!h)
    return {};
  h = r.operand("src_iter")
          ? buildSlice(b, loc, h, {layer, direction, 0, 0}, {r.batch, r.states})
          : buildReshape(b, loc, h, {1, r.states});
  return gateProduct(h, iterWeights);
}

/// What the gates get from `x` at all steps, bias included: [T, N, G * DHC].
Value ForwardBuilder::fromInputs(Value x) {
  // The rows first: what is there before a product may be added in it.
  Value bias = biasRows(0, r.gates());
  Value product =
      gateProduct(x, r.weightsOf("weights_layer", layer, direction));
  return bias ? buildBinary(b, loc, "Add", product, bias) : product;
}

/// The code of 0.
static uint8_t codeOfZero(const RecurrentOp &r) {
  float code = std::nearbyint(r.dataShift());
  return static_cast<uint8_t>(std::clamp(code, 0.0f, 255.0f));
}

/// Codes of the numbers `real`.
Value ForwardBuilder::codesOf(Value real) {
  Value code =
      buildBinary(b, loc, "Multiply", real, buildScalar(b, loc, r.dataScale()));
  code = buildBinary(b, loc, "Add", code, buildScalar(b, loc, r.dataShift()));
  code = buildGraphOp(b, loc, "Round", code, rankedType(code));
  return buildCast(b, loc, code, b.getIntegerType(8, /*isSigned=*/false));
}

/// src_iter, or, in int8, the code of 0; null where zeros need no memory.
Value ForwardBuilder::initialState() {
  Value given = r.operand("src_iter");
  if (!r.isInt8)
    return given;
  Type u8 = b.getIntegerType(8, /*isSigned=*/false);
  if (given)
    return rankedType(given).getElementType() == u8 ? given : codesOf(given);
  auto type = RankedTensorType::get({r.states}, u8);
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, APInt(8, codeOfZero(r))));
}

void ForwardBuilder::declareOperands(Value x) {
  iterWeights = r.weightsOf("weights_iter", layer, direction);
  Value sums = fromInputs(x);
  if (r.hasOwnStates())
    if (Value own = fromInitialState())
      sums = buildBinary(b, loc, "Add", sums, own);
  gates = recurrence.perStep(sums);
  if (r.isInt8)
    iter = dequantization(iterWeights, "weights_scales");
  if (Value v = r.operand("sequence_lengths"))
    lengths = recurrence.perRow(buildReshape(b, loc, v, {r.batch, 1}));
  if (Value v = r.operand("attention"))
    attention = recurrence.perStep(r.stepsFirst(v));
  if (Value v = r.operand("weights_peephole")) {
    Value rows = buildSlice(b, loc, v, {layer, direction, 0, 0}, {3, r.hidden});
    peephole = recurrence.vector(buildReshape(b, loc, rows, {3 * r.hidden}));
  }
}

void ForwardBuilder::declareResults() {
  Type element = elementOfH();
  y = recurrence.sequence(element, r.outputs);
  int64_t initial = -1;
  if (Value v = r.hasOwnStates() ? Value() : initialState())
    initial = r.operand("src_iter") ? recurrence.perRow(v, lead)
                                    : recurrence.vector(v);
  h = recurrence.state(y, 0, r.outputs, r.hasOwnStates() ? -1 : initial);
  if (lengths >= 0)
    masked = recurrence.sequence(element, r.outputs);
  if (r.isWanted("workspace"))
    workspace = recurrence.sequence(b.getF32Type(), r.workspaceColumns(),
                                    /*ring=*/0, /*lead=*/2);
  if (r.isWanted("dst_iter"))
    recurrence.wantFinal(h);
  if (r.kind != CellKind::lstm)
    return;
  cells = recurrence.sequence(b.getF32Type(), r.hidden, /*ring=*/1);
  Value given = r.operand("src_iter_c");
  c = recurrence.state(cells, 0, r.hidden,
                       given ? recurrence.perRow(given, lead) : -1);
  if (r.isWanted("dst_iter_c"))
    recurrence.wantFinal(c);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Scalar ForwardBuilder::dequantized(StageBuilder &s, Scalar sum,
                                   const Dequantization &d, int64_t column) {
  return sum * s.operand(d.factor, column) - s.operand(d.offset, column);
}

Scalar ForwardBuilder::sum(StageBuilder &s, int64_t i, int64_t g) {
  return r.isInt8 ? dequantized(s, s.sum(i), iter, g * r.hidden) : s.sum(i);
}

Scalar ForwardBuilder::decoded(Scalar code) {
  return r.isInt8 ? (code + -double(r.dataShift())) / r.dataScale() : code;
}
Scalar ForwardBuilder::encoded(Scalar number) {
  return r.isInt8 ? number * r.dataScale() + double(r.dataShift()) : number;
}

void ForwardBuilder::save(StageBuilder &s, int64_t value, Scalar x) {
  if (workspace < 0)
    return;
  if (lengths >= 0)
    x = select(s.isBefore(lengths), x, s.constant(0));
  s.store(workspace, value * r.hidden, x);
}

/// Stores h, which steps beyond the lengths leave as it was.
void ForwardBuilder::storeH(StageBuilder &s, Scalar next) {
  Scalar code = encoded(next);
  save(s, r.savedValues(), code);
  if (lengths >= 0) {
    Value counts = s.isBefore(lengths);
    s.store(masked, 0, select(counts, code, encoded(s.constant(0))));
    code = select(counts, code, s.state(h));
  }
  s.store(y, 0, code);
}

/// The same for c.
void ForwardBuilder::storeC(StageBuilder &s, Scalar next) {
  save(s, 4, next);
  if (lengths >= 0)
    next = select(s.isBefore(lengths), next, s.state(c));
  s.store(cells, 0, next);
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

/// The products of h with the weights of gates `first` and later.
ProductSource ForwardBuilder::productsOfState(int64_t first, int64_t count) {
  if (r.hasOwnStates())
    return {};
  Value weights = buildGates(b, loc, iterWeights, r.hidden, first, count);
  return {recurrence.weights(weights), count, h};
}

void ForwardBuilder::rnn() {
  StageBuilder &s = recurrence.stage(r.hidden, productsOfState(0, 1));
  std::string activation = stringAttr(r.op, "activation");
  Scalar z = gate(s, 0, 0), next, derivative;
  if (activation == "relu") {
    Scalar slope = s.constant(floatAttr(r.op, "alpha"));
    next = ifPositive(z, z, z * slope);
    derivative = ifPositive(z, s.constant(1), slope);
  } else if (activation == "tanh") {
    next = tanh(z);
    derivative = 1 - next * next;
  } else {
    next = sigmoid(z);
    derivative = next * (1 - next);
  }
  save(s, 0, derivative);
  storeH(s, next);
}

void ForwardBuilder::lstm() {
  Value projection = r.operand("weights_projection");
  int64_t unprojected = -1;
  if (projection)
    unprojected = recurrence.sequence(elementOfH(), r.hidden, /*ring=*/1);
  StageBuilder &s = recurrence.stage(r.hidden, productsOfState(0, 4));
  Scalar before = s.state(c);
  auto peek = [&](int64_t row, Scalar cell) {
    return peephole < 0 ? Scalar() : s.operand(peephole, row * r.hidden) * cell;
  };
  Scalar i = sigmoid(gate(s, 0, 0) + peek(0, before));
  Scalar f = sigmoid(gate(s, 1, 1) + peek(1, before));
  Scalar candidate = tanh(gate(s, 2, 2));
  Scalar cell = f * before + i * candidate;
  Scalar o = sigmoid(gate(s, 3, 3) + peek(2, cell));
  Scalar next = o * tanh(cell);
  for (auto [n, value] :
       llvm::enumerate(SmallVector<Scalar>{i, f, candidate, o}))
    save(s, n, value);
  storeC(s, cell);
  if (!projection)
    return storeH(s, next);
  s.store(unprojected, 0, encoded(next));
  project(unprojected);
}

/// h from what the stage before has stored.
void ForwardBuilder::project(int64_t unprojected) {
  Value weights = buildSlice(b, loc, r.operand("weights_projection"),
                             {layer, direction, 0, 0}, {r.hidden, r.outputs});
  Dequantization d;
  if (r.isInt8)
    d = dequantization(weights, "projection_scales");
  Value columns = buildReshape(b, loc, weights, {1, r.hidden, r.outputs});
  ProductSource source{
      recurrence.weights(columns), 1, -1, unprojected, 0, r.hidden};
  StageBuilder &s = recurrence.stage(r.outputs, source);
  storeH(s, r.isInt8 ? dequantized(s, s.sum(0), d, 0) : s.sum(0));
}

Scalar ForwardBuilder::mix(StageBuilder &s, Scalar u, Scalar o) {
  if (attention >= 0)
    u = (1 - s.operand(attention)) * u;
  return u * hBefore(s) + (1 - u) * o;
}

void ForwardBuilder::gru() {
  int64_t reset = recurrence.sequence(elementOfH(), r.hidden, /*ring=*/1);
  int64_t update = recurrence.sequence(b.getF32Type(), r.hidden, /*ring=*/1);
  StageBuilder &first = recurrence.stage(r.hidden, productsOfState(0, 2));
  Scalar u = sigmoid(gate(first, 0, 0)), rs = sigmoid(gate(first, 1, 1));
  save(first, 0, u);
  save(first, 1, rs);
  first.store(update, 0, u);
  first.store(reset, 0, encoded(rs * hBefore(first)));

  ProductSource source = productsOfState(2, 1);
  source.state = -1;
  source.result = reset;
  source.depth = r.hidden;
  StageBuilder &second = recurrence.stage(r.hidden, source);
  Scalar o = tanh(gate(second, 2, 0));
  save(second, 2, o);
  storeH(second, mix(second, second.result(update), o));
}

void ForwardBuilder::linearBeforeReset() {
  int64_t bias = -1;
  if (Value row = biasRows(3, 1))
    bias = recurrence.vector(row);
  StageBuilder &s = recurrence.stage(r.hidden, productsOfState(0, 3));
  Scalar u = sigmoid(gate(s, 0, 0)), rs = sigmoid(gate(s, 1, 1));
  Scalar z = s.sum(2);
  if (bias >= 0)
    z = z + s.operand(bias);
  Scalar o = tanh(s.operand(gates, 2 * r.hidden) + rs * z);
  for (auto [n, value] : llvm::enumerate(SmallVector<Scalar>{u, rs, o, z}))
    save(s, n, value);
  storeH(s, mix(s, u, o));
}

ForwardLayer ForwardBuilder::build(Value x) {
  declareOperands(x);
  declareResults();
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
  ForwardLayer built;
  built.y = recurrence.resultOf(masked >= 0 ? masked : y);
  if (r.isWanted("dst_iter"))
    built.h = recurrence.finalOf(h);
  if (r.isWanted("dst_iter_c"))
    built.c = recurrence.finalOf(c);
  if (workspace >= 0)
    built.workspace = recurrence.resultOf(workspace);
  return built;
}

} // namespace

ForwardLayer buildForwardLayer(const RecurrentOp &r, Value x, int64_t layer,
                               int64_t direction) {
  return ForwardBuilder(r, layer, direction).build(x);
}

} // namespace tenon::passes
