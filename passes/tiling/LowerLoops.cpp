//===- LowerLoops.cpp - elementwise and row-wise groups -------------------===//
//
// Turns a group into a LoopProgram: elementwise operations become computed
// nodes, row operations become reductions with computations around them.
//
//===----------------------------------------------------------------------===//
#include "passes/fusion/Group.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tiling/Dropout.h"
#include "passes/tiling/GroupLowering.h"
#include "passes/tiling/Literals.h"
#include "passes/tiling/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace tenon::tiling {

SmallVector<Operation *> GroupContext::ops() const {
  SmallVector<Operation *> list;
  func::FuncOp f = group;
  for (Operation &op : f.getBody().front().without_terminator())
    if (!isa<arith::ConstantOp>(op))
      list.push_back(&op);
  return list;
}

Strided GroupContext::memoryOf(Value v) {
  if (auto literal = v.getDefiningOp<arith::ConstantOp>())
    return literalMemory(m, cast<DenseElementsAttr>(literal.getValue()));
  return inputs.find(v)->second;
}

namespace {

using Node = LoopProgram::Node;
using Reduction = LoopProgram::Reduction;

struct LoopBuilder {
  GroupContext &ctx;
  SmallVector<Ofr> space;
  SmallVector<bool> reduced;
  LoopProgram program;
  llvm::DenseMap<Value, Node> nodes;
  Type f32;

  LoopBuilder(GroupContext &ctx, ArrayRef<Ofr> space, ArrayRef<bool> reduced)
      : ctx(ctx), space(space), reduced(reduced),
        program(ctx.m, ctx.label, space, reduced),
        f32(ctx.m.builder().getF32Type()) {}

  Node constant(double v) {
    return program.compute({}, f32, [v](OpBuilder &b, Location l, ValueRange) {
      return arith::ConstantOp::create(b, l, b.getF32FloatAttr(v));
    });
  }
  template <typename Op> Node binary(Node x, Node y) {
    return program.compute({x, y}, f32,
                           [](OpBuilder &b, Location l, ValueRange v) {
                             return Op::create(b, l, v[0], v[1]);
                           });
  }
  template <typename Op> Node unary(Node x) {
    return program.compute({x}, f32,
                           [](OpBuilder &b, Location l, ValueRange v) {
                             return Op::create(b, l, v[0]);
                           });
  }
  Node add(Node x, Node y) { return binary<arith::AddFOp>(x, y); }
  Node sub(Node x, Node y) { return binary<arith::SubFOp>(x, y); }
  Node mul(Node x, Node y) { return binary<arith::MulFOp>(x, y); }
  Node div(Node x, Node y) { return binary<arith::DivFOp>(x, y); }

  /// 1 / (number of reduced elements).
  Node inverseCount() {
    Ofr count = ctx.m.attr(1);
    for (auto [size, r] : llvm::zip(space, reduced))
      if (r)
        count = ctx.m.mul(count, size);
    if (auto c = IndexMath::constant(count))
      return constant(1.0 / static_cast<double>(*c));
    OpBuilder &b = ctx.m.builder();
    Location loc = ctx.m.location();
    Value n =
        arith::IndexCastOp::create(b, loc, b.getI64Type(), ctx.m.value(count));
    n = arith::SIToFPOp::create(b, loc, f32, n);
    Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
    Value inverse = arith::DivFOp::create(b, loc, one, n);
    return program.compute(
        {}, f32,
        [inverse](OpBuilder &, Location, ValueRange) { return inverse; });
  }

  Node nodeOf(Value v) {
    auto it = nodes.find(v);
    if (it != nodes.end())
      return it->second;
    auto literal = v.getDefiningOp<arith::ConstantOp>();
    auto attr = literal ? cast<DenseElementsAttr>(literal.getValue())
                        : DenseElementsAttr();
    if (attr && attr.isSplat()) {
      TypedAttr element = attr.getSplatValue<TypedAttr>();
      Type type = storageType(element.getType());
      return nodes[v] = program.compute(
                 {}, type, [element](OpBuilder &b, Location l, ValueRange) {
                   return arith::ConstantOp::create(b, l, element);
                 });
    }
    Strided s = broadcastTo(ctx.m, ctx.memoryOf(v), space);
    return nodes[v] = program.input(std::move(s));
  }

  /// A row operation computes in f32 whatever its operand is.
  Node f32Of(Value v) {
    Node n = nodeOf(v);
    Type from = storageType(rankedType(v).getElementType());
    if (from.isF32())
      return n;
    return program.compute({n}, f32,
                           [](OpBuilder &b, Location l, ValueRange x) {
                             return convertScalar(b, l, x[0], b.getF32Type());
                           });
  }
  /// ... and rounds to the type of its result.
  void define(Value v, Node n) {
    Type to = storageType(rankedType(v).getElementType());
    if (!to.isF32())
      n = program.compute({n}, to,
                          [to](OpBuilder &b, Location l, ValueRange x) {
                            return convertScalar(b, l, x[0], to);
                          });
    nodes[v] = n;
  }

