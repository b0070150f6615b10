//===- RecurrenceBuilder.cpp - builds tile.recurrence ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/graph/RecurrenceBuilder.h"

#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tenon::passes {

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

template <typename Op> static Scalar binary(StageBuilder &s, Value x, Value y) {
  return {s, Op::create(s.builder(), s.location(), x, y)};
}

Scalar operator+(Scalar x, Scalar y) {
  if (!x || !y) // what is absent adds nothing
    return x ? x : y;
  return binary<arith::AddFOp>(*x.stage, x.value, y.value);
}
Scalar operator-(Scalar x, Scalar y) {
  return binary<arith::SubFOp>(*x.stage, x.value, y.value);
}
Scalar operator*(Scalar x, Scalar y) {
  return binary<arith::MulFOp>(*x.stage, x.value, y.value);
}
Scalar operator/(Scalar x, Scalar y) {
  return binary<arith::DivFOp>(*x.stage, x.value, y.value);
}
Scalar operator-(double x, Scalar y) { return y.stage->constant(x) - y; }
Scalar operator*(Scalar x, double y) { return x * x.stage->constant(y); }
Scalar operator/(Scalar x, double y) { return x / x.stage->constant(y); }
Scalar operator+(Scalar x, double y) { return x + x.stage->constant(y); }

Scalar sigmoid(Scalar x) {
  StageBuilder &s = *x.stage;
  return {s, emitLogistic(s.builder(), s.location(), x.value)};
}
Scalar tanh(Scalar x) {
  StageBuilder &s = *x.stage;
  return {s, math::TanhOp::create(s.builder(), s.location(), x.value)};
}
Scalar ifPositive(Scalar x, Scalar a, Scalar b) {
  StageBuilder &s = *x.stage;
  Value condition = arith::CmpFOp::create(s.builder(), s.location(),
                                          arith::CmpFPredicate::OGT, x.value,
                                          s.constant(0).get());
  return select(condition, a, b);
}
Scalar select(Value condition, Scalar a, Scalar b) {
  StageBuilder &s = *a.stage;
  return {s, arith::SelectOp::create(s.builder(), s.location(), condition,
                                     a.value, b.value)};
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

StageBuilder::StageBuilder(RecurrenceBuilder &recurrence, int64_t width,
                           ProductSource source)
    : recurrence(recurrence), width(width), source(source),
      region(std::make_unique<Region>()), b(recurrence.b.getContext()),
      loc(recurrence.loc) {
  Block &block = region->emplaceBlock();
  b.setInsertionPointToStart(&block);
  bool bytes =
      source.weights >= 0 && rankedType(recurrence.operands[source.weights])
                                 .getElementType()
                                 .isInteger(8);
  Type type = bytes ? Type(b.getI32Type()) : Type(b.getF32Type());
  for (int64_t i = 0; i < source.products; ++i)
    block.addArgument(type, loc);
}

Scalar StageBuilder::sum(int64_t i) {
  Value sum = region->getArgument(i);
  if (sum.getType().isInteger())
    sum = arith::SIToFPOp::create(b, loc, b.getF32Type(), sum);
  return {*this, sum};
}

Value StageBuilder::read(tile::ReadKind kind, int64_t index, int64_t offset,
                         int64_t otherwise, Type type) {
  auto attr =
      tile::ReadAttr::get(b.getContext(), kind, index, offset, otherwise);
  for (auto [i, other] : llvm::enumerate(reads))
    if (other == attr)
      return region->getArgument(source.products + i);
  reads.push_back(attr);
  return region->addArgument(type, loc);
}

Scalar StageBuilder::operand(int64_t number, int64_t offset) {
  return {*this,
          read(tile::ReadKind::operand, number, offset, -1, b.getF32Type())};
}
Scalar StageBuilder::state(int64_t number, int64_t offset) {
  return {*this,
          read(tile::ReadKind::state, number, offset, -1, b.getF32Type())};
}
Scalar StageBuilder::result(int64_t number, int64_t offset) {
  return {*this,
          read(tile::ReadKind::result, number, offset, -1, b.getF32Type())};
}
Scalar StageBuilder::following(int64_t number, int64_t offset,
                               int64_t otherwise) {
  return {*this, read(tile::ReadKind::following, number, offset, otherwise,
                      b.getF32Type())};
}

Value StageBuilder::isBefore(int64_t lengths, bool next) {
  Value step = read(tile::ReadKind::step, 0, 0, -1, b.getI32Type());
  recurrence.lengths = lengths;
  if (next)
    step = arith::AddIOp::create(
        b, loc, step,
        arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1)));
  Value length = read(tile::ReadKind::operand, lengths, 0, -1, b.getI32Type());
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, step, length);
}

