//===- LowerLoops.cpp - elementwise and row-wise groups -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns a group into a LoopProgram: elementwise operations become computed
// nodes; softmax, normalizations and sums (Reductions.cpp) become reductions
// with computations around them.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "passes/ops/Dropout.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/Literals.h"
#include "passes/tile/loops/LoopBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;

namespace tenon::passes {

SmallVector<Operation *> GroupContext::ops() const {
  SmallVector<Operation *> list;
  func::FuncOp f = group;
  for (Operation &op : f.getBody().front().without_terminator())
    if (!isa<arith::ConstantOp>(op))
      list.push_back(&op);
  return list;
}

SmallVector<Operation *> GroupContext::opsFrom(Operation *first) const {
  SmallVector<Operation *> list = ops();
  list.erase(list.begin(), llvm::find(list, first));
  return list;
}

Strided GroupContext::memoryOf(Value v) {
  if (auto literal = v.getDefiningOp<arith::ConstantOp>())
    return literalMemory(m, cast<DenseElementsAttr>(literal.getValue()));
  return inputs.find(v)->second;
}

using Node = LoopBuilder::Node;

/// `shape` with the channels of a group normalisation as groups x channels.
static SmallVector<Index> splitShape(ArrayRef<Index> shape,
                                     const ReductionSpace &rows) {
  SmallVector<Index> space(shape);
  if (!rows.groups)
    return space;
  Index groups = rows.groups;
  space[rows.channel] = shape[rows.channel] / groups;
  space.insert(space.begin() + rows.channel, groups);
  return space;
}

LoopBuilder::LoopBuilder(GroupContext &ctx, ArrayRef<Index> shape,
                         const ReductionSpace &rows)
    : ctx(ctx), shape(shape), rows(rows), space(splitShape(shape, rows)),
      program(ctx.m, ctx.label, ctx.target.getL2Bytes(), space, rows.reduced),
      f32(ctx.m.builder().getF32Type()) {}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

template <typename Op> Node LoopBuilder::unary(Node x) {
  return program.compute({x}, f32, [](OpBuilder &b, Location l, ValueRange v) {
    return Op::create(b, l, v[0]);
  });
}
template <typename Op> Node LoopBuilder::binary(Node x, Node y) {
  return program.compute({x, y}, program.getNodes()[x].type,
                         [](OpBuilder &b, Location l, ValueRange v) {
                           return Op::create(b, l, v[0], v[1]);
                         });
}

Node LoopBuilder::constant(double v) {
  Node n = program.compute({}, f32, [v](OpBuilder &b, Location l, ValueRange) {
    return arith::ConstantOp::create(b, l, b.getF32FloatAttr(v));
  });
  literals[n] = v;
  return n;
}
const double *LoopBuilder::literalOf(Node n) const {
  auto it = literals.find(n);
  return it == literals.end() ? nullptr : &it->second;
}
Node LoopBuilder::add(Node x, Node y) { return binary<arith::AddFOp>(x, y); }
Node LoopBuilder::sub(Node x, Node y) { return binary<arith::SubFOp>(x, y); }
Node LoopBuilder::mul(Node x, Node y) {
  const double *a = literalOf(x), *b = literalOf(y);
  return a && b ? constant(*a * *b) : binary<arith::MulFOp>(x, y);
}
Node LoopBuilder::div(Node x, Node y) {
  const double *a = literalOf(x), *b = literalOf(y);
  return a && b ? constant(*a / *b) : binary<arith::DivFOp>(x, y);
}
Node LoopBuilder::fma(Node x, Node y, Node z) {
  return program.compute({x, y, z}, f32,
                         [](OpBuilder &b, Location l, ValueRange v) {
                           return math::FmaOp::create(b, l, v[0], v[1], v[2]);
                         });
}
Node LoopBuilder::abs(Node x) { return unary<math::AbsFOp>(x); }
Node LoopBuilder::exp(Node x) {
  return program.compute({x}, f32, [](OpBuilder &b, Location l, ValueRange v) {
    return emitExpOrZero(b, l, v[0]);
  });
}
Node LoopBuilder::expOfDifference(Node x, Node y) {
  return program.compute({x, y}, f32,
                         [](OpBuilder &b, Location l, ValueRange v) {
                           return emitExpOfDifference(b, l, v[0], v[1]);
                         });
}
Node LoopBuilder::log(Node x) { return unary<math::LogOp>(x); }
Node LoopBuilder::log1p(Node x) { return unary<math::Log1pOp>(x); }
Node LoopBuilder::sqrt(Node x) { return unary<math::SqrtOp>(x); }

Node LoopBuilder::inversePower(Node x) {
  constexpr int kMantissaBits = 23, kBias = 127;
  return program.compute({x}, f32, [](OpBuilder &b, Location l, ValueRange v) {
    auto exponent = [&](int32_t biased) -> Value {
      return arith::ConstantOp::create(
          b, l, b.getI32IntegerAttr(biased << kMantissaBits));
    };
    Value bits = arith::BitcastOp::create(b, l, b.getI32Type(), v[0]);
    bits = arith::AndIOp::create(b, l, bits, exponent(0xff));
    bits = arith::MaxSIOp::create(b, l, bits, exponent(1));
    bits = arith::MinSIOp::create(b, l, bits, exponent(2 * kBias - 2));
    bits = arith::SubIOp::create(b, l, exponent(2 * kBias), bits);
    return arith::BitcastOp::create(b, l, b.getF32Type(), bits).getResult();
  });
}

static LoopProgram::Body selectIf(arith::CmpFPredicate predicate) {
  return [predicate](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value c = arith::CmpFOp::create(b, l, predicate, v[0], v[1]);
    return arith::SelectOp::create(b, l, c, v[2], v[3]);
  };
}
Node LoopBuilder::selectGreater(Node x, Node y, Node a, Node b) {
  return program.compute({x, y, a, b}, f32,
                         selectIf(arith::CmpFPredicate::OGT));
}
Node LoopBuilder::selectEqual(Node x, Node y, Node a, Node b) {
  return program.compute({x, y, a, b}, f32,
                         selectIf(arith::CmpFPredicate::OEQ));
}

Node LoopBuilder::reduce(Reduction kind, Node x) {
  return program.reduce(kind, x);
}

/// A term of a sum.
Node LoopBuilder::productOf(Node x, Node y) {
  return program.compute(
      {x, y}, f32, [](OpBuilder &b, Location l, ValueRange v) -> Value {
        return arith::MulFOp::create(b, l, v[0], v[1],
                                     arith::FastMathFlags::contract);
      });
}

Node LoopBuilder::sumOfProducts(Node x, Node y) {
  return reduce(Reduction::sum, productOf(x, y));
}

Node LoopBuilder::sumOfProductsIf(Node condition, Node x, Node y) {
  return program.reduceIf(condition, Reduction::sum, productOf(x, y));
}

Node LoopBuilder::after(Node later, Node x) {
  return program.compute(
      {x, later}, f32,
      [](OpBuilder &, Location, ValueRange v) { return v[0]; });
}

Index LoopBuilder::reducedElements() {
  Index count = 1;
  for (auto [size, r] : llvm::zip(space, rows.reduced))
    if (r)
      count *= size;
  return count;
}

Node LoopBuilder::count() {
  Index count = reducedElements();
  if (auto c = count.constant())
    return constant(static_cast<double>(*c));
  OpBuilder &b = ctx.m.builder();
  Location loc = ctx.m.location();
  Value n =
      arith::IndexCastOp::create(b, loc, b.getI64Type(), ctx.m.value(count));
  n = arith::SIToFPOp::create(b, loc, f32, n);
  return program.compute({}, f32,
                         [n](OpBuilder &, Location, ValueRange) { return n; });
}

/// Half of 2^-e: a count that was rounded up is no more than 2^(e + 1).
Node LoopBuilder::partOfMean() {
  if (auto c = reducedElements().constant())
    return constant(std::exp2(
        -std::ceil(std::log2(static_cast<double>(std::max<int64_t>(*c, 1))))));
  return mul(constant(0.5), inversePower(count()));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// `s` over the shape of the tensors, over the space.
Strided LoopBuilder::splitChannels(Strided s) {
  s.sizes = space;
  if (!rows.groups)
    return s;
  int64_t c = rows.channel;
  s.dense = false;
  s.strides.insert(s.strides.begin() + c, s.strides[c] * space[c + 1]);
  return s;
}

/// A tensor with as many dimensions as the group's, or fewer, over the space.
Strided LoopBuilder::aligned(const Strided &tensor) {
  return splitChannels(broadcastTo(tensor, shape));
}

Strided LoopBuilder::alignedAt(const Strided &tensor, ArrayRef<int64_t> dims) {
  Strided s;
  s.base = tensor.base;
  s.offset = tensor.offset;
  s.sizes = space;
  s.strides.assign(space.size(), 0);
  for (auto [i, d] : llvm::enumerate(dims))
    if (!tensor.sizes[i].isConstant(1))
      s.strides[d] = tensor.strides[i];
  return s;
}

SmallVector<int64_t> LoopBuilder::keptDims() const {
  SmallVector<int64_t> kept;
  for (auto [d, r] : llvm::enumerate(rows.reduced))
    if (!r)
      kept.push_back(d);
  return kept;
}

Node LoopBuilder::nodeOf(Value v) {
  auto it = nodes.find(v);
  if (it != nodes.end())
    return it->second;
  if (TypedAttr element = splatElement(v)) {
    Type type = computedType(element.getType());
    return nodes[v] = program.compute(
               {}, type, [element, type](OpBuilder &b, Location l, ValueRange) {
                 Value c = arith::ConstantOp::create(b, l, element);
                 return convertScalar(b, l, c, type);
               });
  }
  return nodes[v] = inputOf(v, aligned(ctx.memoryOf(v)));
}

Node LoopBuilder::converted(Node n, Type from, Type to) {
  if (from == to)
    return n;
  return program.compute({n}, to, [to](OpBuilder &b, Location l, ValueRange x) {
    return convertScalar(b, l, x[0], to);
  });
}

/// `memory` of `v` as values pass through the group.
Node LoopBuilder::inputOf(Value v, Strided memory) {
  Type element = rankedType(v).getElementType();
  return converted(program.input(std::move(memory)), storageType(element),
                   computedType(element));
}

/// Operations that reduce compute in f32.
Node LoopBuilder::convertedFrom(Value v, Node n) {
  return converted(n, computedType(rankedType(v).getElementType()), f32);
}

Node LoopBuilder::f32Of(Value v) { return convertedFrom(v, nodeOf(v)); }

Node LoopBuilder::integerOf(Value v) {
  Type element = rankedType(v).getElementType();
  Builder &b = ctx.m.builder();
  Type wide = element.isInteger(64) ? b.getI64Type() : b.getI32Type();
  return program.compute(
      {nodeOf(v)}, wide,
      [element, wide](OpBuilder &b, Location l, ValueRange x) -> Value {
        Value i = x[0];
        if (element.isInteger(1)) {
          Value zero =
              arith::ConstantOp::create(b, l, b.getZeroAttr(i.getType()));
          i = arith::CmpIOp::create(b, l, arith::CmpIPredicate::ne, i, zero);
          return arith::ExtUIOp::create(b, l, wide, i);
        }
        return convertScalar(b, l, i, wide, !element.isUnsignedInteger());
      });
}

Node LoopBuilder::integerLike(Node x, int64_t v) {
  Type type = program.getNodes()[x].type;
  return program.compute(
      {}, type, [type, v](OpBuilder &b, Location l, ValueRange) {
        return arith::ConstantOp::create(b, l, b.getIntegerAttr(type, v));
      });
}

Node LoopBuilder::integerAbs(Node x) {
  return integerMax(x, binary<arith::SubIOp>(integerLike(x, 0), x));
}
Node LoopBuilder::integerMax(Node x, Node y) {
  return binary<arith::MaxSIOp>(x, y);
}
Node LoopBuilder::integerMin(Node x, Node y) {
  return binary<arith::MinSIOp>(x, y);
}

Node LoopBuilder::along(Value v, ArrayRef<int64_t> dims) {
  // What the group itself computes has the shape of its space.
  Operation *def = v.getDefiningOp();
  if (splatLiteral(v) || (def && !isa<arith::ConstantOp>(def)))
    return f32Of(v);
  return convertedFrom(v, inputOf(v, alignedAt(ctx.memoryOf(v), dims)));
}

void LoopBuilder::define(Value v, Node n) {
  nodes[v] = converted(n, program.getNodes()[n].type,
                       computedType(rankedType(v).getElementType()));
}

void LoopBuilder::define(Value v, Node n, ArrayRef<int64_t> dims) {
  define(v, n);
  dimsOf[v] = SmallVector<int64_t>(dims);
}

//===----------------------------------------------------------------------===//
// The group
//===----------------------------------------------------------------------===//

void LoopBuilder::scalarOp(Operation *op) {
  SmallVector<Node> operands;
  for (Value v : op->getOperands())
    operands.push_back(nodeOf(v));
  Type type = computedType(rankedType(op->getResult(0)).getElementType());
  nodes[op->getResult(0)] = program.compute(
      operands, type, [op](OpBuilder &b, Location l, ValueRange v) {
        return emitScalar(b, l, op, v);
      });
}

/// An index that counts `strides` along the dimensions of the tensors.
Node LoopBuilder::indexNode(ArrayRef<Index> strides, Type type) {
  Strided s;
  s.strides.assign(strides.begin(), strides.end());
  return program.index(splitChannels(std::move(s)).strides, type);
}

void LoopBuilder::genIndex(Operation *op) {
  Value dst = op->getResult(0);
  int64_t rank = shape.size();
  SmallVector<Index> strides(rank, 0);
  int64_t axis = normalizedAxis(intAttr(op, "axis"), rank);
  // Where only one index is, it is 0: no stride, and no loop to ask.
  if (!ctx.sizes[dst][axis].isConstant(1))
    strides[axis] = 1;
  Type type = storageType(rankedType(dst).getElementType());
  nodes[dst] =
      program.compute(indexNode(strides, type), type,
                      [](OpBuilder &, Location, ValueRange v) { return v[0]; });
}

/// The value of an operand of one element, whatever its rank.
Node LoopBuilder::singleOf(Value v) {
  if (nodes.contains(v) || v.getDefiningOp<arith::ConstantOp>())
    return nodeOf(v);
  return inputOf(v, alignedAt(ctx.memoryOf(v), {}));
}

/// The number of each element of `v`, which counts through the tensor, dense
/// and row-major however it is stored.
Node LoopBuilder::numberOf(Value v) {
  ArrayRef<Index> sizes = ctx.sizes[v];
  SmallVector<Index> strides(shape.size(), 0);
  Index stride = 1;
  for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; --d) {
    if (!sizes[d].isConstant(1))
      strides[d] = stride;
    stride = sizes[d] * stride;
  }
  return indexNode(strides, ctx.m.builder().getI64Type());
}

void LoopBuilder::randomUniform(Operation *op) {
  Builder &b = ctx.m.builder();
  Node random = program.compute(
      {singleOf(op->getOperand(0)), singleOf(op->getOperand(1)),
       numberOf(op->getResult(0))},
      b.getI64Type(), [](OpBuilder &b, Location l, ValueRange v) {
        return emitRandom(b, l, v[0], v[1], v[2]);
      });
  nodes[op->getResult(0)] = program.compute(
      {random}, f32, [](OpBuilder &b, Location l, ValueRange v) {
        return emitUniform(b, l, v[0]);
      });
}

void LoopBuilder::dropout(Operation *op) {
  Node x = nodeOf(op->getOperand(0)), seed = singleOf(op->getOperand(1)),
       offset = singleOf(op->getOperand(2)),
       probability = singleOf(op->getOperand(3));
  Builder &b = ctx.m.builder();
  Node random = program.compute(
      {seed, offset, numberOf(op->getResult(0))}, b.getI64Type(),
      [](OpBuilder &b, Location l, ValueRange v) {
        return emitDropoutRandom(b, l, v[0], v[1], v[2]);
      });
  Node mask = program.compute({random, probability}, b.getI8Type(),
                              [](OpBuilder &b, Location l, ValueRange v) {
                                return emitDropoutMask(b, l, v[0], v[1]);
                              });
  nodes[op->getResult(0)] = program.compute(
      {x, mask, probability}, f32, [](OpBuilder &b, Location l, ValueRange v) {
        return emitDropoutResult(b, l, v[0], v[1], v[2]);
      });
  if (op->getNumResults() > 1)
    nodes[op->getResult(1)] = mask;
}

LogicalResult LoopBuilder::build() {
  for (Operation *op : ctx.ops()) {
    if (isa<graph::GenIndexOp>(op))
      genIndex(op);
    else if (isa<graph::DropoutOp>(op))
      dropout(op);
    else if (isa<graph::RandomUniformOp>(op))
      randomUniform(op);
    else if (isScalarOp(op))
      scalarOp(op);
    else if (failed(buildReduction(*this, op)))
      return failure();
  }
  for (auto &[value, destinations] : ctx.outputs) {
    auto dims = dimsOf.find(value);
    Type element = rankedType(value).getElementType();
    Node node =
        converted(nodeOf(value), computedType(element), storageType(element));
    for (const Strided &dst : destinations)
      program.output(node, dims == dimsOf.end() ? aligned(dst)
                                                : alignedAt(dst, dims->second));
  }
  program.emit();
  return success();
}

LogicalResult lowerLoops(GroupContext &ctx) {
  SmallVector<Operation *> ops = ctx.ops();
  Value shaped = ops.back()->getResult(0);
  ReductionSpace rows;
  for (Operation *op : ops)
    if (graph::isReductionLike(op)) {
      shaped = op->getOperand(0);
      rows = reductionSpace(op);
      break;
    }
  ArrayRef<Index> shape = ctx.sizes[shaped];
  if (rows.reduced.empty())
    rows.reduced.assign(shape.size(), false);
  return LoopBuilder(ctx, shape, rows).build();
}

} // namespace tenon::passes
