//===- KernelResults.cpp - rows of C in a kernel --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/microkernel/KernelResults.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using tenon::tile::EpilogueBroadcast;

namespace tenon::microkernel {

KernelResults::KernelResults(OpBuilder &builder, Location loc,
                             const KernelSpec &spec, ValueRange arguments)
    : KernelProducts(builder, loc, spec, arguments) {
  for (int64_t r = 0; r < rows; ++r)
    cRowOffset.push_back(mul(args.cRow, constant(r)));
  if (spec.maskedC)
    buildMask();
  if (spec.nontemporalOut)
    wholeLines = startsWithLines();
}

void KernelResults::buildMask() {
  SmallVector<int32_t> lanes(spec.lanes);
  for (int64_t i = 0; i < spec.lanes; ++i)
    lanes[i] = i;
  auto type = vectorOf(builder.getI32Type());
  Value index = arith::ConstantOp::create(
      builder, loc, DenseIntElementsAttr::get(type, lanes));
  Value tail =
      arith::TruncIOp::create(builder, loc, builder.getI32Type(), args.tail);
  mask = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, index,
                               broadcast(tail));
}

Value KernelResults::startsWithLines() {
  Value address =
      LLVM::PtrToIntOp::create(builder, loc, args.k.getType(), args.c);
  Value row = mul(args.cRow, constant(alignment(spec.stored)));
  Value bits = arith::OrIOp::create(builder, loc, address, row);
  bits = arith::AndIOp::create(builder, loc, bits, constant(kLineBytes - 1));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bits,
                               constant(0));
}

void KernelResults::prefetchOutput() {
  for (int64_t r = 0; r < rows; ++r) {
    if (!spec.nontemporalOut)
      prefetchRowOfC(r);
    for (unsigned i = 0, e = spec.epilogueOperands.size(); i < e; ++i)
      if (spec.epilogueOperands[i] == EpilogueBroadcast::PerElement)
        prefetchRow(advance(args.epilogueOperands[i],
                            mul(args.epilogueRow[i], constant(r)),
                            epilogueElement(i)),
                    epilogueElement(i), /*forWriting=*/false);
  }
  if (spec.nontemporalOut)
    prefetchTornLines();
}

void KernelResults::prefetchRowOfC(int64_t r) {
  prefetchRow(advance(args.c, cRowOffset[r], spec.stored), spec.stored,
              /*forWriting=*/true);
}