Scalar StageBuilder::constant(double value) {
  return {*this, arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value))};
}

void StageBuilder::store(int64_t result, int64_t offset, Scalar value) {
  targets.push_back(result);
  columns.push_back(offset);
  yields.push_back(value.get());
}

//===----------------------------------------------------------------------===//
// The operation
//===----------------------------------------------------------------------===//

int64_t RecurrenceBuilder::operand(Value v, ArrayRef<int64_t> lead,
                                   bool hasSteps, bool hasBatch) {
  operands.push_back(v);
  forms.push_back(
      tile::StepOperandAttr::get(b.getContext(), lead, hasSteps, hasBatch));
  return operands.size() - 1;
}

int64_t RecurrenceBuilder::sequence(Type element, int64_t columns, int64_t ring,
                                    int64_t lead) {
  SmallVector<int64_t> shape(lead, 1);
  shape.append({ring ? ring : steps, batch, columns});
  types.push_back(RankedTensorType::get(shape, element));
  rings.push_back(ring);
  return rings.size() - 1;
}

int64_t RecurrenceBuilder::state(int64_t result, int64_t offset, int64_t width,
                                 int64_t initial) {
  states.push_back(
      tile::StateAttr::get(b.getContext(), result, offset, width, initial));
  return states.size() - 1;
}

StageBuilder &RecurrenceBuilder::stage(int64_t width, ProductSource source) {
  stages.push_back(std::make_unique<StageBuilder>(*this, width, source));
  return *stages.back();
}

void RecurrenceBuilder::build() {
  SmallVector<Attribute> attrs;
  for (auto &stage : stages) {
    tile::StageYieldOp::create(stage->b, loc, stage->yields);
    const ProductSource &s = stage->source;
    attrs.push_back(tile::StageAttr::get(
        b.getContext(), stage->width, s.weights, s.products, s.state, s.result,
        s.offset, s.depth, /*interleave=*/1, stage->reads, stage->targets,
        stage->columns));
  }
  SmallVector<Type> all(types);
  for (int64_t state : finals) {
    auto attr = cast<tile::StateAttr>(states[state]);
    Type element =
        cast<RankedTensorType>(types[attr.getResult()]).getElementType();
    all.push_back(
        RankedTensorType::get({1, 1, batch, attr.getWidth()}, element));
  }
  op = tile::RecurrenceOp::create(
      b, loc, all, operands, b.getArrayAttr(forms),
      b.getDenseI64ArrayAttr(rings), b.getArrayAttr(states),
      b.getArrayAttr(attrs), b.getDenseI64ArrayAttr(finals),
      lengths < 0 ? IntegerAttr() : b.getI64IntegerAttr(lengths), reverse,
      stages.size());
  for (auto [body, stage] : llvm::zip(op.getBodies(), stages))
    body.takeBody(*stage->region);
}

Value RecurrenceBuilder::finalOf(int64_t state) {
  auto *found = llvm::find(finals, state);
  return op->getResult(rings.size() + (found - finals.begin()));
}

} // namespace tenon::passes