  void scalarOp(Operation *op) {
    SmallVector<Node> operands;
    for (Value v : op->getOperands())
      operands.push_back(nodeOf(v));
    Type type = storageType(rankedType(op->getResult(0)).getElementType());
    nodes[op->getResult(0)] = program.compute(
        operands, type, [op](OpBuilder &b, Location l, ValueRange v) {
          return emitScalar(b, l, op, v);
        });
  }

  void genIndex(Operation *op) {
    Value dst = op->getResult(0);
    int64_t rank = space.size();
    SmallVector<Ofr> strides(rank, ctx.m.attr(0));
    int64_t axis = normalizedAxis(intAttr(op, "axis"), rank);
    // Where only one index is, it is 0: no stride, and no loop to ask.
    if (!IndexMath::isConstant(ctx.sizes[dst][axis], 1))
      strides[axis] = ctx.m.attr(1);
    Type type = storageType(rankedType(dst).getElementType());
    nodes[dst] = program.compute(
        program.index(strides, type), type,
        [](OpBuilder &, Location, ValueRange v) { return v[0]; });
  }

  /// The value of an operand of one element, whatever its rank.
  Node singleOf(Value v) {
    auto it = nodes.find(v);
    bool literal = v.getDefiningOp<arith::ConstantOp>() != nullptr;
    if (it != nodes.end() || literal)
      return nodeOf(v);
    Strided s = ctx.memoryOf(v);
    s.sizes = space;
    s.strides.assign(space.size(), ctx.m.attr(0));
    s.dense = false;
    return program.input(std::move(s));
  }

  void dropout(Operation *op) {
    Node x = nodeOf(op->getOperand(0)), seed = singleOf(op->getOperand(1)),
         offset = singleOf(op->getOperand(2)),
         probability = singleOf(op->getOperand(3));
    // The number of an element counts through the tensor, dense and row-major
    // however it is stored.
    ArrayRef<Ofr> sizes = ctx.sizes[op->getResult(0)];
    SmallVector<Ofr> strides(space.size(), ctx.m.attr(0));
    Ofr stride = ctx.m.attr(1);
    for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; --d) {
      if (!IndexMath::isConstant(sizes[d], 1))
        strides[d] = stride;
      stride = ctx.m.mul(sizes[d], stride);
    }
    Builder &b = ctx.m.builder();
    Node random = program.compute(
        {seed, offset, program.index(strides, b.getI64Type())}, b.getI64Type(),
        [](OpBuilder &b, Location l, ValueRange v) {
          return emitDropoutRandom(b, l, v[0], v[1], v[2]);
        });
    Node mask = program.compute({random, probability}, b.getI8Type(),
                                [](OpBuilder &b, Location l, ValueRange v) {
                                  return emitDropoutMask(b, l, v[0], v[1]);
                                });
    nodes[op->getResult(0)] =
        program.compute({x, mask, probability}, f32,
                        [](OpBuilder &b, Location l, ValueRange v) {
                          return emitDropoutResult(b, l, v[0], v[1], v[2]);
                        });
    if (op->getNumResults() > 1)
      nodes[op->getResult(1)] = mask;
  }

  void softmax(Operation *op) {
    Node x = f32Of(op->getOperand(0));
    bool log = isKind(op, "LogSoftmax");
    bool zeros = !log && stringAttr(op, "mode") == "inf_as_zero";
    Node top = program.reduce(Reduction::max, x);
    if (zeros) // A row of -inf: exp(-inf - 0) is 0, not exp(NaN).
      top = program.compute(
          {top}, f32, [](OpBuilder &b, Location l, ValueRange v) -> Value {
            double inf = std::numeric_limits<double>::infinity();
            Value low =
                arith::ConstantOp::create(b, l, b.getF32FloatAttr(-inf));
            Value zero = arith::ConstantOp::create(b, l, b.getF32FloatAttr(0));
            Value masked = arith::CmpFOp::create(
                b, l, arith::CmpFPredicate::OEQ, v[0], low);
            return arith::SelectOp::create(b, l, masked, zero, v[0]);
          });
    Node e = unary<math::ExpOp>(sub(x, top));
    Node sum = program.reduce(Reduction::sum, e);
    if (zeros)
      sum = program.compute(
          {sum}, f32, [](OpBuilder &b, Location l, ValueRange v) -> Value {
            Value zero = arith::ConstantOp::create(b, l, b.getF32FloatAttr(0));
            Value one = arith::ConstantOp::create(b, l, b.getF32FloatAttr(1));
            Value empty = arith::CmpFOp::create(b, l, arith::CmpFPredicate::OEQ,
                                                v[0], zero);
            return arith::SelectOp::create(b, l, empty, one, v[0]);
          });
    if (log) {
      Node shift = unary<math::LogOp>(sum);
      define(op->getResult(0), sub(sub(x, top), shift));
      return;
    }
    define(op->getResult(0), mul(e, div(constant(1), sum)));
    if (op->getNumResults() > 1)
      define(op->getResult(1), add(top, unary<math::LogOp>(sum)));
  }

