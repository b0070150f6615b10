// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/core/Epilogue.h"
#include "passes/tile/core/WorkItems.h"

#include "dialects/graph/OpFacts.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon::passes {

bool isReadBy(ArrayRef<Operation *> ops, Value v) {
  return !splatLiteral(v) && !llvm::is_contained(ops, v.getDefiningOp());
}

Value emitScalarOps(OpBuilder &builder, Location loc, ArrayRef<Operation *> ops,
                    llvm::DenseMap<Value, Value> values, Type stored) {
  Value last;
  for (Operation *op : ops) {
    SmallVector<Value> operands;
    for (Value v : op->getOperands()) {
      Value &known = values[v];
      if (!known)
        known = arith::ConstantOp::create(builder, loc, splatElement(v));
      operands.push_back(known);
    }
    last = graph::isView(op) ? operands.front()
                             : emitScalar(builder, op->getLoc(), op, operands);
    values[op->getResult(0)] = last;
  }
  return convertScalar(builder, loc, last, stored);
}

Epilogue::Epilogue(GroupContext &ctx, Operation *first)
    : Epilogue(ctx, first, ctx.opsFrom(first)) {}

Epilogue::Epilogue(GroupContext &ctx, Operation *first,
                   ArrayRef<Operation *> all)
    : made(first->getResult(0)) {
  ArrayRef<Index> space = ctx.sizes[made];
  llvm::SetVector<Value> outside;
  for (Operation *op : all) {
    if (op == first)
      continue;
    ops.push_back(op);
    for (Value v : op->getOperands())
      if (isReadBy(all, v))
        outside.insert(v);
  }
  for (Value v : outside) {
    bool isMade = v.getDefiningOp() && !v.getDefiningOp<arith::ConstantOp>();
    if (isMade)
      linked = epilogueOperands.size();
    epilogueValues.push_back(v);
    epilogueOperands.push_back(isMade ? Strided()
                                      : broadcastTo(ctx.memoryOf(v), space));
  }
}

Value Epilogue::apply(OpBuilder &builder, Location loc, Value element,
                      ValueRange epilogueElements, Type stored) const {
  llvm::DenseMap<Value, Value> values;
  // Sums of floats are f32, whatever type the tensor has.
  Type held = computedType(rankedType(made).getElementType());
  Value last =
      convertScalar(builder, loc, element,
                    held.isInteger(32) ? held : Type(builder.getF32Type()));
  values[made] = last;
  for (auto [v, operand] : llvm::zip(epilogueValues, epilogueElements))
    values[v] = operand;
  return ops.empty()
             ? convertScalar(builder, loc, last, stored)
             : emitScalarOps(builder, loc, ops, std::move(values), stored);
}

Epilogue::Boxes Epilogue::boxesAt(IndexMath &m, const Strided &dst,
                                  ArrayRef<Strided> epilogueOperands,
                                  ArrayRef<Index> start, int64_t rowDim,
                                  Index rows, Index columns) {
  int64_t columnDim = dst.rank() - 1;
  auto boxAt = [&](const Strided &s, bool byRow, bool byColumn) {
    SmallVector<Index> sizes, strides;
    if (byRow) {
      sizes.push_back(rows);
      strides.push_back(rowDim < 0 ? 0 : s.strides[rowDim]);
    }
    if (byColumn) {
      sizes.push_back(columns);
      strides.push_back(s.strides[columnDim]);
    }
    return box(m, s.base, offsetOf(s, start), sizes, strides);
  };
  Boxes boxes{boxAt(dst, true, true), {}, {}};
  for (const Strided &s : epilogueOperands) {
    bool byRow = rowDim >= 0 && !s.strides[rowDim].isConstant(0);
    bool byColumn = !s.strides[columnDim].isConstant(0);
    using tile::EpilogueBroadcast;
    EpilogueBroadcast kind = byRow ? (byColumn ? EpilogueBroadcast::PerElement
                                               : EpilogueBroadcast::PerRow)
                                   : (byColumn ? EpilogueBroadcast::PerColumn
                                               : EpilogueBroadcast::Scalar);
    boxes.epilogueOperands.push_back(boxAt(s, byRow, byColumn));
    boxes.maps.push_back(
        tile::getEpilogueMapOf(kind, m.builder().getContext()));
  }
  return boxes;
}

tile::BrgemmOp Epilogue::emitBrgemm(IndexMath &m, Value a, Value b,
                                    const Strided &dst,
                                    ArrayRef<Strided> epilogueOperands,
                                    ArrayRef<Index> start, int64_t rowDim,
                                    Index rows, Index columns,
                                    SumPart part) const {
  OpBuilder &builder = m.builder();
  bool accumulate = part == SumPart::middle || part == SumPart::last;
  bool ends = part == SumPart::whole || part == SumPart::last;
  Type element = cast<MemRefType>(a.getType()).getElementType();
  Type stored = dst.elementType();
  auto row = dst.strides[rowDim].constant();
  bool wholeLines =
      row && *row * stored.getIntOrFloatBitWidth() % (8 * kLineBytes) == 0;
  auto intoMemory = [&](tile::BrgemmOp op) {
    op.setPrefetchOut(true);
    op.setNontemporalOut(part == SumPart::whole && wholeLines &&
                         bytesOf(dst) >= kNontemporalBytes);
    return op;
  };
  bool plain =
      !ends || (ops.empty() && stored.isF32() && isa<FloatType>(element));
  Boxes boxes = boxesAt(m, dst, plain ? ArrayRef<Strided>() : epilogueOperands,
                        start, rowDim, rows, columns);
  if (plain)
    return intoMemory(tile::BrgemmOp::create(builder, m.location(), a, b,
                                             boxes.dst, accumulate));
  auto body = [&](OpBuilder &eb, Location loc, ValueRange args) -> Value {
    return apply(eb, loc, args.front(), args.drop_front(), stored);
  };
  return intoMemory(tile::BrgemmOp::create(
      builder, m.location(), a, b, boxes.dst, boxes.epilogueOperands,
      boxes.maps, accumulate, /*packed=*/true, body));
}

void keepNear(tile::BrgemmOp product) {
  product.setPrefetchOut(false);
  product.setNontemporalOut(false);
}

void Epilogue::emitElementwise(IndexMath &m, Value sums, const Strided &dst,
                               ArrayRef<Strided> epilogueOperands,
                               ArrayRef<Index> start, int64_t rowDim,
                               Index rows, Index columns) const {
  OpBuilder &builder = m.builder();
  Boxes boxes = boxesAt(m, dst, epilogueOperands, start, rowDim, rows, columns);
  AffineMap identity = builder.getMultiDimIdentityMap(2);
  SmallVector<Value> ins{sums};
  SmallVector<AffineMap> maps{identity};
  llvm::append_range(ins, boxes.epilogueOperands);
  llvm::append_range(maps, boxes.maps);
  maps.push_back(identity);
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  linalg::GenericOp::create(
      builder, m.location(), TypeRange{}, ins, boxes.dst, maps, loops,
      [&](OpBuilder &nb, Location l, ValueRange args) {
        ValueRange elements = args.drop_back();
        linalg::YieldOp::create(nb, l,
                                apply(nb, l, elements.front(),
                                      elements.drop_front(),
                                      dst.elementType()));
      });
}

} // namespace tenon::passes