void KernelResults::prefetchTornLines() {
  auto branch = scf::IfOp::create(builder, loc, wholeLines,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  for (int64_t r = 0; r < rows; ++r)
    prefetchRowOfC(r);
}

SmallVector<Value> KernelResults::initialise() {
  SmallVector<Value> accs;
  if (!spec.fromPartial && !spec.finishes) {
    accs.assign(rows * vectors, zeros(vectorOf(spec.sum)));
    return accs;
  }
  for (int64_t r = 0; r < rows; ++r) {
    Value row = advance(args.partial, r * rowOfPartial(), spec.sum);
    for (int64_t v = 0; v < vectors; ++v)
      accs.push_back(loadVector(row, v, spec.sum, /*masked=*/false));
  }
  return accs;
}

Value KernelResults::totalAt(unsigned level, Value i) {
  Value at = add(i, constant(level * rows * vectors));
  return advance(args.totals, mul(at, constant(spec.lanes)), spec.sum);
}

void KernelResults::forTotal(unsigned level,
                             llvm::function_ref<void(Value)> body) {
  scf::ForOp::create(builder, loc, constant(0), constant(rows * vectors),
                     constant(1), ValueRange(),
                     [&](OpBuilder &, Location, Value i, ValueRange) {
                       body(totalAt(level, i));
                       scf::YieldOp::create(builder, loc);
                     });
}

Value KernelResults::loadTotal(Value at) {
  return LLVM::LoadOp::create(builder, loc, vectorOf(spec.sum), at,
                              spec.lanes * alignment(spec.sum));
}

void KernelResults::storeTotal(Value sum, Value at) {
  LLVM::StoreOp::create(builder, loc, sum, at,
                        spec.lanes * alignment(spec.sum));
}

void KernelResults::clearTotal(unsigned level) {
  Value zero = zeros(vectorOf(spec.sum));
  forTotal(level, [&](Value at) { storeTotal(zero, at); });
}

void KernelResults::makeRoomInTotal(unsigned level, Value additions) {
  if (level + 1 == spec.totals)
    return;
  Value rest = arith::RemUIOp::create(builder, loc, additions,
                                      constant(kBlocksPerTotal));
  auto is = [&](arith::CmpIPredicate how, Value x) -> Value {
    return arith::CmpIOp::create(builder, loc, how, x, constant(0));
  };
  Value full =
      arith::AndIOp::create(builder, loc, is(arith::CmpIPredicate::eq, rest),
                            is(arith::CmpIPredicate::ne, additions));
  scf::IfOp::create(builder, loc, full, [&](OpBuilder &, Location) {
    // How often that was done before.
    Value before = arith::DivUIOp::create(builder, loc, additions,
                                          constant(kBlocksPerTotal));
    before = arith::SubIOp::create(builder, loc, before, constant(1));
    makeRoomInTotal(level + 1, before);
    scf::IfOp::create(builder, loc, is(arith::CmpIPredicate::eq, before),
                      [&](OpBuilder &, Location) {
                        clearTotal(level + 1);
                        scf::YieldOp::create(builder, loc);
                      });
    addTotalTo(level, level + 1);
    clearTotal(level);
    scf::YieldOp::create(builder, loc);
  });
}

void KernelResults::addTotalTo(unsigned level, unsigned other) {
  int64_t distance = static_cast<int64_t>(other) - level;
  Value step = constant(distance * rows * vectors * spec.lanes);
  forTotal(level, [&](Value from) {
    Value to = advance(from, step, spec.sum);
    storeTotal(
        arith::AddFOp::create(builder, loc, loadTotal(to), loadTotal(from)),
        to);
  });
}

void KernelResults::addToTotals(ArrayRef<Value> accs, Value blocks) {
  makeRoomInTotal(0, blocks);
  for (auto [i, acc] : llvm::enumerate(accs)) {
    Value at = advance(args.totals, i * spec.lanes, spec.sum);
    storeTotal(arith::AddFOp::create(builder, loc, loadTotal(at), acc), at);
  }
}

void KernelResults::addTotals(MutableArrayRef<Value> accs, Value blocks) {
  // A total has something when those before it were full and a block came
  // after.
  int64_t least = 0, times = 1;
  for (unsigned level = 1; level < spec.totals; ++level) {
    times *= kBlocksPerTotal;
    least += times;
    Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt,
                                       blocks, constant(least));
    scf::IfOp::create(builder, loc, some, [&](OpBuilder &, Location) {
      addTotalTo(level, 0);
      scf::YieldOp::create(builder, loc);
    });
  }
  for (auto [i, acc] : llvm::enumerate(accs)) {
    Value at = advance(args.totals, i * spec.lanes, spec.sum);
    acc = arith::AddFOp::create(builder, loc, loadTotal(at), acc);
  }
}

void KernelResults::finish(ArrayRef<Value> accs) {
  SmallVector<Value> perRow = loadRowOperands();
  SmallVector<Value> values(rows * vectors);
  for (int64_t v = 0; v < vectors; ++v) {
    SmallVector<Value> perColumn = loadColumnOperands(v);
    for (int64_t r = 0; r < rows; ++r) {
      Value value = accs[r * vectors + v];
      if (spec.correctsSign())
        value = arith::SubIOp::create(builder, loc, value,
                                      accs[rows * vectors + v]);
      if (spec.accumulate)
        value = addToC(value, r, v);
      if (spec.epilogue)
        value = applyEpilogue(value, r, v, perRow, perColumn);
      if (spec.nontemporalOut)
        values[r * vectors + v] = value;
      else
        store(value, r, v);
    }
  }
  if (spec.nontemporalOut)
    storeLines(values);
}

void KernelResults::storeLines(ArrayRef<Value> values) {
  auto all = [&](bool nontemporal) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        store(values[r * vectors + v], r, v, nontemporal);
  };
  auto branch = scf::IfOp::create(builder, loc, wholeLines,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  all(true);
  builder.setInsertionPointToStart(branch.elseBlock());
  all(false);
}

Value KernelResults::addToC(Value sum, int64_t r, int64_t v) {
  Value before = loadVector(advance(args.c, cRowOffset[r], spec.sum), v,
                            spec.sum, /*masked=*/true);
  if (spec.sum.isInteger())
    return arith::AddIOp::create(builder, loc, before, sum);
  return arith::AddFOp::create(builder, loc, before, sum);
}