  void norm(Operation *op) {
    Node x = f32Of(op->getOperand(0));
    Node inverse = inverseCount();
    Node eps = constant(floatAttr(op, "epsilon"));
    auto scaleOf = [&](Node meanSquare) {
      return div(constant(1), unary<math::SqrtOp>(add(meanSquare, eps)));
    };
    if (isKind(op, "RMSNorm")) {
      Node square = mul(program.reduce(Reduction::sum, mul(x, x)), inverse);
      define(op->getResult(0), mul(x, scaleOf(square)));
      return;
    }
    Node mean = mul(program.reduce(Reduction::sum, x), inverse);
    Node d = sub(x, mean);
    Node variance = mul(program.reduce(Reduction::sum, mul(d, d)), inverse);
    // A second x - mean: cheaper to compute again than to store the first.
    define(op->getResult(0), mul(sub(x, mean), scaleOf(variance)));
    if (op->getNumResults() > 1) {
      define(op->getResult(1), mean);
      define(op->getResult(2), variance);
    }
  }

  void reduceOp(Operation *op) {
    StringRef kind = kindOf(op);
    Node x = f32Of(op->getOperand(0));
    Node r;
    if (kind == "ReduceL1")
      r = program.reduce(Reduction::sum, unary<math::AbsFOp>(x));
    else if (kind == "ReduceL2")
      r = unary<math::SqrtOp>(program.reduce(Reduction::sum, mul(x, x)));
    else if (kind == "ReduceMax")
      r = program.reduce(Reduction::max, x);
    else if (kind == "ReduceMin")
      r = program.reduce(Reduction::min, x);
    else if (kind == "ReduceProd")
      r = program.reduce(Reduction::product, x);
    else if (kind == "ReduceMean")
      r = mul(program.reduce(Reduction::sum, x), inverseCount());
    else
      r = program.reduce(Reduction::sum, x);
    define(op->getResult(0), r);
  }

  /// The buffer of a result, over the dimensions of the space: reduced ones
  /// that the result dropped come back with stride 0.
  Strided overSpace(const Strided &dst) {
    int64_t rank = space.size();
    if (dst.rank() == rank)
      return broadcastTo(ctx.m, dst, space);
    Strided s;
    s.base = dst.base;
    s.offset = dst.offset;
    s.sizes = space;
    s.strides.assign(rank, ctx.m.attr(0));
    int64_t j = 0;
    for (int64_t d = 0; d < rank && j < dst.rank(); ++d)
      if (!reduced[d])
        s.strides[d] = dst.strides[j++];
    return s;
  }

  LogicalResult build() {
    for (Operation *op : ctx.ops()) {
      StringRef kind = kindOf(op);
      if (kind == "SoftMax" || kind == "LogSoftmax")
        softmax(op);
      else if (kind == "LayerNorm" || kind == "RMSNorm")
        norm(op);
      else if (kind.starts_with("Reduce"))
        reduceOp(op);
      else if (kind == "GenIndex")
        genIndex(op);
      else if (kind == "Dropout")
        dropout(op);
      else if (isScalarOp(op))
        scalarOp(op);
      else
        return op->emitError("no lowering to loops");
    }
    for (auto &[value, destinations] : ctx.outputs)
      for (const Strided &dst : destinations)
        program.output(nodeOf(value), overSpace(dst));
    program.emit();
    return success();
  }
};

} // namespace

LogicalResult lowerLoops(GroupContext &ctx) {
  SmallVector<Operation *> ops = ctx.ops();
  Value shaped = ops.back()->getResult(0);
  SmallVector<bool> reduced;
  for (Operation *op : ops)
    if (fusion::isRowOp(op)) {
      shaped = op->getOperand(0);
      reduced = fusion::reducedDims(op);
      break;
    }
  ArrayRef<Ofr> space = ctx.sizes[shaped];
  reduced.resize(space.size(), false);
  return LoopBuilder(ctx, space, reduced).build();
}

} // namespace tenon::tiling