Type KernelResults::epilogueElement(unsigned i) {
  return spec.epilogue->getArgument(i + 1).getType();
}

SmallVector<Value> KernelResults::loadRowOperands() {
  SmallVector<Value> values(spec.epilogueOperands.size() * rows);
  for (unsigned i = 0, e = spec.epilogueOperands.size(); i < e; ++i)
    for (int64_t r = 0; r < rows; ++r) {
      Value &value = values[i * rows + r];
      Value pointer = args.epilogueOperands[i];
      if (spec.epilogueOperands[i] == EpilogueBroadcast::Scalar && r > 0)
        value = values[i * rows];
      else if (spec.epilogueOperands[i] == EpilogueBroadcast::Scalar)
        value = broadcast(loadScalar(pointer, epilogueElement(i)));
      else if (spec.epilogueOperands[i] == EpilogueBroadcast::PerRow)
        value = broadcast(
            loadScalar(advance(pointer, mul(args.epilogueRow[i], constant(r)),
                               epilogueElement(i)),
                       epilogueElement(i)));
    }
  return values;
}

SmallVector<Value> KernelResults::loadColumnOperands(int64_t v) {
  SmallVector<Value> values(spec.epilogueOperands.size());
  for (unsigned i = 0, e = spec.epilogueOperands.size(); i < e; ++i)
    if (spec.epilogueOperands[i] == EpilogueBroadcast::PerColumn)
      values[i] =
          loadVector(args.epilogueOperands[i], v, epilogueElement(i), true);
  return values;
}

Value KernelResults::applyEpilogue(Value acc, int64_t r, int64_t v,
                                   ArrayRef<Value> perRow,
                                   ArrayRef<Value> perColumn) {
  Block &block = spec.epilogue->front();
  IRMapping mapping;
  mapping.map(block.getArgument(0), acc);
  for (unsigned i = 0, e = spec.epilogueOperands.size(); i < e; ++i) {
    Value value = perColumn[i] ? perColumn[i] : perRow[i * rows + r];
    if (spec.epilogueOperands[i] == EpilogueBroadcast::PerElement) {
      Value offset = mul(args.epilogueRow[i], constant(r));
      value = loadVector(
          advance(args.epilogueOperands[i], offset, epilogueElement(i)), v,
          epilogueElement(i), true);
    }
    mapping.map(block.getArgument(i + 1), value);
  }
  for (Operation &op : block.without_terminator())
    vectorise(op, mapping);
  return mapping.lookup(block.getTerminator()->getOperand(0));
}

void KernelResults::vectorise(Operation &op, IRMapping &mapping) {
  Attribute value;
  if (matchPattern(&op, m_Constant(&value))) {
    auto type = vectorOf(op.getResult(0).getType());
    Value splat = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, value));
    mapping.map(op.getResult(0), splat);
    return;
  }
  Operation *clone = builder.clone(op, mapping);
  for (OpResult result : clone->getResults())
    result.setType(vectorOf(result.getType()));
  auto trunc = dyn_cast<arith::TruncFOp>(clone);
  if (trunc && multipliesBF16() && isLikeSums(op.getOperand(0)))
    trunc.setFastmath(arith::FastMathFlags::afn);
}

bool KernelResults::isLikeSums(Value x, int depth) {
  Operation *op = x.getDefiningOp();
  if (!op || matchPattern(op, m_Constant()))
    return true;
  return depth > 0 &&
         isa<arith::AddFOp, arith::SubFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::SelectOp, arith::CmpFOp, arith::ExtFOp>(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value v) { return isLikeSums(v, depth - 1); });
}

void KernelResults::store(Value value, int64_t r, int64_t v, bool nontemporal) {
  Value pointer = advance(args.c, cRowOffset[r], spec.stored);
  pointer = advance(pointer, v * spec.lanes, spec.stored);
  unsigned align = alignment(spec.stored);
  if (isPartial(v))
    LLVM::MaskedStoreOp::create(builder, loc, value, pointer, mask,
                                builder.getI32IntegerAttr(align));
  else
    LLVM::StoreOp::create(builder, loc, value, pointer,
                          nontemporal ? align * spec.lanes : align,
                          /*isVolatile=*/false, /*isNonTemporal=*/nontemporal);
}

} // namespace tenon::microkernel
